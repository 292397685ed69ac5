"""The editor port of one session. Measures how long a run waits for the user, which its time limit excludes (L14)."""

import asyncio
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Literal

from fairlead.gate.request import (
    STARTS,
    ApprovalAnswer,
    ApprovalRequest,
    AskingEditor,
    RunHook,
    StartProgram,
    UseChangedTools,
    ValueRequest,
)
from fairlead.workspace.editor import Applied, Claims, EditCapabilities, FileEdit

_Wait = Literal["question", "own question", "server question", "server"]
"""A question of a tool call, a question about the user's own action, for which no run waits, the question whether a
language server may run, or a run's wait for such a server.
"""


class TimedEditor:
    """Forwards to the editor. The time of overlapping questions counts once.

    Args:
        clock: seconds since an arbitrary start.
    """

    def __init__(self, editor: AskingEditor, clock: Callable[[], float]) -> None:
        self._editor = editor
        self._clock = clock
        self._open = Counter[_Wait]()
        self._counted_at = 0.0
        self._waited = 0.0
        self.awaiting_report = asyncio.Event()
        """Set while a decision or an undo waits for the editor to report documents that the editor has changed."""

    @property
    def waited_seconds(self) -> float:
        """How long the session's runs have waited for the user so far. Omits questions about the user's own actions."""
        is_waiting = self._open["question"] or (self._open["server question"] and self._open["server"])
        return self._waited + (self._clock() - self._counted_at if is_waiting else 0.0)

    @property
    def edit_capabilities(self) -> EditCapabilities:
        return self._editor.edit_capabilities

    async def apply(self, label: str, edits: Sequence[FileEdit]) -> Applied:
        return await self._editor.apply(label, edits)

    async def claims(self, paths: Sequence[Path]) -> Claims:
        return await self._editor.claims(paths)

    async def approve(self, request: ApprovalRequest) -> ApprovalAnswer:
        """Asks the user.

        The wait for an answer about a language server counts only during `waiting_for_server`, because servers also
        start in advance, while the run continues.
        """
        is_of_run = request.call_id is not None or isinstance(request.action, STARTS | UseChangedTools | RunHook)
        kind: _Wait = "question" if is_of_run else "own question"
        with self._waiting("server question" if isinstance(request.action, StartProgram) else kind):
            return await self._editor.approve(request)

    def waiting_for_server(self) -> AbstractContextManager[None]:
        """Enter it while a run waits for a language server, whose start may wait for the user."""
        return self._waiting("server")

    async def ask(self, session_id: str, call_id: str, question: str, options: Sequence[str]) -> str | None:
        with self._waiting("question"):
            return await self._editor.ask(session_id, call_id, question, options)

    async def enter(self, request: ValueRequest) -> str | None:
        with self._waiting("question"):
            return await self._editor.enter(request)

    @contextmanager
    def _waiting(self, kind: _Wait) -> Generator[None]:
        self._change(kind, 1)
        try:
            yield
        finally:
            self._change(kind, -1)

    def _change(self, kind: _Wait, number: int) -> None:
        self._waited, self._counted_at = self.waited_seconds, self._clock()
        self._open[kind] += number
