"""The answers of a scripted server: turns and faults as plain values, and their stream events in the Messages API.

Pure. The events' order and fields are those of the Messages API's streaming reference.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from threading import Event as Signal
from typing import Any, Literal

Json = dict[str, Any]


@dataclass(frozen=True)
class Text:
    """A text block. `text` may be empty: models send empty texts, which a client must not send back."""

    text: str


@dataclass(frozen=True)
class Thinking:
    """A thinking block. Without a `signature` the server makes one, different for each block.

    If the request has `display: "omitted"` (the default of claude-sonnet-5-5), the client gets the signature and an
    empty text, and must send these back.
    """

    thinking: str
    signature: str | None = None


@dataclass(frozen=True)
class Call:
    """A tool_use block. Without an `id`, the server makes one that it never uses again."""

    name: str
    input: Mapping[str, Any]
    id: str | None = None


@dataclass(frozen=True)
class BadJson:
    """A tool_use block whose input is the literal text `json`: cut, invalid, or not an object.

    Alone in a script, it is a turn of that one block. An unstreamed answer gives its input as {}.
    """

    name: str
    json: str
    id: str | None = None


Block = Text | Thinking | Call | BadJson


@dataclass(frozen=True)
class Turn:
    """One complete answer of the model.

    `stop_reason`: None means "tool_use" if a block calls a tool, else "end_turn". `chunk`: characters in each
    delta; None means a few deltas for each block, with cuts inside the escapes of a tool's JSON too. `usage`:
    replaces individual counts. `stop_details`: what the API says about a refusal. `extra_events`: adds events, deltas
    and fields that no client knows.
    """

    blocks: tuple[Block, ...]
    stop_reason: str | None = None
    chunk: int | None = None
    usage: Mapping[str, Any] = field(default_factory=dict[str, Any])
    extra_events: bool = False
    stop_details: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class HttpError:
    """An HTTP status instead of an answer, for example `HttpError(529, "overloaded_error", "Overloaded")`.

    A given `body` is sent unchanged, because other servers have other forms.
    """

    status: int
    error_type: str
    message: str
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    body: Json | str | None = None


@dataclass(frozen=True)
class Page:
    """A 200 with any body: a proxy's page, another API's answer."""

    content_type: str
    body: str


@dataclass(frozen=True)
class Raw:
    """Any bytes as the answer, after which the connection is closed.

    `headers`, including the content-length, may contradict the body. A header may contain any Latin-1 characters.
    """

    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    status: int = 200


@dataclass(frozen=True)
class Cut:
    """The first `after` events of `turn`, then the stream ends early.

    - "close" ends the body cleanly.
    - "drop" closes the connection inside the body.
    - "reset" sends a TCP RST; systems other than Linux may then lose what came before.
    - "hang" sends nothing more until the client disconnects or the server stops.
    """

    turn: Streamed
    after: int
    how: Literal["close", "drop", "reset", "hang"] = "close"


@dataclass(frozen=True)
class MidStreamError:
    """The first `after` events of `turn`, then an `error` event inside the 200, then a clean end."""

    turn: Streamed
    after: int
    error_type: str = "overloaded_error"
    message: str = "Overloaded"


@dataclass(frozen=True)
class MaxTokensCut:
    """`turn` up to its last Call, whose JSON stops after `json_chars` characters; stop_reason max_tokens."""

    turn: Turn
    json_chars: int


@dataclass(frozen=True)
class Wait:
    """`turn`, held after its first `before` events (0: after the headers) until the test sets `event`."""

    turn: Streamed
    event: Signal
    before: int


Streamed = Turn | BadJson | Cut | MidStreamError | MaxTokensCut | Wait
Scripted = Streamed | HttpError | Page | Raw
Answer = Scripted | Callable[[Json], Scripted]


@dataclass(frozen=True)
class Event:
    """One server-sent event: its name and its JSON data."""

    name: str
    data: Json

    def encode(self) -> list[bytes]:
        """The event's bytes, in two parts if a multi-byte character can be cut, else in one."""
        text = _escape(_SURROGATES, json.dumps(self.data, ensure_ascii=False))
        data = f"event: {self.name}\ndata: {text}\n\n".encode()
        lead = next((index for index, byte in enumerate(data) if byte >= 0x80), None)
        return [data] if lead is None else [data[: lead + 1], data[lead + 1 :]]


@dataclass(frozen=True)
class Hold:
    """Sends nothing until `event` is set."""

    event: Signal


@dataclass(frozen=True)
class End:
    """Ends the stream here, in the way that `Cut.how` names."""

    how: Literal["close", "drop", "reset", "hang"]


Step = Event | Hold | End


