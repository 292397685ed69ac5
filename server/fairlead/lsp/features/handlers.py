"""Turns handlers into pygls features: binds the server, checks the params and maps exceptions to error codes."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from fairlead.json_reader import WrongValue, read
from fairlead.lsp import convert_edits
from fairlead.lsp.params import read_target
from fairlead.lsp.rpc import INVALID_PARAMS, rpc_error
from fairlead.lsp.server import AgentServer
from fairlead.session.errors import RequestRefused, Stale, WrongRequest
from fairlead.session.review.target import Target
from fairlead.session.session import Session
from fairlead.wire import protocol as wire
from fairlead.wire import states
from fairlead.wire.params import SessionParams
from fairlead.wire.params import Target as TargetWire
from fairlead.workspace.errors import WorkspaceError

Handler = Callable[[AgentServer, Any], Awaitable[Any]]
"""Answers a request or a command. Its second parameter is annotated with the TypedDict of the params."""

NotificationHandler = Callable[[AgentServer, Any], Any]
"""Its params are an object of lsprotocol or, where `AgentProtocol` does not convert them, unchecked JSON."""


async def named_session(server: AgentServer, params: SessionParams) -> Session:
    """The session that the params name.

    Raises:
        WrongRequest, RequestRefused: as `Sessions.get`.
    """
    return await server.sessions.get(params["sessionId"])


def current_edits(server: AgentServer, session: Session) -> states.EditsWire:
    """The current proposals of a session."""
    return convert_edits.edits(session.id, session.roots, session.edits(), server.documents.encoding)


def answered_edits(server: AgentServer, session: Session) -> states.EditsWire | None:
    """The proposals for the answer to a decision; None if the client has received them as a difference."""
    return None if server.editor.capabilities.incremental else current_edits(server, session)


def session_target(session: Session, given: TargetWire) -> Target:
    """A target, with paths as the session spells them, because clients spell a path in several ways."""
    target = read_target(given)
    if target.changes is None:
        return target
    changes = [replace(change, path=str(resolved(session, Path(change.path)))) for change in target.changes]
    return replace(target, changes=tuple(changes))


def resolved(session: Session, path: Path) -> Path:
    """A path as the session spells it; unchanged if it is outside of the workspace."""
    try:
        return session.roots.resolve(str(path))
    except WorkspaceError:
        return path


def request(server: AgentServer, handler: Handler) -> Callable[[Any], Awaitable[Any]]:
    """The feature for a request: expected exceptions become error answers."""

    _, kind, *_ = handler.__annotations__.values()

    async def answer(params: Any) -> Any:
        try:
            return await handler(server, read(kind, params, "params"))
        except Stale as error:
            raise rpc_error(wire.CONTENT_MODIFIED, str(error)) from error
        except RequestRefused as error:
            raise rpc_error(wire.REQUEST_FAILED, str(error)) from error
        except (WrongRequest, WrongValue) as error:
            raise rpc_error(INVALID_PARAMS, str(error)) from error

    return answer


def command(server: AgentServer, handler: Handler) -> Callable[..., Awaitable[Any]]:
    """The feature for a command: its first argument has the shape of the request's params, and may be absent."""
    answer = request(server, handler)

    async def execute(*arguments: Any) -> Any:
        return await answer(arguments[0] if arguments else {})

    return execute


def notification(server: AgentServer, handler: NotificationHandler) -> Callable[[Any], Any]:
    """The feature for a notification, or for a request that pygls answers itself."""

    def receive(params: Any) -> Any:
        return handler(server, params)

    return receive
