"""`explore`: lets a subagent find something out, so that what it reads does not fill the conversation."""

from collections.abc import Awaitable, Callable
from typing import Any

from fairlead.agent.model import ToolSpec
from fairlead.agent.tool import Location, RunningCall, ToolKind
from fairlead.display import shorten
from fairlead.errors import ToolError
from fairlead.sentences import Sentence

Start = Callable[[str, str, str, RunningCall], Awaitable[str]]
"""Starts a subagent for a call, given its title, the task, and the title of an earlier one that goes on or `""`.

Returns its report.

Raises:
    ToolError: it cannot be started.
"""

EXPLORES_WITH = ("read_file", "search", "list_files", "code", "skill")
"""The tools of the subagent, if there are such tools: they change nothing."""
ASKS = ("fetch", "web_search")
"""Its tools if the agent that calls it may use them too."""

CONTINUE = {
    "type": "string",
    "description": "The title of an earlier subagent, which then goes on",
}

SPEC = ToolSpec(
    "explore",
    "Let a subagent search and read, and report. Use it for a broad question that needs many searches and reads: you "
    "see only the report. It changes nothing, and knows only what task says. Ask several at once.",
    {
        "type": "object",
        "properties": {
            "title": {"type": "string", "description": "3 to 8 words for the user"},
            "task": {"type": "string", "description": "The question, and all that it must know"},
            "continue": CONTINUE,
        },
        "required": ["title", "task"],
    },
)


class Explore:
    """Implements `Tool`."""

    spec = SPEC
    kind: ToolKind = "agent"
    read_only = True

    def __init__(self, start: Start) -> None:
        self._start = start

    def describe(self, input: dict[str, Any]) -> tuple[str, tuple[Location, ...]]:
        return Sentence("Explore: {0}", shorten(input["title"])), ()

    async def run(self, input: dict[str, Any], call: RunningCall) -> str:
        if not input["task"].strip():
            raise ToolError("The task is empty. Say what the subagent should find out.")
        return await self._start(input["title"], input["task"], input.get("continue") or "", call)
