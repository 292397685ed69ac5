"""`delegate`: gives work to an agent that a file describes. What it proposes is merged when it has finished."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from fairlead.agent.model import ToolSpec
from fairlead.agent.tool import Location, RunningCall, ToolKind
from fairlead.display import shorten
from fairlead.errors import ToolError
from fairlead.sentences import Sentence
from fairlead.skills.agent_file import AgentFile
from fairlead.skills.library import for_list
from fairlead.tools.explore import CONTINUE

MAX_LISTED_CHARS = 8_000
DESCRIPTION = (
    "Give a part of the work to one of the agents below. It works on its own with the files and proposals as they are "
    "now, and what it proposes is added to your proposals when it has finished. You see only its report. It knows only "
    "what you write in task. Make several calls at once for parts that do not depend on each other and do not change "
    "the same lines.\n{agents}"
)

Start = Callable[[AgentFile, str, str, str, RunningCall], Awaitable[str]]
"""As `Start` of explore.py, for an agent."""


class Delegate:
    """Implements `Tool`."""

    kind: ToolKind = "agent"
    read_only = False

    def __init__(self, agents: Sequence[AgentFile], start: Start) -> None:
        self._agents, self._start = {agent.name: agent for agent in agents}, start
        lines = "\n".join(f"- {agent.name}: {for_list(agent.description)}" for agent in agents)
        properties = {
            "agent": {"type": "string", "enum": [*self._agents]},
            "title": {"type": "string", "description": "The work in 3 to 8 words, for the user"},
            "task": {
                "type": "string",
                "description": "The work, with all that the agent must know, and what its report should contain",
            },
            "continue": CONTINUE,
        }
        schema = {"type": "object", "properties": properties, "required": ["agent", "title", "task"]}
        self.spec = ToolSpec("delegate", DESCRIPTION.format(agents=lines[:MAX_LISTED_CHARS]), schema)

    def describe(self, input: dict[str, Any]) -> tuple[str, tuple[Location, ...]]:
        return Sentence("{0}: {1}", shorten(input["agent"]), shorten(input["title"])), ()

    async def run(self, input: dict[str, Any], call: RunningCall) -> str:
        agent = self._agents.get(input["agent"])
        if agent is None:
            raise ToolError(f"There is no agent {input['agent']!r}. There are: {', '.join(self._agents)}.")
        if not input["task"].strip():
            raise ToolError("The task is empty. Say what the agent should do.")
        return await self._start(agent, input["title"], input["task"], input.get("continue") or "", call)
