"""The tool servers that a client passes for one session, as definitions of the user's settings."""

from collections.abc import Mapping, Sequence
from typing import Any

from acp import schema

from fairlead.gate.tool_rules import SEPARATOR
from fairlead.json_values import is_object
from fairlead.tool_servers.read_definitions import MAX_NAME

SAME_NAME = "The editor passes several tool servers called {name}. The first one is used; give the others other names."
OTHER = "The tool server {name} is left out: it uses {type}. Fairlead uses programs and addresses of HTTP; ask for one."


def with_client_servers(settings: Mapping[str, Any], servers: Sequence[Any]) -> tuple[dict[str, Any], list[str]]:
    """Settings with the servers of a client, and what the user should know about those that are left out.

    A server of the settings has precedence: the user may have given it hosts and folders.

    Args:
        settings: by their names without the prefix `fairlead.`.
    """
    given, problems = dict[str, Any](), list[str]()
    for server in servers:
        name = _name(server.name)
        if name in given:
            problems.append(SAME_NAME.format(name=name))
            continue
        match server:
            case schema.McpServerStdio():
                variables = {each.name: each.value for each in server.env}
                given[name] = {"command": server.command, "args": server.args, "env": variables}
            case schema.HttpMcpServer():
                given[name] = {"url": server.url, "headers": {each.name: each.value for each in server.headers}}
            case _:
                problems.append(OTHER.format(name=name, type=server.type))
    own = settings.get("mcpServers")
    return {**settings, "mcpServers": {**given, **(own if is_object(own) else {})}}, problems


def _name(name: str) -> str:
    """A name that a tool server can have: it is a part of the names of its tools."""
    shown = "".join(each if each.isprintable() else "-" for each in name.strip())
    while SEPARATOR in shown:
        shown = shown.replace(SEPARATOR, "_")
    return shown[:MAX_NAME] or "server"
