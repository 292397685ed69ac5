"""Background commands continue after their call, are read and ended by handle, and end with the session."""

import asyncio
import random
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from fairlead.agent.events import CommandEnded, CommandStarted
from fairlead.errors import ToolError
from fairlead.shell.background import MAX_RUNNING, BackgroundCommand, BackgroundCommands
from fairlead.shell.layer import Launch
from fairlead.shell.output import HEAD, TAIL
from fairlead.shell.process import Command
from tools.stand_ins import Desk

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the commands are written for a POSIX shell")


@pytest.fixture
async def desk(workspace: Path) -> AsyncIterator[Desk]:
    """A desk whose session is closed at the end."""
    made = Desk(workspace)
    yield made
    assert made.commands is not None
    await made.commands.background.aclose()


def nap() -> str:
    return f"sleep {random.randint(10**6, 10**7)}"


def running(command: str) -> bool:
    return any(process.info["cmdline"] == command.split() for process in psutil.process_iter(["cmdline"]))


def ends(desk: Desk) -> list[CommandEnded]:
    return [event for event in desk.events if isinstance(event, CommandEnded)]


async def until_it_says(desk: Desk, word: str) -> None:
    async with asyncio.timeout(30):
        while word not in desk.streamed:
            await asyncio.wait([asyncio.ensure_future(asyncio.sleep(0.01))])


async def test_it_is_read_by_its_handle_while_it_runs(desk: Desk) -> None:
    """Each call of `bash_output` returns the output since the last one, and the state of the command."""
    first = nap()
    assert await desk.call("bash", command=f"echo one; {first}", background=True) == (
        "Started in the background as cmd-1. Read it with bash_output, end it with bash_kill."
    )
    await until_it_says(desk, "one")
    assert (await desk.call("bash_output", id="cmd-1")).startswith("one\n(cmd-1: running, ")
    assert (await desk.call("bash_output", id="cmd-1")).startswith("(cmd-1: running, ")
    assert [(event.command, event.handle) for event in desk.events if isinstance(event, CommandStarted)] == [
        (f"echo one; {first}", "cmd-1")
    ]


async def test_reading_can_wait_for_the_end(desk: Desk) -> None:
    """`bash_output` with `wait_seconds` returns as soon as the command ends. Its result has the exit code.

    The event of the command's end has it too.
    """
    await desk.call("bash", command="sleep 0.3; echo done; exit 3", background=True)
    text = await desk.call("bash_output", id="cmd-1", wait_seconds=20)
    assert text.startswith("done\n(cmd-1: exit code 3, ")
    assert (await desk.call("bash_output", id="cmd-1")).startswith("(cmd-1: exit code 3, ")
    [end] = ends(desk)
    assert (end.handle, end.run.call_id, end.run.exit_code, end.ended) == ("cmd-1", "call-1", 3, "exited")


async def test_a_read_that_waited_or_found_output_may_be_repeated(desk: Desk) -> None:
    """A read that found new output or waited for a second does not count as a repetition (docs/plan.md L10)."""
    await desk.call("bash", command=f"echo one; {nap()}", background=True)
    await until_it_says(desk, "one")
    for wait, polls in ((0, True), (0, False), (1, True)):
        await desk.call("bash_output", id="cmd-1", wait_seconds=wait)
        assert desk.last.polls is polls


async def test_a_command_may_be_repeated_while_another_runs_in_the_background(desk: Desk) -> None:
    """It may ask a server that is still starting (docs/plan.md L10). Starting a second server is not a poll."""
    for command, background, repeat in (
        ("true", False, "until_unchanged"),
        (nap(), True, "refused"),
        ("true", False, "allowed"),
        (nap(), True, "refused"),
    ):
        await desk.call("bash", command=command, background=background)
        assert desk.last.repeat == repeat


async def test_a_read_that_is_cancelled_while_it_waits_leaves_no_task(desk: Desk) -> None:
    """Nothing waits any longer, and the command continues."""
    await desk.call("bash", command=f"echo one; {nap()}", background=True)
    await until_it_says(desk, "one")
    before = asyncio.all_tasks()
    reading = asyncio.ensure_future(desk.call("bash_output", id="cmd-1", wait_seconds=600))
    for _ in range(5):
        await asyncio.sleep(0)
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    assert asyncio.all_tasks() == before
    assert (await desk.call("bash_output", id="cmd-1")).startswith("one\n(cmd-1: running, ")


