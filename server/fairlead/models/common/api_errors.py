"""Converts the errors of a model's server and of connections to `ModelError`."""

import importlib
import socket
from collections.abc import Callable
from typing import Any, NamedTuple

from fairlead.agent.errors import ErrorKind, Help, ModelError, Overflow
from fairlead.json_values import fields_of, is_list
from fairlead.models.common.endpoint import PROVIDER_HOST, Endpoint
from fairlead.models.common.fields import as_json, as_text, nonsense
from fairlead.models.common.foreign import (
    MAX_SEARCHED,
    error_in,
    is_page,
    quote,
    readable,
    wrong_answer,
)
from fairlead.models.common.presets import EndpointSpec, preset_of_key, presets
from fairlead.models.common.refusals import (
    is_about_billing,
    is_about_images,
    is_about_key,
    is_about_model,
    is_about_region,
    is_about_thinking,
    is_about_tools,
    is_loading,
    is_too_long,
    parse_overflow,
)
from fairlead.models.common.transport import is_proxied
from fairlead.sentences import Sentence, Text

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
    "not_found_error": ("wrong_server", False),
    "unknown_model_error": ("unknown_model", False),
    "region_error": ("region", False),
    "proxy_error": ("proxy", False),
}
STATUSES: dict[int, str] = {
    400: "invalid_request_error",
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


class _Words(NamedTuple):
    """What the advice names."""

    where: str
    """The model's server."""
    server: str
    """The provider, else the model's server."""
    model: str
    title: str
    """The provider to which the key belongs by its form."""
    key_variable: str


ADVICE: dict[str, Callable[[_Words], Sentence]] = {
    "authentication_error": lambda words: Sentence(
        "The API key was refused. Set another one with “Agent: Set API Key” or {0}.", words.key_variable
    ),
    "permission_error": lambda _: Sentence(
        "This key has no access to the model or service. Choose another model (setting model) or key."
    ),
    "not_found_error": lambda words: Sentence(
        "Not found: check the base URL (setting baseUrl) and the model's name (“{0}”).", words.model
    ),
    "unknown_model_error": lambda words: Sentence(
        "{0} has no model “{1}”, or the key has no access to it. Choose another one with “Agent: Choose Model”.",
        words.server,
        words.model,
    ),
    "region_error": lambda words: Sentence(
        "{0} does not serve your country or region. Choose a model of another provider with “Agent: Choose Model”.",
        words.server,
    ),
    "proxy_error": lambda words: Sentence(
        "A proxy or a sign-in page answered instead of {0}. Check the proxy (HTTPS_PROXY, in VS Code http.proxy), and "
        "the base URL (setting baseUrl).",
        words.where,
    ),
    "billing_error": lambda _: Sentence(
        "The account has no credit left or is at its spend limit. Add credit, raise the limit or use another key."
    ),
    "rate_limit_error": lambda _: Sentence("The rate limit is reached."),
    "overloaded_error": lambda _: Sentence("The model is overloaded."),
    "timeout_error": lambda _: Sentence("The model's server took too long."),
    "api_error": lambda _: Sentence("The model's server reported an internal error."),
    "request_too_large": lambda _: Sentence("The conversation is too large for one request."),
    "wrong_provider": lambda words: Sentence(
        "The API key was refused. By its form, it is a key of {0}. Use {0}, or set another key with “Agent: Set "
        "API Key” or {1}.",
        words.title,
        words.key_variable,
    ),
    "missing_key": lambda words: Sentence(
        "{0} needs an API key, and none is set. Set it with “Agent: Set API Key” or {1}.",
        words.where,
        words.key_variable,
    ),
}

_VAGUE = ("invalid_request_error", "permission_error", "not_found_error")
"""The kinds of refusals whose text may say more."""
_PROXY_STATUSES = (403, 407, 511)
"""What proxies refuse with. A page with another status may come from the model's server itself."""
MAX_QUOTED = 500  # characters of the text from the model's server
UNSTARTED_ATTEMPTS = 5
"""The most attempts if the model's server on this machine is not running.

Only the user can start it, so more attempts over several minutes would be useless.
"""
IMAGES = Sentence(
    "The model's server refused a picture, so the conversation continues without it. Try again, or choose a model that "
    "reads pictures and send the picture again."
)
THINKING = Sentence(
    "The model's server refused the model's earlier thoughts in this conversation. Start a new session."
)
TOOLS = Sentence(
    "The model takes no tools, or its server was started without them, so it cannot work as an agent. Choose another "
    "model, or start the server so that it takes tools (llama.cpp: --jinja; vLLM: --enable-auto-tool-choice and "
    "--tool-call-parser)."
)
TOO_LONG = Sentence("The request is too long for the model.")
REFUSED = Sentence("The model's server refused the request.")
INTERRUPTED = Sentence("The answer was interrupted.")
LOADING = Sentence("The model's server is still loading the model.")
_DISCONNECTED = ("Server disconnected", "peer closed connection")
"""How the transport's message begins if a connection was closed too early. All others are about invalid HTTP."""


class ApiErrors:
    """Converts the errors of one endpoint. An API, or a cloud that serves it, overrides what differs."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint

    wants_messages = True
    """Whether its API is the Messages API."""

    @property
    def where(self) -> str:
        """The name of the model's server in messages."""
        return self.endpoint.shown_url or "the model's server"

    def name_of(self, status: int, said: str, headers: Any) -> str | None:
        """The kind of a refusal, one of `_KINDS`; None if the usual kind for its status applies."""
        return "authentication_error" if status == 400 and is_about_key(said) else None

    def said(self, text: str) -> str:
        """The part of an error's text that may be quoted."""
        return text

    def advice(self, name: str) -> str | None:
        """What happened and what to do, for a kind of error; None: there is none."""
        if name not in ADVICE:
            return None
        endpoint, owner = self.endpoint, self._key_owner()
        if name == "authentication_error" and (owner is not None or not endpoint.has_credentials):
            name = "wrong_provider" if owner is not None else "missing_key"
        server = endpoint.title if endpoint.at_provider else self.where
        title = owner.title if owner is not None else ""
        return ADVICE[name](_Words(self.where, server, endpoint.model, title, endpoint.key_variable))

    def _key_owner(self) -> EndpointSpec | None:
        """The provider to which the key belongs by its form; None if it is this one, or unknown."""
        owner = preset_of_key(self.endpoint.api_key or "")
        return owner if owner is not None and owner.name != self.endpoint.name else None

    def _help(self, kind: ErrorKind, quoted: str) -> Help:
        """What can help after an error of this kind."""
        if kind == "auth" and self.endpoint.has_credentials:
            owner = self._key_owner()
            return Help(key_endpoint=owner.name if owner else "", key_refusal=quoted)
        spec = presets().get(self.endpoint.name)
        if kind == "billing" and spec is not None and self.endpoint.at_provider:
            return Help(account_url=spec.account_url)
        return Help()

    def check_network(self) -> str:
        """What to check if there is no connection, as a sentence."""
        if self.endpoint.is_local:
            return Sentence("Check whether the server is running, and the base URL.")
        return Sentence("Check the network and the base URL.")

    def check_name(self) -> str:
        """What to check if the name of the model's server is unknown, as a sentence."""
        is_usual = self.endpoint.at_provider or self.endpoint.is_anthropic
        return Sentence("Check the network.") if is_usual else Sentence("Check the network and the base URL.")

    def of_invalid_request(self) -> ModelError | None:
        """The error for a request that is no valid HTTP, if it must not be quoted; None: the usual one."""
        return None

    def of_status(self, error: Any, *, has_images: bool) -> ModelError:
        """Converts an HTTP error response; the message quotes its body.

        The status decides the kind, unless a cloud or the text says more: that the request is too long, for example.

        Args:
            error: the SDK's `APIStatusError`.
            has_images: whether the request contained a picture.
        """
        headers = error.response.headers
        return self._refusal(error.status_code, error.body, str(error.message), headers, has_images=has_images)

    def of_answer(self, status: int, body: bytes, headers: Any) -> ModelError:
        """Converts an HTTP error response to a request without an SDK."""
        found = error_in(body)
        return self._refusal(status, found, "" if found else quote(body) or "no reason given", headers)

    def _refusal(self, status: int, body: Any, message: str, headers: Any, *, has_images: bool = False) -> ModelError:
        said = self.said(error_message(body) or message)
        usual = STATUSES.get(status, "api_error" if status >= 500 else "invalid_request_error")
        name = self.name_of(status, said, headers) or usual
        if status in _PROXY_STATUSES and is_page(said):
            name = "proxy_error"
        said = readable(said)[:MAX_QUOTED]
        error = self._error(name, said, body, f"{status}: {said}", has_images=has_images)
        error.retry_after = _retry_after(headers)
        return error

    def _error(self, name: str, said: str, body: Any, quoted: str, *, has_images: bool = False) -> ModelError:
        """The error that a refusal is about.

        Args:
            name: its kind, one of `_KINDS`, as far as the status or the type tells.
            said: its text.
            quoted: what the message quotes.
        """
        details = f"{said} {as_json(body)[:MAX_SEARCHED]}"
        if is_about_thinking(said):  # whatever the status: some proxies send 429 with such a text
            return ModelError("no_thinking", Text(THINKING, f" ({quoted})"))
        if is_about_tools(said):
            return ModelError("no_tools", Text(TOOLS, f" ({quoted})"))
        may_be_too_long = name in ("invalid_request_error", "api_error", "request_too_large") or name not in _KINDS
        if may_be_too_long and is_too_long(said):
            overflow = parse_overflow(details)
            return ModelError("context_overflow", Text(TOO_LONG, f" ({quoted})"), overflow=overflow)
        if has_images and name in ("invalid_request_error", "api_error", "not_found_error") and is_about_images(said):
            return ModelError("no_images", Text(IMAGES, f" ({quoted})"))
        if name in ("invalid_request_error", "rate_limit_error", "permission_error") and is_about_billing(details):
            name = "billing_error"
        elif name in _VAGUE and is_about_region(details):
            name = "region_error"
        elif name in (*_VAGUE, "authentication_error") and not self.endpoint.cloud and is_about_model(details):
            name = "unknown_model_error"
        kind, retryable = _KINDS.get(name, ("internal", True))
        loading = retryable and is_loading(said)
        advice = self.advice(name) or (REFUSED if name in _KINDS else INTERRUPTED)
        return ModelError(
            kind,
            Text(LOADING if loading else advice, f" ({quoted})"),
            retryable=retryable,
            loading=loading,
            overflow=parse_overflow(details) if kind == "context_overflow" else Overflow(),
            help=self._help(kind, quoted),
        )

    def of_other_body(self, response: Any, beginning: bytes) -> ModelError:
        """Converts a successful response that is not a stream of events: a JSON error, or a body of any other kind.

        Args:
            beginning: the first bytes of its body. A JSON error is recognized only if they are the whole body.
        """
        body = error_in(beginning)
        if body is not None:
            status = body["error"].get("code") if isinstance(body["error"], dict) else None
            status = status if isinstance(status, int) and 400 <= status <= 599 else 400
            return self._refusal(status, body, "", response.headers)
        content_type = response.headers.get("content-type", "")
        return wrong_answer(self.where, content_type, beginning, wants_messages=self.wants_messages)

    def in_stream(self, error: dict[str, Any]) -> ModelError:
        """Converts the `error` object of an event in a stream."""
        name = as_text(error.get("type") or "")
        said = readable(error_message(error) or name or "no reason given")[:MAX_QUOTED]
        return self._error(name, said, error, said)

    def of_connection(self, error: Exception) -> ModelError:
        """Converts an error of the SDK or its transport: no connection, a broken or silent one, an unreadable body."""
        transport = importlib.import_module("httpx2")
        endpoint, where = self.endpoint, self.where
        cause = _cause(error)
        if isinstance(cause, ModelError):  # `check_redirect`, within the SDK
            return cause
        if isinstance(cause, transport.LocalProtocolError) and (invalid := self.of_invalid_request()) is not None:
            return invalid
        if isinstance(cause, transport.ReadTimeout):
            silent = Sentence(
                "{0} is connected, but has sent nothing for {1} seconds. If the model needs more time to load or to "
                "read a long prompt, raise the setting maxSilenceSeconds.",
                where,
                f"{endpoint.silence:g}",
            )
            return ModelError("network", silent, retryable=not endpoint.is_local)
        if isinstance(cause, transport.TooManyRedirects):
            return ModelError(
                "wrong_server",
                Sentence(
                    "{0} redirects again and again. Check the base URL (setting baseUrl), and any proxy in front of "
                    "it.",
                    where,
                ),
            )
        detail = readable(str(cause))[:MAX_QUOTED] or type(cause).__name__
        if isinstance(cause, transport.DecodingError):
            return nonsense(f"a body that does not match its header “content-encoding” ({detail})")
        if isinstance(cause, transport.RemoteProtocolError) and not str(cause).startswith(_DISCONNECTED):
            return nonsense(f"a response that is not valid HTTP ({detail})")
        if isinstance(cause, transport.ProxyError):
            return ModelError("proxy", Text(self.advice("proxy_error") or "", f" ({detail})"), retryable=True)
        if is_broken(error):
            return ModelError("network", Sentence("The connection to {0} broke ({1}).", where, detail), retryable=True)
        if _is_unknown_host(cause) and not is_proxied(endpoint):
            host = endpoint.host or (PROVIDER_HOST if endpoint.is_anthropic else where)
            unknown = Sentence("{0} was not found.", host)
            return ModelError("network", Text(unknown, " ", self.check_name()), retryable=True)
        is_unstarted = endpoint.is_loopback and isinstance(cause, transport.ConnectError)
        return ModelError(
            "network",
            Text(Sentence("No connection to {0} ({1}).", where, detail), " ", self.check_network()),
            retryable=True,
            max_attempts=UNSTARTED_ATTEMPTS if is_unstarted else None,
        )

    def of_late_head(self) -> ModelError:
        """The error for a response whose head took too long (`HeadTimeout`)."""
        late = Sentence(
            "{0} is connected, but its response had not begun after {1} seconds. If the model needs more time to "
            "load or to read a long prompt, raise the setting maxSilenceSeconds.",
            self.where,
            f"{self.endpoint.silence:g}",
        )
        return ModelError("network", late, retryable=not self.endpoint.is_local)


def is_broken(error: Exception) -> bool:
    """Whether a connection was made and then broke."""
    transport = importlib.import_module("httpx2")
    return isinstance(_cause(error), transport.ReadError | transport.WriteError | transport.RemoteProtocolError)


def _is_unknown_host(error: BaseException) -> bool:
    """Whether an error comes from the search for a host's address. Each system describes that in other words."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, socket.gaierror):
        cause = cause.__cause__ or cause.__context__
    return cause is not None


def _cause(error: Exception) -> BaseException:
    """The transport's error, which the SDK may have wrapped; `error` itself if it wraps none."""
    return error if isinstance(error, importlib.import_module("httpx2").HTTPError) else error.__cause__ or error


def _retry_after(headers: Any) -> float | None:
    """The pause in seconds from `retry-after-ms`, else from `retry-after`; None if neither is a number."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            return max(0.0, float(headers[name]) * unit)
        except (KeyError, ValueError):
            continue
    return None


def error_message(body: Any) -> str | None:
    """The message in an error's body; None if there is none.

    It is `error.message` (Google also sends this inside a list), `message` or `Message` (AWS), or `error` or the whole
    body if that is a text.
    """
    if isinstance(body, str):
        return body or None
    given = fields_of(body[0] if is_list(body) and body else body)
    details = given.get("error", given)
    if isinstance(details, str):
        return details or None
    fields = fields_of(details)
    said = fields.get("message") or fields.get("Message")
    return as_text(said) if said else None
