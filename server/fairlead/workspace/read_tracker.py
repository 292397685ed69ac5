"""What the agent knows of the files that it read, and where they say something else by now."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from fairlead.agent.errors import ToolError
from fairlead.edits.diff import changed_blocks
from fairlead.edits.text import split_lines
from fairlead.workspace.long_work import Yielder, compute

MAX_SPANS = 50


@dataclass(frozen=True, slots=True)
class Changed:
    """A file that another hand changed: `spans` are lines from 1 in what it says now, None where it is gone."""

    path: Path
    spans: tuple[tuple[int, int], ...] | None


class ReadTracker:
    """The texts that the agent read or wrote, by file."""

    def __init__(self, read: Callable[[Path], str | None], preload: Callable[[Path], Awaitable[None]]) -> None:
        """`look` makes what a long file says known, so that `read` is quick."""
        self._read, self._preload = read, preload
        self._texts: dict[Path, str | None] = {}

    def note(self, path: Path, text: str | None) -> None:
        self._texts[path] = text

    def acknowledge(self, path: Path, before: str | None) -> None:
        """The agent hears of a change otherwise: where it knew the text before, it knows the one of now too."""
        if path in self._texts and self._texts[path] == before:
            self._texts[path] = self._now(path)

    async def take_changes(self) -> list[Changed]:
        """The files that say something else than the agent knows; it knows then."""
        found: list[Changed] = []
        yielder = Yielder()
        for path in list(self._texts):
            await yielder.checkpoint()
            await self._preload(path)
            known, now = self._texts[path], self._now(path)
            if now != known:
                spans = None if now is None else await compute(_spans, known or "", now)
                found.append(Changed(path, spans))
                self._texts[path] = now
        return found

    def _now(self, path: Path) -> str | None:
        try:
            return self._read(path)
        except ToolError:
            return None


def _spans(old: str, new: str) -> tuple[tuple[int, int], ...]:
    """The changed lines of the new text, from 1; where lines only went, the line that follows."""
    blocks = changed_blocks(split_lines(old), split_lines(new))
    return tuple((b0 + 1, max(b0 + 1, b1)) for _, _, b0, b1 in blocks[:MAX_SPANS])
