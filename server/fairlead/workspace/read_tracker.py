"""Remembers the texts that the agent has read, to notice when their files change."""

import os
from collections.abc import Awaitable, Callable, Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

from fairlead.edits.diff import changed_blocks
from fairlead.text_lines import split_lines
from fairlead.workspace.errors import WorkspaceError
from fairlead.workspace.long_work import Yielder, compute
from fairlead.workspace.reread_queue import RereadQueue

MAX_SPANS = 50


@dataclass(frozen=True, slots=True)
class Changed:
    """A file that changed other than by the agent's edits."""

    path: Path
    spans: tuple[tuple[int, int], ...] | None
    """The first and last lines of the first `MAX_SPANS` changes in its new text, from 1.

    None if it was deleted, or can no longer be read.
    """


class ReadTracker:
    """The text that the agent last read or wrote, by file."""

    def __init__(
        self,
        read: Callable[[Path], str | None],
        preload: Callable[[Path], Awaitable[None]],
        open_paths: Callable[[], Iterable[Path]],
    ) -> None:
        """
        Args:
            read: returns the text of a file as the agent sees it, None if there is no file.
            preload: reads a long file in a thread, so that the next `read` is quick.
            open_paths: returns the files that are open in the editor.
        """
        self._read, self._preload, self._open_paths = read, preload, open_paths
        self._texts: dict[Path, str | None] = {}
        self.folders: dict[str, None] = {}
        """The folders of the files that the agent has read or written, as keys in order."""
        self.reread_queue = RereadQueue(Path)

    def forget(self) -> None:
        """Forgets all files. Call it when their texts are no longer in the conversation."""
        self._texts, self.folders, self.reread_queue = {}, {}, RereadQueue(Path)

    @property
    def paths(self) -> Collection[Path]:
        """The files that the agent has read or written, in the order in which it first did so."""
        return self._texts.keys()

    def note(self, path: Path, text: str | None) -> None:
        """Remembers the text that the model has seen of a file."""
        if path not in self._texts:
            self.folders[os.path.dirname(path)] = None
        self._texts[path] = text

    def acknowledge(self, path: Path, before: str | None) -> None:
        """Marks a change as known, because the model reads about it elsewhere.

        Does nothing unless the model knew the text `before` the change.
        """
        if path in self._texts and self._texts[path] == before:
            self._texts[path] = self._current(path)

    async def take_changes(self) -> list[Changed]:
        """The files that have changed since the agent read them, of those that `RereadQueue` chooses.

        Each change is returned once.
        """
        found: list[Changed] = []
        yielder = Yielder()
        for path in self.reread_queue.take(self._texts.keys(), self._open_paths()):
            await yielder.yield_if_due()
            await self._preload(path)
            known, now = self._texts[path], self._current(path)
            if now != known:
                spans = None if now is None else await compute(_spans, known or "", now)
                found.append(Changed(path, spans))
                self._texts[path] = now
        return found

    def _current(self, path: Path) -> str | None:
        try:
            return self._read(path)
        except WorkspaceError:
            return None


def _spans(old: str, new: str) -> tuple[tuple[int, int], ...]:
    """The first and last lines of the first `MAX_SPANS` changes, from 1.

    Where lines were only removed, both are the number of the line that follows them, even at the end of the file.
    """
    blocks = changed_blocks(split_lines(old), split_lines(new))
    return tuple((b0 + 1, max(b0 + 1, b1)) for _, _, b0, b1 in blocks[:MAX_SPANS])
