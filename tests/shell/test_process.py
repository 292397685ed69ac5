"""Real commands: no input, bounded output, a time limit, and no process that outlives its command."""

import asyncio
import os
import random
import signal
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from fairlead.errors import ToolError
from fairlead.shell import reaper
from fairlead.shell.direct import DirectLayer
from fairlead.shell.environment import command_environment
from fairlead.shell.layer import DEFAULT_LIMITS, Launch, View
from fairlead.shell.output import BATCH, HEAD, INTERVAL, STREAM_LIMIT, TAIL
from fairlead.shell.process import Command, CommandResult, kill_all
from fairlead.shell.reaper import TOO_MANY
from fairlead.workspace.paths import Roots

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the commands are written for a POSIX shell")

# a program that runs the command in its second argument, in the folder in its first
RUN = """
import asyncio, pathlib, sys
from fairlead.shell.direct import DirectLayer
from fairlead.shell.layer import View
from fairlead.shell.process import Command
from fairlead.workspace.paths import Roots

async def main():
    box = await DirectLayer(Roots.of(pathlib.Path(sys.argv[1]))).open(sys.argv[2], View())
    await Command(box.launch, 60, lambda text: print(text, end="", flush=True)).run()

asyncio.run(main())
"""


@pytest.fixture
def nap() -> Iterator[str]:
    """A unique command that sleeps for a long time. The test fails if one of its processes still runs at the end."""
    command = f"sleep {random.randint(10**6, 10**7)}"
    yield command
    left = running(command)
    for process in left:
        process.kill()
    assert left == []


def running(command: str) -> list[psutil.Process]:
    """The living processes that run exactly this command."""
    found = []
    for process in psutil.process_iter(["cmdline", "status"]):
        if process.info["cmdline"] == command.split() and process.info["status"] != psutil.STATUS_ZOMBIE:
            found.append(process)
    return found


async def has_ended(command: str, seconds: float = 1) -> bool:
    """Whether all processes of the command end within about this many seconds."""
    for _ in range(int(seconds * 100)):
        if not running(command):
            return True
        await asyncio.sleep(0.01)
    return False


def wait_for_processes(command: str, count: int) -> None:
    """Waits until `count` processes run exactly this command; only the test's time limit ends the wait."""
    while len(running(command)) < count:
        time.sleep(0.01)


async def launch(command: str, folder: Path) -> Launch:
    return (await DirectLayer(Roots.of(folder)).open(command, View())).launch


async def run_command(command: str, folder: Path, timeout: float = 10) -> CommandResult:
    return await Command(await launch(command, folder), timeout, lambda text: None).run()


class Watched:
    """A running command, and the text that it has streamed so far."""

    def __init__(self, launch: Launch) -> None:
        self.text = ""
        self._grown = asyncio.Event()
        self.command = Command(launch, 30, self._add)
        self.task = asyncio.ensure_future(self.command.run())

    def _add(self, text: str) -> None:
        self.text += text
        self._grown.set()

    async def wait_for_output(self, word: str) -> None:
        """Returns once the command has written the word."""
        async with asyncio.timeout(30):
            while word not in self.text:
                await self._grown.wait()
                self._grown.clear()


RESULTS: dict[str, tuple[str, str, int]] = {
    "output and exit code": ("echo out; echo err >&2; exit 3", "out\nerr\n", 3),
    "no output": ("true", "", 0),
    "Chinese and quotes": ("printf '%s' '日本 🚀 $(x) \"'", '日本 🚀 $(x) "', 0),
    "several lines": ("for n in 1 2; do\n  echo $n\ndone", "1\n2\n", 0),
    "a pipe": ("seq 1000 | tail -n 1", "1000\n", 0),
    "a command that begins with a dash": ("-x; echo on", "-x: command not found\non\n", 0),
    "a comment": ("# nothing", "", 0),
    "ended by a signal": ("kill -KILL $$", "", 137),
    "fault 31: invalid UTF-8": ("printf 'a\\xff\\xfeb'", "a\ufffd\ufffdb", 0),
    "fault 31: colors and titles": ("printf '\\033[31mred\\033[0m\\033]0;title\\007!'", "red!", 0),
}


