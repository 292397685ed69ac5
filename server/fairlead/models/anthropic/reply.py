"""Builds a Reply from the stream events of the Messages API.

The JSON of a tool call is parsed strictly when its block is complete. A call whose JSON was cut off, is invalid, or is
not an object gets a `problem`: it is never run and gets an error result (docs/plan.md L13).
"""

import json
from dataclasses import dataclass, field
from io import StringIO
from typing import Any

from fairlead.agent.model import Reply, Stop, TextDelta, ThinkingDelta, Usage
from fairlead.json_values import is_object
from fairlead.messages.history import clean_text
from fairlead.messages.parts import Call, Foreign, Part, Text, Thinking
from fairlead.models.anthropic.encode import PROVIDER
from fairlead.models.anthropic.stream_events import (
    BLOCK_TYPES,
    Block,
    BlockDelta,
    BlockStart,
    BlockStop,
    MessageDelta,
    MessageStart,
    MessageStop,
    StreamEvent,
    parse_event,
)
from fairlead.models.common.fields import MAX_VALUES, TooManyValues, check_encodable, nonsense

STOPS: dict[str, Stop] = {
    "end_turn": "done",
    "stop_sequence": "done",
    "tool_use": "calls",
    "max_tokens": "cut_off",
    "model_context_window_exceeded": "window_full",
    "pause_turn": "paused",
    "refusal": "refused",
}
MAX_BLOCKS = 1000
"""The most content blocks of a reply. A model rarely makes more than a dozen calls at once."""
MAX_BLOCK = 2_000_000
"""The most bytes of a text, thinking or call. The longest answer of a model has 128,000 tokens, about 500,000 bytes."""
MAX_REPLY = 4_000_000
"""The most bytes of all blocks together."""
BYTES_PER_TOKEN = 4
"""For an estimate of the output tokens, until the model's server reports their number at the end of the answer."""


@dataclass
class _OpenBlock:
    """A content block whose end has not arrived."""

    block: Block
    text: StringIO = field(default_factory=StringIO)
    """What has arrived of its text, thinking or input. A list of parts would need 60 bytes for each of them."""
    size: int = 0
    """Bytes that it consists of so far."""


