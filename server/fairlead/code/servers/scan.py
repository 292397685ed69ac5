"""Finds out whether a language server is still reading the workspace, as far as the server reports that."""

import asyncio
import contextlib
from collections.abc import Mapping
from typing import Any

from fairlead.display import escape_to_one_line
from fairlead.json_values import fields_of

MAX_WORKING = 1_000
"""How many pieces of work are followed at once. More are ignored."""
MAX_TITLE = 80
"""How many characters of a title are kept."""


class WorkspaceScan:
    """Follows what a server reports about reading the workspace."""

    def __init__(self, message: str, seconds: float) -> None:
        """
        Args:
            message: a part of the message that the server logs when it has listed the workspace's files; empty: it logs
                no such message.
            seconds: the time limit, from now on. After it has passed, `wait` returns at once, so that later work, such
                as a build, delays no question.
        """
        self._message, self._listed = message, not message
        self._deadline = asyncio.get_running_loop().time() + seconds
        self._report_deadline = 0.0
        self._working: dict[str, str] = {}
        """The titles of the reported work, by its token."""
        self._reported = asyncio.Event()
        """Set once the server has reported work or the time for that is over; from the start if `message` is given."""
        self._done = asyncio.Event()
        self._loaded = asyncio.Event()
        self._loaded.set()
        self.finished = 0
        """How often all work was finished. What the server answered before may be incomplete."""
        self.loading_reports = 0
        """How often the server has reported that it is loading the workspace. Answers from that time are incomplete."""
        if message:
            self._reported.set()
        self._update()

    @property
    def unfinished(self) -> str:
        """What the server is still doing, as far as it reports that; empty: nothing."""
        if not self._loaded.is_set():
            return "loading the workspace"
        if self._working:
            return next(iter(self._working.values()))
        return "" if self._listed else "listing the workspace's files"

    def expect_report(self, seconds: float) -> None:
        """Call it when the server is ready. For `seconds` from then on, `wait` waits for the first report of work."""
        self._report_deadline = min(self._deadline, asyncio.get_running_loop().time() + seconds)

    def on_message(self, text: str) -> None:
        """Call it with each message that the server logs."""
        self._listed = self._listed or self._message in text
        self._update()

    def on_progress(self, params: Mapping[str, Any]) -> None:
        """Call it with each report of work (LSP 3.18, `$/progress`)."""
        token, value = str(params.get("token"))[:200], fields_of(params.get("value"))
        kind = value.get("kind")
        if kind == "begin" and len(self._working) < MAX_WORKING:
            self._working[token] = escape_to_one_line(str(value.get("title") or "working"))[:MAX_TITLE]
            self._reported.set()
        elif kind == "end":
            self._working.pop(token, None)
        self._update()

    def on_status(self, params: Mapping[str, Any]) -> None:
        """Call it with each status of the server (`experimental/serverStatus`, an extension of rust-analyzer)."""
        if params.get("quiescent") is False:
            self.loading_reports += 1
            self._loaded.clear()
        else:
            self._loaded.set()

    def _update(self) -> None:
        was_done = self._done.is_set()
        if self._listed and not self._working:
            self._done.set()
            self.finished += not was_done
        else:
            self._done.clear()

    async def wait(self) -> None:
        """Returns when the server has read the workspace and reports no work, or the time is over."""
        await _wait_until(self._report_deadline, self._reported)
        self._reported.set()  # without a report by now, no other question waits for it
        await _wait_until(self._deadline, self._done)

    async def wait_until_loaded(self) -> None:
        """Returns when the latest status does not say that the server is loading the workspace. Has no time limit."""
        await self._loaded.wait()


async def _wait_until(deadline: float, event: asyncio.Event) -> None:
    """Waits for an event, at most until this time of the event loop."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout_at(deadline):
            await event.wait()
