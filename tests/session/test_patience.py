"""The time that a run waits for the person is not the run's (docs/plan.md L14)."""

import asyncio
from collections.abc import Sequence

from fairlead.session.timed_editor import Patience
from fairlead.workspace.editor import Applied, ApprovalAnswer, ApprovalRequest, EditCapabilities, FileEdit


class Slow:
    """An editor whose person answers when told to; `time` is the clock."""

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


async def test_l14_waiting_for_the_person_is_counted_once() -> None:
    """docs/plan.md L14: two questions at once, one after the other, one that is withdrawn; while it lasts too."""
    slow = Slow()
    patience = Patience(slow, lambda: slow.time)
    asked = asyncio.ensure_future(patience.approve(ApprovalRequest("s", "t1", "ls")))
    await slow.pass_time(10)
    also = asyncio.ensure_future(patience.ask("s", "t2", "Which?", []))
    await slow.pass_time(5)
    assert patience.seconds == 15
    slow.answers[0].set_result(None)
    await asked
    await slow.pass_time(2)
    also.cancel()
    await asyncio.wait([also])
    await slow.pass_time(100)
    assert patience.seconds == 17


async def test_l14_a_question_that_no_tool_call_asks_is_no_wait_of_the_run() -> None:
    """docs/plan.md L14: an accept of a protected file is the person's own."""
    slow = Slow()
    patience = Patience(slow, lambda: slow.time)
    asked = asyncio.ensure_future(patience.approve(ApprovalRequest("s", None)))
    await slow.pass_time(10)
    assert patience.seconds == 0
    slow.answers[0].set_result(None)
    assert (await asked).option == "allow_once"
