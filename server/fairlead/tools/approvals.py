"""Asking the person before a command runs, and remembering what they allowed for the session."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

from fairlead.agent.errors import ToolError
from fairlead.shell.process import command_environment
from fairlead.workspace.editor import ApprovalRequest, Editor


class Approvals:
    """One session's permissions. An approval is bound to the exact bytes: command, folder, environment."""

    def __init__(self, editor: Editor, session_id: str) -> None:
        self.editor = editor
        self.session_id = session_id
        self._allowed: set[bytes] = set()

    async def ask(self, call_id: str, command: str, cwd: Path, reasons: Sequence[str]) -> None:
        """Returns when the command may run.

        Raises:
            ToolError: the person said no, or could not be asked.
        """
        key = _digest(command, cwd)
        if key in self._allowed:
            return
        request = ApprovalRequest(self.session_id, call_id, command, cwd, reasons=tuple(reasons))
        decision = await self.editor.approve(request)
        if decision.option == "reject":
            because = f" The reason given: {decision.reason}" if decision.reason else ""
            raise ToolError(f"Not run: the user did not allow this command.{because}")
        if decision.option == "allow_session":
            self._allowed.add(key)


def _digest(command: str, cwd: Path) -> bytes:
    environment = sorted(command_environment().items())
    whole = repr((command, str(cwd), environment))
    return hashlib.sha256(whole.encode("utf-8", "surrogatepass")).digest()
