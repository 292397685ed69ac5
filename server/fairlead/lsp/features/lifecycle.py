"""The connection as a whole: the start, trust, folders, settings, credentials and shutdown."""

from typing import Any

from lsprotocol import types

from fairlead.app.endpoint import Credentials
from fairlead.json_reader import read
from fairlead.lsp.initialization import read_folders
from fairlead.lsp.server import AgentServer
from fairlead.models.common.presets import DEFAULT
from fairlead.session.errors import WrongRequest
from fairlead.uris import file_path
from fairlead.wire.params import CredentialsParams, TrustParams, WarmParams


async def initialized(server: AgentServer, _: Any) -> None:
    """`initialized`: prepares the first run, opens the workspace, and registers the URI schemes of diffs."""
    server.app.prepare()  # before the first await: the next request may name a session
    if server.editor.capabilities.text_content:
        await server.content.register()


async def warm(server: AgentServer, params: WarmParams) -> None:
    """`agent/warm`: prepares the next run of the named session, or of a new one if the params name none."""
    await server.app.warm(params.get("sessionId"))


def trust(server: AgentServer, params: Any) -> None:
    """`agent/trust`: the user trusts the workspace, or no longer does."""
    server.app.trust(read(TrustParams, params, "params")["trusted"])
    server.file_problems.update_all()


def change_folders(server: AgentServer, params: types.DidChangeWorkspaceFoldersParams) -> None:
    """`workspace/didChangeWorkspaceFolders`: removes and adds folders.

    Added folders that cannot be used are left out, and a warning gives the reason.
    """
    removed = {path for folder in params.event.removed if (path := file_path(folder.uri)) is not None}
    try:
        added, warning = read_folders([(folder.uri, folder.name) for folder in params.event.added])
    except WrongRequest as error:
        added, warning = [], str(error)
    if warning:
        server.show_warning(warning)
    server.app.change_folders(removed, added)
    server.file_problems.update_all()


def configuration(server: AgentServer, params: types.DidChangeConfigurationParams) -> None:
    """`workspace/didChangeConfiguration`."""
    server.use_settings(params.settings)
    server.sessions.update_list()
    server.sessions.update_tool_servers()


async def credentials(server: AgentServer, params: CredentialsParams) -> None:
    """`agent/credentials`: replaces the keys and the base URL, which are held only in memory."""
    key = {DEFAULT: params.get("apiKey", "")}
    server.app.use_credentials(
        Credentials({**key, **params.get("keys", {})}, params.get("authToken") or None, params.get("baseUrl") or None)
    )


def shutdown(server: AgentServer, _: Any) -> None:
    """`shutdown`: runs that end from now on count as interrupted."""
    server.app.prepare_exit()
