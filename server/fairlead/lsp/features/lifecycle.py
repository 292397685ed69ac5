"""The connection as a whole: initialization, trust, folders, settings, credentials and shutdown."""

import asyncio
import contextlib
from typing import Any

from lsprotocol import types

from fairlead.agent.errors import ModelError
from fairlead.agent.model import Request, Retrying
from fairlead.json_reader import read
from fairlead.lsp import protocol as wire
from fairlead.lsp.editor_code import EditorProvider
from fairlead.lsp.editor_diagnostics import EditorDiagnostics
from fairlead.lsp.initialization import Initialization, read_folders, read_storage
from fairlead.lsp.protocol_params import CredentialsParams, NoParams, TrustParams, WarmParams
from fairlead.lsp.server import AgentServer, Credentials
from fairlead.messages.parts import Message, Prompt
from fairlead.models.factory import open_model
from fairlead.session.errors import RequestRefused, WrongRequest
from fairlead.session.store.journal import Journals
from fairlead.shell.layers import CommandLayers
from fairlead.uris import file_path
from fairlead.workspace.paths import Roots

TEST_SYSTEM = "You are a coding agent. The user is checking whether you can be reached."
TEST_PROMPT = "Answer with OK."


def use_initialization(server: AgentServer, initialization: Initialization) -> None:
    """Applies what the client sent in `initialize`."""
    options = initialization.options
    folder, storage_warning = read_storage(options.get("storageDir", ""))
    former_folder, _ = read_storage(options.get("formerStorageDir", ""))
    for warning in filter(None, (*initialization.warnings, storage_warning)):
        server.show_warning(warning)
    server.context.roots = Roots().with_folders(initialization.folders)
    server.context.trusted = options.get("trusted", True)
    server.editor.capabilities = initialization.capabilities
    if initialization.capabilities.editor:
        server.context.diagnostics = EditorDiagnostics(server.protocol, server.documents)
        server.context.editor_code = EditorProvider(server.protocol, server.documents)
    server.context.restores_sessions = options.get("restore", True)
    server.context.journals = Journals(
        folder and folder / "sessions",
        server.show_warning,
        server.show_info,
        former_folder=former_folder and former_folder / "sessions",
    )
    server.context.layers = CommandLayers(folder, server.show_warning, former_folder)
    server.lenses.can_refresh = initialization.capabilities.lens_refresh
    server.lenses.has_diffs = initialization.capabilities.diffs
    server.use_settings(options.get("settings"))
    encoding = server.connection.workspace.position_encoding
    server.documents.encoding = str(getattr(encoding, "value", encoding))


async def initialized(server: AgentServer, _: Any) -> None:
    """`initialized`: prepares the first run, opens the workspace, and registers the URI schemes of diffs."""
    server.warm_up()
    _open_workspace(server)  # before the first await: the next request may name a session
    if server.editor.capabilities.text_content:
        await server.content.register()


async def warm(server: AgentServer, params: WarmParams) -> None:
    """`agent/warm`: prepares the next run of the named session, or of a new one if the params name none."""
    session_id, roots = params.get("sessionId"), server.context.workspace()
    if session_id is None:
        connecting = server.context.spare_model.connect(server.choose_model())
    else:
        connecting = (await server.sessions.get(session_id)).warm()
    await asyncio.gather(server.context.layers.capability(roots), connecting)


async def test_model(server: AgentServer, _: NoParams) -> wire.TestResult:
    """`agent/model/test`: sends a small request to the model, so that the user knows whether the model answers.

    Raises:
        RequestRefused: the request failed, even if a run would send it again.
    """
    model = open_model(server.choose_model())
    request = Request(TEST_SYSTEM, (), [Message("user", (Prompt(TEST_PROMPT),))])
    try:
        async with contextlib.aclosing(model.stream(request)) as events:
            async for event in events:
                if isinstance(event, Retrying):  # the user is waiting, so the first failure is the answer
                    raise RequestRefused(event.reason)
    except ModelError as error:
        raise RequestRefused(str(error)) from error
    finally:
        await model.aclose()
    return {"model": model.name}


def trust(server: AgentServer, params: Any) -> None:
    """`agent/trust`: the user trusts the workspace, or no longer does."""
    server.context.trusted = read(TrustParams, params, "params")["trusted"]
    _open_workspace(server)


def _open_workspace(server: AgentServer) -> None:
    """Restores the sessions and starts to probe the sandbox, unless `ServerContext.workspace` refuses."""
    with contextlib.suppress(RequestRefused):
        server.sessions.restore()
        server.context.layers.start_probe(server.context.workspace())


def change_folders(server: AgentServer, params: types.DidChangeWorkspaceFoldersParams) -> None:
    """`workspace/didChangeWorkspaceFolders`: removes and adds folders. The workspace's trust applies to added ones too.

    Added folders that cannot be used are left out, and a warning gives the reason.
    """
    removed = {path for folder in params.event.removed if (path := file_path(folder.uri)) is not None}
    before = [(root.path, root.name) for root in server.context.roots.folders if root.path not in removed]
    try:
        added, warning = read_folders([(folder.uri, folder.name) for folder in params.event.added])
    except WrongRequest as error:
        added, warning = [], str(error)
    if warning:
        server.show_warning(warning)
    server.context.roots = server.context.roots.with_folders([*before, *added])
    server.sessions.change_folders()
    _open_workspace(server)


def configuration(server: AgentServer, params: types.DidChangeConfigurationParams) -> None:
    """`workspace/didChangeConfiguration`."""
    server.use_settings(params.settings)


async def credentials(server: AgentServer, params: CredentialsParams) -> None:
    """`agent/credentials`: replaces the keys and the base URL, which are held only in memory."""
    server.credentials = Credentials(
        params.get("apiKey") or None,
        params.get("authToken") or None,
        params.get("baseUrl") or None,
    )


def shutdown(server: AgentServer, _: Any) -> None:
    """`shutdown`: runs that end from now on count as interrupted."""
    for session in server.sessions:
        session.prepare_exit()
