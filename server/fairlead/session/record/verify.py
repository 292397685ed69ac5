"""Compares a record with the current files, and runs the record's checks on them again (docs/record.md)."""

import hashlib
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from fairlead.errors import ToolError
from fairlead.session.guarded_files import GuardedFiles, guarded_view
from fairlead.session.record.document import FileContent, KnownFile, SessionRecord
from fairlead.shell.command_line.verifications import find_verifications
from fairlead.shell.layer import BoxSettings, Layer, Limits
from fairlead.shell.process import Command, CommandResult
from fairlead.shell.sandbox.probe import Capability
from fairlead.workspace.disk import read_bytes
from fairlead.workspace.errors import WorkspaceError
from fairlead.workspace.paths import Roots

MAX_OUTPUT_LINES = 30


@dataclass(frozen=True, slots=True)
class Finding:
    """Whether a claim of a record holds."""

    subject: str
    """The path of a file in the workspace, or a command."""
    holds: bool
    text: str
    """What was found, in words for the user."""
    output: str = ""
    """The end of the output of a command that failed; otherwise empty."""
    seconds: float = 0
    """How long a command ran."""


def compare_files(
    record: SessionRecord, roots: Roots, elsewhere: Mapping[Path, str] = MappingProxyType({})
) -> Iterator[Finding]:
    """Whether each file of a record is as it was when the record was made, one finding per file.

    Compares the content and, except on Windows, whether its owner may execute the file.

    Args:
        elsewhere: the SHA-256 of the contents that are not in their files, by the files' paths (Git LFS).
    """
    for file in record.files:
        yield _compared(file, roots, elsewhere)


def _compared(file: KnownFile, roots: Roots, elsewhere: Mapping[Path, str]) -> Finding:
    try:
        path = roots.resolve(file.path)
        now = _content(path, roots)
    except WorkspaceError as error:
        return Finding(file.path, False, str(error))
    then = file.after
    if then is None:
        return Finding(file.path, now is None, "exists now" if now else "does not exist, as recorded")
    if then.sha256 is None:
        return Finding(file.path, False, "could not be read when the record was made, so nothing is known about it")
    if now is None:
        return Finding(file.path, False, "no longer exists")
    if elsewhere.get(path, now.sha256) != then.sha256:
        return Finding(file.path, False, "has different content")
    if now.executable != then.executable and os.name == "posix":
        return Finding(file.path, False, "is executable now" if now.executable else "is no longer executable")
    return Finding(file.path, True, "unchanged, by its Git LFS pointer" if path in elsewhere else "unchanged")


def _content(path: Path, roots: Roots) -> FileContent | None:
    """What a file contains, None if there is no file. Raises WorkspaceError if it cannot be read."""
    root = roots.folder_of(path)
    data = read_bytes(path, root.path if root is not None else None)
    if data is None:
        return None
    try:
        mode = path.stat().st_mode
    except OSError as error:
        raise WorkspaceError(f"cannot be read: {error.strerror or error}") from error
    return FileContent(hashlib.sha256(data).hexdigest(), bool(mode & stat.S_IXUSR))


async def run_check(
    command: str,
    roots: Roots,
    sandbox: Capability,
    hidden: Sequence[Path],
    timeout: float,
    pass_variables: Sequence[str] = (),
    opened_secrets: Sequence[str] = (),
) -> Finding:
    """Runs a command of a record on the files as they are now, and discards its changes.

    The command is untrusted, so it runs only in the sandbox; if it cannot run there, it counts as failed. Each command
    has its own layer, so that the leftovers of a command, such as a cache, do not make another command pass.

    Args:
        hidden: Fairlead's own folders, which commands must not read.
        timeout: in seconds.
        pass_variables: patterns of the variables that the command gets (`BashSettings`).
        opened_secrets: patterns of the files that it may read although they look like secrets (`SecretsSettings`).
    """
    try:
        layer = await sandbox.layer(hidden, lambda: BoxSettings(pass_variables))
        try:
            return _result(command, await _run(layer, command, roots, timeout, opened_secrets))
        finally:
            await layer.aclose()
    except ToolError as error:
        return Finding(command, False, f"could not run: {error}")


async def _run(
    layer: Layer, command: str, roots: Roots, timeout: float, opened_secrets: Sequence[str]
) -> CommandResult:
    """Raises ToolError if the command cannot run."""
    line = find_verifications(command).with_pipefail(command)
    view = await guarded_view(roots, lambda root: GuardedFiles(root.path, lambda: opened_secrets))
    box = await layer.open(line, view, limits=Limits.from_settings())
    try:
        return await Command(box.launch, timeout, lambda _: None).run()
    finally:
        await box.close()  # discards its changes


def _result(command: str, result: CommandResult) -> Finding:
    took = f"{result.seconds:.1f} s"
    if result.exit_code == 0:
        return Finding(command, True, f"passes ({took})", seconds=result.seconds)
    tail = "\n".join(result.output.splitlines()[-MAX_OUTPUT_LINES:])
    how = "killed at the time limit (" if result.ended == "timeout" else f"fails (exit code {result.exit_code}, "
    return Finding(command, False, f"{how}{took})", tail, result.seconds)
