"""The editor port of one session. Measures how long a run waits for the user, which its time limit excludes (L14)."""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager

from fairlead.workspace.editor import Applied, ApprovalAnswer, ApprovalRequest, EditCapabilities, Editor, FileEdit


class TimedEditor:
    """Forwards to the editor. The time of overlapping questions counts once.

    Args:
        clock: seconds since an arbitrary start.
    """

    def __init__(self, editor: Editor, clock: Callable[[], float]) -> None:
        self._editor = editor
        self._clock = clock
        self._open_questions = 0
        self._opened_at = 0.0
        self._waited = 0.0

    @property
    def waited_seconds(self) -> float:
        """How long tool calls have waited for the user so far, in all runs. Omits questions without a `call_id`."""
        return self._waited + (self._clock() - self._opened_at if self._open_questions else 0.0)

    @property
    def edit_capabilities(self) -> EditCapabilities:
        return self._editor.edit_capabilities

    async def apply(self, label: str, edits: Sequence[FileEdit]) -> Applied:
        return await self._editor.apply(label, edits)

    async def approve(self, request: ApprovalRequest) -> ApprovalAnswer:
        if request.call_id is None:  # usually the user's own action, for which no run waits; or a language server
            return await self._editor.approve(request)
        with self._waiting():
            return await self._editor.approve(request)

    async def ask(self, session_id: str, call_id: str, question: str, options: Sequence[str]) -> str | None:
        with self._waiting():
            return await self._editor.ask(session_id, call_id, question, options)

    @contextmanager
    def _waiting(self) -> Generator[None]:
        if not self._open_questions:
            self._opened_at = self._clock()
        self._open_questions += 1
        try:
            yield
        finally:
            self._open_questions -= 1
            if not self._open_questions:
                self._waited += self._clock() - self._opened_at
