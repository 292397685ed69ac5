"""What all HTTP clients of the process share: the trusted certificates, and which servers need no proxy."""

import importlib
import ipaddress
from functools import cache
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

PIECE = 16_000
"""A response is read and decoded in pieces of at most this size, and other work can run between them."""


@cache
def certificates() -> Any:
    """The trusted certificates as an `ssl.SSLContext`, read once per process instead of once per client.

    Also sets how much the transport reads before other work can run.
    """
    # imported here, because otherwise the first client would import it
    importlib.import_module("httpcore2").AsyncHTTP11Connection.READ_NUM_BYTES = PIECE
    return importlib.import_module("httpx2").create_ssl_context()


def is_loopback(host: str) -> bool:
    """Whether a host is this machine, judged by its name or address."""
    try:
        address = ipaddress.ip_address(host)
        return address.is_loopback or address.is_unspecified
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def without_proxy(url: str) -> dict[str, None]:
    """The transport's `mounts`: none of its proxy for a server on this machine, or if the system exempts its host.

    The transport itself reads only the exemptions in `NO_PROXY`.
    """
    host = urlsplit(url).hostname or ""
    if not (is_loopback(host) or proxy_bypass(host)):
        return {}
    return {f"all://[{host}]" if ":" in host else f"all://{host}": None}


def proxy_of(url: str) -> str | None:
    """The user's proxy for a URL, from the environment or the system; None: there is none for it."""
    parts = urlsplit(url)
    if without_proxy(url):
        return None
    proxies = getproxies()
    found = proxies.get(parts.scheme) or proxies.get("all")
    return None if not found else found if "://" in found else f"http://{found}"
