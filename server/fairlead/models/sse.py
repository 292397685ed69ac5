"""Server-sent events of the Messages API, from raw bytes to dicts; an event that is not whole is not there."""

import asyncio
import contextlib
import json
import re
from collections.abc import AsyncIterable, AsyncIterator
from typing import Any

from fairlead.agent.errors import ModelError

_FIELD = re.compile(rb"[a-z]*(:|$)")  # a name that no one knows is let pass; the end may cut one off
LONGEST_FIELD = 20
BEGINNING = 2000  # bytes that tell what a body is
BEGINNING_TIMEOUT = 1.0


class NotEvents(Exception):
    """A body that is no event stream; `beginning` is its first bytes."""

    def __init__(self, beginning: bytes) -> None:
        super().__init__(beginning)
        self.beginning = beginning


async def read_events(chunks: AsyncIterable[bytes]) -> AsyncIterator[dict[str, Any]]:
    """The `data` of each whole event, in order; an event that the stream's end cuts off is dropped.

    Raises:
        NotEvents: the body is something else, such as a web page.
        ModelError: the data is not JSON (retryable: a proxy or a broken connection garbled it).
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
    """The first bytes, enough to know that they begin an event stream."""
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
    raise NotEvents(beginning[:BEGINNING])


async def _joined(beginning: bytes, chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield beginning
    async for chunk in chunks:
        yield chunk


def _parse(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ModelError("network", "The model's stream was garbled.", retryable=True) from error
