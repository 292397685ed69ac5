"""Asks the user, and remembers what they allow for the session.

The questions are about a command, the use of a file that looks like a secret, or a change to a protected file.
"""

import asyncio
import hashlib
import os
import re
from collections.abc import Sequence
from pathlib import Path

from fairlead.agent.errors import ToolError
from fairlead.display import end_sentence
from fairlead.shell.environment import command_environment
from fairlead.shell.layer import Where
from fairlead.shell.network import Network
from fairlead.workspace.disk import read_bytes
from fairlead.workspace.editor import ApprovalAnswer, ApprovalRequest, Editor
from fairlead.workspace.errors import WorkspaceError

# what may stand before or after a path in a command line
_SEPARATORS = re.compile(r"[\s'\"`;|&()<>=:,{}$\\]+")
_MAX_NAMED = 1000
_MAX_FOLDERS = 10
_MAX_READ = 10_000_000


class Approvals:
    """What the user has allowed in a session.

    Each permission is for one of three things: a command with its folder, where it runs, its network access and
    environment, and, outside of the sandbox, the content of the files that it names; the use of a file that looks like
    a secret; or one change to a protected file.
    """

    def __init__(self, editor: Editor, session_id: str) -> None:
        self.editor = editor
        self.session_id = session_id
        self._allowed: set[bytes] = set()

    async def ask(
        self, call_id: str, command: str, cwd: Path, reasons: Sequence[str], where: Where, *, network: Network
    ) -> None:
        """Returns when the user has allowed the command, in this place and with this network access.

        Does not ask if the user has allowed the same for the session.

        Args:
            reasons: why the user is asked, the most important reason first.

        Raises:
            ToolError: the user rejected it, did not answer, or could not be asked.
        """
        request = ApprovalRequest(self.session_id, call_id, command, cwd, where, tuple(reasons))
        reached = network.internet, network.service_names
        files = await asyncio.to_thread(_named_files, command, cwd) if where == "workspace" else []
        key = _digest("command", command, str(cwd), where, reached, sorted(command_environment().items()), files)
        answer = await self._answer(key, request)
        if answer.option == "reject":
            raise ToolError(f"Not run: the user did not allow this command.{_reason(answer)}")

    async def ask_file(self, call_id: str, path: Path, reasons: Sequence[str]) -> None:
        """Returns when the user has allowed a tool to use a file that looks like a secret.

        Does not ask if the user has allowed the file for the session, which covers every use of it.

        Raises:
            ToolError: the user rejected it, did not answer, or could not be asked.
        """
        request = ApprovalRequest(self.session_id, call_id, path=path, reasons=tuple(reasons))
        answer = await self._answer(_digest("file", str(path)), request)
        if answer.option == "reject":
            raise ToolError(
                f"Not done: {path.name} looks like a secret, and the user did not allow it.{_reason(answer)} "
                "Continue without its content."
            )

    async def confirm(self, path: Path, change: str, reasons: Sequence[str]) -> bool:
        """Asks the user to confirm a change to a protected file. Returns whether they do.

        Does not ask if the user has allowed the same change for the session. `change` is a text that identifies it.
        """
        request = ApprovalRequest(self.session_id, None, path=path, reasons=tuple(reasons))
        return (await self._answer(_digest("write", str(path), change), request)).option != "reject"

    async def _answer(self, key: bytes, request: ApprovalRequest) -> ApprovalAnswer:
        if key in self._allowed:
            return ApprovalAnswer("allow_session")
        answer = await self.editor.approve(request)
        if answer.option == "allow_session":
            self._allowed.add(key)
        return answer


def _reason(answer: ApprovalAnswer) -> str:
    return f" The reason given: {end_sentence(answer.reason)}" if answer.reason else ""


def _named_files(command: str, cwd: Path) -> list[tuple[str, object]]:
    """The files that a command line names, each with what identifies its content. A change of a script asks again.

    A name may be relative to a folder that the line names too (`cd sub && ./build.sh`).
    """
    names = sorted({*_SEPARATORS.split(command)} - {""})[:_MAX_NAMED]
    folders = [cwd, *[cwd / name for name in names if os.path.isdir(cwd / name)][:_MAX_FOLDERS]]
    found = list[tuple[str, object]]()
    for path in dict.fromkeys(folder / name for folder in folders for name in names):
        try:
            if path.is_file():
                status = path.stat()
                is_small = status.st_size <= _MAX_READ
                content = _digest(read_bytes(path)) if is_small else (status.st_size, status.st_mtime_ns)
                found.append((str(path), content))
        except (OSError, ValueError, WorkspaceError):  # it cannot be a file, or cannot be read
            continue
    return found


def _digest(*values: object) -> bytes:
    return hashlib.sha256(repr(values).encode("utf-8", "surrogatepass")).digest()