@pytest.mark.parametrize("name", RESULTS)
async def test_a_command_runs_to_its_end(name: str, tmp_path: Path) -> None:
    """The result has both streams in one text, and the exit code. docs/faults.md 31: it has no terminal sequences."""
    command, output, code = RESULTS[name]
    result = await run_command(command, tmp_path)
    assert (result.exit_code, result.ended) == (code, "exited")
    assert result.output.endswith(output)
    assert len(result.output) <= len(output) + 60  # the shell's own name, if it writes one


async def test_it_runs_in_its_folder(tmp_path: Path) -> None:
    """A command runs in its folder, whatever the folder's name."""
    folder = tmp_path / "a b 日本"
    folder.mkdir()
    assert (await run_command("pwd", folder)).output == f"{folder}\n"


@pytest.mark.parametrize(
    "command",
    ["cat", "cat /dev/stdin", "read x </dev/tty", "read x", "python3 -c 'input()'", "git commit --allow-empty", "less"],
)
async def test_fault_26_commands_that_read_input_return_at_once(command: str, tmp_path: Path) -> None:
    """docs/faults.md 26: there is no input and no terminal."""
    result = await run_command(command, tmp_path)
    assert result.ended == "exited"
    assert result.seconds < 10


@pytest.mark.parametrize("command", ["cat", "cat & wait", "head -c 5", "true"])
async def test_a_command_may_have_input(command: str, tmp_path: Path) -> None:
    """It ends whether or not it reads all of it, and its error output is separate."""
    text = "x" * 500_000
    box = await DirectLayer(Roots.of(tmp_path)).open(f"{command}; echo wrong >&2", View())
    shown: list[str] = []
    running = Command(box.launch, 60, shown.append, input=text.encode(), separates_errors=True)
    result = await running.run()
    assert (result.ended, result.exit_code, running.errors) == ("exited", 0, "wrong\n")
    assert "wrong" not in result.output
    assert result.output[:5] == {"head -c 5": "xxxxx", "cat": "xxxxx"}.get(command, "")


async def test_fault_27_endless_output_is_bounded(tmp_path: Path) -> None:
    """docs/faults.md 27: endless output is bounded in memory, in the result and on the user's screen. The server keeps
    working meanwhile."""
    streamed = 0
    ticks = 0

    def count(text: str) -> None:
        nonlocal streamed
        streamed += len(text)

    async def tick() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0.01)
            ticks += 1

    ticking = asyncio.ensure_future(tick())
    tracemalloc.start()
    result = await Command(await launch("echo first; yes", tmp_path), 3.0, count).run()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    ticking.cancel()
    assert result.ended == "timeout"
    assert result.output.startswith("first\ny\ny\n")
    assert result.output.endswith("y\n")
    assert "bytes left out ...]" in result.output
    assert len(result.output) <= HEAD + TAIL + 100
    assert streamed <= STREAM_LIMIT + (result.seconds / INTERVAL + 2) * (BATCH + 100)
    assert peak < 5_000_000
    assert ticks > 5


async def test_fault_29_a_command_that_ignores_sigterm_is_killed(tmp_path: Path, nap: str) -> None:
    """docs/faults.md 29: at its time limit, a command that ignores SIGTERM is killed with its children."""
    result = await run_command(f"trap '' TERM; echo deaf; {nap} & while :; do {nap}; done", tmp_path, timeout=3.0)
    assert (result.output, result.exit_code, result.ended) == ("deaf\n", None, "timeout")
    assert await has_ended(nap)


async def test_the_time_limit_ends_it_and_its_output_is_returned(tmp_path: Path, nap: str) -> None:
    """The command ends with all processes of its pipeline. Its output so far and its duration are returned."""
    result = await run_command(f"echo before; {nap} | cat", tmp_path, timeout=3.0)
    assert (result.output, result.exit_code, result.ended) == ("before\n", None, "timeout")
    assert 3.0 <= result.seconds < 30
    assert await has_ended(nap)


async def test_a_command_may_clean_up_at_its_time_limit(tmp_path: Path) -> None:
    """SIGTERM comes first, and output after it counts."""
    result = await run_command(
        "trap 'echo bye; exit' TERM; echo on; while :; do sleep 0.05; done", tmp_path, timeout=3.0
    )
    assert result.output.startswith("on\n")
    assert result.output.endswith("bye\n")
    assert result.ended == "timeout"


