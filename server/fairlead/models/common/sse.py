"""Parses the server-sent events of a model's server. Incomplete events are dropped."""

import asyncio
import contextlib
import json
import re
from collections.abc import AsyncIterable, AsyncIterator
from typing import Any

from fairlead.models.common.fields import nonsense
from fairlead.models.common.foreign import quote

_FIELD = re.compile(rb"[a-z]*(:|$)")  # unknown names are allowed; the body may end within a name
LONGEST_FIELD = 20  # bytes that are enough to see whether a field begins
MOST_BLANK = 100_000  # bytes before the first field
# bytes of a foreign body that are read for the error message, and the seconds to wait for them
BEGINNING, BEGINNING_TIMEOUT = 2000, 1.0
LONGEST_EVENT = 2_000_000
"""Bytes. Few, because some JSON takes 27 times as much memory. A server that does not stream may send a whole answer as
one event: about 800,000 bytes."""
MAX_LINES = 1_000_000
"""Three lines are an event, and the longest answer of a model has 128,000 tokens."""
DONE: dict[str, Any] = {}
"""What `read_events` yields for “[DONE]”, with which servers of OpenAI's APIs end a stream."""
TOO_LONG = f"an event of more than {LONGEST_EVENT:,} bytes"


class NotAnEventStream(Exception):
    """The body is not an event stream; `beginning` contains its first bytes, at most BEGINNING."""

    def __init__(self, beginning: bytes) -> None:
        super().__init__(beginning)
        self.beginning = beginning


async def read_events(chunks: AsyncIterable[bytes]) -> AsyncIterator[dict[str, Any]]:
    """Yields the `data` of each complete event, in order, and `DONE` for “[DONE]”. Other data than objects is ignored.

    Raises:
        NotAnEventStream: the body is something else, such as a web page. An empty body counts as a stream.
        ModelError: the data is not JSON, an event is longer than LONGEST_EVENT, or there are more than MAX_LINES lines.
    """
    data: list[bytes] = []
    size = lines = 0
    chunks = aiter(chunks)
    beginning = await _beginning(chunks)
    async for line in _lines(_joined(beginning, chunks)):
        lines += 1
        if lines > MAX_LINES:
            raise nonsense(f"an answer of more than {MAX_LINES:,} lines")
        if line.startswith(b"data:"):
            data.append(line[5:])
            size += len(line) + 1
            if size > LONGEST_EVENT:
                raise nonsense(TOO_LONG)
        elif not line and data:
            joined = b"\n".join(data)
            value = DONE if joined.strip() == b"[DONE]" else _parse(joined)
            data.clear()
            size = 0
            if isinstance(value, dict):
                yield value


async def _lines(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yields the complete lines without their ends (`\\n` or `\\r\\n`)."""
    rest: list[bytes] = []
    size = 0
    async for chunk in chunks:
        first, *others = chunk.split(b"\n")
        rest.append(first)
        size += len(first)
        if size > LONGEST_EVENT:
            raise nonsense(TOO_LONG)
        if others:
            *lines, last = others
            for line in (b"".join(rest), *lines):
                yield line.removesuffix(b"\r")
            rest, size = [last], len(last)


async def _beginning(chunks: AsyncIterator[bytes]) -> bytes:
    """Reads and returns enough bytes to know that an event stream begins, without a byte order mark.

    Raises:
        NotAnEventStream: something else begins.
    """
    beginning, size = b"", 0
    async for chunk in chunks:
        beginning, size = (beginning + chunk).lstrip(), size + len(chunk)
        if len(beginning) >= LONGEST_FIELD or size >= MOST_BLANK:
            break
    beginning = beginning.removeprefix(b"\xef\xbb\xbf").lstrip()
    if _FIELD.match(beginning):
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
        raise nonsense(f"an event that is not JSON: “{quote(data)}”") from error
