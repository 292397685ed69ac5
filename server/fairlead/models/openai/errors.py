"""The errors of OpenAI's APIs, where they differ from those of other servers."""

from typing import Any

from fairlead.agent.errors import ModelError
from fairlead.json_values import is_object
from fairlead.models.common.api_errors import STATUSES, ApiErrors
from fairlead.models.common.fields import as_text
from fairlead.models.common.foreign import BASE_URL, MESSAGES

# the kinds of errors for OpenAI's types and codes, in events of a stream
_NAMES = {
    "authentication_error": "authentication_error",
    "context_length_exceeded": "request_too_large",
    "insufficient_quota": "billing_error",
    "invalid_api_key": "authentication_error",
    "invalid_prompt": "invalid_request_error",
    "invalid_request_error": "invalid_request_error",
    "model_not_found": "unknown_model_error",
    "rate_limit_exceeded": "rate_limit_error",
    "requests": "rate_limit_error",
    "server_error": "api_error",
    "server_overloaded": "overloaded_error",
    "slow_down": "overloaded_error",
    "tokens": "rate_limit_error",
}
_MESSAGES_EVENTS = ("message_start", "content_block", "message_delta", "ping")


class OpenAIErrors(ApiErrors):
    """The errors of an endpoint with one of OpenAI's APIs."""

    wants_messages = False

    @property
    def where(self) -> str:
        return self.endpoint.shown_url or "the OpenAI API"

    def in_event(self, event: dict[str, Any]) -> ModelError | None:
        """The error in an event of a stream, or for one of the Messages API; None if it is an ordinary event."""
        if error := event.get("error"):
            return self.of_error(error)
        if "choices" not in event and str(event.get("type", "")).startswith(_MESSAGES_EVENTS):
            return ModelError("wrong_server", MESSAGES.format(where=self.where, base_url=BASE_URL))
        return None

    def of_error(self, error: Any) -> ModelError:
        """Converts an error within a stream: an object with a code or a type, or a text."""
        fields = dict(error) if is_object(error) else {"message": as_text(error)}
        code, kind = fields.get("code"), fields.get("type")
        name = _NAMES.get(str(code)) or _NAMES.get(str(kind)) or (STATUSES.get(code) if type(code) is int else None)
        return self.in_stream({**fields, "type": name or kind or ""})