class ReplyBuilder:
    """Takes the events of one stream in order. `reply` is set after `message_stop`."""

    def __init__(self) -> None:
        self._open: dict[int, _OpenBlock] = {}
        self._parts: list[Part] = []
        self._blocks = 0
        self._size = 0
        self._stop_reason = ""
        self._counts: dict[str, int] = {}
        self._output_bytes = 0
        self._is_output_counted = False
        self._cleared = 0
        self._explanation = ""
        self.reply: Reply | None = None

    @property
    def usage(self) -> Usage:
        """The tokens used so far. The output tokens are an estimate until the model's server has reported them."""
        if self.reply is not None:
            return self.reply.usage
        if self._is_output_counted:
            return Usage(**self._counts)
        estimate = max(self._counts.get("output_tokens", 0), self._output_bytes // BYTES_PER_TOKEN)
        return Usage(**{**self._counts, "output_tokens": estimate})

    def feed(self, data: dict[str, Any]) -> TextDelta | ThinkingDelta | None:
        """Takes one event and returns the part that the user sees; None if there is none.

        Ignores unknown events and deltas.

        Raises:
            ModelError: a field is missing or has a wrong type, or the event does not fit those before it.
        """
        event = parse_event(data)
        match event:
            case BlockStart():
                return self._begin(event)
            case BlockDelta():
                return self._add(event)
            case BlockStop(index):
                if index not in self._open:
                    raise nonsense(f"the end of content block {index}, which has not begun")
                self._complete(index)
            case _:
                self._update(event)
        return None

    def _update(self, event: StreamEvent | None) -> None:
        """Takes an event about the whole message."""
        match event:
            case MessageStart(counts):
                self._counts |= counts
            case MessageDelta(stop_reason, counts, cleared, explanation):
                self._stop_reason = stop_reason or self._stop_reason
                self._counts |= counts
                self._is_output_counted |= "output_tokens" in counts
                self._cleared = cleared or self._cleared
                self._explanation = explanation or self._explanation
            case MessageStop():
                for index in list(self._open):
                    self._complete(index, is_whole=False)
                usage = Usage(requests=1, **self._counts)
                stop = STOPS.get(self._stop_reason, "unknown")
                self.reply = Reply(self._parts, stop, self._stop_reason, usage, self._cleared, self._explanation)
            case _:
                pass

    def _begin(self, event: BlockStart) -> TextDelta | ThinkingDelta | None:
        if event.index in self._open:
            raise nonsense(f"content block {event.index} a second time before its end")
        self._blocks += 1
        if self._blocks > MAX_BLOCKS:
            raise nonsense(f"an answer of more than {MAX_BLOCKS:,} content blocks")
        self._open[event.index] = _OpenBlock(event.block)
        self._count(event.index, event.size)
        return self._show(event.index, event.text) if event.text else None

    def _add(self, event: BlockDelta) -> TextDelta | ThinkingDelta | None:
        if event.index not in self._open:
            raise nonsense(f"a part of content block {event.index}, which has not begun")
        block = self._open[event.index].block
        if block["type"] != event.block_type and block["type"] in BLOCK_TYPES:
            raise nonsense(f"a “{event.kind}” for content block {event.index}, which is a “{block['type']}”")
        if event.kind == "signature_delta":
            block["signature"] = clean_text(event.text)
            self._count(event.index, len(event.text))
            return None
        return self._show(event.index, event.text)

    def _show(self, index: int, text: str) -> TextDelta | ThinkingDelta | None:
        """Appends a text to an open block. Returns what the user sees of this text; None: nothing."""
        open_block, size = self._open[index], len(text.encode(errors="replace"))
        open_block.text.write(text)
        self._output_bytes += size
        self._count(index, size)
        match open_block.block["type"]:
            case "text":
                return TextDelta(clean_text(text))
            case "thinking":
                return ThinkingDelta(clean_text(text))
            case _:
                return None

    def _count(self, index: int, size: int) -> None:
        """Counts bytes that are added to an open block. Raises a `ModelError` if it or the reply gets too long."""
        open_block = self._open[index]
        open_block.size += size
        self._size += size
        if open_block.size > MAX_BLOCK:
            raise nonsense(f"a content block of more than {MAX_BLOCK:,} bytes")
        if self._size > MAX_REPLY:
            raise nonsense(f"content blocks of more than {MAX_REPLY:,} bytes in one answer")

    def _complete(self, index: int, is_whole: bool = True) -> None:
        """Adds an open block to the reply. If its end has not arrived, only a text or a call is added."""
        open_block = self._open.pop(index)
        block, joined = open_block.block, open_block.text.getvalue()
        match block["type"]:
            case "text":
                text = clean_text(joined)
                if text.strip():  # the API refuses empty text blocks
                    self._parts.append(Text(text))
            case "tool_use":
                self._add_call(block, joined, is_whole)
            case _ if not is_whole:
                pass  # for example thinking without its signature, which the API refuses
            case "thinking":
                self._parts.append(Thinking(clean_text(joined), PROVIDER, block))
            case "redacted_thinking":
                self._parts.append(Thinking("", PROVIDER, block))
            case _:
                self._parts.append(Foreign(PROVIDER, block))

    def _add_call(self, block: Block, raw: str, is_whole: bool) -> None:
        given, problem = read_input(raw, block["input"])
        if not is_whole:
            given, problem = {}, "Not run: the call was cut off before it was complete. Send it again."
        self._parts.append(Call(block["id"], block["name"], given, problem))


def read_input(raw: str, start: Any) -> tuple[dict[str, Any], str | None]:
    """Parses a call's input. Returns it and None, or an empty input and the problem.

    Args:
        raw: the streamed JSON, which may be incomplete.
        start: the input from the start of the block, used only if nothing was streamed. None counts as an empty object.
    """
    try:
        value: Any = json.loads(raw, parse_constant=_no_constant) if raw.strip() else start or {}
        check_encodable(value)
    except RecursionError:
        return {}, "Not run: the call's input is nested too deeply. Send it again with less nesting."
    except TooManyValues:
        return {}, f"Not run: the call's input consists of more than {MAX_VALUES:,} values. Send fewer at once."
    except UnicodeEncodeError:
        return {}, "Not run: the call's input contains invalid Unicode characters. Send it again without them."
    except ValueError as error:
        return {}, f"Not run: the call's input is not valid JSON ({error}). It may have been cut off; send it again."
    if not is_object(value):
        return {}, "Not run: the call's input must be a JSON object. Send it again as one."
    return value, None


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not valid in JSON")
