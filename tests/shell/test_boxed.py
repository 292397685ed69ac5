"""The launcher of a box: how its command starts and ends, its network, and the system calls that it denies."""

import asyncio
import contextlib
import os
import platform
import re
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fairlead.errors import ToolError
from fairlead.shell.layer import Box, View
from fairlead.shell.process import Command, CommandResult
from fairlead.shell.sandbox.box import launcher
from shell.boxes import LEFT_RUNNING, PLAIN, Boxes, boxes, has, start, write
from support.sandbox import needs_sandbox

SERVE = "python3 -u -m http.server --bind 127.0.0.1 0"
FETCH = "python3 -c \"from urllib.request import urlopen as u; print(u('http://localhost:{}').read().decode())\""
# in seconds; long, because only a failing test waits this long
TIMEOUT = 20


@pytest.fixture(autouse=True)
def sandboxed() -> None:
    needs_sandbox()


async def test_the_next_command_reaches_a_background_server(box: Boxes, workspace: Path) -> None:
    """A later command reaches the server through the loopback interface; the machine and other sessions do not."""
    write(workspace, {"index.html": "served"})
    opened = await box.layer.open(SERVE, PLAIN, background=True)
    process = await start(opened)
    try:
        port = await _port(process)
        assert await box.output(FETCH.format(port)) == "served\n"
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", port)
        async with boxes(workspace, Path(box.layer._folder).parent) as other:
            assert "refused" in (await other.run(FETCH.format(port))).output
    finally:
        process.terminate()
        await process.communicate()
        await opened.close()


@pytest.mark.parametrize("command", LEFT_RUNNING)
async def test_what_a_command_left_running_is_reported(box: Boxes, command: str) -> None:
    """Its processes end with it, so the model must learn that its server is gone. Nothing else is reported."""
    opened = await box.layer.open(command, PLAIN)
    running = Command(opened.launch, TIMEOUT, lambda text: None)
    await running.run()
    await opened.close()
    assert sorted(running.left_running) == LEFT_RUNNING[command]


async def test_the_network_namespace_is_removed(workspace: Path, tmp_path: Path) -> None:
    """All commands of a layer share a network namespace. After `aclose`, no process is in it, and this process has no
    descriptor of it."""
    async with boxes(workspace, tmp_path / "state") as box:
        network = (await box.output("readlink /proc/self/ns/net")).strip()
        assert network in _descriptor_targets(os.getpid())
        assert network == (await box.output("readlink /proc/self/ns/net")).strip()
    assert network not in _descriptor_targets(os.getpid())
    assert list(_in_network(network)) == []


async def test_only_the_boxs_own_devices_work(box: Boxes) -> None:
    """Every mount is `nodev`, except the box's devices below /dev, and /proc, where nobody can create one."""
    mounts = [line.split() for line in (await box.output("cat /proc/self/mountinfo")).splitlines()]
    devices = {each[4] for each in mounts if "nodev" not in each[5].split(",")}
    assert {path for path in devices if path != "/proc" and not path.startswith("/dev/")} == set()


CALLS = """
import ctypes, errno, os, socket
libc = ctypes.CDLL(None, use_errno=True)
unusual = (40, 1, 0), (38, 5, 0), (17, 3, 0), (16, 3, 15)
for family, kind, protocol in (*unusual, (1, 1, 0), (2, 1, 0), (10, 2, 0), (16, 3, 0)):
    try:
        socket.socket(family, kind, protocol).close()
        print(family, protocol, "open")
    except OSError as error:
        print(family, protocol, errno.errorcode[error.errno])
for number in NUMBERS:
    print(libc.syscall(number, 0, 0, 0, 0, 0), errno.errorcode[ctypes.get_errno()])
print(libc.ptrace(16, 1, 0, 0), errno.errorcode[ctypes.get_errno()])
print(socket.socketpair() and "pair")
"""


@pytest.mark.skipif(platform.machine() not in ("x86_64", "aarch64"), reason="no filter for this machine")
async def test_unneeded_system_calls_are_denied(box: Boxes, workspace: Path) -> None:
    """Unusual kinds of sockets, the kernel's keyrings, BPF, io_uring and log are denied; the usual sockets work."""
    x86 = (425, 250, 248, 249, 321, 298, 323, 103, 0x40000027)
    numbers = x86 if platform.machine() == "x86_64" else (425, 219, 217, 218, 280, 241, 282, 116, 0x40000027)
    write(workspace, {"calls.py": CALLS.replace("NUMBERS", repr(numbers))})
    assert (await box.output("python3 calls.py")).splitlines() == [
        *(f"{family} EAFNOSUPPORT" for family in ("40 0", "38 0", "17 0", "16 15")),
        *(f"{family} open" for family in ("1 0", "2 0", "10 0", "16 0")),
        *(["-1 ENOSYS"] * len(numbers)),
        "-1 EPERM",
        "pair",
    ]


