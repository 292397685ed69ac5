"""However a command ends, its box is closed and its changes are reported."""

import asyncio
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from fairlead.agent.events import CommandEnded, CommandStarted, Event
from fairlead.agent.tool import RunningCall
from fairlead.edits.changeset import Changeset
from fairlead.errors import ToolError
from fairlead.gate.gate import Gate
from fairlead.gate.request import RunCommand
from fairlead.shell.command_line.policy import Policy
from fairlead.shell.command_line.rules import Rule
from fairlead.shell.direct import DirectBox, DirectLayer
from fairlead.shell.layer import (
    DEFAULT_LIMITS,
    NO_PROGRAM,
    Change,
    Changes,
    Entry,
    Launch,
    Layer,
    Limits,
    NotRun,
    ProgramBox,
    View,
    Where,
)
from fairlead.shell.network import NO_NETWORK, Network
from fairlead.tools.check_run import CheckEnd, CheckRun, run_check
from fairlead.tools.command_changes import ProposedChanges
from fairlead.tools.commands import Commands
from fairlead.workspace.paths import Roots
from tools.stand_ins import Desk, ScriptedUser, direct_commands

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the commands are written for a POSIX shell")
ALLOWING = Policy(allow=[Rule.parse("ls")])
CHANGES = Changes([Change("a.txt", None, Entry(b"a"))])


@dataclass
class StandInLayer:
    """A layer that claims to be a sandbox. Each of its boxes reports one change."""

    root: Path
    fails: ToolError | None = None
    changes: Changes = CHANGES
    where: Where = "sandboxed"
    has_retained: bool = False
    opened: list[tuple[str, bool, bool]] = field(default_factory=list)
    closed: int = 0

    @property
    def roots(self) -> Roots:
        return Roots.of(self.root)

    async def open(
        self,
        command: str,
        view: View,
        *,
        folder: Path | None = None,
        limits: Limits = DEFAULT_LIMITS,
        network: Network = NO_NETWORK,
        background: bool = False,
        program: ProgramBox = NO_PROGRAM,
        records: bool = False,
    ) -> "StandInBox":
        self.opened.append((command, network.internet, background))
        return StandInBox(self, await DirectLayer(self.roots).open(command, view, limits=limits))

    async def leftovers(self, view: View) -> Sequence[str]:
        return ()

    async def aclose(self) -> None: ...


@dataclass
class StandInBox:
    layer: StandInLayer
    inner: DirectBox

    @property
    def launch(self) -> Launch:
        return self.inner.launch

    async def changes(self, shown: Mapping[str, Entry | None]) -> Changes:
        return await self.inner.changes(shown)

    async def close(self) -> Changes:
        self.layer.closed += 1
        await asyncio.sleep(0.05)
        if self.layer.fails:
            raise self.layer.fails
        return self.layer.changes


@dataclass
class Setup:
    desk: Desk
    layer: StandInLayer
    proposed: list[str]

    @property
    def events(self) -> list[Event]:
        return self.desk.events


def set_up(workspace: Path, policy: Policy = ALLOWING, fails: ToolError | None = None) -> Setup:
    layer, proposed, user = StandInLayer(workspace, fails), [], ScriptedUser("reject")

    async def open_layer() -> Layer:
        return layer

    async def propose_changes(changes: Changes, roots: Roots, call: RunningCall) -> ProposedChanges:
        proposed.append(call.id)
        return ProposedChanges([f"{len(changes.files)} file changed."], [], [])

    commands: Commands = replace(
        direct_commands(workspace, user),
        gate=Gate("session-1", user, lambda: policy),
        layer=open_layer,
        propose_changes=propose_changes,
        unavailable="",
    )
    return Setup(Desk(workspace, user, commands=commands), layer, proposed)


async def test_a_sandboxed_command_runs_without_asking_and_its_changes_are_reported(workspace: Path) -> None:
    """The result has the output, then the changes, then the exit code."""
    setup = set_up(workspace)
    text = await setup.desk.call("bash", command="echo hi; exit 2")
    assert text.startswith("hi\n1 file changed.\n(exit code 2, ")
    assert setup.desk.user.asked == []
    assert (setup.layer.opened, setup.layer.closed) == ([("echo hi; exit 2", False, False)], 1)
    [started, ended] = setup.events
    assert isinstance(started, CommandStarted)
    assert isinstance(ended, CommandEnded)
    assert (started.where, started.network, started.handle, started.item_id) == ("sandboxed", False, None, "1")
    assert (ended.ended, ended.run.exit_code) == ("exited", 2)


