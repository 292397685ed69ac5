"""The questions of the gate as permissions: a title, what it is about, and the answers."""

from collections.abc import Sequence

from acp import schema

from fairlead.acp.client import Option
from fairlead.acp.texts import code, inline
from fairlead.display import escape_invisible, escape_to_one_line, shorten
from fairlead.gate.request import (
    STARTS,
    Action,
    ApprovalRequest,
    CallTool,
    ChangeProtectedFile,
    ConfirmCall,
    FetchPage,
    InstallAgent,
    InstallServer,
    RunCommand,
    RunHook,
    StartAgent,
    StartProgram,
    StartServer,
    UseChangedTools,
    UseSecretFile,
)

REJECT = Option("reject", "No", "reject_once")
ALLOW = Option("allow_once", "Yes, once", "allow_once")
ALLOW_SESSION = Option("allow_session", "Yes, for this session", "allow_always")
STAYS = StartProgram | STARTS | UseChangedTools | RunHook
"""What one answer allows until it changes."""


def options_for(action: Action) -> Sequence[Option]:
    """The answers to a question. The harmless one is first."""
    if isinstance(action, STAYS):
        return REJECT, Option("allow_once", "Yes", "allow_once")
    if isinstance(action, ChangeProtectedFile):
        return Option("reject", "No, leave it", "reject_once"), Option("allow_once", "Yes, accept it", "allow_once")
    return REJECT, ALLOW, ALLOW_SESSION


def describe_request(request: ApprovalRequest) -> tuple[str, schema.ToolKind, str]:
    """The title of a question, the kind of what it is about, and everything that the user must know."""
    action = request.action
    title, kind = _title(action)
    what = "" if isinstance(action, UseSecretFile | ChangeProtectedFile) else code(escape_invisible(action.command))
    where = _where(action)
    reasons = [f"- {escape_invisible(reason)}" for reason in request.reasons]
    return title, kind, "\n\n".join(filter(None, [what, where, "\n".join(reasons)]))


def _title(action: Action) -> tuple[str, schema.ToolKind]:
    match action:
        case RunCommand() | StartProgram():
            return f"Run {inline(shorten(action.command, 120))}?", "execute"
        case StartServer():
            return f"Start the tool server {_name(action.server)}?", "execute"
        case InstallServer():
            return f"Install the package of the tool server {_name(action.server)}?", "execute"
        case StartAgent():
            return f"Start {_name(action.server)}, now and later?", "execute"
        case InstallAgent():
            return f"Install the packages of {_name(action.server)}?", "execute"
        case UseChangedTools():
            return f"Allow the changed tools of {_name(action.server)}?", "other"
        case CallTool():
            return f"Call {_name(action.tool)} of the tool server {_name(action.server)}?", "execute"
        case FetchPage():
            return f"Fetch a page from {_name(action.host)}?", "fetch"
        case RunHook():
            return f"Run this hook of the event {_name(action.event)}, now and later?", "execute"
        case ConfirmCall():
            return "Make this call? A hook wants you to look at it.", "other"
        case UseSecretFile():
            return f"Let the agent use {_name(action.path.name)}?", "read"
        case ChangeProtectedFile():
            return f"Accept the changes of the protected file {_name(action.path.name)}?", "edit"


def _where(action: Action) -> str:
    match action:
        case RunCommand() | StartProgram() | InstallServer() | StartAgent() | InstallAgent() | RunHook():
            return f"In {inline(escape_to_one_line(str(action.cwd)))}"
        case UseSecretFile() | ChangeProtectedFile():
            return inline(escape_to_one_line(str(action.path)))
        case _:
            return ""


def _name(text: str) -> str:
    return inline(escape_to_one_line(text))
