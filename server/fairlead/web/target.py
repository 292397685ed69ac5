"""What a URL asks for, after strict checks: the URL that is checked, shown and requested is the same text."""

import importlib
import re
from collections.abc import Collection
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any

from fairlead.display import escape_to_one_line, shorten
from fairlead.errors import ToolError
from fairlead.shell.network import Service
from fairlead.web.addresses import is_local_name, reach_of

MAX_URL = 8000
_USUAL_PORTS = {"http": 80, "https": 443}
_FIRST_FREE_PORT = 1024
_AUTHORITY = re.compile(r"(https?)://([^/?#]*)", re.IGNORECASE)
_NAME = re.compile(r"[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*")
# resolvers read a name whose last label is a number as an IPv4 address: 2130706433, 127.1, 0x7f000001 are 127.0.0.1
_NUMBER = re.compile(r"(?:.*\.)?(?:[0-9]+|0x[0-9a-f]*)")
_UNWANTED = re.compile(r"[\s\\\x00-\x20\x7f-\x9f]")


@dataclass(frozen=True, slots=True)
class Target:
    """A page of a server. Create it with `parse_url`."""

    url: str
    """Normalized, in ASCII and without a fragment."""
    scheme: str
    """`http` or `https`."""
    host: str
    """A name in lower case, in ASCII and without a final dot, or an address without brackets."""
    port: int
    path: str
    """With the query."""

    @property
    def name(self) -> str:
        """The host, with the port if it is unusual: what the user allows."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _USUAL_PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def service(self) -> Service:
        return Service(self.host, self.port)

    @property
    def is_address(self) -> bool:
        """Whether the host is an address instead of a name."""
        return ":" in self.host or _NUMBER.fullmatch(self.host) is not None


def parse_url(text: str) -> Target:
    """Parses the URL of a page. An internationalized name becomes its ASCII form (`xn--`).

    Raises:
        ToolError: it is no URL of the web, or it is written so that it may lead elsewhere than it seems to.
    """
    text = text.strip()
    found = _AUTHORITY.match(text)
    if found is None:
        raise ToolError(f"{shorten(text)} is no URL of the web. It must begin with https:// or http://.")
    if len(text) > MAX_URL:
        raise ToolError(f"The URL has more than {MAX_URL:,} characters.")
    if _UNWANTED.search(text):
        raise ToolError("The URL contains a space, a backslash or a control character. Write it percent-encoded.")
    if "@" in found[2]:
        raise ToolError("The URL contains a user name before the host, which fetch never sends. Leave it out.")
    library: Any = importlib.import_module("httpx2")
    try:
        url = library.URL(text).copy_with(fragment=None)
    except (library.InvalidURL, ValueError) as error:
        raise ToolError(f"The URL is not valid: {shorten(str(error), 200)}") from error
    host = url.raw_host.decode("ascii").removesuffix(".").lower()
    _check_host(host)
    if host != url.raw_host.decode("ascii"):
        url = url.copy_with(host=host)
    port = url.port or _USUAL_PORTS[url.scheme]
    if port not in _USUAL_PORTS.values() and not _FIRST_FREE_PORT <= port < 1 << 16:
        raise ToolError(f"Port {port} is none of a web server. fetch uses 80, 443 and those from {_FIRST_FREE_PORT}.")
    return Target(str(url), url.scheme, host, port, url.raw_path.decode("ascii"))


def _check_host(host: str) -> None:
    """Raises ToolError for a host that is neither a name nor an address in its usual form."""
    shown = escape_to_one_line(host)
    if ":" in host or _NUMBER.fullmatch(host):
        try:
            is_usual = str(ip_address(host)) == host
        except ValueError:
            is_usual = False
        if not is_usual:
            raise ToolError(f"The host {shown} is an address in an unusual form. Write 192.0.2.1 or [2001:db8::1].")
    elif not _NAME.fullmatch(host):
        raise ToolError(f"The URL has no valid host: {shown or 'it is empty'}.")


def check_reach(target: Target, private: Collection[Service]) -> None:
    """Checks what the URL itself says about where it leads. Resolves no name.

    Args:
        private: the services of this machine and the user's networks that the settings allow.

    Raises:
        ToolError: it leads to this machine or into a private network without the user's setting, or nowhere.
    """
    if target.is_address:
        check_address(target, target.host, private)
    elif is_local_name(target.host) and target.service not in private:
        raise ToolError(_refusal(target, "is in the user's own network"))


def check_address(target: Target, address: str, private: Collection[Service]) -> None:
    """Checks an address of a target's host.

    Raises:
        ToolError: as for `check_reach`.
    """
    reach = reach_of(address)
    at = "" if address == target.host else f"is at {address}, which "
    if reach == "forbidden":
        raise ToolError(f"{target.name} {at}is no address of a web server. Nothing was sent.")
    if reach == "private" and target.service not in private:
        raise ToolError(_refusal(target, f"{at}is in the user's own network"))


def _refusal(target: Target, why: str) -> str:
    return (
        f"{target.name} {why}. Nothing was sent. If the user wants this, they can add {target.service} to the setting "
        "web.privateHosts."
    )
