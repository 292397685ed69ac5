"""Fairlead's own tools for a hosted agent: a tool server (MCP, over HTTP) that only this agent reaches.

It answers each request with one JSON message, which the transport allows, and has neither sessions nor streams.
"""

import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import h11

import fairlead
from fairlead.hosted_agents.local_http import Exchange, LocalServer
from fairlead.hosted_agents.own_tools import AgentTool, AgentTools, ToolAnswer
from fairlead.json_values import fields_of

log = logging.getLogger(__name__)

PATH = "/mcp"
NAME = "fairlead"
REVISIONS = ("2025-11-25", "2025-06-18", "2025-03-26")
"""Those of MCP in which the few messages here are the same, the newest first."""
MAX_BYTES = 1 << 20
_JSON = ("content-type", "application/json")
_PARSE_ERROR, _INVALID_REQUEST, _METHOD_NOT_FOUND, _INVALID_PARAMS = -32700, -32600, -32601, -32602


class _Wrong(Exception):
    """A request that cannot be answered, with the code of JSON-RPC."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


class ToolServer(LocalServer):
    """Serves the tools to one agent.

    Args:
        offered: what it serves.
        call: calls a tool, given its name and its input.
    """

    def __init__(
        self, offered: AgentTools, call: Callable[[str, Mapping[str, Any]], Awaitable[ToolAnswer]] | None = None
    ) -> None:
        super().__init__()
        self._offered, self.call = offered, call

    @property
    def described(self) -> Mapping[str, Any]:
        """The server as `session/new` of ACP takes it."""
        headers = [{"name": "Authorization", "value": f"Bearer {self.password}"}]
        return {"type": "http", "name": NAME, "url": f"{self.address}{PATH}", "headers": headers}

    async def answer(self, exchange: Exchange, request: h11.Request) -> None:
        """See `LocalServer.answer`."""
        given = next((value for name, value in request.headers if name == b"authorization"), b"")
        scheme, _, password = given.partition(b" ")
        if scheme.lower() != b"bearer" or not self.is_password(password.strip()):
            await exchange.refuse(401, "Not allowed: this address is for the agent that Fairlead has started.")
        elif request.target.partition(b"?")[0] != PATH.encode():
            await exchange.refuse(404, f"There is only {PATH} here.")
        elif request.method != b"POST":
            await exchange.refuse(405, "This server takes only POST.")
        else:
            body = bytearray()
            async for piece in exchange.body():
                body += piece
                if len(body) > MAX_BYTES:
                    await exchange.refuse(413, f"A message can have at most {MAX_BYTES:,} bytes.")
                    return
            answer = await self._answer(bytes(body))
            if answer is None:
                await exchange.reply(202, b"", ())
            else:
                await exchange.reply(200, json.dumps(answer).encode(), [_JSON])

    async def _answer(self, body: bytes) -> Mapping[str, Any] | None:
        """The answer to a message; None to a notification."""
        message: Mapping[str, Any] = {}
        try:
            try:
                message = fields_of(json.loads(body))
            except (ValueError, RecursionError) as error:
                raise _Wrong(_PARSE_ERROR, "This is not JSON.") from error
            method, params = message.get("method"), fields_of(message.get("params"))
            if not isinstance(method, str):
                raise _Wrong(_INVALID_REQUEST, "This is no request.")
            if "id" not in message:
                return None
            result = await self._result(method, params)
        except _Wrong as error:
            return {
                "jsonrpc": "2.0",
                "id": message.get("id"),
                "error": {"code": error.code, "message": str(error)},
            }
        return {"jsonrpc": "2.0", "id": message["id"], "result": result}

    async def _result(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        match method:
            case "initialize":
                wanted = params.get("protocolVersion")
                return {
                    "protocolVersion": wanted if wanted in REVISIONS else REVISIONS[0],
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": NAME, "title": "Fairlead", "version": fairlead.__version__},
                    "instructions": self._offered.instructions,
                }
            case "ping":
                return {}
            case "tools/list":
                return {"tools": [_described(each) for each in self._offered.tools]}
            case "tools/call":
                tool = next((each for each in self._offered.tools if each.name == params.get("name")), None)
                if tool is None or self.call is None:
                    raise _Wrong(_INVALID_PARAMS, "There is no such tool.")
                answer = await self.call(tool.name, fields_of(params.get("arguments")))
                return {"content": [{"type": "text", "text": answer.text}], "isError": answer.is_error}
            case _:
                raise _Wrong(_METHOD_NOT_FOUND, "Method not found")


def _described(tool: AgentTool) -> Mapping[str, Any]:
    return {
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "inputSchema": tool.schema,
        "annotations": {"title": tool.title, "destructiveHint": False, "openWorldHint": False},
    }
