"""Reading AWS's frames, whatever their content, returns events or raises a ModelError."""

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import anthropic
import httpx2
import hypothesis.strategies as st
import pytest
from anthropic.lib.bedrock._stream import AsyncBedrockStream
from hypothesis import given, settings

from fairlead.agent.errors import ModelError
from fairlead.models.anthropic.clouds import MAX_FRAME, MAX_FRAMES, MIN_FRAME, limit_frames, read_frames
from support.fake_clouds import frame
from support.nonsense import ODD_VALUES, damaged, dumped, events

SDK: Any = anthropic
HEADERS = [":event-type", ":message-type", ":exception-type", ":error-code", ":error-message", ":content-type"]
NAMES = ["chunk", "event", "exception", "error", "throttlingException", "modelStreamErrorException", "", "x"]


@st.composite
def frames(draw: st.DrawFn) -> bytes:
    """The bytes of one stream of frames."""
    stream = b""
    for event in draw(events()):
        payload: Any = {"bytes": base64.b64encode(dumped(event)).decode()}
        headers = {":event-type": "chunk", ":message-type": "event"}
        junk = b""
        match draw(st.integers(0, 9)):
            case 0:
                payload = draw(st.sampled_from([{"bytes": "!!"}, {"bytes": 7}, {"bytes": None}, *ODD_VALUES]))
            case 1:
                headers = draw(st.dictionaries(st.sampled_from(HEADERS), st.sampled_from(NAMES)))
            case 2:
                junk = draw(st.binary(min_size=1, max_size=9))
            case _:
                pass
        stream += frame(headers, payload, junk=junk)
    return draw(damaged(stream))


@pytest.fixture(scope="module")
def client() -> Any:
    return SDK.AsyncAnthropicBedrock(aws_region="eu-central-1", aws_access_key="a", aws_secret_key="b")


@given(raw=frames())
@settings(max_examples=150)
def test_fault_88_any_frames_result_in_events_or_a_model_error(client: Any, raw: bytes) -> None:
    """docs/faults.md 88: frames and payloads of every kind, damaged or cut off."""

    async def read() -> list[Any]:
        response = httpx2.Response(200, content=raw, request=httpx2.Request("POST", "http://localhost"))
        stream: Any = AsyncBedrockStream(cast_to=object, response=response, client=client)
        return [event async for event in read_frames(SDK, stream)]

    with suppress(ModelError):
        assert all(isinstance(event, dict) for event in asyncio.run(read()))


def limited(*chunks: bytes) -> bytes:
    """What `limit_frames` yields for these chunks, joined."""

    async def stream() -> AsyncIterator[bytes]:
        for chunk in chunks:
            yield chunk

    async def read() -> bytes:
        return b"".join([chunk async for chunk in limit_frames(stream())])

    return asyncio.run(read())


def length(count: int) -> bytes:
    """The beginning of a frame of so many bytes."""
    return count.to_bytes(4)


@given(st.lists(st.integers(MIN_FRAME, 50), max_size=5), st.data())
def test_fault_160_frames_may_be_cut_anywhere(sizes: list[int], data: st.DataObject) -> None:
    """docs/faults.md 160: the length of each frame is found, wherever the bytes are cut, and no byte changes."""
    raw = b"".join(length(size) + b"\xff" * (size - 4) for size in sizes)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(raw)), max_size=9)))
    chunks = [raw[a:b] for a, b in zip([0, *cuts], [*cuts, len(raw)], strict=True)]
    assert limited(*chunks) == raw
    with pytest.raises(ModelError, match="a frame of 7 bytes"):
        limited(*chunks, length(7)[:2], length(7)[2:])


@pytest.mark.parametrize("size", [0, MIN_FRAME - 1, MAX_FRAME + 1, 2**32 - 1])
def test_fault_160_a_frame_of_an_impossible_length_is_refused(size: int) -> None:
    """docs/faults.md 160: the frame is refused before it is read."""
    with pytest.raises(ModelError, match=f"a frame of {size:,} bytes"):
        limited(length(MIN_FRAME) + b"x" * (MIN_FRAME - 4) + length(size))


def test_fault_160_the_number_of_frames_is_limited() -> None:
    """docs/faults.md 160: empty frames cannot keep the server busy without end."""
    empty = length(MIN_FRAME) + b"\0" * (MIN_FRAME - 4)
    with pytest.raises(ModelError, match=f"an answer of more than {MAX_FRAMES:,} frames"):
        limited(*[empty * 1000] * (MAX_FRAMES // 1000 + 1))