@dataclass(frozen=True)
class Envelope:
    """What the server adds to a turn: ids, the model's name, usage, context edits, and whether thinking is shown."""

    id: str = "msg_fake_0000"
    model: str = "claude-opus-5-5"
    usage: Mapping[str, Any] = field(default_factory=dict[str, Any])
    show_thinking: bool = True
    context_management: Mapping[str, Any] | None = None


def event_names(turn: Streamed) -> tuple[str, ...]:
    """The names of the events that `turn` sends, in order: what `after` and `before` count."""
    return tuple(step.name for step in steps(turn, Envelope()) if isinstance(step, Event))


def steps(item: Streamed, envelope: Envelope) -> list[Step]:
    """Everything that the server does on the wire for `item`. ValueError for a script that makes no sense."""
    return play(item, lambda turn: _turn_events(turn, envelope), _error_event)


def play(
    item: Streamed, events_of: Callable[[Turn], Iterable[Event]], error_of: Callable[[str, str], Event]
) -> list[Step]:
    """The steps for `item` in any API.

    Args:
        item: what the script says.
        events_of: the events of a complete answer.
        error_of: the event for an error's type and message.
    """
    match item:
        case Cut():
            return [*_split(play(item.turn, events_of, error_of), item.after)[0], End(item.how)]
        case MidStreamError():
            error = error_of(item.error_type, item.message)
            return [*_split(play(item.turn, events_of, error_of), item.after)[0], error, End("close")]
        case Wait():
            head, tail = _split(play(item.turn, events_of, error_of), item.before)
            return [*head, Hold(item.event), *tail]
        case _:
            return list(events_of(whole_turn(item)))


def whole_turn(item: Streamed) -> Turn:
    """The complete answer in `item`. ValueError for a script that makes no sense."""
    match item:
        case Turn():
            return item
        case BadJson():
            return Turn((item,))
        case MaxTokensCut():
            return _cut_call(item)
        case _:
            return whole_turn(item.turn)


def with_ids(item: Streamed, mint: Callable[[str], str], call_prefix: str) -> Streamed:
    """`item` with an id in each Call and a signature in each Thinking; `mint(prefix)` makes new ones."""
    if isinstance(item, Turn):
        return replace(item, blocks=tuple(_with_id(block, mint, call_prefix) for block in item.blocks))
    if isinstance(item, BadJson):
        return replace(item, id=item.id or mint(call_prefix))
    return replace(item, turn=with_ids(item.turn, mint, call_prefix))


def content(item: Streamed, envelope: Envelope) -> list[Json]:
    """The content blocks of the complete answer in `item`, as the client receives them."""
    return [_closed(block, envelope) for block in whole_turn(item).blocks]


def message(turn: Turn, envelope: Envelope) -> Json:
    """The answer to a request that is not streamed."""
    return {
        **_head(envelope),
        "content": content(turn, envelope),
        "stop_reason": _stop_reason(turn),
        "usage": {**envelope.usage, "output_tokens": _output_tokens(turn), **turn.usage},
    }