@pytest.mark.skipif(not has("gcc"), reason="gcc is not installed")
@pytest.mark.skipif(platform.machine() != "x86_64", reason="the test makes a 32-bit call of x86")
async def test_32_bit_system_calls_are_denied(box: Boxes) -> None:
    """A program that makes 32-bit calls, which have other numbers, is killed; compiled programs run."""
    source = 'int main(int n, char **a) { if (n > 1) asm volatile("int $0x80" :: "a"(20)); return 0; }'
    ran = await box.run(f"echo '{source}' | gcc -x c - -o /tmp/a && /tmp/a && echo runs && /tmp/a 32; echo $?")
    assert ran.output.splitlines()[0] == "runs"
    assert ran.output.splitlines()[-1] == str(128 + signal.SIGSYS)


async def test_a_failed_box_is_an_error_and_no_exit_code(box: Boxes, workspace: Path) -> None:
    """The error says that the command was not run. No exit code of a command is mistaken for such a failure."""
    write(workspace, {"a.pem": "KEY"})
    opened = await box.layer.open("echo ran", View(hidden=["a.pem"]))
    nothing = box.layer._folder / "no-file"
    nothing.unlink()
    output, _ = await (await start(opened)).communicate()
    assert b"ran" not in output
    with pytest.raises(ToolError, match="was not run: its sandbox could not be created"):
        await opened.close()
    for code in (1, 125, 137):
        assert (await box.run(f"echo bwrap: no >&2; exit {code}")).code == code
    assert (await box.run("kill -9 $$")).code == 137


async def test_a_secret_may_be_in_a_hidden_folder(box: Boxes, workspace: Path) -> None:
    """The box can be created although the hidden folder covers the path of the secret."""
    write(workspace, {"certs/a/x.pem": "KEY", "a.txt": "a"})
    ran = await box.run("cat certs/a/x.pem; cat a.txt", View(hidden=["certs/a/x.pem", "certs"]))
    assert (ran.code, "KEY" in ran.output) == (0, False)


@pytest.mark.parametrize(
    ("line", "reason"),
    [("echo a\0b", "null byte"), ("echo \ud800", "surrogates not allowed"), ("#" * 200_000, "Argument list too long")],
    ids=["NUL", "half a character", "too long"],
)
async def test_a_command_that_no_system_call_accepts_is_an_error(box: Boxes, line: str, reason: str) -> None:
    """The error gives the reason, and nothing was run."""
    opened = await box.layer.open(line, PLAIN)
    assert await (await start(opened)).communicate() == (b"", None)
    with pytest.raises(ToolError, match=f"was not run: .*{reason}"):
        await opened.close()


async def test_sigterm_comes_before_sigkill(box: Boxes) -> None:
    """docs/faults.md 29: a stopped command can clean up, as outside the sandbox."""
    opened, command, running = await _running(box, "trap 'echo cleared up; exit 0' TERM; sleep 60 & echo on; wait")
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert command.output == "on\ncleared up\n"
    assert (await opened.close()).files == []


async def test_a_command_that_ignores_sigterm_is_killed(box: Boxes) -> None:
    """docs/faults.md 29: it and its children have about a second before they are killed."""
    opened, _, running = await _running(box, "trap '' TERM; setsid sleep 60 & echo on; sleep 60")
    before = time.monotonic()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert 0.9 < time.monotonic() - before < TIMEOUT
    await opened.close()


async def test_a_second_sigterm_kills_at_once(box: Boxes) -> None:
    """After a second SIGTERM, the launcher does not wait for the end of the grace period.

    There are three tries, because a busy machine may be slow.
    """
    for _ in range(3):
        if await _seconds_to_stop_twice(box) < launcher.GRACE:
            return
    pytest.fail("each time it took the whole grace period")


async def _seconds_to_stop_twice(box: Boxes) -> float:
    opened = await box.layer.open("trap 'echo terminated' TERM; echo on; while true; do sleep 60 & wait; done", PLAIN)
    process = await start(opened)
    assert process.stdout is not None
    assert await process.stdout.readline() == b"on\n"
    before = time.monotonic()
    process.terminate()
    assert await process.stdout.readline() == b"terminated\n"
    process.terminate()
    await process.communicate()
    took = time.monotonic() - before
    assert process.returncode == 128 + signal.SIGKILL
    await opened.close()
    return took


async def _running(box: Boxes, line: str) -> tuple[Box, Command, asyncio.Future[CommandResult]]:
    """Starts a command and waits until it has written "on"."""
    on = asyncio.Event()
    opened = await box.layer.open(line, PLAIN)
    command = Command(opened.launch, None, lambda text: on.set() if "on" in text else None)
    running = asyncio.ensure_future(command.run())
    async with asyncio.timeout(TIMEOUT):
        await on.wait()
    return opened, command, running


async def _port(process: asyncio.subprocess.Process) -> int:
    assert process.stdout is not None
    said = (await process.stdout.readline()).decode()
    found = re.search(r"port (\d+)", said)
    assert found, said
    return int(found[1])


def _descriptor_targets(pid: int) -> list[str]:
    """The targets of a process's descriptors."""
    held: list[str] = []
    for path in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            held.append(os.readlink(path))
    return held


def _in_network(network: str) -> Iterator[int]:
    """The processes in a network namespace."""
    for path in Path("/proc").glob("[0-9]*/ns/net"):
        with contextlib.suppress(OSError):
            if os.readlink(path) == network:
                yield int(path.parts[2])
