"""What an error of the Messages API, of a cloud or of the connection means, in the words of a `ModelError`."""

import importlib
import json
from typing import Any

from fairlead.agent.errors import ErrorKind, ModelError
from fairlead.models import clouds
from fairlead.models.endpoint import Endpoint
from fairlead.models.refusals import is_too_long, overflow_of

_KINDS: dict[str, tuple[ErrorKind, bool]] = {
    "authentication_error": ("auth", False),
    "permission_error": ("auth", False),
    "billing_error": ("billing", False),
    "rate_limit_error": ("rate_limit", True),
    "overloaded_error": ("overloaded", True),
    "timeout_error": ("overloaded", True),
    "api_error": ("internal", True),
    "request_too_large": ("context_overflow", False),
    "invalid_request_error": ("invalid_request", False),
    "not_found_error": ("invalid_request", False),
}
_STATUSES: dict[int, str] = {
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    408: "timeout_error",
    409: "timeout_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}
_ADVICE: dict[str, str] = {
    "authentication_error": "The API key was refused. Set another with “Agent: Set API Key” or ANTHROPIC_API_KEY.",
    "permission_error": "The key may not use this model or service. Choose another model (setting model) or key.",
    "billing_error": "The account has no credit left. Add some, or use another key.",
    "rate_limit_error": "The rate limit is reached.",
    "overloaded_error": "The model is overloaded.",
    "timeout_error": "The model's server took too long.",
    "api_error": "The model's server had a fault of its own.",
    "request_too_large": "The conversation is too large for one request.",
}


def status_error(error: Any, endpoint: Endpoint) -> ModelError:
    """An HTTP error answer as a ModelError; the status decides, the body explains."""
    status: int = error.status_code
    said = (clouds.words_of(error.body) or str(error.message))[:500]
    name = _STATUSES.get(status, "api_error" if status >= 500 else "invalid_request_error")
    if endpoint.cloud is not None:
        said = said.partition("\n")[0]  # AWS goes on with what was signed, a token among it
        name = endpoint.cloud.error_name(status, said, error.response.headers) or name
    kind, retryable = _KINDS[name]
    advice = _advice(name, endpoint) or "The model's server refused the request."
    if name in ("invalid_request_error", "api_error") and is_too_long(said):
        kind, retryable, advice = "context_overflow", False, "The request is too long for the model."
    return ModelError(
        kind,
        f"{advice} ({status}: {said})",
        retryable=retryable,
        retry_after=_retry_after(error.response.headers),
        overflow=overflow_of(f"{said} {json.dumps(error.body)}"),
    )


def _advice(name: str, endpoint: Endpoint) -> str | None:
    cloud = endpoint.cloud
    own = cloud.advice(name, endpoint.model, endpoint.shown_url) if cloud is not None else None
    if name == "not_found_error":
        return own or f"Not found: check the model's name (“{endpoint.model}”) and the base URL."
    return own or _ADVICE.get(name)


def stream_error(error: dict[str, Any], endpoint: Endpoint) -> ModelError:
    """An `event: error` inside an answer that began well."""
    name = str(error.get("type", ""))
    kind, retryable = _KINDS.get(name, ("internal", True))
    return ModelError(
        kind,
        f"{_advice(name, endpoint) or 'The answer broke off.'} ({error.get('message', name)})",
        retryable=retryable,
    )


def connection_error(error: Exception, endpoint: Endpoint) -> ModelError:
    cloud = endpoint.cloud
    where = endpoint.shown_url or (cloud.label if cloud else "the Anthropic API")
    cause = error.__cause__ or error
    if cloud is not None and isinstance(cause, importlib.import_module("httpx2").LocalProtocolError):
        return ModelError("auth", clouds.ODD_CREDENTIALS.format(label=cloud.label))  # the cause quotes them
    detail = str(cause) or type(cause).__name__
    check = "the network and the region (setting cloud.region)" if cloud else "the network and the base URL"
    return ModelError("network", f"No connection to {where} ({detail}). Check {check}.", retryable=True)


def _retry_after(headers: Any) -> float | None:
    """Seconds from `retry-after-ms` or `retry-after`; a date or nonsense counts as not given."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            return max(0.0, float(headers[name]) * unit)
        except (KeyError, ValueError):
            continue
    return None
