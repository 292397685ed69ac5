"""Where the model is asked, and whether it can be."""

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from fairlead.agent.errors import ModelError
from fairlead.models.clouds import Cloud

MAX_URL = 2000

NO_KEY = (
    "No API key. In VS Code run “Agent: Set API Key”; in a terminal set ANTHROPIC_API_KEY. "
    "For a local model set a base URL (setting baseUrl, or ANTHROPIC_BASE_URL)."
)
ODD_KEY = "The API key holds characters that no key has. Set it again with “Agent: Set API Key” or ANTHROPIC_API_KEY."


@dataclass(frozen=True)
class Endpoint:
    """Where requests go and with what: the model's name, limits, and who pays. Secrets do not show in its repr.

    Blanks around an address or a key, as pasting brings them along, are no part of it.
    """

    model: str
    max_tokens: int
    effort: str | None
    base_url: str | None
    api_key: str | None
    auth_token: str | None
    cloud: Cloud | None = None

    def __post_init__(self) -> None:
        for name in ("base_url", "api_key", "auth_token"):
            object.__setattr__(self, name, (getattr(self, name) or "").strip() or None)

    def __repr__(self) -> str:
        return f"Endpoint({self.model!r}, base_url={self.shown_url!r})"

    @property
    def shown_url(self) -> str | None:
        """The base URL as it may be shown: without a password in it."""
        return self.base_url and re.sub(r"//[^/]*@", "//", self.base_url)

    def check(self) -> None:
        """Raises ModelError where no request can be made with this. A base URL alone will do, as of a local server.

        A cloud has credentials of its own.
        """
        if not (self.api_key or self.auth_token or self.base_url or self.cloud):
            raise ModelError("auth", NO_KEY)
        # a header with other characters would be refused with an error that quotes it
        if not re.fullmatch(r"[!-~]*", f"{self.api_key or ''}{self.auth_token or ''}"):
            raise ModelError("auth", ODD_KEY)
        if not (self.base_url is None or _is_address(self.base_url)):
            raise ModelError(
                "invalid_request", f"“{str(self.shown_url)[:200]}” is no base URL; one is like http://localhost:11434."
            )


def _is_address(url: str) -> bool:
    if len(url) > MAX_URL:
        return False
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0 and url.isprintable()
    except ValueError:
        return False