@pytest.mark.parametrize("discarded", [False, True])
async def test_a_command_that_saw_discarded_changes_verifies_nothing(workspace: Path, discarded: bool) -> None:
    """docs/plan.md P17: changes outside of the workspace were discarded, so the command saw files that do not exist."""
    setup = set_up(workspace)
    setup.layer.changes = replace(CHANGES, discarded_outside=discarded)
    await setup.desk.call("bash", command="python3 -m unittest")
    end = await check(setup, command="true")
    assert ("verifies nothing" in end.discarded) == discarded
    runs = [end.run for end in ends(setup)]
    assert [(run.verified == (), run.state is None) for run in runs] == [(discarded, discarded)] * 2


@pytest.mark.parametrize(
    ("command", "named"),
    [
        ("exit 1", "1 file that looks like a secret is hidden from commands: z.pem."),
        (
            "echo 'x.key: No such file'; exit 1",
            "2 files that look like secrets are hidden from commands: z.pem, /m/x.key.",
        ),
        (
            "echo '# hidden by Fairlead'",
            "3 files that look like secrets are hidden from commands: z.pem, /m/a.key, /m/x.key.",
        ),
        (
            """echo "error: unable to unlink old 'm/x.key': Device or resource busy"; exit 128""",
            "hidden from commands: z.pem, /m/x.key. Git can neither read nor replace them. `unsandboxed` shows them",
        ),
        (
            "echo 'fatal: Unable to process path z.pem'; exit 1",
            "1 file that looks like a secret is hidden from commands: z.pem. Git can neither read nor replace them. ",
        ),
        ("echo 'fatal: bad revision'; exit 128", "hidden from commands: z.pem. `unsandboxed` shows it"),
        ("true", ""),
    ],
)
async def test_hidden_files_around_the_workspace_are_named_only_if_they_matter(
    workspace: Path, command: str, named: str
) -> None:
    """Hidden files around the workspace are named only if the output contains their name or the placeholder text.

    Otherwise any failure would seem to be about hundreds of files elsewhere.
    """
    setup = set_up(workspace)
    around = View(hidden=["a.key", "x.key"])

    async def view(_roots: Roots, _changes: Changeset | None = None) -> View:
        return View(hidden=["z.pem"], enclosing={Path("/m"): around})

    assert setup.desk.commands is not None
    desk = Desk(workspace, commands=replace(setup.desk.commands, view=view))
    text = await desk.call("bash", command=command)
    assert named in text
    assert ("hidden from commands" in text) == bool(named)


async def test_the_question_says_where_the_command_would_run_and_why_it_asks(workspace: Path) -> None:
    """The reasons are those of the policy. In the sandbox the command sees the proposals, so no reason is added."""
    setup = set_up(workspace)
    await setup.desk.call("write_file", path="a", content="x")
    with pytest.raises(ToolError, match="did not allow"):
        await setup.desk.call("bash", command="curl x", network=True)
    [asked] = setup.desk.user.asked
    assert asked.action == RunCommand("curl x", workspace, "sandboxed", Network(internet=True))
    assert "It uses the network" in asked.reasons[0]
    assert (setup.layer.opened, setup.events) == ([], [])


async def test_outside_the_sandbox_it_runs_in_the_workspace_and_reports_what_it_does_not_see(workspace: Path) -> None:
    """A command outside the sandbox does not see the proposals, and its result says so."""
    setup = set_up(workspace)
    await setup.desk.call("write_file", path="a", content="x")
    text = await setup.desk.call("bash", command="ls", unsandboxed=True)
    assert text.startswith("Runs on the files on disk; 1 proposed edit is not visible to it.\n")
    assert setup.layer.opened == []
    assert [event.where for event in setup.events if isinstance(event, CommandStarted)] == ["workspace"]


async def test_a_denied_command_is_refused_without_asking(workspace: Path) -> None:
    """The model reads the reasons of the policy. The user is not asked, and no box is opened."""
    setup = set_up(workspace, Policy(deny=[Rule.parse("rm *")]))
    with pytest.raises(ToolError, match=r"settings do not allow this command\. Your deny rule blocks it: rm \*"):
        await setup.desk.call("bash", command="rm a")
    assert (setup.desk.user.asked, setup.layer.opened) == ([], [])


async def test_changes_of_a_command_at_its_time_limit_are_reported(workspace: Path) -> None:
    """At its time limit, a command's changes are proposed. The error has their summary and the output until then."""
    setup = set_up(workspace)
    with pytest.raises(ToolError, match=r"^Killed at the time limit of 3 s. Output so far:\non\n1 file changed.\n"):
        await setup.desk.call("bash", command="echo on; sleep 60", timeout_seconds=3)
    assert (setup.layer.closed, setup.proposed) == (1, ["call-1"])


