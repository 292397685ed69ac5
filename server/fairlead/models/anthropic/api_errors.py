"""Converts the errors of the Messages API, of clouds and of connections to `ModelError`."""

import importlib
from typing import Any

from fairlead.agent.errors import ErrorKind, ModelError
from fairlead.json_values import is_object
from fairlead.models.anthropic import clouds
from fairlead.models.common.endpoint import Endpoint
from fairlead.models.common.fields import as_json, as_text, nonsense
from fairlead.models.common.foreign import BASE_URL, MAX_SEARCHED, OPENAI, describe, error_in, is_openai, readable
from fairlead.models.common.refusals import (
    is_about_billing,
    is_about_images,
    is_about_thinking,
    is_loading,
    is_too_long,
    parse_overflow,
)

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
    425: "overloaded_error",
    429: "rate_limit_error",
    503: "overloaded_error",
    529: "overloaded_error",
}
_ADVICE: dict[str, str] = {
    "authentication_error": "The API key was refused. Set another one with “Agent: Set API Key” or ANTHROPIC_API_KEY.",
    "permission_error": "This key has no access to the model or service. Choose another model (setting model) or key.",
    "billing_error": (
        "The account has no credit left or is at its spend limit. Add credit, raise the limit or use another key."
    ),
    "rate_limit_error": "The rate limit is reached.",
    "overloaded_error": "The model is overloaded.",
    "timeout_error": "The model's server took too long.",
    "api_error": "The model's server reported an internal error.",
    "request_too_large": "The conversation is too large for one request.",
}

MAX_QUOTED = 500  # characters of the text from the model's server
UNSTARTED_ATTEMPTS = 5
"""The most attempts if the model's server on this machine is not running.

Only the user can start it, so more attempts over several minutes would be useless.
"""
IMAGES = (
    "The model's server refused a picture, so the conversation continues without it. Try again, or choose a model that "
    "reads pictures and send the picture again."
)
THINKING = "The model's server refused the model's earlier thoughts in this conversation. Start a new session."
LOADING = "The model's server is still loading the model."
SILENT = (
    "{where} is connected, but has sent nothing for {seconds:g} seconds. If the model needs more time to load or to "
    "read a long prompt, raise the setting maxSilenceSeconds."
)
LATE = (
    "{where} is connected, but its response had not begun after {seconds:g} seconds. If the model needs more time to "
    "load or to read a long prompt, raise the setting maxSilenceSeconds."
)
CIRCLE = "{where} redirects again and again. Check {base_url}, and any proxy in front of it."
_DISCONNECTED = ("Server disconnected", "peer closed connection")
"""How the transport's message begins if a connection was closed too early. All others are about invalid HTTP."""


def status_error(error: Any, endpoint: Endpoint, *, has_images: bool) -> ModelError:
    """Converts an HTTP error response; the message quotes its body.

    The status decides the kind, unless a cloud or the text says more: that the request is too long, for example.

    Args:
        error: the SDK's `APIStatusError`.
        has_images: whether the request contained a picture.
    """
    headers = error.response.headers
    return _refusal(error.status_code, error.body, str(error.message), headers, endpoint, has_images=has_images)


def _refusal(
    status: int, body: Any, message: str, headers: Any, endpoint: Endpoint, *, has_images: bool = False
) -> ModelError:
    said = clouds.error_message(body) or message
    name = _STATUSES.get(status, "api_error" if status >= 500 else "invalid_request_error")
    if endpoint.cloud is not None:
        said = said.partition("\n")[0]  # the following lines from AWS contain the signed request with its token
        name = clouds.error_name(endpoint.cloud, status, said, headers) or name
    said = readable(said)[:MAX_QUOTED]
    details = f"{said} {as_json(body)[:MAX_SEARCHED]}"
    if name in ("invalid_request_error", "rate_limit_error") and is_about_billing(details):
        name = "billing_error"
    kind, retryable = _KINDS[name]
    advice = _advice(name, endpoint) or "The model's server refused the request."
    if is_about_thinking(said):  # whatever the status: some proxies send 429 with such a text
        return ModelError("invalid_request", f"{THINKING} ({status}: {said})", refuses="thinking")
    if name in ("invalid_request_error", "api_error") and is_too_long(said):
        kind, retryable, advice = "context_overflow", False, "The request is too long for the model."
    elif has_images and kind in ("invalid_request", "internal") and is_about_images(said):
        return ModelError("invalid_request", f"{IMAGES} ({status}: {said})", refuses="images")
    loading = retryable and is_loading(said)
    return ModelError(
        kind,
        f"{LOADING if loading else advice} ({status}: {said})",
        retryable=retryable,
        retry_after=_retry_after(headers),
        loading=loading,
        overflow=parse_overflow(details),
    )


