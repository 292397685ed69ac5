"""The editor as one session asks it, and how long its run has waited for the person: that is no time of the run's."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from fairlead.workspace.editor import Applied, ApprovalAnswer, ApprovalRequest, EditCapabilities, Editor, FileEdit


class Patience:
    """`clock` tells seconds. Questions that are open at once are waited for once."""

    def __init__(self, editor: Editor, clock: Callable[[], float]) -> None:
        self._editor = editor
        self._clock = clock
        self._open = 0
        self._since = 0.0
        self._waited = 0.0

    @property
    def seconds(self) -> float:
        """How long tool calls have waited for the person, up to now."""
        return self._waited + (self._clock() - self._since if self._open else 0.0)

    @property
    def edit_capabilities(self) -> EditCapabilities:
        return self._editor.edit_capabilities

    async def apply(self, label: str, edits: Sequence[FileEdit]) -> Applied:
        return await self._editor.apply(label, edits)

    async def approve(self, request: ApprovalRequest) -> ApprovalAnswer:
        if request.call_id is None:  # the person's own doing, and no run waits for it
            return await self._editor.approve(request)
        with self._waiting():
            return await self._editor.approve(request)

    async def ask(self, session_id: str, call_id: str, question: str, options: Sequence[str]) -> str | None:
        with self._waiting():
            return await self._editor.ask(session_id, call_id, question, options)

    @contextmanager
    def _waiting(self) -> Iterator[None]:
        if not self._open:
            self._since = self._clock()
        self._open += 1
        try:
            yield
        finally:
            self._open -= 1
            if not self._open:
                self._waited += self._clock() - self._since
