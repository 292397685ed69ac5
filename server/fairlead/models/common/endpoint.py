"""The address of a model and the credentials for it."""

import ipaddress
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit, urlunsplit

from fairlead.agent.errors import Help, ModelError
from fairlead.http_client import is_loopback

MAX_URL = 2000  # characters
# Seconds. The API sends pings while the model thinks, so a long silence means a dead connection. A cloud may be silent
# while the model thinks, and a local server while it loads a model or reads a long prompt.
SILENCE, CLOUD_SILENCE, LOCAL_SILENCE = 180.0, 600.0, 3600.0
PROVIDER_HOST = "api.anthropic.com"
LOCAL_NAMES = (".local", ".localhost", ".lan", ".internal", ".home.arpa", ".ts.net")
CARRIER_GRADE_NAT = ipaddress.ip_network("100.64.0.0/10")  # Tailscale's addresses; `is_private` is False for them

NO_KEY = (
    "No API key is set. In VS Code run “Agent: Set API Key”; in a terminal set {variable}. "
    "For another provider or a local server, choose its endpoint (setting endpoint, --endpoint) or its address "
    "(baseUrl, --base-url)."
)
INVALID_KEY = "The API key contains invalid characters. Set it again with “Agent: Set API Key” or {variable}."
_CALL = re.compile(r"/(chat/completions|completions|messages|responses|models)$")
"""What users copy from an example in addition to the base URL."""
_VERSIONED = re.compile(r"/v\d\w*(/|$)|/openai/deployments/")
"""A path that says where the API is. Azure's older addresses name a deployment."""
_UNVERSIONED = ("models.github.ai",)
"""The hosts whose addresses have no version."""


Api = Literal["messages", "chat", "responses"]
"""The API of a model's server: Anthropic's Messages, or OpenAI's Chat Completions or Responses."""

LABELS = {"bedrock": "Amazon Bedrock", "vertex": "Google Vertex AI"}


@dataclass(frozen=True)
class Cloud:
    """A cloud that serves the Messages API."""

    provider: Literal["bedrock", "vertex"]
    region: str = ""
    """Empty: from the environment or the AWS profile."""
    project: str = ""
    """For Vertex AI. Empty: from the environment."""

    @property
    def label(self) -> str:
        """The name of the cloud for users."""
        return LABELS[self.provider]