def foreign_error(response: Any, beginning: bytes, endpoint: Endpoint) -> ModelError:
    """Converts a successful response that is not a stream of events: a JSON error, or a body of any other kind.

    Args:
        beginning: the first bytes of its body. A JSON error is recognized only if they are the whole body.
    """
    body = error_in(beginning)
    if body is not None:
        status = body["error"].get("code") if isinstance(body["error"], dict) else None
        status = status if isinstance(status, int) and 400 <= status <= 599 else 400
        return _refusal(status, body, "", response.headers, endpoint)
    content_type = response.headers.get("content-type", "")
    return ModelError("invalid_request", describe(_name_of(endpoint), content_type, beginning))


def event_error(event: dict[str, Any], endpoint: Endpoint) -> ModelError | None:
    """The error in a stream event, or for an event of OpenAI's API; None if it is an ordinary event."""
    if event.get("type") == "error" or ("type" not in event and "error" in event):
        error = event.get("error")
        return stream_error(error if is_object(error) else {"message": error}, endpoint)
    if is_openai(event):
        return ModelError("invalid_request", OPENAI.format(where=_name_of(endpoint), base_url=BASE_URL))
    return None


def _advice(name: str, endpoint: Endpoint) -> str | None:
    cloud = endpoint.cloud
    advice = clouds.advice(cloud, name, endpoint.model, endpoint.shown_url) if cloud is not None else None
    if name == "not_found_error":
        return advice or f"Not found: check the model's name (“{endpoint.model}”) and the base URL."
    return advice or _ADVICE.get(name)


def stream_error(error: dict[str, Any], endpoint: Endpoint) -> ModelError:
    """Converts the `error` object of an event in a stream."""
    name = as_text(error.get("type") or "")
    said = readable(clouds.error_message(error) or name or "no reason given")[:MAX_QUOTED]
    if is_too_long(said):
        sizes = parse_overflow(f"{said} {as_json(error)[:MAX_SEARCHED]}")
        return ModelError("context_overflow", f"The request is too long for the model. ({said})", overflow=sizes)
    kind, retryable = _KINDS.get(name, ("internal", True))
    return ModelError(kind, f"{_advice(name, endpoint) or 'The answer was interrupted.'} ({said})", retryable=retryable)


def connection_error(error: Exception, endpoint: Endpoint) -> ModelError:
    """Converts an error of the SDK or its transport: no connection, a broken or silent one, or an unreadable body."""
    transport = importlib.import_module("httpx2")
    cloud, where = endpoint.cloud, _name_of(endpoint)
    cause = _cause(error)
    if isinstance(cause, ModelError):  # `check_redirect`, within the SDK
        return cause
    if cloud is not None and isinstance(cause, transport.LocalProtocolError):
        return ModelError("auth", clouds.INVALID_CREDENTIALS.format(label=cloud.label))  # the cause would quote them
    if isinstance(cause, transport.ReadTimeout):
        silent = SILENT.format(where=where, seconds=endpoint.silence)
        return ModelError("network", silent, retryable=not endpoint.is_local)
    if isinstance(cause, transport.TooManyRedirects):
        return ModelError("invalid_request", CIRCLE.format(where=where, base_url=BASE_URL))
    detail = readable(str(cause))[:MAX_QUOTED] or type(cause).__name__
    if isinstance(cause, transport.DecodingError):
        return nonsense(f"a body that does not match its header “content-encoding” ({detail})")
    if isinstance(cause, transport.RemoteProtocolError) and not str(cause).startswith(_DISCONNECTED):
        return nonsense(f"a response that is not valid HTTP ({detail})")
    if is_broken(error):
        return ModelError("network", f"The connection to {where} broke ({detail}).", retryable=True)
    check = "whether the server is running, and the base URL" if endpoint.is_local else "the network and the base URL"
    if cloud is not None:
        check = "the network and the region (setting cloud.region)"
    is_unstarted = endpoint.is_loopback and isinstance(cause, transport.ConnectError)
    return ModelError(
        "network",
        f"No connection to {where} ({detail}). Check {check}.",
        retryable=True,
        max_attempts=UNSTARTED_ATTEMPTS if is_unstarted else None,
    )


def late_error(endpoint: Endpoint) -> ModelError:
    """The error for a response whose head took too long (`HeadTimeout`)."""
    late = LATE.format(where=_name_of(endpoint), seconds=endpoint.silence)
    return ModelError("network", late, retryable=not endpoint.is_local)


def is_broken(error: Exception) -> bool:
    """Whether a connection was made and then broke."""
    transport = importlib.import_module("httpx2")
    return isinstance(_cause(error), transport.ReadError | transport.WriteError | transport.RemoteProtocolError)


def _cause(error: Exception) -> BaseException:
    """The transport's error, which the SDK may have wrapped; `error` itself if it wraps none."""
    return error if isinstance(error, importlib.import_module("httpx2").HTTPError) else error.__cause__ or error


def _name_of(endpoint: Endpoint) -> str:
    """The name of the model's server in error messages."""
    return endpoint.shown_url or (endpoint.cloud.label if endpoint.cloud else "the Anthropic API")


def _retry_after(headers: Any) -> float | None:
    """The pause in seconds from `retry-after-ms`, else from `retry-after`; None if neither is a number."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            return max(0.0, float(headers[name]) * unit)
        except (KeyError, ValueError):
            continue
    return None
