"""Parses the server-sent events of the Messages API. Incomplete events are dropped."""

import asyncio
import contextlib
import json
import re
from collections.abc import AsyncIterable, AsyncIterator
from typing import Any

from fairlead.agent.errors import ModelError

_FIELD = re.compile(rb"[a-z]*(:|$)")  # unknown names are allowed; the body may end within a name
LONGEST_FIELD = 20
BEGINNING = 2000  # bytes of a foreign body that are read for the error message
BEGINNING_TIMEOUT = 1.0


class NotAnEventStream(Exception):
    """The body is not an event stream; `beginning` contains its first bytes."""

    def __init__(self, beginning: bytes) -> None:
        super().__init__(beginning)
        self.beginning = beginning


async def read_events(chunks: AsyncIterable[bytes]) -> AsyncIterator[dict[str, Any]]:
    """Yield the `data` of each complete event, in order.

    Raises:
        NotAnEventStream: the body is something else, such as a web page.
        ModelError: the data is not JSON. Retryable, because a proxy or a broken connection may have garbled it.
    """
    rest = b""
    data: list[bytes] = []
    chunks = aiter(chunks)
    beginning = await _beginning(chunks)
    async for chunk in _joined(beginning, chunks):
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            line = line.removesuffix(b"\r")
            if line.startswith(b"data:"):
                data.append(line[5:])
            elif not line and data:
                value = _parse(b"\n".join(data))
                data.clear()
                if isinstance(value, dict):
                    yield value


async def _beginning(chunks: AsyncIterator[bytes]) -> bytes:
    """Read enough bytes to know that an event stream begins.

    Raises:
        NotAnEventStream: something else begins.
    """
    beginning = b""
    async for chunk in chunks:
        beginning += chunk
        if len(beginning.lstrip()) >= LONGEST_FIELD:
            break
    beginning = beginning.removeprefix(b"\xef\xbb\xbf")
    if _FIELD.match(beginning.lstrip()):
        return beginning
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(BEGINNING_TIMEOUT):
            async for chunk in chunks:
                beginning += chunk
                if len(beginning) >= BEGINNING:
                    break
    raise NotAnEventStream(beginning[:BEGINNING])


async def _joined(beginning: bytes, chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield beginning
    async for chunk in chunks:
        yield chunk


def _parse(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ModelError("network", "The model's stream was garbled.", retryable=True) from error
