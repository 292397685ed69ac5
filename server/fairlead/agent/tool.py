"""The tool port: an entry of the dispatch table, and what a running call may do."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from fairlead.agent.model import ToolSpec

Mode = Literal["agent", "plan", "ask"]
ToolKind = Literal["read", "edit", "delete", "move", "search", "execute", "think", "fetch", "other"]
CHANGES_FILES: Collection[ToolKind] = ("edit", "delete", "move", "execute")


@dataclass(frozen=True, slots=True)
class Location:
    """A place that a call touches: a path as the model wrote it, and a line counted from 1."""

    path: str
    line: int | None = None


@dataclass
class RunningCall:
    """What a handler knows of its call.

    `output` streams text to the person while the tool runs; `progress` is what the model reads if the call is
    cancelled, so a handler that takes long keeps it true; a function where it changes all the time. The handler is
    cancelled too, but nobody waits for its end (docs/plan.md L16). `fresh` says that the same call may tell something
    else the next time, whatever else changes: it waited for what goes on by itself (L10). `told` says whether the same
    call had this very text as its result, and it can still be read in the conversation.
    """

    id: str
    item_id: str | None
    output: Callable[[str], None] = field(repr=False)
    progress: str | Callable[[], str] = "Cancelled before it had done anything."
    fresh: bool = False
    told: Callable[[str], bool] = field(default=lambda _: False, repr=False)

    def told_when_stopped(self) -> str:
        return self.progress if isinstance(self.progress, str) else self.progress()


class Tool(Protocol):
    """One entry of the dispatch table (L2)."""

    @property
    def spec(self) -> ToolSpec: ...

    @property
    def kind(self) -> ToolKind: ...

    @property
    def read_only(self) -> bool:
        """Exempt from the guard against repeated calls (L10)."""
        ...

    def describe(self, input: dict[str, Any]) -> tuple[str, tuple[Location, ...]]:
        """A short title for people and the places touched; `input` fits the schema."""
        ...

    async def run(self, input: dict[str, Any], call: RunningCall) -> str:
        """Does the work; `input` fits the schema.

        Raises:
            Exception: any; it becomes an error result (L3). ToolError for what the model should read as it is.
        """
        ...
