"""The tools of Fairlead for hosted agents, whoever serves them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class AgentTool:
    """A tool for hosted agents."""

    name: str
    title: str
    description: str
    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class AgentTools:
    """The tools for hosted agents, and what an agent reads about them."""

    instructions: str
    tools: Sequence[AgentTool]


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """The result of a call, as text for the agent's model."""

    text: str
    is_error: bool = False
