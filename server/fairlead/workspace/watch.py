"""Watches the folders of the files that matter, so that a change by another hand is seen within a second.

Not the whole tree: a recursive watch would watch node_modules too, and the system's watches are few. What is missed
(no watches left, a network folder) is still found by the look at the bytes before every accept.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, Callable, Collection
from pathlib import Path
from typing import Any

log = logging.getLogger(__name__)

MAX_FOLDERS = 500
DEBOUNCE_MS = 400
STEP_MS = 100
AGAIN = 1.0  # seconds after which watching is tried again where it failed


class Watcher:
    """One for a server. `on_change` gets the watched files that may have changed, all of one moment together."""

    def __init__(self, on_change: Callable[[Collection[Path]], None]) -> None:
        self._on_change = on_change
        self._files: set[Path] = set()
        self._folders: set[Path] = set()
        self._more = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def watch(self, path: Path) -> None:
        """From now on a file is watched."""
        if path in self._files:
            return
        self._files.add(path)
        if path.parent not in self._folders and len(self._folders) < MAX_FOLDERS:
            self._folders.add(path.parent)
            self._more.set()
            if self._task is None:
                self._task = asyncio.ensure_future(self._run())

    async def close(self) -> None:
        if self._task is not None:
            self._more.set()
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    async def _run(self) -> None:
        """Watches what is to be watched, and begins anew when that becomes more."""
        awatch = await asyncio.to_thread(_awatch)
        while True:
            try:
                self._more.clear()
                folders = [folder for folder in self._folders if folder.is_dir()]
                if not folders:
                    await self._more.wait()
                    continue
                changes = awatch(
                    *folders,
                    watch_filter=self._is_watched,
                    recursive=False,
                    debounce=DEBOUNCE_MS,
                    step=STEP_MS,
                    stop_event=self._more,
                )
                first = asyncio.ensure_future(anext(changes, None))
                await asyncio.sleep(0)  # the folders are watched from here on; what changed before is looked for now
                self._on_change(list(self._files))
                found = await first
                while found is not None:
                    self._on_change({Path(name) for _, name in found})
                    found = await anext(changes, None)
            except (OSError, RuntimeError) as error:  # the library raises the second kind at odd file names
                log.warning("watching begins anew: %s", error)
                await asyncio.sleep(AGAIN)

    def _is_watched(self, _: object, path: str) -> bool:
        return Path(path) in self._files


def _awatch() -> Callable[..., AsyncGenerator[set[tuple[Any, str]], None]]:
    """Import the library when the first file is watched, because the import takes a sixth of the server's start."""
    from watchfiles import awatch  # noqa: PLC0415  # pyright: ignore[reportUnknownVariableType]

    return awatch  # pyright: ignore[reportUnknownVariableType]
