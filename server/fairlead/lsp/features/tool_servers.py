"""The tool servers of sessions, and the user's sign-ins to them."""

from collections.abc import Collection
from functools import partial

from fairlead.display import escape_to_one_line, shorten
from fairlead.errors import ToolError
from fairlead.lsp.convert_tool_servers import offers, prompt_context, tool_servers
from fairlead.lsp.features.handlers import named_session
from fairlead.lsp.server import AgentServer
from fairlead.session.errors import RequestRefused, WrongRequest
from fairlead.tool_servers.connection import ToolRefused
from fairlead.tool_servers.definition import Definition
from fairlead.tool_servers.status import resting_offers, resting_statuses
from fairlead.wire.params import (
    LogInParams,
    SecretsParams,
    ServerPromptParams,
    ServerPromptResult,
    ToolServerParams,
    ToolServersParams,
)
from fairlead.wire.states import ServerOffersWire, ToolServersWire

CANNOT_SIGN_IN = "This editor cannot sign you in to tool servers. Use `fairlead mcp login` in a terminal."


async def list_servers(server: AgentServer, params: ToolServersParams) -> ToolServersWire:
    """`agent/toolServers/list`: the servers of a session, or those that a new session would have."""
    if session_id := params.get("sessionId"):
        session = await server.sessions.get(session_id)
        return tool_servers(session.id, session.tool_servers.statuses())
    return tool_servers(None, resting_statuses(_definitions(server), server.context.known_servers))


def _definitions(server: AgentServer) -> Collection[Definition]:
    """The servers that a new session would have."""
    context = server.context
    given = context.tool_definitions(context.roots) if context.trusted else context.settings.mcp_servers
    return given.values()


async def list_offers(server: AgentServer, params: ToolServersParams) -> ServerOffersWire:
    """`agent/toolServers/offers`: the prompts of the servers, and the resources of those that run."""
    if session_id := params.get("sessionId"):
        session = await server.sessions.get(session_id)
        return offers(await session.tool_servers.offers())
    return offers(resting_offers(_definitions(server), server.context.known_servers))


async def get_prompt(server: AgentServer, params: ServerPromptParams) -> ServerPromptResult:
    """`agent/toolServers/prompt`: what a prompt of a server says. Starts the server if necessary."""
    session, name, prompt = await named_session(server, params), params["server"], params["name"]
    session.check_workspace()
    where = f"The prompt {escape_to_one_line(prompt)} of {escape_to_one_line(name)}"
    try:
        answer = await session.tool_servers.prompt(name, prompt, params["arguments"])
    except ToolRefused as error:
        raise RequestRefused(f"{where} was refused by its server: {shorten(str(error))}") from error
    except TimeoutError as error:
        raise RequestRefused(f"{where} did not come in time. Try again.") from error
    except ToolError as error:
        raise RequestRefused(str(error)) from error
    if not answer.text.strip():
        raise RequestRefused(f"{where} is empty.")
    return prompt_context(name, prompt, answer)


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
