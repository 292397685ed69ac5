"""The stream events of the Messages API as typed values. Only this module reads a reply's fields from JSON."""

from dataclasses import dataclass
from typing import Any

from fairlead.json_reader import WrongValue
from fairlead.messages.history import clean_text
from fairlead.models.common.fields import Fields, nonsense
from fairlead.models.common.reply_parts import MAX_ID

Block = dict[str, Any]

COUNTS = {
    "input_tokens": "input_tokens",
    "cache_read_input_tokens": "cache_read_tokens",
    "cache_creation_input_tokens": "cache_write_tokens",
    "output_tokens": "output_tokens",
}
"""The counts in the API's `usage`, with their names in `Usage`."""
# the field of each delta, and the type of the block that it belongs to
_DELTAS = {
    "text_delta": ("text", "text"),
    "thinking_delta": ("thinking", "thinking"),
    "signature_delta": ("signature", "thinking"),
    "input_json_delta": ("partial_json", "tool_use"),
}
BLOCK_TYPES = {block_type for _, block_type in _DELTAS.values()}
"""The types of the blocks that come in parts."""
_USER_BLOCKS = ("tool_result", "image", "document")
"""Blocks that the API accepts only in messages of the user."""
# characters
MAX_STOP_REASON = 100
MAX_EXPLANATION = 500


@dataclass(frozen=True, slots=True)
class MessageStart:
    """A reply begins."""

    counts: dict[str, int]
    """By the names of `Usage`; only those that were sent."""


@dataclass(frozen=True, slots=True)
class BlockStart:
    """A content block begins."""

    index: int
    block: Block
    """The block for the history, without its text or thinking. A call's input is not checked yet."""
    text: str
    """The first part of a text or thinking block; empty for other types."""
    size: int = 0
    """How many characters of JSON the block has, apart from `text`."""


@dataclass(frozen=True, slots=True)
class BlockDelta:
    """A part of a content block."""

    index: int
    kind: str
    block_type: str
    """The type of the block that it belongs to."""
    text: str


@dataclass(frozen=True, slots=True)
class BlockStop:
    """A content block is complete."""

    index: int


@dataclass(frozen=True, slots=True)
class MessageDelta:
    """Facts about the whole reply, sent near its end."""

    stop_reason: str
    """Empty if it is not known yet."""
    counts: dict[str, int]
    cleared_results: int
    """How many tool results the API cleared from the request."""
    explanation: str = ""
    """Why the model refused, in the server's words; empty if it did not refuse, or the server does not say."""


@dataclass(frozen=True, slots=True)
class MessageStop:
    """The reply is complete."""


StreamEvent = MessageStart | BlockStart | BlockDelta | BlockStop | MessageDelta | MessageStop


def parse_event(data: Any) -> StreamEvent | None:
    """Reads one event; None if its type, or the type of its delta, is unknown.

    Raises:
        ModelError: a field is missing or has a wrong type, or the block's type cannot occur in an answer. The message
            names the field or the block's type.
    """
    try:
        kind = Fields(data, "event").text("type", "")
        return _event(kind, Fields(data, kind or "event"))
    except WrongValue as error:
        raise nonsense(f"a wrong event: “{error.path}” {error.problem}") from error


def _event(kind: str, event: Fields) -> StreamEvent | None:
    match kind:
        case "message_start":
            return MessageStart(_counts(event.fields("message")))
        case "content_block_start":
            return _block_start(event)
        case "content_block_delta":
            return _block_delta(event)
        case "content_block_stop":
            return BlockStop(event.count("index"))
        case "message_delta":
            delta = event.fields("delta")
            stop_reason = clean_text(delta.text("stop_reason", ""))[:MAX_STOP_REASON]
            said = delta.fields("stop_details").text("explanation", "") if stop_reason == "refusal" else ""
            edits = event.fields("context_management").list("applied_edits")
            cleared = sum(edit.count("cleared_tool_uses", 0) for edit in edits)
            return MessageDelta(stop_reason, _counts(event), cleared, clean_text(said)[:MAX_EXPLANATION])
        case "message_stop":
            return MessageStop()
        case _:
            return None


def _counts(event: Fields) -> dict[str, int]:
    usage = event.fields("usage")
    return {ours: usage.count(name) for name, ours in COUNTS.items() if usage.value(name) is not None}


def _block_start(event: Fields) -> BlockStart:
    index, block = event.count("index"), event.fields("content_block", required=True)
    match block.text("type"):
        case "text":
            return BlockStart(index, {"type": "text"}, block.text("text", ""))
        case "thinking":
            rest = block.without("thinking", "signature")
            if block.value("signature") is not None:
                rest["signature"] = clean_text(block.text("signature"))
            return BlockStart(index, rest, block.text("thinking", ""), block.size("thinking"))
        case "tool_use":
            call = {name: clean_text(block.text(name, most=MAX_ID)) for name in ("type", "id", "name")}
            return BlockStart(index, {**call, "input": block.value("input")}, "", block.size())
        case kind if kind in _USER_BLOCKS:
            raise nonsense(f"a content block of the type “{kind}”, which an answer cannot contain")
        case _:
            return BlockStart(index, block.without(), "", block.size())


def _block_delta(event: Fields) -> BlockDelta | None:
    index, delta = event.count("index"), event.fields("delta", required=True)
    kind = delta.text("type", "")
    if kind not in _DELTAS:
        return None
    field, block_type = _DELTAS[kind]
    return BlockDelta(index, kind, block_type, delta.text(field))
