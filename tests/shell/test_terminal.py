"""Programs in a terminal in the sandbox: the real box with a real pseudoterminal, whose other end is the test."""

import asyncio
import hashlib
import re
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from fairlead.shell.layer import ProgramBox, View
from fairlead.shell.process import Command, CommandResult
from fairlead.shell.terminal import DUMB, Terminal
from fairlead.uncancelled import finish_uncancelled
from shell.boxes import EACH_BACKEND, Boxes
from support.sandbox import needs_sandbox

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the sandbox needs Linux")
SECONDS = 60.0


@pytest.fixture(params=EACH_BACKEND)
def backend(request: pytest.FixtureRequest) -> str:
    needs_sandbox()
    return request.param


class Shown:
    """What a program has shown so far."""

    def __init__(self) -> None:
        self.text = ""
        self._changed = asyncio.Event()

    async def add(self, data: bytes) -> None:
        self.text += data.decode()
        self._changed.set()

    async def until(self, pattern: str) -> None:
        """Waits until the text contains a match of a pattern."""
        async with asyncio.timeout(SECONDS):
            while not re.search(pattern, self.text):
                self._changed.clear()
                await self._changed.wait()


@asynccontextmanager
async def running(
    box: Boxes, command: str, shown: Shown, kind: str = "xterm-256color"
) -> AsyncIterator[tuple[Terminal, "asyncio.Task[CommandResult]"]]:
    """A command in a terminal of 80 columns and 24 rows."""
    opened = await box.layer.open(command, View(), program=ProgramBox(terminal=kind))
    terminal = Terminal(kind, 80, 24, shown.add)
    terminal.open()
    ran = asyncio.create_task(Command(opened.launch, None, lambda _: None, terminal=terminal).run())
    relaying = asyncio.create_task(terminal.relay())
    try:
        yield terminal, ran
        if not ran.cancelled():
            await asyncio.wait({relaying}, timeout=SECONDS)
    finally:
        ran.cancel()
        relaying.cancel()
        await asyncio.wait({ran, relaying})
        terminal.close()
        await finish_uncancelled(opened.close())


async def test_it_is_the_terminal_of_the_program(box: Boxes) -> None:
    """All standard streams, with the size and the kind of the user's, and nothing that keeps programs quiet."""
    shown = Shown()
    command = 'test -t 0 && test -t 1 && test -t 2 && stty size </dev/tty && echo "$TERM" "${PAGER-no pager}"; exit 3'
    async with running(box, command, shown) as (_, ran):
        assert (await ran).exit_code == 3
    assert shown.text.split("\r\n") == ["24 80", "xterm-256color no pager", ""]


async def test_keys_and_signals_arrive(box: Boxes) -> None:
    """Ctrl-C interrupts what runs in the foreground, not the shell; a new size is a signal too."""
    shown = Shown()
    shell = 'trap "echo interrupted" INT; trap "stty size" WINCH; read -r line; echo "got $line"; cat; echo on; cat'
    async with running(box, shell, shown) as (terminal, ran):
        await terminal.type("您好\r".encode())
        await shown.until("got 您好")
        await terminal.type(b"x\r")
        await shown.until("x\r\nx\r\n")  # the terminal's echo, then that of cat
        await terminal.type(b"\x03")
        await shown.until("interrupted\r\non\r\n")
        terminal.resize(100, 30)
        await terminal.type(b"\x04")
        assert (await ran).exit_code == 0
    assert "30 100" in shown.text


async def test_more_input_than_the_program_reads_waits(box: Boxes) -> None:
    """Nothing is lost: the terminal takes more when the program has read."""
    shown, lines = Shown(), 2000
    command = f"stty -echo; echo ready; head -n {lines} | sha256sum"
    data = "".join(f"line {number} of a long text\n" for number in range(lines)).encode()
    async with running(box, command, shown) as (terminal, ran):
        await shown.until("ready")
        await terminal.type(data)
        assert (await ran).exit_code == 0
    assert hashlib.sha256(data).hexdigest() in shown.text


async def test_output_waits_until_it_is_shown(box: Boxes) -> None:
    """docs/faults.md 308: a program that floods is held up by a slow client, and nothing of its output is lost."""
    total = 0
    may_show = asyncio.Event()

    class Slow(Shown):
        async def add(self, data: bytes) -> None:
            nonlocal total
            await may_show.wait()
            total += data.count(b"x")

    async with running(box, "head -c 500000 /dev/zero | tr '\\0' x", Slow()) as (_, ran):
        done, _ = await asyncio.wait({ran}, timeout=0.5)
        assert not done  # its terminal is full
        may_show.set()
        assert (await ran).exit_code == 0
    assert total == 500_000


@pytest.mark.parametrize("end", [Terminal.close, lambda _: None], ids=["closed", "stopped"])
async def test_nothing_stays_after_the_terminal(box: Boxes, end: Callable[[Terminal], None]) -> None:
    """A closed terminal hangs up the program; a stop ends it although it ignores that."""
    shown = Shown()
    trap = "" if end is Terminal.close else 'trap "" HUP INT TERM; '
    async with running(box, f"{trap}echo begun; while :; do sleep 0.05; done", shown) as (terminal, ran):
        await shown.until("begun")
        typing = asyncio.create_task(terminal.type(b"x" * 1_000_000))
        end(terminal)
        if trap:
            ran.cancel()
        done, _ = await asyncio.wait({ran}, timeout=SECONDS)
        assert done
        terminal.close()
        await typing
        await terminal.type(b"too late")


async def test_without_a_user_lines_are_as_written(box: Boxes, tmp_path: Path) -> None:
    """A client without a terminal gets no carriage returns, and no echo of what it sends."""
    shown = Shown()
    async with running(box, "cat; printf 'a\\nb\\n'", shown, DUMB) as (terminal, ran):
        await terminal.type(b"typed\n\x04")
        await ran
    assert shown.text == "typed\na\nb\n"
