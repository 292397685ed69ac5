"""The methods of the protocol: reads their params, calls a session, and turns errors into answers."""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from acp import schema
from acp.connection import Connection
from acp.exceptions import RequestError
from pydantic import BaseModel, ValidationError

from fairlead import __version__
from fairlead.acp.client import Client
from fairlead.acp.lines import LineTransport
from fairlead.acp.served_session import Place, ServedSession
from fairlead.acp.texts import plain
from fairlead.acp.turns import RunFailed
from fairlead.app.saved_sessions import SavedSession, find_saved, saved_sessions
from fairlead.session.errors import RequestRefused, WrongRequest
from fairlead.session.sessions import OPEN_ELSEWHERE
from fairlead.session.store.journal import Journals
from fairlead.session.store.reader import JournalInfo
from fairlead.uris import path_problem
from fairlead.workspace.paths import real_path

log = logging.getLogger(__name__)

PROTOCOL = 1
PAGE = 100
"""How many sessions one answer lists."""
CANCEL = "session/cancel"
INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS, INTERNAL = -32600, -32601, -32602, -32603
AUTH_REQUIRED, NOT_FOUND = -32000, -32002
NOT_INITIALIZED = "Send initialize first."
UNKNOWN_SESSION = "Unknown session: {id}. It may have been deleted or closed; load it, or start a new one."
NO_SIGN_IN = "Fairlead has no sign-in. Set the key of your model in the environment, such as ANTHROPIC_API_KEY."
FAILED = "An internal error of Fairlead. The log on stderr has the details."
WRONG_FOLDER = "{name} cannot be used: {problem} ({path}). It must be the absolute path of an existing folder."
OTHER_FOLDER = "This session began in {folder}. Load it with this folder as cwd."
WRONG_CURSOR = "params.cursor is not from a list of sessions. List them without it."
RUNNING = "This session is running. Wait until its turn has ended, or cancel it, then fork it."
OPEN_ALREADY = "This session is open already."
CAPABILITIES: dict[str, Any] = {
    "loadSession": True,
    "promptCapabilities": {"image": True, "audio": False, "embeddedContext": True},
    "mcpCapabilities": {"http": True, "sse": False},
    "sessionCapabilities": {
        "list": {},
        "delete": {},
        "additionalDirectories": {},
        "fork": {},
        "resume": {},
        "close": {},
    },
}

M = TypeVar("M", bound=BaseModel)
Handler = Callable[[Any], Awaitable[Any]]


class UnknownSession(Exception):
    """There is no such session here."""


