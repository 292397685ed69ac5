"""Offers tools over MCP on standard input and output, in both revisions of the protocol."""

import asyncio
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import fairlead
from fairlead.cli.mcp_commands.offered import INSTRUCTIONS, OFFERED, Offered
from fairlead.cli.mcp_commands.questions import CANNOT_ASK, OPTIONS, Question
from fairlead.cli.mcp_commands.served_session import Answer, ServedSession
from fairlead.display import shorten
from fairlead.json_values import fields_of

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext
    from mcp_types import (
        CallToolRequestParams,
        CallToolResult,
        InputRequiredResult,
        ListToolsResult,
        PaginatedRequestParams,
    )

MAX_NAME = 60
CHOICE, KEY = "decision", "approval"
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {CHOICE: {"type": "string", "title": "Decision", "enum": list(OPTIONS)}},
    "required": [CHOICE],
}
EXPIRED = "Error: The question has expired. Call the tool again."


@dataclass
class _Going:
    """A call that goes on, perhaps over several requests (MCP 2026-07-28, "multi round-trip")."""

    work: asyncio.Task[Answer]
    asked: asyncio.Queue[Question]
    question: Question | None = None
    """The one that the caller is asking its user."""


@dataclass
class McpServer:
    """Serves one connection."""

    session: ServedSession
    _waiting: dict[str, _Going] = field(default_factory=dict[str, _Going])
    """The calls that wait for an answer of the user, by the state that the client sends back."""

    async def run(self) -> None:
        """Serves until standard input ends. No call goes on afterwards."""
        from mcp.server.lowlevel import Server  # noqa: PLC0415  slow to import, and optional
        from mcp.server.stdio import stdio_server  # noqa: PLC0415

        server: Server[Any] = Server(
            "fairlead",
            version=fairlead.__version__,
            title="Fairlead",
            instructions=INSTRUCTIONS,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
        )
        try:
            async with stdio_server() as (received, sent):
                await server.run(received, sent, server.create_initialization_options())
        finally:
            left = [going.work for going in self._waiting.values()]
            for work in left:
                work.cancel()
            await asyncio.gather(*left, return_exceptions=True)

    async def _list_tools(
        self, context: "ServerRequestContext[Any]", params: "PaginatedRequestParams | None"
    ) -> "ListToolsResult":
        from mcp_types import ListToolsResult, Tool, ToolAnnotations  # noqa: PLC0415

        def described(tool: Offered) -> Tool:
            hints = ToolAnnotations(
                title=tool.title, read_only_hint=tool.reads_only, destructive_hint=False, open_world_hint=False
            )
            return Tool(
                name=tool.name,
                title=tool.title,
                description=tool.description,
                input_schema=dict(tool.schema),
                annotations=hints,
            )

        return ListToolsResult(tools=[described(tool) for tool in OFFERED])

    async def _call_tool(
        self, context: "ServerRequestContext[Any]", params: "CallToolRequestParams"
    ) -> "CallToolResult | InputRequiredResult":
        if params.request_state is not None:
            going = self._waiting.pop(params.request_state, None)
            if going is None or going.question is None:
                return _result(Answer(EXPIRED, is_error=True))
            _decide(going.question, (params.input_responses or {}).get(KEY))
            return await self._until_answered(going, context)
        tool = next((each for each in OFFERED if each.name == params.name), None)
        if tool is None:
            names = ", ".join(each.name for each in OFFERED)
            wrong = f"Error: There is no tool {shorten(params.name, MAX_NAME)}. The tools are {names}."
            return _result(Answer(wrong, is_error=True))
        asked: asyncio.Queue[Question] = asyncio.Queue()
        given: Mapping[str, Any] = params.arguments or {}
        work = asyncio.create_task(self.session.call(tool, given, _caller(context), asked.put_nowait))
        return await self._until_answered(_Going(work, asked), context)

    async def _until_answered(
        self, going: _Going, context: "ServerRequestContext[Any]"
    ) -> "CallToolResult | InputRequiredResult":
        """Waits for a call. Asks its questions, or returns what the client must ask."""
        from mcp_types import ElicitRequest, ElicitRequestFormParams, InputRequiredResult  # noqa: PLC0415
        from mcp_types.version import MODERN_PROTOCOL_VERSIONS  # noqa: PLC0415

        try:
            while (question := await _next_question(going)) is not None:
                if not _can_ask(context):
                    question.reject(CANNOT_ASK)
                elif context.protocol_version in MODERN_PROTOCOL_VERSIONS:
                    state, going.question = secrets.token_urlsafe(), question
                    self._waiting[state] = going
                    request = ElicitRequest(
                        params=ElicitRequestFormParams(message=question.text, requested_schema=SCHEMA)
                    )
                    return InputRequiredResult(input_requests={KEY: request}, request_state=state)
                else:
                    answer = await context.session.elicit_form(question.text, SCHEMA, context.request_id)
                    _decide(question, answer)
            return _result(going.work.result())
        except BaseException:
            going.work.cancel()
            await asyncio.wait({going.work})
            raise


async def _next_question(going: _Going) -> Question | None:
    """The next question of a call; None when it has ended."""
    asked = asyncio.ensure_future(going.asked.get())
    try:
        await asyncio.wait({going.work, asked}, return_when=asyncio.FIRST_COMPLETED)
        return asked.result() if asked.done() else None
    finally:
        asked.cancel()


def _decide(question: Question, answer: Any) -> None:
    """Passes on what the other agent's user answered. Anything but a clear choice rejects."""
    content = fields_of(getattr(answer, "content", None))
    question.decide(content.get(CHOICE) if getattr(answer, "action", "") == "accept" else None)


def _can_ask(context: "ServerRequestContext[Any]") -> bool:
    capabilities = context.session.client_capabilities
    elicitation = capabilities.elicitation if capabilities is not None else None
    # only `url` is no form; an empty object is what older clients declare
    return elicitation is not None and (elicitation.form is not None or elicitation.url is None)


def _caller(context: "ServerRequestContext[Any]") -> str:
    """The name of the other agent, for the user."""
    params = context.session.client_params
    info = params.client_info if params is not None else None
    return shorten(info.title or info.name, MAX_NAME) if info is not None else "Another agent"


def _result(answer: Answer) -> "CallToolResult":
    from mcp_types import CallToolResult, TextContent  # noqa: PLC0415

    return CallToolResult(content=[TextContent(text=answer.text)], is_error=answer.is_error)
