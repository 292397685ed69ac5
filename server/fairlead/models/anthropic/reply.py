"""Builds a Reply from the stream events of the Messages API."""

from typing import Any

from fairlead.agent.model import Reply, Stop, TextDelta, ThinkingDelta, Usage
from fairlead.messages.history import clean_text
from fairlead.messages.parts import Foreign, Thinking
from fairlead.models.anthropic.encode import PROVIDER
from fairlead.models.anthropic.stream_events import (
    BLOCK_TYPES,
    BlockDelta,
    BlockStart,
    BlockStop,
    MessageDelta,
    MessageStart,
    MessageStop,
    StreamEvent,
    parse_event,
)
from fairlead.models.common.fields import nonsense
from fairlead.models.common.reply_parts import OpenPart, ReplyParts

STOPS: dict[str, Stop] = {
    "end_turn": "done",
    "stop_sequence": "done",
    "tool_use": "calls",
    "max_tokens": "cut_off",
    "model_context_window_exceeded": "window_full",
    "pause_turn": "paused",
    "refusal": "refused",
}


class ReplyBuilder:
    """Takes the events of one stream in order. `reply` is set after `message_stop`."""

    def __init__(self) -> None:
        self._open: dict[int, OpenPart] = {}
        self._parts = ReplyParts()
        self._stop_reason = ""
        self._counts: dict[str, int] = {}
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
        estimate = max(self._counts.get("output_tokens", 0), self._parts.estimated_tokens)
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

    def end(self) -> None:
        """The stream has ended; only `message_stop` completes an answer."""

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
                parts = self._parts.parts
                self.reply = Reply(parts, stop, self._stop_reason, usage, self._cleared, self._explanation)
            case _:
                pass

    def _begin(self, event: BlockStart) -> TextDelta | ThinkingDelta | None:
        if event.index in self._open:
            raise nonsense(f"content block {event.index} a second time before its end")
        match event.block["type"]:
            case "text" | "thinking" as kind:
                part = OpenPart(kind, event.block)
            case "tool_use":
                part = OpenPart("call", event.block)
            case _:
                part = OpenPart("other", event.block)
        self._open[event.index] = self._parts.begin(part, event.size)
        return self._parts.add(part, event.text) if event.text else None

    def _add(self, event: BlockDelta) -> TextDelta | ThinkingDelta | None:
        if event.index not in self._open:
            raise nonsense(f"a part of content block {event.index}, which has not begun")
        part = self._open[event.index]
        block = part.data
        if block["type"] != event.block_type and block["type"] in BLOCK_TYPES:
            raise nonsense(f"a “{event.kind}” for content block {event.index}, which is a “{block['type']}”")
        if event.kind == "signature_delta":
            block["signature"] = clean_text(event.text)
            self._parts.count(part, len(event.text))
            return None
        return self._parts.add(part, event.text)

    def _complete(self, index: int, is_whole: bool = True) -> None:
        """Adds an open block to the reply. If its end has not arrived, only a text or a call is added."""
        part = self._open.pop(index)
        block, complete = part.data, self._parts.parts
        match block["type"]:
            case "text":
                self._parts.add_text(part)
            case "tool_use":
                self._parts.add_call(part, block["id"], block["name"], block["input"], is_whole=is_whole)
            case _ if not is_whole:
                pass  # for example thinking without its signature, which the API refuses
            case "thinking":
                complete.append(Thinking(clean_text(part.text.getvalue()), PROVIDER, block))
            case "redacted_thinking":
                complete.append(Thinking("", PROVIDER, block))
            case _:
                complete.append(Foreign(PROVIDER, block))
