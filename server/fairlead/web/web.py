"""Fetches a page: follows redirects by hand, and checks and asks before each request."""

import asyncio
import importlib
import socket
import ssl
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

from fairlead.display import shorten
from fairlead.errors import ToolError
from fairlead.http_client import certificates, proxy_of
from fairlead.shell.network import Service
from fairlead.web.target import Target, check_address, check_reach, parse_url

MAX_REDIRECTS = 5
MAX_ADDRESSES = 4
"""How many addresses of a host are tried."""
SECONDS = 30.0
"""How long one request may take."""

Allow = Callable[[Target], Awaitable[None]]
"""Returns when the user allows a request, and raises ToolError otherwise."""


async def resolve(host: str, port: int) -> Sequence[str]:
    """The addresses of a host, as the system knows them.

    Raises:
        OSError, UnicodeError: there are none.
    """
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer after all redirects."""

    target: Target
    """What gave it."""
    status: int
    phrase: str
    """The status with its usual words."""
    content_type: str
    body: bytes


@dataclass(frozen=True, slots=True)
class Web:
    """What requests to the web need.

    Resolving a name tells the name servers what is asked for, so nothing is resolved before the user allows the host.
    """

    resolve: Callable[[str, int], Awaitable[Sequence[str]]] = resolve
    proxy_of: Callable[[str], str | None] = proxy_of
    """Returns the user's proxy for a URL. A proxy resolves the name itself, so its address cannot be checked."""
    tls: Callable[[], ssl.SSLContext] = certificates
    seconds: float = SECONDS

    async def get(self, url: str, allow: Allow, private: Collection[Service], accept: str) -> Answer:
        """Asks for a page, and follows redirects.

        Args:
            allow: called before each request, also of a redirect.
            private: the services of this machine and the user's networks that may be asked.

        Raises:
            ToolError: it must not be done, or there is no answer. The message is for the model.
        """
        target = parse_url(url)
        for _ in range(MAX_REDIRECTS + 1):
            check_reach(target, private)
            await allow(target)
            response = await self._request(target, private, accept)
            if response.location is None:
                return Answer(target, response.status, response.phrase, response.content_type, response.body)
            target = _redirected(target, response.location)
        raise ToolError(f"{shorten(url, 200)} redirects more than {MAX_REDIRECTS} times. Ask for another page.")

    async def _request(self, target: Target, private: Collection[Service], accept: str) -> Any:
        proxy = self.proxy_of(target.url)
        addresses: Sequence[str] = [] if proxy is not None else await self._addresses(target, private)
        # imported here, because it imports the transport
        request = importlib.import_module("fairlead.web.request")
        return await request.get(target, addresses, proxy=proxy, accept=accept, seconds=self.seconds, tls=self.tls)

    async def _addresses(self, target: Target, private: Collection[Service]) -> Sequence[str]:
        """The checked addresses of a host. If one is not allowed, none is used."""
        if target.is_address:
            return [target.host]
        try:
            async with asyncio.timeout(self.seconds):
                found = await self.resolve(target.host, target.port)
        except (OSError, UnicodeError, TimeoutError) as error:
            raise ToolError(f"{target.host} is not known to the name server. Check the URL.") from error
        for address in found:
            check_address(target, address, private)
        if not found:
            raise ToolError(f"{target.host} has no address.")
        return found[:MAX_ADDRESSES]


def _redirected(target: Target, location: str) -> Target:
    """Where a redirect leads. The location is text of a server."""
    library: Any = importlib.import_module("httpx2")
    try:
        joined = str(library.URL(target.url).join(location))
        found = parse_url(joined)
    except (library.InvalidURL, ValueError, ToolError) as error:
        reason = str(error) if isinstance(error, ToolError) else "It is no valid URL."
        raise ToolError(
            f"{target.name} redirects to {shorten(location, 200)}, which is not followed. {reason}"
        ) from error
    if target.scheme == "https" and found.scheme == "http":
        raise ToolError(
            f"{target.name} redirects to {shorten(found.url, 200)}, which is not encrypted. That is not followed; "
            "if it is what the user wants, fetch it directly."
        )
    return found
