"""The address of a model and the credentials for it."""

import ipaddress
import re
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

from fairlead.agent.errors import ModelError

MAX_URL = 2000  # characters
# Seconds. The API sends pings while the model thinks, so a long silence means a dead connection. A cloud may be silent
# while the model thinks, and a local server while it loads a model or reads a long prompt.
SILENCE, CLOUD_SILENCE, LOCAL_SILENCE = 180.0, 600.0, 3600.0
PROVIDER_HOST = "api.anthropic.com"
LOCAL_NAMES = (".local", ".localhost", ".lan", ".internal", ".home.arpa", ".ts.net")
CARRIER_GRADE_NAT = ipaddress.ip_network("100.64.0.0/10")  # Tailscale's addresses; `is_private` is False for them

NO_KEY = (
    "No API key is set. In VS Code run “Agent: Set API Key”; in a terminal set ANTHROPIC_API_KEY. "
    "A local model only needs its address: the setting baseUrl, --base-url or ANTHROPIC_BASE_URL."
)
INVALID_KEY = "The API key contains invalid characters. Set it again with “Agent: Set API Key” or ANTHROPIC_API_KEY."


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
    title: str = ""
    """The name of the endpoint for the user; empty if it has none."""

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
    def is_hosted(self) -> bool:
        """Whether a provider runs the model: Anthropic or a cloud."""
        if self.cloud is not None or self.base_url is None:
            return True
        return self.host == PROVIDER_HOST

    @property
    def host(self) -> str | None:
        """The host name or IP address in the base URL; None if the base URL is missing or invalid."""
        return urlsplit(self.base_url).hostname if self.base_url and _is_address(self.base_url) else None

    @property
    def is_loopback(self) -> bool:
        """Whether the server is on this machine, judged by its name or address."""
        if self.host is None:
            return False
        try:
            address = ipaddress.ip_address(self.host)
            return address.is_loopback or address.is_unspecified
        except ValueError:
            return self.host == "localhost" or self.host.endswith(".localhost")

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

    def check(self) -> None:
        """Checks that a request can be sent. With a base URL or a cloud, the key may be missing.

        Raises:
            ModelError: there is neither a key nor a token, or a key, a token or the base URL is invalid.
        """
        if not (self.api_key or self.auth_token or self.base_url or self.cloud):
            raise ModelError("auth", NO_KEY)
        # the transport refuses other characters in a header with an error that contains the header
        if not re.fullmatch(r"[!-~]*", f"{self.api_key or ''}{self.auth_token or ''}"):
            raise ModelError("auth", INVALID_KEY)
        if not (self.base_url is None or _is_address(self.base_url)):
            raise ModelError(
                "invalid_request",
                f"“{str(self.shown_url)[:200]}” is not a base URL. Set one like http://localhost:11434.",
            )


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
