"""The client under test of MCP's conformance suite: Fairlead's connection, its HTTP transport and its sign-in.

The suite runs `python client.py URL`, with the name of the scenario and its values in the environment.
"""

import asyncio
import json
import os
import sys
from collections.abc import Sequence
from typing import Any

import httpx2
from mcp_types import ElicitRequestParams, ElicitResult

from fairlead.json_values import fields_of
from fairlead.tool_servers.connection import Connection, ListedTool, ToolRefused
from fairlead.tool_servers.definition import Definition
from fairlead.tool_servers.elicitation import elicited
from fairlead.tool_servers.http import HttpStreams
from fairlead.tool_servers.oauth import SavedSignIn, key_of, sign_in
from fairlead.tool_servers.pipes import ServerFailed
from fairlead.tool_servers.secrets import Secrets
from fairlead.tool_servers.sign_ins import SignInNeeded

CONTEXT = fields_of(json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}"))
REDIRECT = "http://127.0.0.1:33418/callback"
MAX_SIGN_INS = 3


async def authorize(url: str) -> str:
    """Opens the page as a browser would, for a user who allows everything."""
    async with httpx2.AsyncClient() as browser:
        answer = await browser.get(url)
    return answer.headers["location"]


async def ask(question: str, options: Sequence[str]) -> str | None:
    """A user who takes the first suggestion."""
    return options[0]


async def elicit(params: ElicitRequestParams) -> ElicitResult:
    return await elicited("server", params, ask)


async def no_progress(progress: float, total: float | None, message: str | None) -> None:
    pass


def value_for(name: str, schema: dict[str, Any], tools: Sequence[ListedTool]) -> Any:
    """A value that the schema of an argument allows. `schema` wants that of a tool, as it arrived."""
    if name == "schema":
        return dict(tools[0].schema)
    if schema.get("enum"):
        return schema["enum"][0]
    kind = schema.get("type")
    return {"number": 5, "integer": 5, "boolean": True, "array": [], "object": {}}.get(str(kind), "text")


async def use(connection: Connection) -> None:
    """Makes the calls that the scenario names, else calls each tool once."""
    tools = await connection.list_tools()
    for tool in tools:
        rules = fields_of(tool.schema.get("properties"))
        made = {name: value_for(name, fields_of(rule), tools) for name, rule in rules.items()}
        named = [call.get("arguments") for call in CONTEXT.get("toolCalls", ()) if call.get("name") == tool.name]
        for given in named if "toolCalls" in CONTEXT else [made]:
            try:
                await connection.call(tool.name, given, 60, no_progress)
            except ToolRefused as error:
                print(f"{tool.name}: {error}", file=sys.stderr)


async def main() -> None:
    url = sys.argv[-1]
    definition = Definition(
        "server", url=url, client_id=CONTEXT.get("client_id", ""), client_secret=CONTEXT.get("client_secret", "")
    )
    secrets, key = Secrets(), key_of(definition, url)
    for count in range(MAX_SIGN_INS + 1):
        http = HttpStreams(url, {}, auth=SavedSignIn(secrets, key, definition))
        connection = Connection(http.streams, lambda _: None, elicit)
        try:
            await connection.open()
            await use(connection)
            return
        except ServerFailed as error:
            if not isinstance(http.failure, SignInNeeded) or count == MAX_SIGN_INS:
                raise http.failure or error from None
        finally:
            await connection.close()
        await sign_in(secrets, key, definition, REDIRECT, authorize)


if __name__ == "__main__":
    asyncio.run(main())
