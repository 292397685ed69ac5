"""Watches the folders of the files that matter to a session, so that external changes are seen within a second.

The whole tree is not watched, because that would include node_modules, and the system limits the number of watches.
Changes that the watcher misses (no watches left, a network folder) are found some rounds later (`RereadQueue`), at the
latest by an accept, which compares the bytes.
"""

import asyncio
import contextlib
import logging
import os
from collections.abc import AsyncGenerator, Callable, Collection
from pathlib import Path
from typing import Any

log = logging.getLogger(__name__)

MAX_FOLDERS = 500  # files in further folders are not watched
DEBOUNCE_MS = 400
STEP_MS = 100
RETRY_SECONDS = 1.0  # the pause after a failure


class Watcher:
    """Watches the files of all sessions."""

    def __init__(
        self, on_change: Callable[[Collection[Path]], None], on_other_change: Callable[[], None] = lambda: None
    ) -> None:
        """
        Args:
            on_change: gets the watched files that may have changed: all of them each time that watching starts.
            on_other_change: is called when other files in the same folders have changed.
        """
        self._on_change, self._on_other_change = on_change, on_other_change
        self._files: dict[str, Path] = {}  # by normalized name, which is faster to look up than a path
        self._folders: set[Path] = set()
        self._interrupt = asyncio.Event()  # ends the current watch: there are new folders, or the watcher is closed
        self._task: asyncio.Task[None] | None = None

    def watch(self, path: Path) -> None:
        """Starts watching a file. If its folder does not exist yet, has no effect until another folder is added."""
        name = os.path.normcase(path)
        if name in self._files:
            return
        self._files[name] = path
        if path.parent not in self._folders and len(self._folders) < MAX_FOLDERS:
            self._folders.add(path.parent)
            self._interrupt.set()
            if self._task is None:
                self._task = asyncio.ensure_future(self._run())

    async def close(self) -> None:
        """Stops watching."""
        if self._task is not None:
            self._interrupt.set()
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    async def _run(self) -> None:
        """Watches the folders, and starts again when there are new ones."""
        awatch = await asyncio.to_thread(_awatch)
        while True:
            try:
                self._interrupt.clear()
                folders = [folder for folder in self._folders if folder.is_dir()]
                if not folders:
                    await self._interrupt.wait()
                    continue
                changes = awatch(
                    *folders,
                    watch_filter=None,
                    recursive=False,
                    debounce=DEBOUNCE_MS,
                    step=STEP_MS,
                    stop_event=self._interrupt,
                )
                first = asyncio.ensure_future(anext(changes, None))
                await asyncio.sleep(0)  # from here on, the folders are watched; what changed before is reported now
                self._on_change(list(self._files.values()))
                found = await first
                while found is not None:
                    self._report({os.path.normcase(name) for _, name in found})
                    found = await anext(changes, None)
            # the library raises RuntimeError, in a group for a file name that is not UTF-8
            except (OSError, RuntimeError, ExceptionGroup) as error:
                log.warning("watching failed and is retried: %r", error)
                await asyncio.sleep(RETRY_SECONDS)

    def _report(self, names: Collection[str]) -> None:
        watched = {self._files[name] for name in names if name in self._files}
        if watched:
            self._on_change(watched)
        if len(watched) < len(names):
            self._on_other_change()


def _awatch() -> Callable[..., AsyncGenerator[set[tuple[Any, str]], None]]:
    """Imports the library only when the first file is watched, because the import is a sixth of the startup time."""
    from watchfiles import awatch  # noqa: PLC0415  # pyright: ignore[reportUnknownVariableType]

    return awatch  # pyright: ignore[reportUnknownVariableType]
