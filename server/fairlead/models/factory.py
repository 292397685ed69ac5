"""Which model plays: the settings say it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from fairlead.agent.model import Model
from fairlead.models.endpoint import Endpoint
from fairlead.models.messages_api import AnthropicModel


class OpenModel(Model, Protocol):
    """A model that holds connections."""

    async def aclose(self) -> None: ...


@dataclass(frozen=True)
class ModelChoice:
    """A replay file, or else an endpoint."""

    endpoint: Endpoint
    replay: Path | None = None


def open_model(choice: ModelChoice) -> OpenModel:
    """A model for one session. Opens nothing yet: files and connections come with the first request."""
    if choice.replay is None:
        return AnthropicModel(choice.endpoint)
    from fairlead.models.replay import ReplayModel  # noqa: PLC0415  its YAML reader would slow every start down

    return ReplayModel(choice.replay)
