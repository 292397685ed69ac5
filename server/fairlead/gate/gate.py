"""Decides what may run or be used in a session: by the user's settings, by what they allowed, or by asking them."""

import asyncio
import os
from collections.abc import Callable, Iterator, Sequence

from fairlead.display import end_sentence
from fairlead.errors import ToolError
from fairlead.gate.host_rules import HostPolicy
from fairlead.gate.named_files import digest, named_files
from fairlead.gate.request import (
    STARTS,
    Action,
    ApprovalRequest,
    AskingEditor,
    CallTool,
    FetchPage,
    RunCommand,
    RunHook,
    StartProgram,
    UseChangedTools,
)
from fairlead.gate.tool_rules import ToolPolicy, rule_for
from fairlead.sentences import Sentence
from fairlead.shell.command_line.policy import Policy, check_permission
from fairlead.shell.environment import command_environment
from fairlead.shell.network import proxies

ASKS_AGAIN = Sentence("An answer holds once: only bash can tell which files it names, and they may change.")
DENIED = "Not run: the user's settings do not allow this command."
CALL_DENIED = "Not called: the user's settings do not allow this call ({rule})."
HOST_DENIED = "Not fetched: the user's settings do not allow {host} ({rule})."


class NotAllowed(ToolError):
    """The settings or the user do not allow it, the user did not answer, or could not be asked."""


class Gate:
    """The gate of one session. It remembers what the user has allowed.

    Args:
        policy: returns the user's current settings about commands.
        tool_policy: returns those about calls of tool servers.
        host_policy: returns those about hosts of the web.
    """

    def __init__(
        self,
        session_id: str,
        editor: AskingEditor,
        policy: Callable[[], Policy],
        tool_policy: Callable[[], ToolPolicy] = ToolPolicy,
        host_policy: Callable[[], HostPolicy] = HostPolicy,
    ) -> None:
        self.session_id, self.editor = session_id, editor
        self._policy, self._tool_policy, self._host_policy = policy, tool_policy, host_policy
        self._allowed: set[bytes] = set()

    def check_not_denied(self, command: str) -> None:
        """For a command that the user has allowed already. Raises NotAllowed if a rule of the settings denies it."""
        permission = check_permission(command, self._policy(), where="sandboxed")
        if permission.action == "deny":
            raise NotAllowed(" ".join((DENIED, *permission.reasons)))

    def runs_without_asking(self, action: RunCommand) -> bool:
        """Whether the settings let a command run without a question, whatever the user has allowed before."""
        return check_permission(action.command, self._policy(), where=action.where).action == "run"

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
        elif isinstance(action, CallTool):
            if _may_call(action, self._tool_policy()):
                return
            reasons, rules = [*reasons, *_about_call(action)], (rule_for(action.server, action.tool),)
        elif isinstance(action, FetchPage):
            if _may_fetch(action, self._host_policy()):
                return
            reasons, rules = [*reasons, *_about_page(action)], (action.host,)
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
        stays = isinstance(action, StartProgram | STARTS | UseChangedTools | RunHook)
        if key is not None and (answer.option == "allow_session" or stays):
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


def _may_call(call: CallTool, policy: ToolPolicy) -> bool:
    """Whether a call needs no question. What a server claims can only add questions: it is not trusted.

    Raises:
        NotAllowed: a rule denies it.
    """
    for rule in policy.deny:
        if rule.matches(call.server, call.tool, call.arguments):
            raise NotAllowed(CALL_DENIED.format(rule=rule.text))
    for rule in policy.allow:
        if rule.matches(call.server, call.tool, call.arguments) and (rule.is_exact or not call.is_destructive):
            return True
    return not (call.has_effects_outside or policy.always_asks)


def _about_call(call: CallTool) -> Iterator[str]:
    if call.is_destructive:
        yield Sentence("The server says that this may delete or overwrite something.")
    if call.has_effects_outside:
        yield Sentence("It can have effects outside of the workspace, which are not proposed for review.")


def _may_fetch(page: FetchPage, policy: HostPolicy) -> bool:
    """Whether a request needs no question.

    Raises:
        NotAllowed: a rule denies it.
    """
    for rule in policy.deny:
        if rule.matches(page.host):
            raise NotAllowed(HOST_DENIED.format(host=page.host, rule=rule.text))
    return any(rule.matches(page.host) and (rule.is_exact or not page.is_long) for rule in policy.allow)


def _about_page(page: FetchPage) -> Iterator[str]:
    if page.is_redirect:
        yield Sentence("Another page redirects to it.")
    if page.is_long:
        yield Sentence("The address is long. Read it: it can carry data of your project to {0}.", page.host)
    if page.is_exposed:
        yield Sentence("The connection is not encrypted.")


async def _key(action: Action) -> bytes | None:
    """Identifies what the user allows for the session. None: an answer holds once.

    A call is identified by its tool, and by its arguments only if the server says that it may destroy something. A
    request to the web is identified by its host, and by the whole URL only if that is long. A command is also
    identified by its environment and, outside of the sandbox, by the content of the files that it names, which only
    bash can tell for some command lines.
    """
    if isinstance(action, CallTool) and not action.is_destructive:
        return digest(action.server, action.tool, action.digest)
    if isinstance(action, FetchPage) and not action.is_long:
        return digest(FetchPage, action.host)
    if not isinstance(action, RunCommand):
        return digest(action)
    files = await asyncio.to_thread(named_files, action.command, action.cwd) if action.where == "workspace" else []
    if files is None:
        return None
    place = action.command, str(action.cwd), action.where
    reached = action.network.internet, action.network.service_names
    return digest(place, reached, sorted(command_environment().items()), files)
