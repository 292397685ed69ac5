"""Asking the person before a command runs or a file is touched, and remembering what they allowed for the session."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

from fairlead.agent.errors import ToolError
from fairlead.shell.layer import Where
from fairlead.shell.process import command_environment
from fairlead.workspace.editor import ApprovalAnswer, ApprovalRequest, Editor


class Approvals:
    """One session's permissions. An approval is bound to the exact bytes: command, folder, environment; file, text."""

    def __init__(self, editor: Editor, session_id: str) -> None:
        self.editor = editor
        self.session_id = session_id
        self._allowed: set[bytes] = set()

    async def ask(
        self, call_id: str, command: str, cwd: Path, reasons: Sequence[str], mode: Where, *, network: bool
    ) -> None:
        """Returns when the command may run. An approval for one place, with the network or not, is none for another.

        Raises:
            ToolError: the person said no, or could not be asked.
        """
        request = ApprovalRequest(self.session_id, call_id, command, cwd, mode, tuple(reasons))
        key = _digest("command", command, str(cwd), mode, network, sorted(command_environment().items()))
        decision = await self._decision(key, request)
        if decision.option == "reject":
            raise ToolError(f"Not run: the user did not allow this command.{_because(decision)}")

    async def ask_file(self, call_id: str, path: Path, reasons: Sequence[str]) -> None:
        """Returns when a tool may work with a file that looks like a secret.

        Raises:
            ToolError: the person said no, or could not be asked.
        """
        request = ApprovalRequest(self.session_id, call_id, path=path, reasons=tuple(reasons))
        decision = await self._decision(_digest("file", str(path)), request)
        if decision.option == "reject":
            raise ToolError(
                f"Not done: {path.name} looks like a secret, and the user did not allow it.{_because(decision)} "
                "Go on without what it says."
            )

    async def confirm(self, path: Path, text: str | None, reasons: Sequence[str]) -> bool:
        """Whether the person lets a protected file get this text (None: be deleted), by a yes for it alone."""
        request = ApprovalRequest(self.session_id, None, path=path, reasons=tuple(reasons))
        return (await self._decision(_digest("write", str(path), text), request)).option != "reject"

    async def _decision(self, key: bytes, request: ApprovalRequest) -> ApprovalAnswer:
        if key in self._allowed:
            return ApprovalAnswer("allow_session")
        decision = await self.editor.approve(request)
        if decision.option == "allow_session":
            self._allowed.add(key)
        return decision


def _because(decision: ApprovalAnswer) -> str:
    return f" The reason given: {decision.reason}" if decision.reason else ""


def _digest(*what: object) -> bytes:
    return hashlib.sha256(repr(what).encode("utf-8", "surrogatepass")).digest()
