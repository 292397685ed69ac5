"""Reading AWS's frames, whatever their content, returns events or raises a ModelError."""

import asyncio
import base64
from contextlib import suppress
from typing import Any

import anthropic
import httpx2
import hypothesis.strategies as st
import pytest
from anthropic.lib.bedrock._stream import AsyncBedrockStream
from hypothesis import given, settings

from fairlead.agent.errors import ModelError
from fairlead.models.clouds import read_frames
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
