"""The tool port: an entry of the dispatch table, and the context of a running call."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol

from fairlead.agent.events import Event, Location, ToolKind, ToolOutput
from fairlead.agent.model import ToolSpec
from fairlead.edits.origins import Author
from fairlead.messages.parts import Image
from fairlead.plan.evidence import ServerCall
from fairlead.plan.render import PlanUpdate
from fairlead.sentences import Sentence

Mode = Literal["agent", "plan", "ask"]
"""What a run may do: everything, only write the plan, or only answer."""
CHANGES_FILES: Collection[ToolKind] = ("edit", "delete", "move", "execute")
"""Calls of these kinds wait until stopped calls have ended, because both may change files (L16)."""
SIMULTANEOUS: Collection[ToolKind] = ("read", "search", "fetch", "agent")
"""Calls of these kinds run at the same time if they follow each other in an answer and only read.

Subagents may also write at the same time: each has a fork of the files.
"""
KEEPS_RESULTS: Collection[ToolKind] = ("think", "ask", "agent")
"""Compaction never clears the results of these kinds of tools, because repeating the call would not restore them."""

Repeat = Literal["refused", "until_unchanged", "allowed"]
"""Whether a call that directly follows an identical one runs: never, until it returns the same again, or always."""


@dataclass
class RunningCall:
    """What a handler (a tool's `run`) knows about its call and reports about it."""

    id: str
    item_id: str | None
    """The plan item that the call is evidence for: the one in progress, or that of a check."""
    emit: Callable[[Event], None] = field(repr=False)
    """Takes an event about the call, also after it has ended: what it began in the background may still run."""
    progress: str | Callable[[], str] = "Cancelled before it did anything."
    """The result if the call is cancelled. A slow handler updates it, or sets a function that returns it.

    The cancelled handler ends in the background; its own result is discarded (docs/plan.md L16).
    """
    polls: bool = False
    """Set by a handler that waited for background work or read new output of it.

    The same call may return something else the next time, so it is not a repeat (L10). It counts as progress (L14).
    """
    repeat: Repeat = "refused"
    """Set by a handler whose result may be another the next time, without any change that Fairlead notices (L10)."""
    changed_paths: Sequence[str] = ()
    """Absolute paths. Set by a handler that changed files other than the locations that its `describe` returned."""
    images: Sequence[Image] = ()
    """Set by a handler that shows the model pictures in addition to the text that it returns."""
    plan_update: PlanUpdate | None = None
    """Set by a handler that rewrote the plan."""
    server_call: ServerCall | None = None
    """Set by a handler that called a tool server, before the call and after it."""
    shown: Sentence | None = None
    """Set if the call failed: what the user reads instead of the result; None: the result."""
    already_shown: Callable[[str], bool] = field(default=lambda _: False, repr=False)
    """Returns whether the same call returned this text the last time, and the model can still read it."""

    def output(self, text: str) -> None:
        """Streams text to the user while the tool runs."""
        self.emit(ToolOutput(self.id, text))

    def without_output(self) -> "RunningCall":
        """The same call, whose output the user does not see."""

        def emit(event: Event) -> None:
            if not isinstance(event, ToolOutput):
                self.emit(event)

        return replace(self, emit=emit)

    @property
    def author(self) -> Author:
        """The author of what the call proposes."""
        return Author(self.item_id, self.id)

    def result_when_stopped(self) -> str:
        """The text for the model if the call is stopped now."""
        return self.progress if isinstance(self.progress, str) else self.progress()


class Tool(Protocol):
    """One entry of the dispatch table (L2)."""

    @property
    def spec(self) -> ToolSpec: ...

    @property
    def kind(self) -> ToolKind: ...

    @property
    def read_only(self) -> bool:
        """Whether the tool changes nothing. `todo` counts as read-only although it changes the plan.

        A read-only tool also runs in plan mode and ask mode; `todo` does not run in ask mode. The guard against repeats
        does not refuse its calls (L10).
        """
        ...

    def describe(self, input: dict[str, Any]) -> tuple[str, tuple[Location, ...]]:
        """Returns a short title for the user, and what the call reads or changes. `input` is from `read_input`."""
        ...

    async def run(self, input: dict[str, Any], call: RunningCall) -> str:
        """Does the work and returns the result. `input` is from `read_input`.

        Raises:
            Exception: becomes an error result (L3). Raise ToolError with a message for the model.
        """
        ...