async def test_it_is_ended_by_its_handle(desk: Desk) -> None:
    """`bash_kill` also ends all processes that the command started. The command does not count as failed."""
    left = nap()
    await desk.call("bash", command=f"setsid {left} & echo on; {left}", background=True)
    await until_it_says(desk, "on")
    assert (await desk.call("bash_kill", id="cmd-1")).startswith("on\n(cmd-1: killed, ")
    assert not running(left)
    [end] = ends(desk)
    assert (end.ended, end.run.exit_code, end.run.stopped, end.run.failed) == ("stopped", None, True, False)
    assert (await desk.call("bash_kill", id="cmd-1")).startswith("(cmd-1: killed, ")


async def test_it_can_be_ended_twice_at_the_same_time(desk: Desk) -> None:
    """The model and the user may both end it: each call returns when none of its processes is left."""
    left = nap()
    await desk.call("bash", command=f"trap '' TERM; {left} & echo on; {left}", background=True)
    await until_it_says(desk, "on")
    assert desk.commands is not None
    command = desk.commands.background.get("cmd-1")
    first = asyncio.ensure_future(command.stop())
    for _ in range(5):
        await asyncio.sleep(0)
    await command.stop()
    assert not running(left)
    await first


async def test_it_ends_whatever_goes_wrong_with_it(workspace: Path) -> None:
    """A command ends even after a bug in the server. Otherwise it would count as running, and a caller that waits for
    its end would wait forever.
    """
    not_text: Any = 1
    commands, cleaned_up = BackgroundCommands(), list[str]()

    async def on_end(command: BackgroundCommand) -> str:
        cleaned_up.append(command.handle)
        return ""

    wrong = Command(Launch([not_text], workspace, {}), None, lambda text: None)
    commands.start("cmd-1", "a command", wrong, on_end)
    await commands.get("cmd-1").finished.wait()
    assert (cleaned_up, commands.running, commands.get("cmd-1").ended) == (["cmd-1"], [], "failed")
    await commands.aclose()


async def test_it_ends_with_the_session(desk: Desk) -> None:
    """When the session is closed, all its commands end, even one that has hardly begun. No process is left."""
    naps = [nap() for _ in range(3)]
    for command in naps:
        await desk.call("bash", command=command, background=True)
    assert desk.commands is not None
    await desk.commands.background.aclose()
    assert [end.ended for end in ends(desk)] == ["stopped"] * 3
    assert not any(running(command) for command in naps)


async def test_it_is_ended_at_the_time_limit_of_its_call(desk: Desk) -> None:
    """The command is killed at the time limit, and the next call of `bash_output` says so."""
    await desk.call("bash", command=nap(), background=True, timeout_seconds=1)
    text = await desk.call("bash_output", id="cmd-1", wait_seconds=20)
    assert text.startswith("(cmd-1: killed at its time limit, ")


async def test_their_number_is_limited(desk: Desk) -> None:
    """A command beyond MAX_RUNNING is refused without asking the user; the error has the handles of the others.

    When one of them has ended, another command can start.
    """
    for _ in range(MAX_RUNNING):
        await desk.call("bash", command=nap(), background=True)
    with pytest.raises(
        ToolError, match=f"{MAX_RUNNING} background commands are already running: cmd-1 .*End one with bash_kill"
    ):
        await desk.call("bash", command="true", background=True)
    assert len(desk.user.asked) == MAX_RUNNING
    await desk.call("bash_kill", id="cmd-2")
    assert "cmd-9" in await desk.call("bash", command="true", background=True)


@pytest.mark.parametrize("tool", ["bash_output", "bash_kill"])
async def test_an_unknown_handle_is_an_error_that_names_the_known_ones(desk: Desk, tool: str) -> None:
    """The error has the known handles, so that the model can correct its call."""
    with pytest.raises(ToolError, match=r"no background command 'cmd-1'\. None was started"):
        await desk.call(tool, id="cmd-1")
    await desk.call("bash", command="true", background=True)
    with pytest.raises(ToolError, match=r"no background command '1'\. Known ones: cmd-1\."):
        await desk.call(tool, id="1")


async def test_fault_27_its_output_is_bounded_between_two_reads(desk: Desk) -> None:
    """docs/faults.md 27: the result has the start and the end of a long output, and says how much was omitted."""
    await desk.call("bash", command="seq 1000000", background=True)
    text = await desk.call("bash_output", id="cmd-1", wait_seconds=20)
    assert text.startswith("1\n2\n")
    assert "1000000\n(cmd-1: exit code 0" in text
    assert "bytes left out ...]" in text
    assert len(text) < HEAD + TAIL + 200


async def test_a_command_that_cannot_be_started_is_reported(desk: Desk) -> None:
    """The next call of `bash_output` says that the command could not be started; here its folder no longer exists."""
    desk.path.rmdir()
    await desk.call("bash", command="true", background=True)
    text = await desk.call("bash_output", id="cmd-1", wait_seconds=5)
    assert text.startswith("The command could not be started: ")
    assert [end.ended for end in ends(desk)] == ["failed"]