@dataclass(frozen=True)
class Endpoint:
    """Where requests go, and with which model and credentials. Its repr contains no secrets.

    Whitespace around the address and the credentials is removed; empty ones become None.
    """

    model: str
    """Empty: the only one that the server has."""
    max_tokens: int
    """The longest answer, in tokens."""
    effort: str | None
    """How much the model thinks; None: the model's default."""
    base_url: str | None
    """None: the address of Anthropic or of the cloud."""
    api_key: str | None
    auth_token: str | None
    """Not sent if there is a key."""
    cloud: Cloud | None = None
    max_silence: float = 0
    """How many seconds a connected server may send nothing; 0 selects a default (`silence`)."""
    api: Api | None = "messages"
    """None: it is found out from the server."""
    headers: tuple[tuple[str, str], ...] = ()
    """Further headers of each request. They may contain secrets."""
    name: str = ""
    """The name of the endpoint in the settings."""
    title: str = ""
    """The name of the endpoint for the user; empty if it has none."""
    api_path: str = "/v1"
    """Where OpenAI's APIs are if the base URL does not say it."""
    at_provider: bool = False
    """Whether the base URL is that of a provider."""
    needs_key: bool = False
    """Whether nothing is sent without a key. Without a base URL and a cloud, a key is always needed."""
    key_variable: str = "the variable for its key"
    """The environment variable for the key, or a description of it, for messages."""
    fallback_model: str = ""
    """The model if `model` is empty and the server does not list its models."""
    problem: str = ""
    """Why no request can be sent, and what to do; empty if nothing is known."""

    def __post_init__(self) -> None:
        for name in ("base_url", "api_key", "auth_token"):
            object.__setattr__(self, name, (getattr(self, name) or "").strip() or None)

    def __repr__(self) -> str:
        return f"Endpoint({self.model!r}, base_url={self.shown_url!r})"

    @property
    def shown_url(self) -> str | None:
        """The base URL without its user name and password; None if there is none."""
        return self.base_url and without_password(self.base_url)

    @property
    def messages_url(self) -> str | None:
        """The base URL for the Messages API: without `/v1`, which Anthropic's SDK adds."""
        if self.base_url is None or self.cloud is not None:  # a gateway to a cloud has paths of its own
            return self.base_url
        return _with_path(self.base_url, lambda path: path.removesuffix("/v1"))

    @property
    def openai_url(self) -> str | None:
        """The base URL for OpenAI's APIs: with the version, such as `/v1` or `/v1beta/openai`."""
        return self.base_url and _with_path(self.base_url, self._versioned)

    def _versioned(self, path: str) -> str:
        if self.host in _UNVERSIONED:
            return path
        segments = self.api_path.split("/")[1:]
        for count in range(len(segments), 0, -1):
            if path.endswith("/" + "/".join(segments[:count])):
                return "/".join([path, *segments[count:]])
        return path if _VERSIONED.search(path) else path + self.api_path

    @property
    def is_hosted(self) -> bool:
        """Whether a provider or a cloud runs the model."""
        return self.at_provider or self.cloud is not None or self.is_anthropic

    @property
    def is_anthropic(self) -> bool:
        """Whether it is Anthropic's own API."""
        return self.cloud is None and (self.base_url is None or self.host == PROVIDER_HOST)

    @property
    def host(self) -> str | None:
        """The host name or IP address in the base URL; None if the base URL is missing or invalid."""
        return host_of(self.base_url) if self.base_url else None

    @property
    def authority(self) -> str | None:
        """The host with the port, if the base URL names one; None if the base URL is missing or invalid."""
        if self.host is None:
            return None
        port = urlsplit(self.base_url or "").port
        return self.host if port is None else f"{self.host}:{port}"

    @property
    def is_loopback(self) -> bool:
        """Whether the server is on this machine, judged by its name or address."""
        return self.host is not None and is_loopback(self.host)

    @property
    def is_local(self) -> bool:
        """Whether the server is on this machine or on the user's own network, judged by its name or address."""
        if self.host is None or self.cloud is not None:
            return False
        try:
            address = ipaddress.ip_address(self.host)
            return address.is_private or address in CARRIER_GRADE_NAT
        except ValueError:
            return "." not in self.host or self.host.endswith(LOCAL_NAMES)

    @property
    def silence(self) -> float:
        """How many seconds a connected server may send nothing."""
        default = CLOUD_SILENCE if self.cloud else LOCAL_SILENCE if self.is_local else SILENCE
        return self.max_silence or default

    @property
    def is_without_key(self) -> bool:
        """Whether a key is needed and missing."""
        is_needed = self.needs_key or not (self.base_url or self.cloud)
        return is_needed and not (self.api_key or self.auth_token)

    @property
    def has_credentials(self) -> bool:
        """Whether requests contain a key, a token or headers of the user's."""
        return bool(self.api_key or self.auth_token or self.headers)

    def with_headers(self, headers: dict[str, str]) -> dict[str, str]:
        """The headers of a request, with names in lower case, in addition to the endpoint's own, which replace them."""
        return headers | {name.lower(): value for name, value in self.headers}

    def check(self) -> None:
        """Checks that a request can be sent. With a base URL or a cloud, the key may be missing.

        Raises:
            ModelError: there is a `problem`, there is neither a key nor a token, or a key, a token or the base URL is
                invalid.
        """
        if self.problem:
            raise ModelError("invalid_request", self.problem)
        if self.is_without_key:
            raise ModelError("auth", NO_KEY.format(variable=self.key_variable))
        # the transport refuses other characters in a header with an error that contains the header
        if not re.fullmatch(r"[!-~]*", f"{self.api_key or ''}{self.auth_token or ''}"):
            help = Help(key_refusal="It contains invalid characters.")
            raise ModelError("auth", INVALID_KEY.format(variable=self.key_variable), help=help)
        if not (self.base_url is None or _is_address(self.base_url)):
            raise ModelError(
                "wrong_server",
                f"“{str(self.shown_url)[:200]}” is not a base URL. Set one like http://localhost:11434.",
            )


def host_of(url: str) -> str | None:
    """The host name or IP address in a base URL; None if the URL is invalid."""
    return urlsplit(url).hostname if _is_address(url) else None


def _with_path(url: str, change: Callable[[str], str]) -> str:
    """A base URL whose path, without a slash or a call of the API at its end, is replaced. An invalid one stays."""
    if not _is_address(url):
        return url
    parts = urlsplit(url)
    return urlunsplit(parts._replace(path=change(_CALL.sub("", parts.path.rstrip("/")).rstrip("/"))))


def without_password(url: str) -> str:
    """A URL without its user name and password."""
    return re.sub(r"//[^/]*@", "//", url)


def _is_address(url: str) -> bool:
    if len(url) > MAX_URL:
        return False
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0 and url.isprintable()
    except ValueError:
        return False
