"""The parser of server-sent events: only complete events, however the bytes are cut."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given

from fairlead.agent.errors import ModelError
from fairlead.models.common.sse import DONE, LONGEST_EVENT, read_events

Json = dict[str, Any]
VALUES = st.dictionaries(st.text(max_size=5), st.text(max_size=10) | st.integers() | st.none(), max_size=4)


def read(chunks: Sequence[bytes]) -> list[Json]:
    """The events of a stream that arrives in these chunks."""

    async def stream() -> AsyncIterator[bytes]:
        for chunk in chunks:
            yield chunk

    async def collect() -> list[Json]:
        return [event async for event in read_events(stream())]

    return asyncio.run(collect())


def written(*events: Json, end: str = "\n") -> bytes:
    """A stream of events in the API's form."""
    return "".join(f"event: x{end}data: {json.dumps(event, ensure_ascii=False)}{end}{end}" for event in events).encode(
        "utf-8", "surrogatepass"
    )


@given(st.lists(VALUES, max_size=4), st.sampled_from(["\n", "\r\n"]), st.data())
def test_the_bytes_may_be_cut_anywhere(events: list[Json], end: str, data: st.DataObject) -> None:
    """Even if the bytes are cut inside a character, an escape or a line ending, the events are the same, in order."""
    raw = written(*events, end=end)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(raw)), max_size=12)))
    chunks = [raw[a:b] for a, b in zip([0, *cuts], [*cuts, len(raw)], strict=True)]
    assert read(chunks) == events


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_the_bytes_may_arrive_one_by_one(end: str) -> None:
    """The events are the same as in one piece, although every CRLF is then cut in the middle."""
    events = [{"type": "ping"}, {"text": "日本 🚀 \\ \n"}]
    raw = written(*events, end=end)
    assert read([bytes([byte]) for byte in raw]) == events


@given(st.lists(VALUES, min_size=1, max_size=3), st.data())
def test_an_event_that_is_cut_off_is_dropped(events: list[Json], data: st.DataObject) -> None:
    """An event ends with a blank line. Without it, the event is dropped even if its data is complete."""
    raw = written(*events)
    last = len(written(events[-1]))
    cut = data.draw(st.integers(1, last))
    assert read([raw[:-cut]]) == events[:-1]


STREAMS = {
    "comments and other fields": (b': ping\n\nid: 7\nretry: 5\nevent: x\ndata: {"a": 1}\n: more\n\n', [{"a": 1}]),
    "no blank after the colon": (b'data:{"a": 1}\n\n', [{"a": 1}]),
    "data over several lines": (b'data: {"a":\ndata: 1}\n\n', [{"a": 1}]),
    "data before the event's name": (b'data: {"a": 1}\nevent: x\n\n', [{"a": 1}]),
    "blank lines": (b'\n\n\r\n\ndata: {"a": 1}\n\n\n\n', [{"a": 1}]),
    "mixed line endings": (b'event: x\r\ndata: {"a": 1}\n\r\ndata: {"a": 2}\r\n\n', [{"a": 1}, {"a": 2}]),
    "no data": (b"event: ping\n\nevent: x\n\n", []),
    "data that is not an object": (b'data: [1]\n\ndata: "x"\n\ndata: null\n\ndata: {"a": 1}\n\n', [{"a": 1}]),
    "lines that only look like data": (b'database: 1\nxdata: {"a": 1}\ndata {"a": 1}\n\n', []),
    "U+2028 and U+0085 inside": ('data: {"a": "\u2028\u0085"}\n\n'.encode(), [{"a": "\u2028\u0085"}]),
    "the end of a stream of OpenAI's APIs": (b'data: {"a": 1}\n\ndata: [DONE]\n\n', [{"a": 1}, DONE]),
    "nothing": (b"", []),
}


@pytest.mark.parametrize("name", STREAMS)
def test_only_the_data_of_a_stream_is_read(name: str) -> None:
    """Comments, unknown fields, empty events and data that is not an object are ignored."""
    raw, events = STREAMS[name]
    assert read([raw]) == events


@pytest.mark.parametrize(
    "data", [b"<html>502</html>", b"{", b'{"a": 1}}', b"\xff\xfe", b"[" * 100_000], ids=lambda data: data[:9]
)
def test_data_that_is_not_json_is_a_network_error(data: bytes) -> None:
    """The request is repeated once, because a proxy or a broken connection may have caused the error."""
    with pytest.raises(ModelError) as error:
        read([b"data: " + data + b"\n\n"])
    assert (error.value.kind, error.value.retryable, error.value.max_attempts) == ("network", True, 2)
    assert "sent an event that is not JSON: “" in error.value.message and len(error.value.message) < 300


@pytest.mark.parametrize("line", [b"", b"data: x\n"], ids=["one line", "many lines"])
def test_fault_88_an_event_without_end_is_refused(line: bytes) -> None:
    """docs/faults.md 88: an event that exceeds LONGEST_EVENT, in one line or in many, is refused before it takes all
    memory."""
    chunk = (line or b"x") * (1_000_000 // len(line or b"x"))
    with pytest.raises(ModelError, match=f"an event of more than {LONGEST_EVENT:,} bytes"):
        read([b"data: ", *[chunk] * (LONGEST_EVENT // 1_000_000 + 2)])


def test_a_long_event_is_read() -> None:
    """An event that is just below LONGEST_EVENT is read from many pieces."""
    event = {"text": "x" * (LONGEST_EVENT - 100)}
    raw = written(event)
    assert read([raw[at : at + 1000] for at in range(0, len(raw), 1000)]) == [event]
