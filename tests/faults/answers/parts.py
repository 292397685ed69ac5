"""The form of an answer, the bytes that answers consist of, and what the user reads about them.

Long answers are made while they are sent.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, repeat

from support.fake_clouds import frame
from support.raw_server import Parts

OK = "200 OK"
BIG = 150_000_000  # bytes, more than any limit
LINES = b"content-type: text/event-stream\r\nconnection: close\r\n"
VIA = "and any proxy in front of it."
NO_HTTP = "sent a response that is not valid HTTP"
BROKEN = "The connection to http://127.0.0.1:"
CUT = "The model's answer ended in the middle."
EMPTY = "The model's answer was empty."
SILENT = "is connected, but has sent nothing for"
LATE = "is connected, but its response had not begun after"
HUGE = "sent an answer of more than 100,000,000 bytes"
PACKED = "sent an answer of more than 25,000,000 bytes"
MANY_LINES = "sent an answer of more than 1,000,000 lines"
LONG_EVENT = "sent an event of more than 2,000,000 bytes"
LONG_BLOCK = "sent a part of more than 2,000,000 bytes"
LONG_REPLY = "sent parts of more than 4,000,000 bytes in one answer"
NO_CODING = "sent a body that does not match its header “content-encoding”"
WITHOUT_FIELDS = 3
"""The requests for a 400 that names no field: the optional fields are left out, and then the cache mark too."""
MANY_VALUES = "valid JSON of at most 100 levels and 20,000 values"
NO_BEGIN = "which has not begun"


@dataclass(frozen=True)
class Answer:
    """An answer and what must happen."""

    name: str
    parts: Parts
    says: str
    """A part of the message that the user reads."""
    tries: int = 2
    """How many requests get the answer. 2: nonsense, which is requested once more."""
    kind: str = "network"
    """The kind of the error; empty if the run succeeds."""
    silence: float = 20.0
    """The setting `maxSilenceSeconds`."""
    scheme: str = "http"
    cloud: str = ""
    api: str = ""
    """`chat` or `responses`; empty: the Messages API."""
    ends: bool = True
    """False for an answer that a server may send for ever: only a stop ends it."""
    slow: bool = False
    """Whether it takes seconds, mostly for the server to send it."""


def head(status: str = OK, *lines: bytes) -> bytes:
    """The head of a response; by default that of an event stream."""
    return (
        f"HTTP/1.1 {status}\r\n".encode() + (b"".join(b"%b\r\n" % line for line in lines) if lines else LINES) + b"\r\n"
    )


def once(*parts: bytes | float) -> Parts:
    return lambda: parts


def endless(first: bytes, part: bytes, most: int = BIG) -> Parts:
    """The first part, and then another one again and again."""
    return lambda: chain([first], repeat(part, most // len(part)))


def trickle(data: bytes | Iterable[int], pause: float = 0.05) -> Parts:
    """One byte after the other."""
    return lambda: (part for byte in data for part in (bytes([byte]), pause))


def event(kind: str, **fields: object) -> bytes:
    return b"data: %b\n\n" % json.dumps({"type": kind, **fields}).encode()


def start(block: object, index: object = 0) -> bytes:
    return event("content_block_start", index=index, content_block=block)


def delta(kind: str, field: str, value: object, index: object = 0) -> bytes:
    return event("content_block_delta", index=index, delta={"type": kind, field: value})


def text(value: str, index: int = 0) -> bytes:
    return delta("text_delta", "text", value, index)


def stop(index: int = 0) -> bytes:
    return event("content_block_stop", index=index)


def end(reason: str = "end_turn") -> bytes:
    return event("message_delta", delta={"stop_reason": reason}, usage={"output_tokens": 3}) + event("message_stop")


BEGIN = event("message_start", message={"usage": {"input_tokens": 3}})
TEXT, THINKING = {"type": "text", "text": ""}, {"type": "thinking", "thinking": ""}
CALL = {"type": "tool_use", "id": "t1", "name": "nope", "input": {}}
HELLO = BEGIN + start(TEXT) + text("Hello.") + stop() + end()
DONE = BEGIN + start(TEXT) + text("Done.") + stop() + end()
SAID = b'{"type": "error", "error": {"type": "invalid_request_error", "message": "Never again'
REFUSED = f"The model's server refused the request. (400: {SAID.decode()}"
MEGABYTE = b"x" * 1_000_000


def stream(*parts: bytes) -> Parts:
    """An event stream with these parts."""
    return once(head(), *parts)


def chunked(*chunks: bytes) -> Parts:
    return once(head(OK, b"transfer-encoding: chunked", b"connection: close"), *chunks)


def packed(data: Callable[[], Iterable[bytes]], status: str = OK, coding: bytes = b"gzip", bits: int = 31) -> Parts:
    """A compressed body."""

    def parts() -> Iterator[bytes]:
        packer = zlib.compressobj(9, zlib.DEFLATED, bits)
        yield head(status, b"content-type: text/event-stream", b"connection: close", b"content-encoding: " + coding)
        for each in data():
            yield packer.compress(each)
        yield packer.flush()

    return parts


def zeros(status: str = OK, coding: bytes = b"gzip", bits: int = 31) -> Parts:
    """A small body that decompresses to BIG bytes."""
    first = SAID if status != OK else b": "
    return packed(lambda: chain([first], repeat(MEGABYTE, BIG // len(MEGABYTE))), status, coding, bits)


def frames(*parts: bytes) -> Parts:
    return once(head(OK, b"content-type: application/vnd.amazon.eventstream", b"connection: close"), *parts)


def chunk_frame(data: bytes) -> bytes:
    """A frame of Bedrock with an event's JSON."""
    return frame({":event-type": "chunk", ":message-type": "event"}, {"bytes": base64.b64encode(data).decode()})


def events_of(data: bytes) -> list[bytes]:
    return [line.removeprefix(b"data: ") for line in data.split(b"\n\n") if line]


def many(part: Callable[[int], bytes], count: int) -> Parts:
    return lambda: chain([head(), BEGIN], map(part, range(count)), [end()])


DEFAULTS = {"": once(head(), DONE), "bedrock": frames(*map(chunk_frame, events_of(DONE)))}
"""What follows an answer of the Messages API, by `Answer.cloud`."""

# objects that take 27 times as much memory as bytes
DENSE_LIST = [{"": 0}] * 200_000
DENSE = '{"":0},' * 200_000
JSON_400 = (b"content-type: application/json", b"connection: close")
