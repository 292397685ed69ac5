"""The agents of other makers that can work in a session."""

import asyncio

from fairlead.app.agent_options import set_agent_option
from fairlead.errors import ToolError
from fairlead.hosted_agents.agents import OWN_AGENT, HostedAgents
from fairlead.hosted_agents.definition import AgentDefinition
from fairlead.hosted_agents.starting import AgentsContext, find_program, install_packages, sign_in_of
from fairlead.hosted_agents.updates import Choice, Option
from fairlead.lsp.server import AgentServer
from fairlead.session.errors import RequestRefused
from fairlead.wire.params import AgentOptionParams, HostedAgentsParams, InstallAgentParams
from fairlead.wire.states import AgentChoiceWire, AgentOptionWire, HostedAgentsWire, HostedAgentWire


async def list_agents(server: AgentServer, params: HostedAgentsParams) -> HostedAgentsWire:
    """`agent/hosted`: the agents that the user can choose, and what can be chosen for the one of a session."""
    session_id = params.get("sessionId")
    hosted = (await server.sessions.get(session_id)).hosted if session_id else None
    return await _agents(server, hosted)


async def install_agent(server: AgentServer, params: InstallAgentParams) -> HostedAgentsWire:
    """`agent/hosted/install`: installs the packages of an agent, at the user's request."""
    definition = server.context.hosted_agents().get(params["agent"])
    if definition is None:
        raise RequestRefused(f"There is no agent “{params['agent']}”.")
    try:
        await install_packages(definition, server.context.agents)
    except ToolError as error:
        raise RequestRefused(f"{definition.title} cannot be installed: {error}") from error
    return await _agents(server, None)


async def set_option(server: AgentServer, params: AgentOptionParams) -> HostedAgentsWire:
    """`agent/hosted/option`: sets an option of the agent that runs in a session."""
    session = await server.sessions.get(params["sessionId"])
    await set_agent_option(session, params["option"], params["value"])
    return await _agents(server, session.hosted)


async def _agents(server: AgentServer, hosted: HostedAgents | None) -> HostedAgentsWire:
    context, definitions = server.context.agents, server.context.hosted_agents().values()
    found = [await asyncio.to_thread(_agent, each, context) for each in definitions]
    choice = hosted.choice if hosted is not None else OWN_AGENT
    return {
        "agents": found,
        "chosen": choice.name,
        "options": [_option(each) for each in hosted.options] if hosted is not None else [],
        "commands": [_choice(each) for each in hosted.commands] if hosted is not None else [],
    }


def _agent(definition: AgentDefinition, context: AgentsContext) -> HostedAgentWire:
    program = find_program(definition, context)
    sign_in = sign_in_of(definition, context) if program is not None else None
    return {
        "name": definition.name,
        "title": definition.title,
        "command": definition.text,
        "isInstalled": program is not None,
        "packages": list(definition.package),
        "signIn": list(sign_in[0]) if sign_in is not None else [],
        "signInVariables": dict(sign_in[1]) if sign_in is not None else {},
    }


def _option(option: Option) -> AgentOptionWire:
    return {
        "id": option.id,
        "name": option.name,
        "category": option.category,
        "value": option.value,
        "choices": [_choice(each) for each in option.choices],
    }


def _choice(choice: Choice) -> AgentChoiceWire:
    return {"id": choice.id, "name": choice.name, "about": choice.about}
