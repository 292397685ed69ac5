"""Server-sent events of the Messages API, from raw bytes to dicts; an event that is not whole is not there."""

import json
from collections.abc import AsyncIterable, AsyncIterator
from typing import Any

from fairlead.agent.errors import ModelError


async def read_events(chunks: AsyncIterable[bytes]) -> AsyncIterator[dict[str, Any]]:
    """The `data` of each whole event, in order; an event that the stream's end cuts off is dropped.

    Raises:
        ModelError: the data is not JSON (retryable: a proxy or a broken connection garbled it).
    """
    rest = b""
    data: list[bytes] = []
    async for chunk in chunks:
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


def _parse(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ModelError("network", "The model's stream was garbled.", retryable=True) from error
