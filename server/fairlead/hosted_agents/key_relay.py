"""The relay between an agent in its box and its API, which puts the user's key into the requests.

The agent gets the relay's address and a password for it in place of the key. So neither it nor anything that it starts
can read the key, and the box needs no way to the internet. Only requests with the password are sent on.
"""

import asyncio
import logging
from collections.abc import Iterable
from typing import Any
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

import h11

from fairlead.hosted_agents.local_http import Exchange, LocalServer
from fairlead.http_client import PIECE, certificates, without_proxy

log = logging.getLogger(__name__)

_KEY_HEADERS = (b"x-api-key", b"x-goog-api-key", b"api-key", b"authorization")
_KEY_PARAMETER = "key"
_OF_CONNECTION = frozenset(
    b"connection expect host keep-alive proxy-authorization proxy-connection te trailer "
    b"transfer-encoding upgrade".split()
)
_LENGTHS = frozenset((b"content-length", b"transfer-encoding"))
_ANSWER_SECONDS = 600.0
"""How long an API may take until the next piece of its answer."""


class KeyRelay(LocalServer):
    """The relay of one agent, which sends the server's password in place of the key.

    Args:
        address: the address of the API.
        key: the user's key.
    """

    def __init__(self, address: str, key: str) -> None:
        super().__init__()
        self._base, self._key = address.rstrip("/"), key
        self.client: Any = None
        """Asks the API; None before the start."""

    async def start(self) -> None:
        """See `LocalServer.start`."""
        import httpx2  # noqa: PLC0415  slow to import, and rarely needed

        self.client = httpx2.AsyncClient(
            verify=await asyncio.to_thread(certificates),
            mounts=without_proxy(self._base),
            timeout=httpx2.Timeout(_ANSWER_SECONDS, connect=30.0),
            follow_redirects=False,  # the key is for the API's host alone
        )
        self.client.headers.clear()  # an agent that asks for no encoding may not read one
        await super().start()

    async def aclose(self) -> None:
        """See `LocalServer.aclose`."""
        await super().aclose()
        if self.client is not None:
            await self.client.aclose()

    def with_key(
        self, headers: Iterable[tuple[bytes, bytes]], target: str
    ) -> tuple[list[tuple[bytes, bytes]], str] | None:
        """The headers and the URL for the API, with the key in place of the password; None: there is no password.

        Args:
            target: one that `is_below_api`.
        """
        found = False
        sent: list[tuple[bytes, bytes]] = []
        for name, value in headers:
            if name in _OF_CONNECTION:
                continue
            scheme, _, given = value.rpartition(b" ") if name == b"authorization" else (b"", b"", value)
            if name in _KEY_HEADERS and self.is_password(given):
                found, value = True, b" ".join(filter(None, (scheme, self._key.encode())))
            sent.append((name, value))
        parts = urlsplit(target)
        query = parse_qsl(parts.query, keep_blank_values=True)
        if any(name == _KEY_PARAMETER and self.is_password(value.encode()) for name, value in query):
            found = True
            query = [(name, self._key if name == _KEY_PARAMETER else value) for name, value in query]
            target = f"{parts.path}?{urlencode(query)}"
        return (sent, f"{self._base}{target}") if found else None

    async def answer(self, exchange: Exchange, request: h11.Request) -> None:
        """See `LocalServer.answer`. Passes a request on to the API."""
        target, framing = request.target.decode("latin-1"), {name for name, _ in request.headers} & _LENGTHS
        if not is_below_api(target) or len(framing) > 1:
            await exchange.refuse(
                400, "This address takes only requests below the address of the API, with one length."
            )
            return
        known = self.with_key(request.headers, target)
        if known is None:
            await exchange.refuse(401, "Not allowed: this address is for the agent that Fairlead has started.")
            return
        headers, url = known
        method = request.method.decode()
        try:
            body = exchange.body() if framing else None
            async with self.client.stream(method, url, headers=headers, content=body) as answer:
                kept = [
                    (name.lower(), value) for name, value in answer.headers.raw if name.lower() not in _OF_CONNECTION
                ]
                await exchange.send(h11.Response(status_code=answer.status_code, headers=kept))
                async for piece in answer.aiter_raw(PIECE):
                    await exchange.send(h11.Data(data=piece))
                await exchange.send(h11.EndOfMessage())
            async for _ in exchange.body():
                pass  # the end of a request without a body is an event too
        except h11.ProtocolError:
            raise
        except OSError:
            raise
        except Exception as error:  # noqa: BLE001  whatever the transport raises: it is imported late
            log.info("an agent's API does not answer: %s", error)
            if exchange.http.our_state is h11.SEND_RESPONSE and exchange.http.their_state is not h11.ERROR:
                await exchange.refuse(502, f"The API does not answer: {error}")


def is_below_api(target: str) -> bool:
    """Whether the target of a request is a path that stays below the address of the API."""
    path = unquote(target.partition("?")[0]).replace("\\", "/")
    return path.startswith("/") and not path.startswith("//") and ".." not in path.split("/")
