"""Decides what may run or be used in a session: by the user's settings, by what they allowed, or by asking them."""

import asyncio
import os
from collections.abc import Callable, Iterator, Sequence

from fairlead.display import end_sentence
from fairlead.errors import ToolError
from fairlead.gate.named_files import digest, named_files
from fairlead.gate.request import Action, ApprovalRequest, AskingEditor, RunCommand, StartProgram
from fairlead.sentences import Sentence
from fairlead.shell.command_line.policy import Policy, check_permission
from fairlead.shell.environment import command_environment
from fairlead.shell.network import proxies

ASKS_AGAIN = Sentence("An answer holds once: only bash can tell which files it names, and they may change.")
DENIED = "Not run: the user's settings do not allow this command."


class NotAllowed(ToolError):
    """The settings or the user do not allow it, the user did not answer, or could not be asked."""


class Gate:
    """The gate of one session. It remembers what the user has allowed.

    Args:
        policy: returns the user's current settings about commands.
    """

    def __init__(self, session_id: str, editor: AskingEditor, policy: Callable[[], Policy]) -> None:
        self.session_id, self.editor, self._policy = session_id, editor, policy
        self._allowed: set[bytes] = set()

    async def check(self, action: Action, call_id: str | None = None, reasons: Sequence[str] = ()) -> None:
        """Returns when it is allowed. Does not ask if the user has allowed the same for the session.

        Args:
            call_id: the tool call that asks; None if none does.
            reasons: why the user is asked, before the reasons that the gate itself has.

        Raises:
            NotAllowed: it must not be done.
        """
        rules: Sequence[str] = ()
        if isinstance(action, RunCommand):
            policy = self._policy()
            permission = check_permission(
                action.command, policy, where=action.where, network=action.network, proxies=proxies(os.environ)
            )
            if permission.action == "deny":
                raise NotAllowed(" ".join((DENIED, *permission.reasons)))
            if permission.action == "run":
                return
            no_sandbox = policy.no_sandbox if action.where == "workspace" else ""
            reasons, rules = [*reasons, *permission.reasons, *filter(None, [no_sandbox])], permission.rules
        elif isinstance(action, StartProgram):
            if action.where == "sandboxed" and not action.from_workspace:
                return
            reasons = [*reasons, *_about(action)]
        key = await _key(action)
        if key in self._allowed:
            return
        told = tuple(reasons) if key is not None else (*reasons, ASKS_AGAIN)
        answer = await self.editor.approve(ApprovalRequest(self.session_id, call_id, action, told, rules))
        if answer.option == "reject":
            reason = f" The reason given: {end_sentence(answer.reason)}" if answer.reason else ""
            shown = Sentence("Rejected: {0}", answer.reason) if answer.reason else Sentence("Rejected.")
            raise NotAllowed(action.refusal.format(action=action, reason=reason), shown)
        # a program is started again whenever it has ended
        if key is not None and (answer.option == "allow_session" or isinstance(action, StartProgram)):
            self._allowed.add(key)


def _about(program: StartProgram) -> Iterator[str]:
    """Why the user is asked about a program.

    In the sandbox, it may run the workspace's Python without a question, as commands may.
    """
    if program.from_workspace:
        yield Sentence("It comes from the workspace.")
    if program.where == "sandboxed":
        yield Sentence("It runs in the sandbox, without the network.")
        return
    if program.python is not None:
        yield Sentence("It runs the workspace's Python, {0}.", program.python)
    yield Sentence("There is no sandbox, so it runs with your permissions.")


async def _key(action: Action) -> bytes | None:
    """Identifies what the user allows for the session. None: an answer holds once.

    A command is also identified by its environment and, outside of the sandbox, by the content of the files that it
    names, which only bash can tell for some command lines.
    """
    if not isinstance(action, RunCommand):
        return digest(action)
    files = await asyncio.to_thread(named_files, action.command, action.cwd) if action.where == "workspace" else []
    if files is None:
        return None
    place = action.command, str(action.cwd), action.where
    reached = action.network.internet, action.network.service_names
    return digest(place, reached, sorted(command_environment().items()), files)
