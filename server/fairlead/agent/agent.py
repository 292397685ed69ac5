"""What a run works with."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from fairlead.agent.events import Event
from fairlead.agent.interceptors import Interceptor
from fairlead.agent.meter import Meter
from fairlead.agent.model import Model
from fairlead.agent.small_model import SmallModel
from fairlead.agent.stopped import StoppedCalls
from fairlead.agent.tool import KEEPS_RESULTS, Mode, Tool
from fairlead.agent.window import Window
from fairlead.messages.history import History
from fairlead.plan import TodoManager


@dataclass
class Agent:
    """Everything that a run works with. The interceptors, the meter and what `emit` does belong to this run alone."""

    run_id: str
    """Unique in its session."""
    model: Model
    system: str
    """The system prompt."""
    tools: Mapping[str, Tool]
    """The tools by name, in the order in which the model sees them."""
    plan: TodoManager
    history: History
    emit: Callable[[Event], None]
    """Takes the events of the run."""
    interceptors: Sequence[Interceptor]
    """In the order in which they are called."""
    meter: Meter
    proposals: Callable[[], str]
    """Renders the current proposals for the model; empty if there are none."""
    window: Window
    stopped: StoppedCalls
    """The stopped calls of the session's earlier runs (L16)."""
    small_model: SmallModel | None = None
    """Writes the summaries of the conversation; None: `model` does."""
    checkpoint: int | None = None
    """See `RunStarted`."""
    recording: str | None = None
    """See `RunStarted`."""
    mode: Mode = "agent"
    """Decides which tools may run."""

    def keeps_results(self, tool: str) -> bool:
        """Whether compaction must keep a tool's results."""
        return tool in self.tools and self.tools[tool].kind in KEEPS_RESULTS