async def test_a_time_limit_above_the_maximum_is_lowered_and_reported(workspace: Path) -> None:
    """The command runs with the maximum as its time limit, and the result begins with a note about that."""
    text = await set_up(workspace).desk.call("bash", command="true", timeout_seconds=100_000)
    assert text.startswith("(The time limit is 3600 s, the maximum.)\n")


async def test_changes_of_a_cancelled_command_are_discarded_and_that_is_reported(workspace: Path) -> None:
    """docs/faults.md 20: the box is closed before the call ends."""
    setup = set_up(workspace)
    task = asyncio.ensure_future(setup.desk.call("bash", command="echo on; sleep 60"))
    async with asyncio.timeout(30):
        while "on" not in setup.desk.streamed:
            await asyncio.wait([task], timeout=0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    said = setup.desk.last.result_when_stopped()
    assert said.startswith("Cancelled: killed after ")
    assert said.endswith(" s. Any changes to files were discarded. Output so far:\non")
    assert (setup.layer.closed, setup.proposed) == (1, [])
    assert [event.ended for event in setup.events if isinstance(event, CommandEnded)] == ["stopped"]


async def test_every_box_is_closed_whenever_the_call_is_cancelled(workspace: Path) -> None:
    """The call is cancelled at many moments: while the box opens, the command runs, and the box is closed."""
    setup = set_up(workspace)
    for moment in range(0, 200, 8):
        task = asyncio.ensure_future(setup.desk.call("bash", command="true"))
        await asyncio.wait([task], timeout=moment / 1000)
        task.cancel()
        await asyncio.wait([task])
        assert setup.layer.closed == len(setup.layer.opened)


async def test_changes_that_cannot_be_read_are_reported_as_lost(workspace: Path) -> None:
    """The result has the command's output and says why the changes are lost."""
    setup = set_up(workspace, fails=ToolError("Its changes are lost: the disk is full."))
    text = await setup.desk.call("bash", command="echo hi")
    assert text.startswith("hi\nIts changes are lost: the disk is full.\n(exit code 0, ")


async def test_changes_of_a_background_command_are_reported_at_the_next_read(workspace: Path) -> None:
    """A background command has its own box. Its changes are in the result of the next `bash_output`."""
    setup = set_up(workspace)
    await setup.desk.call("bash", command="echo hi", background=True)
    text = await setup.desk.call("bash_output", id="cmd-1", wait_seconds=10)
    assert text.startswith("hi\n1 file changed.\n(cmd-1: exit code 0, ")
    assert (setup.layer.opened, setup.layer.closed, setup.proposed) == ([("echo hi", False, True)], 1, ["call-1"])


async def test_a_check_whose_folder_is_gone_counts_as_failed_and_not_as_stopped(workspace: Path) -> None:
    """The error says that the check could not be started, and the box is closed."""
    setup = set_up(workspace)
    workspace.rmdir()
    with pytest.raises(ToolError, match="could not be started"):
        await check(setup)
    assert [(end.ended, end.run.stopped) for end in ends(setup)] == [("failed", False)]
    assert setup.layer.closed == 1


async def test_a_check_whose_box_cannot_be_made_does_not_run_and_proves_nothing(workspace: Path) -> None:
    """The exit code of a box that could not be made says nothing about the files, with or without the proposals."""
    setup = set_up(workspace, fails=NotRun("The command was not run: its sandbox could not be created."))
    for changes in (None, Changeset()):
        with pytest.raises(NotRun):
            await check(setup, changes)
    assert [(end.ended, end.run.exit_code, end.run.verified) for end in ends(setup)] == [("failed", None, ())] * 2


async def test_a_check_that_fails_is_a_result(workspace: Path) -> None:
    """A failed check is no error: it has an exit code, which counts. Its changes are discarded."""
    setup = set_up(workspace)
    end = await check(setup, command="exit 3")
    assert (end.passed, end.result.exit_code, end.discarded) == (False, 3, " Its changes were discarded.")
    assert [(end.ended, end.run.exit_code, end.run.state) for end in ends(setup)] == [("exited", 3, 7)]


async def check(setup: Setup, changes: Changeset | None = None, command: str = "exit 125") -> CheckEnd:
    commands = setup.desk.commands
    assert commands is not None
    call = RunningCall("call-1", "1", setup.desk.events.append)
    return await run_check(commands, CheckRun(command, "sandboxed", 7, "check-1", changes), call)


def ends(setup: Setup) -> list[CommandEnded]:
    return [event for event in setup.events if isinstance(event, CommandEnded)]
