"""The handlers: each reads its params, calls one use case, and converts what comes back."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from lsprotocol import types

from fairlead.agent.errors import ToolError
from fairlead.lsp import convert
from fairlead.lsp import protocol as wire
from fairlead.lsp.actions import KIND, code_actions
from fairlead.lsp.editor import ClientAbilities
from fairlead.lsp.editor_diagnostics import EditorKnowledge
from fairlead.lsp.params import (
    Params,
    read_context,
    read_mode,
    read_ops,
    read_storage,
    read_target,
    read_workspace,
)
from fairlead.lsp.rpc import INVALID_PARAMS, rpc_error
from fairlead.lsp.server import AgentServer, Credentials
from fairlead.lsp.session_features import (
    cancel,
    create_session,
    delete_session,
    list_sessions,
    open_session,
    shutdown,
    steer,
)
from fairlead.plan.history import history_page
from fairlead.session.host import RequestRefused, Stale, WrongRequest
from fairlead.session.report.rules_page import rules_page
from fairlead.session.report.summary import record_page, short_record
from fairlead.session.review import decisions, undo
from fairlead.session.review.target import Decided, Target
from fairlead.session.review.undo_item import undo_item
from fairlead.session.session import Session
from fairlead.session.store.journal import Journals
from fairlead.shell.layers import Layers
from fairlead.workspace.paths import Root

Handler = Callable[[AgentServer, Params], Awaitable[Any]]


def initialize(server: AgentServer, params: types.InitializeParams) -> None:
    options = params.initialization_options
    given: dict[str, Any] = options if isinstance(options, dict) else {}
    uris = [folder.uri for folder in params.workspace_folders or []] or [params.root_uri or ""]
    try:
        root, elsewhere = read_workspace([uri for uri in uris if uri], params.root_path)
    except WrongRequest as error:
        raise rpc_error(INVALID_PARAMS, str(error)) from error
    folder, no_storage = read_storage(given.get("storageDir"))
    for told in filter(None, (elsewhere, no_storage)):
        server.warn(told)
    server.host.root = Root(root) if root is not None else None
    server.host.trusted = given.get("trusted") is not False
    server.editor.abilities = ClientAbilities(params.capabilities)
    server.host.code = EditorKnowledge(server.protocol, server.documents) if server.editor.abilities.editor else None
    server.host.wakes = given.get("restore") is not False
    server.host.journals = Journals(folder / "sessions" if folder is not None else None, server.warn, server.tell)
    server.host.layers = Layers(folder)
    server.lenses.refreshable = server.editor.abilities.lens_refresh
    server.lenses.with_diffs = server.editor.abilities.diffs
    if not server.editor.abilities.diffs:  # it has its own accept and reject at the cursor, and code lenses beside them
        kinds = types.CodeActionOptions(code_action_kinds=[KIND])
        server.feature(types.TEXT_DOCUMENT_CODE_ACTION, kinds)(_answering(server, offer_actions))
    server.use_settings(given.get("settings"))
    server.documents.encoding = str(
        getattr(server.workspace.position_encoding, "value", server.workspace.position_encoding)
    )


async def initialized(server: AgentServer, _: Any) -> None:
    server.warm_up()
    # before anything is waited for: the next request may name a session
    with contextlib.suppress(RequestRefused):  # no folder, or not trusted
        server.sessions.restore()
        server.host.layers.look(server.host.workspace())
    if server.editor.abilities.text_content:
        await server.content.register()


async def run_task(server: AgentServer, params: Params) -> wire.RunResult:
    session = await _session_for_run(server, params)
    return await _run(server, session, params)


async def _session_for_run(server: AgentServer, params: Params) -> Session:
    if not params.text("prompt").strip():
        raise WrongRequest("The task is empty. Say what should be done.")
    read_mode(params)
    session_id = params.optional_text("sessionId")
    return await server.sessions.get(session_id) if session_id is not None else server.sessions.create()


async def _run(server: AgentServer, session: Session, params: Params) -> wire.RunResult:
    session.check(params.text("prompt"))
    context, token, mode = read_context(params), params.token("workDoneToken"), read_mode(params)

    def begins() -> None:
        server.runs_progress.use(session.id, token, server.editor.abilities.progress)

    outcome = await session.run(params.text("prompt"), context, mode, begins)
    return convert.run_result(session.id, outcome, short_record(session.snapshot()))


async def accept(server: AgentServer, params: Params) -> wire.ReviewResult:
    session = await server.sessions.get(params.text("sessionId"))
    resolution = params.optional_text("resolution")
    if resolution not in (None, "proposed"):
        raise WrongRequest("params.resolution must be 'proposed' (or left out)")
    target, seen = _target(session, params), params.optional_integer("version")
    return _review_result(session, await decisions.accept(session, target, seen, over_mine=resolution is not None))


async def reject(server: AgentServer, params: Params) -> wire.ReviewResult:
    session = await server.sessions.get(params.text("sessionId"))
    reason = (params.optional_text("reason") or "").strip()
    target, seen = _target(session, params), params.optional_integer("version")
    return _review_result(session, await decisions.reject(session, target, seen, reason))


async def amend(server: AgentServer, params: Params) -> wire.AmendResult:
    session = await server.sessions.get(params.text("sessionId"))
    path = _resolved(session, params.path())
    await decisions.amend(session, path, params.text("text"), params.optional_integer("version"))
    return {"edits": convert.edits(session.id, session.root, session.edits())}


async def undo_review(server: AgentServer, params: Params) -> wire.ReviewResult:
    session = await server.sessions.get(params.text("sessionId"))
    item_id = params.optional_text("item")
    return _review_result(session, await (undo_item(session, item_id) if item_id else undo.undo(session)))


async def redo_review(server: AgentServer, params: Params) -> wire.ReviewResult:
    session = await server.sessions.get(params.text("sessionId"))
    return _review_result(session, await undo.redo(session))


def _target(session: Session, params: Params) -> Target:
    """The target with its path as the session names it: clients spell one file in several ways."""
    target = read_target(params)
    return target if target.path is None else replace(target, path=_resolved(session, target.path))


def _resolved(session: Session, path: Path) -> Path:
    try:
        return session.root.resolve(str(path))
    except ToolError:
        return path


def _review_result(session: Session, decided: list[Decided]) -> wire.ReviewResult:
    edits = convert.edits(session.id, session.root, session.edits())
    return {"outcomes": [convert.outcome(one) for one in decided], "edits": edits}


async def stop_command(server: AgentServer, params: Params) -> None:
    session = await server.sessions.get(params.text("sessionId"))
    await session.stop_command(params.text("handle"))


async def edit_plan(server: AgentServer, params: Params) -> wire.PlanEditResult:
    session = await server.sessions.get(params.text("sessionId"))
    session.edit_plan(read_ops(params), params.integer("revision"))
    return {"plan": convert.plan(session.id, session.plan_state())}


async def record(server: AgentServer, params: Params) -> wire.PageResult:
    session = await server.sessions.get(params.text("sessionId"))
    return {"markdown": record_page(session.snapshot(), session.root)}


async def command_rules(server: AgentServer, params: Params) -> wire.PageResult:
    return {"markdown": await rules_page(server.host)}


async def plan_history(server: AgentServer, params: Params) -> wire.PageResult:
    session = await server.sessions.get(params.text("sessionId"))
    return {"markdown": history_page(session.title, session.plan.history)}


async def credentials(server: AgentServer, params: Params) -> None:
    server.credentials = Credentials(
        params.optional_text("apiKey") or None,
        params.optional_text("authToken") or None,
        params.optional_text("baseUrl") or None,
    )


async def run_in_background(server: AgentServer, params: Params) -> dict[str, str]:
    """For clients that know no custom requests: the answer comes at once, the end as a message."""
    session = await _session_for_run(server, params)
    session.check(params.text("prompt"))

    async def work() -> None:
        try:
            result = await _run(server, session, params)
        except (RequestRefused, WrongRequest) as error:
            server.show(types.MessageType.Error, str(error))
            return
        kind = types.MessageType.Error if result["error"] else types.MessageType.Info
        server.show(kind, f"Fairlead ({result['stopReason']}): {result['message']}")

    server.keep(asyncio.ensure_future(work()))
    return {"sessionId": session.id}


async def show_plan(server: AgentServer, params: Params) -> wire.PlanWire:
    session = await server.sessions.get(params.text("sessionId"))
    return convert.plan(session.id, session.plan_state())


async def show_edits(server: AgentServer, params: Params) -> wire.EditsWire:
    session = await server.sessions.get(params.text("sessionId"))
    await session.files.observe_all()
    session.publish()
    return convert.edits(session.id, session.root, session.edits())


REQUESTS: dict[str, Handler] = {
    wire.CREATE_SESSION: create_session,
    wire.LIST_SESSIONS: list_sessions,
    wire.OPEN_SESSION: open_session,
    wire.DELETE_SESSION: delete_session,
    wire.RUN_TASK: run_task,
    wire.STEER: steer,
    wire.STOP_COMMAND: stop_command,
    wire.CANCEL: cancel,
    wire.ACCEPT: accept,
    wire.REJECT: reject,
    wire.AMEND: amend,
    wire.UNDO: undo_review,
    wire.REDO: redo_review,
    wire.PLAN_EDIT: edit_plan,
    wire.PLAN_HISTORY: plan_history,
    wire.RECORD: record,
    wire.COMMAND_RULES: command_rules,
    wire.CREDENTIALS: credentials,
}


def _shown(handler: Handler) -> Handler:
    """A decision by command: a client that knows no custom requests does not look at outcomes, so they are shown."""

    async def decide(server: AgentServer, params: Params) -> Any:
        result = await handler(server, params)
        bad = {o["message"] for o in result["outcomes"] if o["outcome"] in ("failed", "conflict")}
        good = {o["message"] for o in result["outcomes"] if o["message"]} - bad
        for kind, messages in ((types.MessageType.Warning, bad), (types.MessageType.Info, good)):
            if messages:
                server.show(kind, f"Fairlead: {' '.join(sorted(messages))}")
        return result

    return decide


COMMANDS: dict[str, Handler] = {
    wire.COMMAND_RUN_TASK: run_in_background,
    wire.COMMAND_CANCEL: cancel,
    wire.COMMAND_STEER: steer,
    wire.COMMAND_ACCEPT: _shown(accept),
    wire.COMMAND_REJECT: _shown(reject),
    wire.COMMAND_AMEND: amend,
    wire.COMMAND_UNDO: _shown(undo_review),
    wire.COMMAND_REDO: _shown(redo_review),
    wire.COMMAND_PLAN: show_plan,
    wire.COMMAND_EDITS: show_edits,
    wire.COMMAND_SESSIONS: list_sessions,
}


def trust(server: AgentServer, params: Any) -> None:
    server.host.trusted = Params(params).boolean("trusted")
    with contextlib.suppress(RequestRefused):
        server.sessions.restore()
        server.host.layers.look(server.host.workspace())


def configuration(server: AgentServer, params: types.DidChangeConfigurationParams) -> None:
    server.use_settings(params.settings)


def did_open(server: AgentServer, params: Any) -> None:
    document = params["textDocument"]
    _observe(server, server.documents.opened(document["uri"], document["text"], document["version"]))


def did_change(server: AgentServer, params: Any) -> None:
    document = params["textDocument"]
    _observe(server, server.documents.changed(document["uri"], document["version"], params["contentChanges"]))


def did_close(server: AgentServer, params: Any) -> None:
    _observe(server, server.documents.closed(params["textDocument"]["uri"]))


def did_save(server: AgentServer, params: Any) -> None:
    _observe(server, server.documents.saved(params["textDocument"]["uri"]))


def _observe(server: AgentServer, path: Path | None) -> None:
    if path is not None:
        server.sessions.told(path)


async def text_content(server: AgentServer, params: Params) -> dict[str, str]:
    return {"text": await server.content.text(params.text("uri"))}


async def offer_actions(server: AgentServer, params: Params) -> list[dict[str, Any]]:
    return code_actions(server.sessions, params)


async def code_lenses(server: AgentServer, params: Params) -> list[dict[str, Any]]:
    return await server.lenses.of(params.child("textDocument").text("uri"))


def cancel_progress(server: AgentServer, params: types.WorkDoneProgressCancelParams) -> None:
    session_id = server.runs_progress.session(params.token)
    for session in server.sessions:
        if session.id == session_id:
            session.cancel()


def register(server: AgentServer) -> None:
    """Puts all handlers in their places."""
    standard: dict[str, Handler] = {
        types.WORKSPACE_TEXT_DOCUMENT_CONTENT: text_content,
        types.TEXT_DOCUMENT_CODE_LENS: code_lenses,
    }
    for method, handler in {**REQUESTS, **standard}.items():
        server.feature(method)(_answering(server, handler))
    for name, handler in COMMANDS.items():
        server.command(name)(_command(server, handler))
    notifications: dict[str, Callable[[AgentServer, Any], Any]] = {
        types.INITIALIZE: initialize,
        types.SHUTDOWN: shutdown,
        wire.TRUST: trust,
        types.WORKSPACE_DID_CHANGE_CONFIGURATION: configuration,
        types.TEXT_DOCUMENT_DID_OPEN: did_open,
        types.TEXT_DOCUMENT_DID_CHANGE: did_change,
        types.TEXT_DOCUMENT_DID_CLOSE: did_close,
        types.TEXT_DOCUMENT_DID_SAVE: did_save,
        types.WINDOW_WORK_DONE_PROGRESS_CANCEL: cancel_progress,
    }
    for method, handler in notifications.items():
        server.feature(method)(_told(server, handler))

    async def on_initialized(params: Any) -> None:
        await initialized(server, params)

    server.feature(types.INITIALIZED)(on_initialized)


def _told(server: AgentServer, handler: Callable[[AgentServer, Any], Any]) -> Callable[[Any], Any]:
    def told(params: Any) -> Any:
        return handler(server, params)

    return told


def _answering(server: AgentServer, handler: Handler) -> Callable[[Any], Awaitable[Any]]:
    """A request's handler: what it raises on purpose becomes an error with its code."""

    async def answer(params: Any) -> Any:
        try:
            return await handler(server, Params(params))
        except Stale as error:
            raise rpc_error(wire.CONTENT_MODIFIED, str(error)) from error
        except RequestRefused as error:
            raise rpc_error(wire.REQUEST_FAILED, str(error)) from error
        except WrongRequest as error:
            raise rpc_error(INVALID_PARAMS, str(error)) from error

    return answer


def _command(server: AgentServer, handler: Handler) -> Callable[..., Awaitable[Any]]:
    """A workspace/executeCommand handler: one object, of the shape of the request's params."""
    answer = _answering(server, handler)

    async def command(*arguments: Any) -> Any:
        return await answer(arguments[0] if arguments else {})

    return command
