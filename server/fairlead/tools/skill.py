"""`skill`: the instructions of a skill, which stay in the conversation when it is shortened."""

from typing import Any

from fairlead.agent.model import ToolSpec
from fairlead.agent.tool import Location, RunningCall, ToolKind
from fairlead.display import shorten
from fairlead.sentences import Sentence
from fairlead.skills.library import SkillLibrary

SPEC = ToolSpec(
    "skill",
    "Read the instructions of a skill that <skills> lists, before work that its description fits.",
    {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "arguments": {"type": "string", "description": "What the instructions are applied to, if they need it"},
        },
        "required": ["name"],
    },
)


class UseSkill:
    """Implements `Tool`."""

    spec = SPEC
    kind: ToolKind = "think"
    read_only = True

    def __init__(self, skills: SkillLibrary) -> None:
        self._skills = skills

    def describe(self, input: dict[str, Any]) -> tuple[str, tuple[Location, ...]]:
        return Sentence("Use the skill {0}", shorten(input["name"])), ()

    async def run(self, input: dict[str, Any], call: RunningCall) -> str:
        return await self._skills.use(input["name"].strip().removeprefix("/"), input.get("arguments") or "")
