"""The time limit of a run excludes the time that it waits for the user (docs/plan.md L14)."""

import asyncio
from collections.abc import Sequence

from fairlead.session.timed_editor import TimedEditor
from fairlead.workspace.editor import Applied, ApprovalAnswer, ApprovalRequest, EditCapabilities, FileEdit


class SlowEditor:
    """An editor whose user answers when a test sets the result of `answers`; `time` is the clock."""

    def __init__(self) -> None:
        self.time = 0.0
        self.answers: list[asyncio.Future[None]] = []

    @property
    def edit_capabilities(self) -> EditCapabilities:
        return EditCapabilities()

    async def apply(self, label: str, edits: Sequence[FileEdit]) -> Applied:
        return Applied(True)

    async def approve(self, request: ApprovalRequest) -> ApprovalAnswer:
        await self._answer()
        return ApprovalAnswer("allow_once")

    async def ask(self, session_id: str, call_id: str, question: str, options: Sequence[str]) -> str | None:
        await self._answer()
        return "yes"

    async def _answer(self) -> None:
        self.answers.append(asyncio.get_running_loop().create_future())
        await self.answers[-1]

    async def pass_time(self, seconds: float) -> None:
        await asyncio.sleep(0)
        self.time += seconds


async def test_l14_waiting_for_the_user_is_counted_once() -> None:
    """docs/plan.md L14: overlapping questions count once, also a cancelled one and one that is still open."""
    slow = SlowEditor()
    editor = TimedEditor(slow, lambda: slow.time)
    approval = asyncio.ensure_future(editor.approve(ApprovalRequest("s", "t1", "ls")))
    await slow.pass_time(10)
    question = asyncio.ensure_future(editor.ask("s", "t2", "Which?", []))
    await slow.pass_time(5)
    assert editor.waited_seconds == 15
    slow.answers[0].set_result(None)
    await approval
    await slow.pass_time(2)
    question.cancel()
    await asyncio.wait([question])
    await slow.pass_time(100)
    assert editor.waited_seconds == 17


async def test_l14_a_question_without_a_tool_call_does_not_count() -> None:
    """docs/plan.md L14: no run waits while the user confirms the accept of a protected file."""
    slow = SlowEditor()
    editor = TimedEditor(slow, lambda: slow.time)
    approval = asyncio.ensure_future(editor.approve(ApprovalRequest("s", None)))
    await slow.pass_time(10)
    assert editor.waited_seconds == 0
    slow.answers[0].set_result(None)
    assert (await approval).option == "allow_once"
