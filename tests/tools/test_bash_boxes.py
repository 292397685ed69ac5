"""However a command ends, its box is closed and its changes are reported."""

import asyncio
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from fairlead.agent.errors import ToolError
from fairlead.agent.events import CommandEnded, CommandStarted, Event
from fairlead.agent.tool import RunningCall
from fairlead.shell.command_line.policy import Permission
from fairlead.shell.direct import DirectBox, DirectLayer
from fairlead.shell.layer import DEFAULT_LIMITS, Change, Changes, Entry, Launch, Layer, Limits, View, Where
from fairlead.tools.commands import Commands
from fairlead.workspace.paths import Roots
from tools.stand_ins import Desk, ScriptedUser, direct_commands

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the commands are written for a POSIX shell")
RUN = Permission("run")
CHANGES = Changes([Change("a.txt", None, Entry(b"a"))])


@dataclass
class Boxes:
    """A layer that says it is a sandbox, with one change in each of its boxes."""

    root: Path
    fails: str = ""
    where: Where = "sandboxed"
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
        network: bool = False,
        background: bool = False,
    ) -> "Box":
        self.opened.append((command, network, background))
        return Box(self, await DirectLayer(self.roots).open(command, view, limits=limits))

    async def aclose(self) -> None: ...


@dataclass
class Box:
    layer: Boxes
    inner: DirectBox

    @property
    def launch(self) -> Launch:
        return self.inner.launch

    async def close(self) -> Changes:
        self.layer.closed += 1
        await asyncio.sleep(0.05)
        if self.layer.fails:
            raise ToolError(self.layer.fails)
        return CHANGES


@dataclass
class Made:
    desk: Desk
    boxes: Boxes
    proposed: list[str]

    @property
    def events(self) -> list[Event]:
        return self.desk.events


def made(workspace: Path, permission: Permission = RUN, fails: str = "") -> Made:
    boxes, proposed, events = Boxes(workspace, fails), [], []

    async def layer() -> Layer:
        return boxes

    async def propose_changes(changes: Changes, roots: Roots, call: RunningCall) -> str:
        proposed.append(call.id)
        return f"{len(changes.files)} file changed."

    commands: Commands = replace(
        direct_commands(workspace, events.append, permission=permission),
        layer=layer,
        propose_changes=propose_changes,
        unavailable="",
    )
    desk = Desk(workspace, ScriptedUser("reject"), commands=commands)
    desk.events = events
    return Made(desk, boxes, proposed)


async def test_a_command_of_a_sandbox_is_not_asked_for_and_its_changes_are_told(workspace: Path) -> None:
    """Where nothing speaks against it; then the exit code."""
    room = made(workspace)
    text = await room.desk.call("bash", command="echo hi; exit 2")
    assert text.startswith("hi\n1 file changed.\n(exit code 2, ")
    assert room.desk.user.asked == []
    assert (room.boxes.opened, room.boxes.closed) == ([("echo hi; exit 2", False, False)], 1)
    [started, ended] = room.events
    assert isinstance(started, CommandStarted)
    assert isinstance(ended, CommandEnded)
    assert (started.where, started.network, started.handle, started.item_id) == ("sandboxed", False, None, "1")
    assert (ended.ended, ended.run.exit_code) == ("exited", 2)


async def test_what_is_asked_names_the_place_and_the_reasons(workspace: Path) -> None:
    """As they were decided; there is nothing that the command does not see."""
    room = made(workspace, Permission("ask", ("With the network.",)))
    await room.desk.call("write_file", path="a", content="x")
    with pytest.raises(ToolError, match="did not allow"):
        await room.desk.call("bash", command="curl x", network=True)
    [asked] = room.desk.user.asked
    assert (asked.mode, asked.reasons) == ("sandboxed", ("With the network.",))
    assert (room.boxes.opened, room.events) == ([], [])


async def test_outside_of_the_sandbox_it_runs_in_the_workspace_and_says_what_it_does_not_see(workspace: Path) -> None:
    """Only there the proposals are hidden from it."""
    room = made(workspace)
    await room.desk.call("write_file", path="a", content="x")
    text = await room.desk.call("bash", command="ls", unsandboxed=True)
    assert text.startswith("Runs on the files on disk; 1 proposed edit is not visible to it.\n")
    assert room.boxes.opened == []
    assert [event.where for event in room.events if isinstance(event, CommandStarted)] == ["workspace"]


async def test_a_denied_command_asks_nobody(workspace: Path) -> None:
    """The model reads the reasons."""
    room = made(workspace, Permission("deny", ("Rule: rm",)))
    with pytest.raises(ToolError, match=r"settings do not allow this command\.\nRule: rm"):
        await room.desk.call("bash", command="rm a")
    assert (room.desk.user.asked, room.boxes.opened) == ([], [])


async def test_changes_of_a_command_whose_time_is_over_are_told(workspace: Path) -> None:
    """With what it said until then."""
    room = made(workspace)
    with pytest.raises(ToolError, match=r"^1 file changed.\nKilled at the time limit of 1 s. Output so far:\non$"):
        await room.desk.call("bash", command="echo on; sleep 60", timeout_seconds=1)
    assert (room.boxes.closed, room.proposed) == (1, ["call-1"])


async def test_a_longer_time_than_there_is_is_cut_and_that_is_said(workspace: Path) -> None:
    """The command runs."""
    text = await made(workspace).desk.call("bash", command="true", timeout_seconds=100_000)
    assert text.startswith("(The time limit is 3600 s, the maximum.)\n")


async def test_changes_of_a_cancelled_command_are_dropped_and_that_is_said(workspace: Path) -> None:
    """docs/faults.md 20: and the box is closed before the call is at its end."""
    room = made(workspace)
    task = asyncio.ensure_future(room.desk.call("bash", command="echo on; sleep 60"))
    async with asyncio.timeout(30):
        while "on" not in room.desk.streamed:
            await asyncio.wait([task], timeout=0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert room.desk.last.result_when_stopped().startswith("Its changes were discarded.\nCancelled: killed after ")
    assert (room.boxes.closed, room.proposed) == (1, [])
    assert [event.ended for event in room.events if isinstance(event, CommandEnded)] == ["stopped"]


async def test_cancelled_at_any_moment_every_box_is_closed(workspace: Path) -> None:
    """While it opens, starts, ends, and while its changes are taken over."""
    room = made(workspace)
    for moment in range(0, 200, 8):
        task = asyncio.ensure_future(room.desk.call("bash", command="true"))
        await asyncio.wait([task], timeout=moment / 1000)
        task.cancel()
        await asyncio.wait([task])
        assert room.boxes.closed == len(room.boxes.opened)


async def test_changes_that_cannot_be_read_are_said_to_be_lost(workspace: Path) -> None:
    """What the command said is not lost with them."""
    room = made(workspace, fails="Its changes are lost: the disk is full.")
    text = await room.desk.call("bash", command="echo hi")
    assert text.startswith("hi\nIts changes are lost: the disk is full.\n(exit code 0, ")


async def test_changes_of_a_background_command_are_told_at_the_next_look(workspace: Path) -> None:
    """Its box is its own."""
    room = made(workspace)
    await room.desk.call("bash", command="echo hi", background=True)
    text = await room.desk.call("bash_output", id="cmd-1", wait_seconds=10)
    assert text.startswith("hi\n1 file changed.\n(cmd-1: exit code 0, ")
    assert (room.boxes.opened, room.boxes.closed, room.proposed) == ([("echo hi", False, True)], 1, ["call-1"])
