"""The tool servers of sessions, and the user's sign-ins to them."""

from functools import partial

from fairlead.display import escape_to_one_line
from fairlead.lsp.convert_tool_servers import tool_servers
from fairlead.lsp.features.handlers import named_session
from fairlead.lsp.server import AgentServer
from fairlead.session.errors import RequestRefused, WrongRequest
from fairlead.tool_servers.status import resting_statuses
from fairlead.wire.params import LogInParams, SecretsParams, ToolServerParams, ToolServersParams
from fairlead.wire.states import ToolServersWire

CANNOT_SIGN_IN = "This editor cannot sign you in to tool servers. Use `fairlead mcp login` in a terminal."


async def list_servers(server: AgentServer, params: ToolServersParams) -> ToolServersWire:
    """`agent/toolServers/list`: the servers of a session, or those that a new session would have."""
    if session_id := params.get("sessionId"):
        session = await server.sessions.get(session_id)
        return tool_servers(session.id, session.tool_servers.statuses())
    context = server.context
    definitions = context.tool_definitions(context.roots) if context.trusted else context.settings.mcp_servers
    return tool_servers(None, resting_statuses(definitions.values(), context.known_servers))


async def restart(server: AgentServer, params: ToolServerParams) -> ToolServersWire:
    """`agent/toolServers/restart`: ends a server, and starts it again whatever happened before."""
    session, name = await named_session(server, params), params["server"]
    session.check_workspace()
    statuses = {status.definition.name: status for status in session.tool_servers.statuses()}
    if name not in statuses:
        raise WrongRequest(f"There is no tool server “{escape_to_one_line(name)}”. Look at the names in your settings.")
    if statuses[name].state == "disabled":
        raise RequestRefused(f"The tool server {name} is switched off. Remove `disabled` from its definition first.")
    await session.tool_servers.restart(name)
    return tool_servers(session.id, session.tool_servers.statuses())


async def log_in(server: AgentServer, params: LogInParams) -> None:
    """`agent/toolServers/login`: signs the user in. The client is asked for values, and to open the page."""
    if not server.editor.capabilities.sign_ins:
        raise RequestRefused(CANNOT_SIGN_IN)
    name = params["server"]
    editor = server.editor
    await server.app.sign_in(name, params.get("redirectUri", ""), partial(editor.authorize, name), editor.enter)


async def secrets(server: AgentServer, params: SecretsParams) -> None:
    """`agent/toolServers/secrets`: replaces what is saved about servers, which is held only in memory."""
    server.app.use_secrets(params["secrets"])