def pieces(text: str, chunk: int | None) -> list[str]:
    """`text` in non-empty parts of `chunk` characters; None: thirds, also cut inside the first and the last escape."""
    if chunk is not None:
        at = set(range(chunk, len(text), chunk))
    else:
        at = {len(text) // 3, len(text) * 2 // 3}
        if "\\" in text:
            at |= {text.index("\\") + 1, text.rindex("\\") + 3}
    return [text[start:end] for start, end in pairwise(sorted({0, len(text)} | {cut for cut in at if cut < len(text)}))]


def call_json(value: Mapping[str, Any]) -> str:
    """A tool's input as the model writes it: BMP characters raw, others and lone surrogates as surrogate escapes."""
    return _escape(_BEYOND_BMP, json.dumps(value, ensure_ascii=False))


_SURROGATES = re.compile("[\ud800-\udfff]")
_BEYOND_BMP = re.compile("[\ud800-\udfff\U00010000-\U0010ffff]")


def _escape(pattern: re.Pattern[str], text: str) -> str:
    def units(found: re.Match[str]) -> str:
        data = found[0].encode("utf-16-be", "surrogatepass")
        return "".join(f"\\u{data[start : start + 2].hex()}" for start in range(0, len(data), 2))

    return pattern.sub(units, text)


def _with_id(block: Block, mint: Callable[[str], str], call_prefix: str) -> Block:
    if isinstance(block, Thinking):
        return block if block.signature is not None else replace(block, signature=mint("sig"))
    if isinstance(block, Text) or block.id is not None:
        return block
    return replace(block, id=mint(call_prefix))


def _cut_call(cut: MaxTokensCut) -> Turn:
    blocks = cut.turn.blocks
    last = max((index for index, block in enumerate(blocks) if isinstance(block, Call)), default=None)
    if last is None:
        raise ValueError("MaxTokensCut needs a turn with a Call")
    call = blocks[last]
    assert isinstance(call, Call)
    half = BadJson(call.name, call_json(call.input)[: cut.json_chars], call.id)
    return replace(cut.turn, blocks=(*blocks[:last], half), stop_reason="max_tokens")


def _split(all_steps: list[Step], count: int) -> tuple[list[Step], list[Step]]:
    at = [index for index, step in enumerate(all_steps) if isinstance(step, Event)]
    if not 0 <= count <= len(at):
        raise ValueError(f"the turn has {len(at)} events, not {count}")
    place = at[count] if count < len(at) else len(all_steps)
    return all_steps[:place], all_steps[place:]


def _turn_events(turn: Turn, envelope: Envelope) -> Iterator[Event]:
    events = _known_events(turn, envelope)
    return _with_unknowns(events) if turn.extra_events else events


def _known_events(turn: Turn, envelope: Envelope) -> Iterator[Event]:
    counts = {name: count for name, count in turn.usage.items() if name != "output_tokens"}
    start = {**_head(envelope), "usage": {**envelope.usage, "output_tokens": 1, **counts}}
    yield _event("message_start", message=start)
    yield _event("ping")
    for index, block in enumerate(turn.blocks):
        yield _event("content_block_start", index=index, content_block=_opened(block))
        for delta in _deltas(block, turn.chunk, envelope):
            yield _event("content_block_delta", index=index, delta=delta)
        yield _event("content_block_stop", index=index)
    totals = {name: count for name, count in envelope.usage.items() if name.endswith("input_tokens")}
    usage = {**totals, "output_tokens": _output_tokens(turn), **turn.usage}
    edits = {} if envelope.context_management is None else {"context_management": envelope.context_management}
    delta = {"stop_reason": _stop_reason(turn), "stop_sequence": None, "stop_details": turn.stop_details}
    yield _event("message_delta", delta=delta, usage=usage, **edits)
    yield _event("message_stop")


def _with_unknowns(events: Iterator[Event]) -> Iterator[Event]:
    """`events` from a later version of the API: more fields, an event and a delta of unknown types."""
    news = {"type": "future_delta", "future": "é"}
    for event in events:
        data = {**event.data, "future_field": {"a": [1]}}
        for key in ("message", "usage", "delta"):
            if key in data:
                data[key] = {**data[key], "future_field": "é"}
        yield Event(event.name, data)
        if event.name == "message_start":
            yield _event("future_event", future=["é"])
        if event.name == "content_block_start":
            yield _event("content_block_delta", index=event.data["index"], delta=news)


def _error_event(kind: str, said: str) -> Event:
    return Event("error", {"type": "error", "error": {"type": kind, "message": said}})


def _event(name: str, **data: Any) -> Event:
    return Event(name, {"type": name, **data})


def _head(envelope: Envelope) -> Json:
    return {
        "id": envelope.id,
        "type": "message",
        "role": "assistant",
        "model": envelope.model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
    }


def _stop_reason(turn: Turn) -> str:
    calls = any(isinstance(block, Call | BadJson) for block in turn.blocks)
    return turn.stop_reason or ("tool_use" if calls else "end_turn")


def _output_tokens(turn: Turn) -> int:
    return 1 + sum(len(written(block)) for block in turn.blocks) // 4


def written(block: Block) -> str:
    """What the model writes for a block: its text, its thinking, or the JSON of its input."""
    match block:
        case Text():
            return block.text
        case Thinking():
            return block.thinking
        case Call():
            return call_json(block.input)
        case BadJson():
            return block.json


def _closed(block: Block, envelope: Envelope) -> Json:
    match block:
        case Text():
            return {"type": "text", "text": block.text}
        case Thinking():
            shown = block.thinking if envelope.show_thinking else ""
            return {"type": "thinking", "thinking": shown, "signature": block.signature or ""}
        case Call():
            return {"type": "tool_use", "id": block.id or "", "name": block.name, "input": dict(block.input)}
        case BadJson():
            return {"type": "tool_use", "id": block.id or "", "name": block.name, "input": {}}


def _opened(block: Block) -> Json:
    empty: Json = {"text": "", "thinking": "", "signature": "", "input": {}}
    closed = _closed(block, Envelope())
    return {key: empty.get(key, value) for key, value in closed.items()}


def _deltas(block: Block, chunk: int | None, envelope: Envelope) -> Iterator[Json]:
    parts = pieces(written(block), chunk)
    match block:
        case Text():
            yield from ({"type": "text_delta", "text": part} for part in parts)
        case Thinking():
            if envelope.show_thinking:
                yield from ({"type": "thinking_delta", "thinking": part} for part in parts)
            yield {"type": "signature_delta", "signature": block.signature or ""}
        case Call() | BadJson():
            yield from ({"type": "input_json_delta", "partial_json": part} for part in ("", *parts))
