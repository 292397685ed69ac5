"""Converts the statuses of tool servers to wire shapes. Pure functions."""

from collections.abc import Sequence

from fairlead.tool_servers.connection import ListedTool
from fairlead.tool_servers.definition import Definition
from fairlead.tool_servers.offers import Offer
from fairlead.tool_servers.results import Answer
from fairlead.tool_servers.status import ServerStatus
from fairlead.tools.server_tools import tokens_of
from fairlead.wire import params, states


def tool_servers(session_id: str | None, statuses: Sequence[ServerStatus]) -> states.ToolServersWire:
    """The servers of a session; None: those that a new session would have."""
    return {"sessionId": session_id, "servers": list(map(_server, statuses))}


def _server(status: ServerStatus) -> states.ToolServerWire:
    definition = status.definition
    return {
        "name": definition.name,
        "command": definition.text,
        "isRemote": definition.is_remote,
        "hasInputs": bool(definition.inputs),
        "hosts": list(map(str, definition.hosts)),
        "definedIn": definition.defined_in.as_uri() if definition.defined_in is not None else None,
        "state": status.state,
        "problem": status.problem,
        "output": status.output,
        "tools": [_tool(definition, tool) for tool in status.tools],
    }


def _tool(definition: Definition, tool: ListedTool) -> states.ServerToolWire:
    return {
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "readsOnly": tool.reads_only,
        "isDestructive": tool.is_destructive,
        "tokens": tokens_of(definition.name, tool),
        "isEnabled": definition.is_enabled and tool.name not in definition.disabled_tools,
    }


def offers(servers: Sequence[Offer]) -> states.ServerOffersWire:
    """What the servers offer to the user."""
    return {"servers": list(map(_offer, servers))}


def _offer(offer: Offer) -> states.ServerOfferWire:
    return {
        "server": offer.server,
        "prompts": [
            {
                "name": prompt.name,
                "description": prompt.description,
                "arguments": [{"name": each.name, "isRequired": each.is_required} for each in prompt.arguments],
            }
            for prompt in offer.prompts
        ],
        "resources": [
            {"uri": resource.uri, "name": resource.name, "description": resource.description}
            for resource in offer.resources
        ],
    }


def prompt_context(server: str, name: str, answer: Answer) -> params.ServerPromptResult:
    """What a prompt of a server says, as the context of a run."""
    text: params.ServerPromptItem = {"kind": "serverPrompt", "server": server, "name": name, "text": answer.text}
    images: list[params.ImageItem] = [
        {"kind": "image", "name": f"{server}: {name}, picture {number}", "data": image.data}
        for number, image in enumerate(answer.images, 1)
    ]
    return {"context": [text, *images]}