@pytest.mark.parametrize(
    "start", ["{nap} & echo done", "sleep 0.2; {nap} & echo done", "({nap} &) ; sleep 0.1; echo done"]
)
async def test_a_background_child_does_not_delay_the_result(start: str, tmp_path: Path, nap: str) -> None:
    """The child keeps the pipe open, but the command is done: its result is returned, and the child is killed."""
    result = await run_command(start.format(nap=nap), tmp_path)
    assert (result.output, result.exit_code, result.ended) == ("done\n", 0, "exited")
    assert result.seconds < 10
    assert await has_ended(nap)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere processes that leave the group are not killed")
@pytest.mark.parametrize("left", ["setsid {nap} &", "(setsid sh -c '{nap} & {nap}' &) ; :;", "setsid setsid {nap} &"])
async def test_fault_28_a_child_that_left_the_group_ends_with_its_command(left: str, tmp_path: Path, nap: str) -> None:
    """docs/faults.md 28: a child in another process group ends when the command ends, reaches its time limit or is
    cancelled."""
    left = left.format(nap=nap)
    done = await run_command(f"{left} sleep 0.2; echo done", tmp_path)
    assert (done.output, done.exit_code, done.ended) == ("done\n", 0, "exited")
    assert await has_ended(nap)
    late = await run_command(f"{left} trap '' TERM; while :; do sleep 0.1; done", tmp_path, timeout=1.0)
    assert late.ended == "timeout"
    assert await has_ended(nap)
    watched = Watched(await launch(f"{left} trap '' TERM; echo on; sleep 60", tmp_path))
    await watched.wait_for_output("on")
    began = time.monotonic()
    watched.task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await watched.task
    assert await has_ended(nap)
    assert time.monotonic() - began < 10


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere processes that leave the group are not killed")
async def test_fault_28_it_ends_although_its_reaper_does_not_answer(tmp_path: Path, nap: str) -> None:
    """docs/faults.md 28: `kill_all` ends the command and its child, because on a stalled machine the reaper may not get
    to its work in time."""
    watched = Watched(await launch(f"setsid {nap} & echo on; {nap}", tmp_path))
    await watched.wait_for_output("on")
    wait_for_processes(nap, 2)
    [watching] = (child for child in psutil.Process().children() if reaper.__file__ in child.cmdline())
    watching.suspend()
    kill_all(watching.pid, exited=False)
    assert await has_ended(nap)
    assert (await watched.task).exit_code == 128 + signal.SIGKILL


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nothing notices the end of the server")
async def test_a_command_ends_with_the_server(tmp_path: Path, nap: str) -> None:
    """The processes of a command end even if the server is killed and cannot clean up after itself."""
    server = subprocess.Popen(
        [sys.executable, "-c", RUN, str(tmp_path), f"setsid {nap} & echo on; {nap}"], stdout=subprocess.PIPE
    )
    assert server.stdout is not None
    assert server.stdout.readline() == b"on\n"
    wait_for_processes(nap, 2)  # neither may start after the check below
    server.kill()
    server.wait()
    server.stdout.close()
    assert await has_ended(nap, 2.5)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the system's own limit holds")
@pytest.mark.parametrize("start", ["{nap} &", "setsid {nap} &"])
async def test_fault_30_a_fork_loop_is_ended(start: str, tmp_path: Path, nap: str) -> None:
    """docs/faults.md 30: the result has the exit code of a killed command, as in the sandbox, and the reason for the
    model."""
    result = await run_command(f"while :; do {start.format(nap=nap)} done", tmp_path, timeout=150)
    assert (result.exit_code, result.ended) == (128 + signal.SIGKILL, "exited")
    assert result.output.endswith(TOO_MANY.format(DEFAULT_LIMITS.processes))
    assert await has_ended(nap)


async def test_a_character_is_taken_as_a_whole(tmp_path: Path) -> None:
    """`take_output` leaves the beginning of a character until the rest has been written, or the command has ended."""
    wait = "until [ -e go ]; do sleep 0.01; done"
    watched = Watched(await launch(f"printf 'a\\xe6\\x97'; {wait}; printf '\\xa5b\\xe6'", tmp_path))
    await watched.wait_for_output("a")
    taken = watched.command.take_output()
    (tmp_path / "go").touch()
    await watched.task
    assert (taken, watched.command.take_output()) == ("a", "日b\ufffd")