class AcpAgent:
    """The agent of one connection.

    Args:
        settings: the user's settings, by their names without the prefix `fairlead.`.
        storage: the folder of the saved sessions.
        agent_name: the agent of another maker that works in new sessions; empty: Fairlead's own.
    """

    def __init__(
        self, settings: Mapping[str, Any], storage: Path, transport: LineTransport, agent_name: str = ""
    ) -> None:
        self._settings, self._storage, self._agent_name = settings, storage, agent_name
        self._journals = Journals(storage / "sessions", log.warning)
        self.connection = Connection(self._handle, transport, listening=False)
        self._client = Client(self.connection, transport)
        self._is_initialized = False
        self._sessions: dict[str, ServedSession] = {}
        self._opening: set[str] = set()
        self._handlers: dict[str, tuple[type[BaseModel], Handler]] = {
            "initialize": (schema.InitializeRequest, self._initialize),
            "authenticate": (schema.AuthenticateRequest, self._authenticate),
            "session/new": (schema.NewSessionRequest, self._new),
            "session/load": (schema.LoadSessionRequest, self._load),
            "session/resume": (schema.ResumeSessionRequest, self._resume),
            "session/fork": (schema.ForkSessionRequest, self._fork),
            "session/list": (schema.ListSessionsRequest, self._list),
            "session/close": (schema.CloseSessionRequest, self._close),
            "session/delete": (schema.DeleteSessionRequest, self._delete),
            "session/prompt": (schema.PromptRequest, self._prompt),
            "_session/steering": (schema.PromptRequest, self._steer),
            CANCEL: (schema.CancelNotification, self._cancel),
            "session/set_mode": (schema.SetSessionModeRequest, self._set_mode),
            "session/set_config_option": (schema.SetSessionConfigOptionSelectRequest, self._set_option),
        }

    async def close(self) -> None:
        """Stops and saves all sessions."""
        closing = (session.close() for session in self._sessions.values())
        for error in await asyncio.gather(*closing, return_exceptions=True):
            if isinstance(error, BaseException):
                log.error("a session could not be closed", exc_info=error)

    async def _handle(self, method: str, params: Any, is_notification: bool) -> Any:
        """Answers a request. Notifications that are unknown or wrong are ignored.

        Raises:
            RequestError: the request cannot be served. The message is for the user.
        """
        if not is_notification:
            return await self._answer(method, params)
        if method == CANCEL:  # nothing else can be done without an answer
            with contextlib.suppress(RequestError):
                await self._answer(method, params)
        return None

    async def _answer(self, method: str, params: Any) -> Any:
        found = self._handlers.get(method)
        if found is None:
            raise RequestError(METHOD_NOT_FOUND, f"Fairlead has no method {method}.")
        model, handler = found
        if not self._is_initialized and method != "initialize":
            raise RequestError(INVALID_REQUEST, NOT_INITIALIZED)
        try:
            return await handler(model.model_validate({} if params is None else params))
        except ValidationError as error:
            raise RequestError(INVALID_PARAMS, _describe_problem(error)) from error
        except OverflowError as error:  # the SDK's models do not check numbers such as 1e999
            raise RequestError(INVALID_PARAMS, "params: a number is too large") from error
        except WrongRequest as error:
            raise RequestError(INVALID_PARAMS, str(error)) from error
        except RequestRefused as error:
            raise RequestError(INVALID_REQUEST, str(error)) from error
        except UnknownSession as error:
            raise RequestError(NOT_FOUND, str(error)) from error
        except RunFailed as error:
            raise RequestError(AUTH_REQUIRED if error.kind == "auth" else INTERNAL, plain(str(error))) from error
        except RequestError:
            raise
        except Exception as error:
            log.exception("a request failed: %s", method)
            raise RequestError(INTERNAL, FAILED) from error

    async def _initialize(self, params: schema.InitializeRequest) -> dict[str, Any]:
        """Answers with the only version that Fairlead has. A client that does not have it closes the connection."""
        self._client.capabilities = params.client_capabilities or schema.ClientCapabilities()
        self._is_initialized = True
        return {
            "protocolVersion": PROTOCOL,
            "agentCapabilities": CAPABILITIES,
            "agentInfo": {"name": "fairlead", "title": "Fairlead", "version": __version__},
            "authMethods": [],
            "_meta": {"steering": {"supported": True}},
        }

    async def _authenticate(self, _: schema.AuthenticateRequest) -> None:
        raise RequestRefused(NO_SIGN_IN)

    async def _new(self, params: schema.NewSessionRequest) -> dict[str, Any]:
        served = ServedSession(self._client, self._place(params))
        await self._opened(served, served.create(self._agent_name))
        return {"sessionId": served.session_id, **served.choices.answer_fields()}

    async def _load(self, params: schema.LoadSessionRequest) -> dict[str, Any]:
        served = await self._reopen(params)
        served.replay()
        return served.choices.answer_fields()

    async def _resume(self, params: schema.ResumeSessionRequest) -> dict[str, Any]:
        return (await self._reopen(params)).choices.answer_fields()

    async def _reopen(self, params: schema.LoadSessionRequest | schema.ResumeSessionRequest) -> ServedSession:
        """Opens a saved session. One that is open in this process is closed first: its client may have restarted.

        Raises:
            UnknownSession: there is none.
            WrongRequest, RequestRefused: as `ServedSession.open`, or the session belongs to another folder, or is being
                opened already.
        """
        session_id = params.session_id
        if session_id in self._opening:
            raise RequestRefused(OPEN_ALREADY)
        self._opening.add(session_id)
        try:
            open_here, place = self._sessions.get(session_id), self._place(params)
            if open_here is not None and not self._journals.exists(session_id):  # nothing was said, or nothing is saved
                _check_folder(place, map(str, open_here.session.roots.paths))
                await open_here.begin_again()
                asyncio.get_running_loop().call_soon(open_here.begin)
                return open_here
            await self._saved(session_id, place)
            if open_here is not None:
                await self._sessions.pop(session_id).close()
            served = ServedSession(self._client, place)
            await self._opened(served, served.open(session_id))
        finally:
            self._opening.discard(session_id)
        return served

    async def _fork(self, params: schema.ForkSessionRequest) -> dict[str, Any]:
        """Answers with a new session that continues where another one is now."""
        place, open_here = self._place(params), self._sessions.get(params.session_id)
        if open_here is not None:
            if open_here.session.running:
                raise RequestRefused(RUNNING)
            state = open_here.session.snapshot()
        else:
            info = await self._saved(params.session_id, place)
            try:
                state = await asyncio.to_thread(self._journals.read, info)
            except (OSError, ValueError) as error:
                raise RequestRefused(self._journals.unreadable_reason(params.session_id, error)) from error
        served = ServedSession(self._client, place)
        await self._opened(served, served.fork(state))
        return {"sessionId": served.session_id, **served.choices.answer_fields()}

    async def _saved(self, session_id: str, place: Place) -> JournalInfo:
        """The journal of a session that began in one of these folders. Raises UnknownSession or WrongRequest."""
        info = await find_saved(self._journals, session_id)
        if info is None:
            raise UnknownSession(UNKNOWN_SESSION.format(id=session_id[:80]))
        _check_folder(place, info.folders)
        return info

    def _place(
        self,
        params: schema.NewSessionRequest
        | schema.LoadSessionRequest
        | schema.ResumeSessionRequest
        | schema.ForkSessionRequest,
    ) -> Place:
        folders = [_folder(params.cwd, "cwd")]
        folders += [_folder(each, "additionalDirectories") for each in params.additional_directories or ()]
        return Place(folders, self._settings, params.mcp_servers or (), self._storage)

    async def _opened(self, served: ServedSession, opening: Awaitable[None]) -> None:
        """Opens a session. After the answer to the current request, the session begins to send."""
        try:
            await opening
        except BaseException:
            await served.close()
            raise
        self._sessions[served.session_id] = served
        # the connection sends the answer before it yields
        asyncio.get_running_loop().call_soon(served.begin)

    async def _list(self, params: schema.ListSessionsRequest) -> dict[str, Any]:
        folder = str(_absolute(params.cwd, "cwd")) if params.cwd is not None else None
        found = await saved_sessions(self._journals, folder)
        if params.cursor is not None:
            found = _after(found, params.cursor)
        page = found[:PAGE]
        sessions = [
            {
                "sessionId": each.id,
                "cwd": plain(each.info.folders[0]),
                "additionalDirectories": [plain(folder) for folder in each.info.folders[1:]],
                "title": plain(each.title),
                "updatedAt": datetime.fromtimestamp(each.updated, UTC).isoformat(timespec="milliseconds"),
            }
            for each in page
        ]
        more = {"nextCursor": f"{page[-1].updated!r} {page[-1].id}"} if len(found) > PAGE else {}
        return {"sessions": sessions, **more}

    async def _close(self, params: schema.CloseSessionRequest) -> dict[str, Any]:
        served = self._named(params.session_id)
        served.cancel()
        del self._sessions[params.session_id]
        await served.close()
        return {}

    async def _delete(self, params: schema.DeleteSessionRequest) -> dict[str, Any]:
        session_id = params.session_id
        if session_id in self._sessions:
            await self._close(schema.CloseSessionRequest(session_id=session_id))
        info = await find_saved(self._journals, session_id)
        if info is not None:
            await asyncio.to_thread(self._journals.remove, info)
            if self._journals.exists(session_id):
                raise RequestRefused(OPEN_ELSEWHERE)
        return {}

    async def _prompt(self, params: schema.PromptRequest) -> dict[str, Any]:
        return {"stopReason": await self._named(params.session_id).prompt(params.prompt)}

    async def _steer(self, params: schema.PromptRequest) -> dict[str, Any]:
        """A message to the turn that works: an extension that agents and clients share."""
        is_taken = self._named(params.session_id).steer(params.prompt)
        return {"outcome": "injected"} if is_taken else {"outcome": "promptRequired", "reason": "noRunningTurn"}

    async def _cancel(self, params: schema.CancelNotification) -> None:
        if (served := self._sessions.get(params.session_id)) is not None:
            served.cancel()

    async def _set_mode(self, params: schema.SetSessionModeRequest) -> dict[str, Any]:
        self._named(params.session_id).choices.set_mode(params.mode_id)
        return {}

    async def _set_option(self, params: schema.SetSessionConfigOptionSelectRequest) -> dict[str, Any]:
        served = self._named(params.session_id)
        await served.choices.set_option(params.config_id, params.value)
        return {"configOptions": served.choices.options()}

    def _named(self, session_id: str) -> ServedSession:
        """Raises UnknownSession if no such session is open."""
        served = self._sessions.get(session_id)
        if served is None:
            raise UnknownSession(UNKNOWN_SESSION.format(id=session_id[:80]))
        return served


