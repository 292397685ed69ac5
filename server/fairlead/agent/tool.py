"""The tool port: an entry of the dispatch table, and the context of a running call."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from fairlead.agent.model import ToolSpec
from fairlead.edits.origins import Author

Mode = Literal["agent", "plan", "ask"]
ToolKind = Literal["read", "edit", "delete", "move", "search", "execute", "think", "fetch", "ask", "other"]
CHANGES_FILES: Collection[ToolKind] = ("edit", "delete", "move", "execute")
KEEPS_RESULTS: Collection[ToolKind] = ("think", "ask")
"""Compaction never clears their results, because the same call again would not restore them."""


@dataclass(frozen=True, slots=True)
class Location:
    """A file, or a line of it, that a call reads or changes."""

    path: str
    """As the model wrote it."""
    line: int | None = None
    """Counted from 1."""


@dataclass
class RunningCall:
    """What a handler knows about its call."""

    id: str
    item_id: str | None
    """The plan item in progress."""
    output: Callable[[str], None] = field(repr=False)
    """Streams text to the user while the tool runs."""
    progress: str | Callable[[], str] = "Cancelled before it did anything."
    """The result if the call is cancelled. A slow handler updates it, or sets a function that returns it.

    The cancelled handler ends in the background; its own result is discarded (docs/plan.md L16).
    """
    polls: bool = False
    """Set by a handler that waited for background work: the same call may return something else the next time (L10)."""
    changed_paths: Sequence[str] = ()
    """Set by a handler that changed files other than the locations that its `describe` returned."""
    already_shown: Callable[[str], bool] = field(default=lambda _: False, repr=False)
    """Returns whether the same call has already returned this text, and the model can still read it."""

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
        """Whether it changes nothing, except that `todo` changes the plan.

        If true, it also runs in plan mode and ask mode (`todo` not in ask mode), and is exempt from the guard against
        repeats (L10).
        """
        ...

    def describe(self, input: dict[str, Any]) -> tuple[str, tuple[Location, ...]]:
        """Returns a short title for the user, and what the call reads or changes. `input` matches the schema."""
        ...

    async def run(self, input: dict[str, Any], call: RunningCall) -> str:
        """Does the work and returns the result. `input` matches the schema.

        Raises:
            Exception: becomes an error result (L3). Raise ToolError with a message for the model.
        """
        ...