@pytest.mark.parametrize("deaf", ["", "trap '' TERM; "])
async def test_a_cancelled_command_leaves_no_process(tmp_path: Path, nap: str, deaf: str) -> None:
    """docs/faults.md 20: a command that is cancelled while it runs leaves no process. Its duration and its output until
    then are known."""
    watched = Watched(await launch(f"{deaf}{nap} & (echo on; {nap}) | cat; {nap}", tmp_path))
    await watched.wait_for_output("on")
    watched.task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(watched.task, 30)
    assert await has_ended(nap)
    assert watched.command.output == "on\n"
    assert watched.command.seconds > 0


async def test_cancelled_while_it_starts_it_leaves_no_process(tmp_path: Path, nap: str) -> None:
    """A command that is cancelled at any moment of its start leaves no process."""
    for moment in range(12):
        task = asyncio.ensure_future(run_command(nap, tmp_path))
        for _ in range(moment):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(task, 30)
    assert await has_ended(nap)


async def test_cancelled_while_it_starts_its_duration_stops_growing(tmp_path: Path) -> None:
    """Otherwise the duration of a background command that was stopped at its start would grow forever."""
    for moment in range(12):
        command = Command(await launch("exec sleep 60", tmp_path), 10, lambda text: None)
        task = asyncio.ensure_future(command.run())
        for _ in range(moment):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        seconds = command.seconds
        assert command.seconds == seconds


@pytest.mark.parametrize("moment", [1, 2, 4, None], ids=str)
async def test_cancelled_twice_it_still_leaves_no_process(tmp_path: Path, nap: str, moment: int | None) -> None:
    """A further cancellation, such as another click on a stop button, does not end the wait for the processes."""
    watched = Watched(await launch(f"trap '' TERM; {nap} & echo on; {nap}", tmp_path))
    if moment is None:
        await watched.wait_for_output("on")
        wait_for_processes(nap, 2)
    for _ in range(moment or 0):
        await asyncio.sleep(0)
    for _ in range(5):
        watched.task.cancel()
        await asyncio.sleep(0)
    with pytest.raises(asyncio.CancelledError):
        await watched.task
    assert running(nap) == []
    assert [child for child in psutil.Process().children() if reaper.__file__ in child.cmdline()] == []


async def test_no_descriptor_stays_open(tmp_path: Path) -> None:
    """No descriptor stays open, however the command ends."""
    await run_command("true", tmp_path)
    before = psutil.Process().num_fds()
    for command in ("true", "exit 1", "sleep 5", "echo x >&2"):
        await run_command(command, tmp_path, timeout=0.1)
    assert psutil.Process().num_fds() <= before


@pytest.mark.parametrize("command", ["echo a\0b", "echo \ud800"])
async def test_a_command_that_cannot_be_started_is_an_error_result(command: str, tmp_path: Path) -> None:
    """The model reads the reason."""
    with pytest.raises(ToolError, match="could not be started"):
        await run_command(command, tmp_path)


async def test_a_missing_folder_is_an_error_result(tmp_path: Path) -> None:
    """The user may have removed the command's folder meanwhile. The model reads the reason."""
    with pytest.raises(ToolError, match="could not be started"):
        await run_command("true", tmp_path / "gone")


async def test_a_character_that_is_written_in_parts_is_streamed_whole(tmp_path: Path) -> None:
    """The streamed text is the text that the model reads."""
    watched = Watched(await launch(r"printf '\xe6'; sleep 0.05; printf '\x97'; sleep 0.05; printf '\xa5'", tmp_path))
    result = await watched.task
    assert result.output == watched.text == "日"


async def test_git_does_not_wait_for_an_editor(tmp_path: Path) -> None:
    """Git opens no editor, whichever the user has set. It takes the prepared message, which is empty for a commit."""
    options = "-c user.name=x -c user.email=x@example.invalid -c core.editor='sleep 60;'"
    result = await run_command(f"git init -q . && git {options} commit --allow-empty", tmp_path, 30)
    assert (result.ended, "empty commit message" in result.output) == ("exited", True)


async def test_the_output_of_a_python_program_is_read_while_it_runs(tmp_path: Path) -> None:
    """Python does not buffer its output. Otherwise a server written in Python would seem not to start."""
    program = await launch(f"'{sys.executable}' -c \"print('on'); import time; time.sleep(60)\"", tmp_path)
    watched = Watched(replace(program, env=command_environment({"PATH": os.environ["PATH"]})))
    await watched.wait_for_output("on")
    watched.task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await watched.task
