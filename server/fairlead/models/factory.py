"""Creates the model that the settings select."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from fairlead.agent.model import Model
from fairlead.models.common.endpoint import Api, Endpoint
from fairlead.models.common.presets import ModelFacts
from fairlead.models.finding import FoundModel

if TYPE_CHECKING:
    from fairlead.models.anthropic.messages_api import MessagesApiModel
    from fairlead.models.openai.chat import ChatModel
    from fairlead.models.openai.responses import ResponsesModel


@dataclass(frozen=True)
class ModelChoice:
    """The endpoint or the recording that answers a session's requests."""

    endpoint: Endpoint
    replay: Path | None = None
    """A recording to play in place of the endpoint."""
    facts: ModelFacts = field(default=ModelFacts(), compare=False)
    """What the user's settings say about the model. It takes precedence over what Fairlead and the server know."""
    listed: ModelFacts = field(default=ModelFacts(), compare=False)
    """What the server's list of models says about it, if it was read."""


def open_model(choice: ModelChoice) -> Model:
    """Creates a model for one session. Opens no file or connection: `connect` and the first request do that."""
    if choice.replay is None:
        return _open_endpoint(choice.endpoint)
    from fairlead.models.replay import ReplayModel  # noqa: PLC0415  importing YAML would slow down every start

    return ReplayModel(choice.replay)


def _open_endpoint(endpoint: Endpoint) -> Model:
    if endpoint.api is None or not endpoint.model:
        return FoundModel(endpoint, _open_endpoint)
    return model_class(endpoint.api)(endpoint)


def model_class(api: Api) -> "type[MessagesApiModel | ChatModel | ResponsesModel]":
    """The class of the models with this API."""
    # imported here, because a user needs only one of them
    match api:
        case "messages":
            from fairlead.models.anthropic.messages_api import MessagesApiModel  # noqa: PLC0415

            return MessagesApiModel
        case "chat":
            from fairlead.models.openai.chat import ChatModel  # noqa: PLC0415

            return ChatModel
        case "responses":
            from fairlead.models.openai.responses import ResponsesModel  # noqa: PLC0415

            return ResponsesModel
