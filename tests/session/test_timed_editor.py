"""The time limit of a run excludes the time that it waits for the user (docs/plan.md L14)."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from fairlead.code.servers.table import ServerSpec
from fairlead.gate.request import (
    ApprovalAnswer,
    ApprovalRequest,
    ChangeProtectedFile,
    StartProgram,
    UseSecretFile,
    ValueRequest,
)
from fairlead.models.common.endpoint import Endpoint
from fairlead.models.factory import ModelChoice
from fairlead.session.run.prompt import RunTask
from fairlead.session.server_context import ServerContext
from fairlead.session.session import Session
from fairlead.session.settings import BudgetSettings, Settings
from fairlead.session.store.journal import Journals
from fairlead.session.timed_editor import TimedEditor
from fairlead.shell.layers import CommandLayers
from fairlead.workspace.editor import Applied, Claims, EditCapabilities, FileEdit
from fairlead.workspace.paths import Roots
from support.fake_api import Call, FakeApi, Text, Turn
from tools.stand_ins import Documents, ScriptedUser


class SlowEditor:
    """An editor whose user answers when a test sets the result of one of the `answers`; `time` is the clock."""

    def __init__(self) -> None:
        self.time = 0.0
        self.answers: list[asyncio.Future[None]] = []

    @property
    def edit_capabilities(self) -> EditCapabilities:
        return EditCapabilities()

    async def claims(self, paths: Sequence[Path]) -> Claims:
        return Claims()

    async def apply(self, label: str, edits: Sequence[FileEdit]) -> Applied:
        return Applied(True)

    async def approve(self, request: ApprovalRequest) -> ApprovalAnswer:
        await self._answer()
        return ApprovalAnswer("allow_once")

    async def enter(self, request: ValueRequest) -> str | None:
        await self._answer()
        return "value"

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
    approval = asyncio.ensure_future(editor.approve(ApprovalRequest("s", "t1", UseSecretFile(Path(".env")))))
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
    request = ApprovalRequest("s", None, ChangeProtectedFile(Path("ci.yml"), "new"))
    approval = asyncio.ensure_future(editor.approve(request))
    await slow.pass_time(10)
    assert editor.waited_seconds == 0
    slow.answers[0].set_result(None)
    assert (await approval).option == "allow_once"


async def test_l14_a_question_about_a_language_server_counts_while_a_run_waits_for_it() -> None:
    """docs/plan.md L14: the question counts only while the run waits, because a language server that starts in advance
    may ask while the run continues."""
    slow = SlowEditor()
    editor = TimedEditor(slow, lambda: slow.time)
    action = StartProgram("server", Path("ws"), "workspace", from_workspace=False, python=None)
    approval = asyncio.ensure_future(editor.approve(ApprovalRequest("s", None, action)))
    await slow.pass_time(10)
    assert editor.waited_seconds == 0
    with editor.waiting_for_server():
        await slow.pass_time(5)
    await slow.pass_time(10)
    assert editor.waited_seconds == 5
    slow.answers[0].set_result(None)
    await approval
    with editor.waiting_for_server():
        await slow.pass_time(10)
    assert editor.waited_seconds == 5


class LateUser(ScriptedUser):
    """A user who answers after ten minutes. `time` is the clock."""

    time = 0.0

    async def approve(self, request: ApprovalRequest) -> ApprovalAnswer:
        self.time += 600
        return await super().approve(request)


async def test_l14_the_budget_excludes_the_question_about_a_language_server(tmp_path: Path) -> None:
    """docs/plan.md L14: a late answer does not end a run whose budget is a minute."""
    workspace, user = tmp_path / "ws", LateUser("reject")
    workspace.mkdir()
    (workspace / "a.x").write_text("one\n")
    program = workspace / "server"  # from the workspace: whether or not there is a sandbox, the user is asked
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    settings = Settings(
        budget=BudgetSettings(minutes=1),
        language_servers={"x": ServerSpec("x", ("./server",), {".x": "x"})},
    )
    work = Turn((Call("code", {"action": "symbols", "path": "a.x"}),))
    with FakeApi([work, Turn((Text("Done."),))]) as api:
        endpoint, roots = Endpoint("m", 1000, None, api.url, "test-key", None), Roots.of(workspace)
        context = ServerContext(
            Documents(),
            user,
            lambda _: ModelChoice(endpoint),
            settings,
            clock=lambda: user.time,
            layers=CommandLayers(tmp_path / "storage"),
            roots=roots,
        )
        session = Session("0123456789ab", "", roots, context, lambda _: None, Journals().in_memory())
        result = await session.run(RunTask("Work."))
        await session.close()
    [action] = [request.action for request in user.asked]
    assert isinstance(action, StartProgram)
    assert action.command == str(program)
    assert (result.stop_reason, result.message) == ("end_turn", "Done.")