def _check_folder(place: Place, folders: Iterable[str]) -> None:
    """Raises WrongRequest if a session that began in some folders is opened in others only."""
    first, *others = folders
    if not {first, *others} & set(map(str, place.folders)):
        raise WrongRequest(OTHER_FOLDER.format(folder=plain(first)))


def _after(found: Sequence[SavedSession], cursor: str) -> list[SavedSession]:
    """The sessions after a page, given the time and the id of its last one, which may be gone or continued.

    Raises:
        WrongRequest: this is no cursor.
    """
    updated, _, session_id = cursor.partition(" ")
    try:
        last = float(updated), session_id
    except ValueError:
        raise WrongRequest(WRONG_CURSOR) from None
    return [each for each in found if (each.updated, each.id) < last]


def _folder(given: str, name: str) -> Path:
    """A folder that the client names. Raises WrongRequest if it does not exist."""
    path = _absolute(given, name)
    if not path.is_dir():
        raise WrongRequest(WRONG_FOLDER.format(name=name, problem="there is no such folder", path=plain(given)[:200]))
    return path


def _absolute(given: str, name: str) -> Path:
    """A path that the client names, without links. Raises WrongRequest if no folder can have it."""
    problem = path_problem(Path(given)) if given else "it is empty"
    if problem:
        raise WrongRequest(WRONG_FOLDER.format(name=name, problem=problem, path=plain(given)[:200]))
    return real_path(Path(given))


def _describe_problem(error: ValidationError) -> str:
    """What is wrong with the params, in one sentence."""
    first, *others = error.errors(include_url=False, include_input=False, include_context=False)
    where = ".".join(["params", *map(str, first["loc"])])
    more = f" ({len(others)} more problems)" if others else ""
    return f"{where}: {first['msg']}{more}"
