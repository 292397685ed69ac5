"""Builds a Reply from the chunks of Chat Completions, as strictly as the many servers that speak it allow.

The parts of calls say only loosely which call they belong to; `_Calls` has the rules. tests/models/quirks/ has answers
of servers for them.
"""

from collections.abc import Iterator
from typing import Any

from fairlead.agent.model import Reply, Stop, TextDelta, ThinkingDelta, Usage
from fairlead.json_reader import WrongValue
from fairlead.json_values import fields_of, is_list, is_object
from fairlead.messages.history import clean_text
from fairlead.messages.parts import Foreign, Part, Thinking
from fairlead.models.common.fields import Fields, nonsense
from fairlead.models.common.reply_parts import MAX_ID, OpenPart, ReplyParts, read_input

STOPS: dict[str, Stop] = {
    "stop": "done",
    "eos": "done",
    "tool_calls": "calls",
    "function_call": "calls",
    "length": "cut_off",
    "max_tokens": "cut_off",
    "model_length": "window_full",
    "content_filter": "refused",
}
MAX_STOP_REASON = 100  # characters
MAX_EXPLANATION = 500
MAX_COST = 1e6  # US dollars
REASONING = ("reasoning_content", "reasoning")
"""The fields that hold the thinking. A server that sends both sends the same text in both."""
REASONING_BLOCKS = ("reasoning_details", "thinking_blocks")
"""The fields with the thinking's signatures, which go back to the server: of OpenRouter and of LiteLLM."""
_JOINED = ("text", "summary", "data", "thinking")
"""The fields of such a block that come in pieces."""


class ChatReader:
    """Takes the chunks of one stream in order. `reply` is set at its end, if a chunk said why the answer ended.

    Args:
        provider: marks what only this server can read again.
    """

    def __init__(self, provider: str) -> None:
        self._provider = provider
        self._parts = ReplyParts()
        self._text: OpenPart | None = None
        self._thinking: OpenPart | None = None
        self._thinking_field = ""
        self._blocks: dict[str, list[dict[str, Any]]] = {}
        self._calls = _Calls(self._parts)
        self._refusal = ""
        self._finish = ""
        self._counted: Usage | None = None
        self.reply: Reply | None = None

    @property
    def usage(self) -> Usage:
        """The tokens used so far. The output tokens are an estimate until the model's server has reported them."""
        if self.reply is not None:
            return self.reply.usage
        return self._counted or Usage(output_tokens=self._parts.estimated_tokens)

    def feed(self, data: dict[str, Any]) -> TextDelta | ThinkingDelta | None:
        """Takes one chunk and returns the part that the user sees; None if there is none.

        Raises:
            ModelError: a field has a wrong type, or the answer gets too long.
        """
        try:
            return self._feed(Fields(data, "chunk"))
        except WrongValue as error:
            raise nonsense(f"a wrong chunk: “{error.path}” {error.problem}") from error

    def end(self) -> None:
        """The stream has ended. Sets `reply` if the answer is complete."""
        if not self._finish or self.reply is not None:
            return
        parts: list[Part] = []
        if self._thinking is not None:
            text = clean_text(self._thinking.text.getvalue())
            sealed = {"field": self._thinking_field, **self._blocks}
            parts.append(Thinking(text, self._provider, sealed))
        if self._text is not None:
            self._parts.add_text(self._text)
        self._calls.complete(self._provider)
        parts += self._parts.parts
        usage = self._counted or Usage(output_tokens=self._parts.estimated_tokens)
        self.reply = Reply(parts, self._stop(), self._finish, usage + Usage(requests=1), explanation=self._refusal)

    def _stop(self) -> Stop:
        """Why the answer ended. Some servers say “stop” although there are calls, or “tool_calls” without any."""
        stop = STOPS.get(self._finish, "unknown")
        if self._refusal:
            return "refused"
        if stop in ("done", "calls", "unknown") and self._calls.slots:
            return "calls"
        return "done" if stop == "calls" else stop

    def _feed(self, chunk: Fields) -> TextDelta | ThinkingDelta | None:
        if is_object(chunk.value("usage")):
            self._counted = _usage(chunk.fields("usage"))
        for choice in chunk.list("choices"):
            if choice.count("index", 0) == 0:
                return self._choice(choice)
        return None

    def _choice(self, choice: Fields) -> TextDelta | ThinkingDelta | None:
        # a server that does not stream sends the whole message in one chunk
        delta = choice.fields("delta" if choice.value("delta") is not None else "message")
        thinking = self._add_thinking(delta)
        for call in delta.list("tool_calls"):
            self._calls.add(call)
        self._refusal += clean_text(delta.text("refusal", ""))[: MAX_EXPLANATION - len(self._refusal)]
        text, thought = _content(delta)
        text = self._add_text(text)
        self._finish = clean_text(choice.text("finish_reason", ""))[:MAX_STOP_REASON] or self._finish
        return _joined(thinking, self._think(thought), text)

    def _add_text(self, text: str) -> TextDelta | None:
        if not text:
            return None
        self._text = self._text or self._parts.begin(OpenPart("text"))
        self._parts.add(self._text, text)
        return TextDelta(clean_text(text))

    def _think(self, text: str) -> ThinkingDelta | None:
        if not text:
            return None
        self._thinking = self._thinking or self._parts.begin(OpenPart("thinking"))
        self._parts.add(self._thinking, text)
        return ThinkingDelta(clean_text(text))

    def _add_thinking(self, delta: Fields) -> ThinkingDelta | None:
        for name in REASONING_BLOCKS:
            for block in delta.list(name):
                self._thinking = self._thinking or self._parts.begin(OpenPart("thinking"))
                self._parts.count(self._thinking, block.size())
                _add_block(self._blocks.setdefault(name, []), block.without())
        name = next((name for name in REASONING if isinstance(delta.value(name), str) and delta.value(name)), None)
        if name is None:
            return None
        self._thinking_field = self._thinking_field or name
        return self._think(delta.text(name))


class _Calls:
    """The calls of one answer, each with what has arrived of it.

    A part of a call has an id, an index, both or neither. A new id is a new call, even at the index of another one. A
    part without an id continues the latest call at its index. A part with neither continues the call at its place in
    the list, or the latest one. A part with a name begins a call if the one that it would continue is complete.
    """

    def __init__(self, parts: ReplyParts) -> None:
        self._parts = parts
        self.slots: list[OpenPart] = []

    def add(self, call: Fields) -> None:
        """Takes a part of a call."""
        function = call.fields("function")
        name = clean_text(function.text("name", "", MAX_ID))
        slot = self._slot(clean_text(call.text("id", "", MAX_ID)), call.value("index"), name)
        slot.data["name"] = slot.data["name"] or name
        arguments = function.value("arguments")
        if isinstance(arguments, str):
            self._parts.add(slot, arguments)
        elif is_object(arguments):
            self._parts.count(slot, function.size())
            slot.data["input"] = {**fields_of(slot.data["input"]), **arguments}
        if is_object(call.value("extra_content")):
            extra = call.fields("extra_content")
            self._parts.count(slot, extra.size())
            slot.data["extra_content"] = {**slot.data["extra_content"], **extra.without()}

    def _slot(self, call_id: str, index: Any, name: str) -> OpenPart:
        place = index if type(index) is int else None
        at_place = next((slot for slot in reversed(self.slots) if slot.data["index"] == place), None)
        if call_id:
            known = next((slot for slot in self.slots if slot.data["id"] == call_id), None)
            if known is not None:
                return known
            if place is not None and at_place is not None and not at_place.data["id"]:
                at_place.data["id"] = call_id
                return at_place
            return self._begin(call_id, place)
        slot = at_place if place is not None else self.slots[-1] if self.slots else None
        if slot is None or (name and slot.data["name"] and _is_complete(slot)):
            return self._begin("", place)
        return slot

    def _begin(self, call_id: str, index: int | None) -> OpenPart:
        slot = OpenPart("call", {"id": call_id, "index": index, "name": "", "input": None, "extra_content": {}})
        self.slots.append(self._parts.begin(slot, len(call_id)))
        return slot

    def complete(self, provider: str) -> None:
        """Adds the calls to the parts, each followed by what its server wants back with it."""
        for number, slot in enumerate(self.slots):
            call_id = slot.data["id"] or f"call_{number}"
            self._parts.add_call(slot, call_id, slot.data["name"], slot.data["input"])
            if slot.data["extra_content"]:
                self._parts.parts.append(Foreign(provider, {"extra_content": slot.data["extra_content"]}))


def _is_complete(slot: OpenPart) -> bool:
    """Whether a call's input is a whole object, so that a part with a name begins another call."""
    raw = slot.text.getvalue()
    return slot.data["input"] is not None or (raw.rstrip().endswith("}") and read_input(raw, None)[1] is None)


def _usage(usage: Fields) -> Usage:
    details = usage.fields("prompt_tokens_details")
    cached = details.count("cached_tokens", 0) or usage.count("prompt_cache_hit_tokens", 0)  # DeepSeek names it so
    written = details.count("cache_write_tokens", 0)
    return Usage(
        input_tokens=max(0, usage.count("prompt_tokens", 0) - cached - written),
        cache_read_tokens=cached,
        cache_write_tokens=written,
        output_tokens=usage.count("completion_tokens", 0),
        cost=_cost(usage.value("cost")),
    )


def _cost(given: Any) -> float | None:
    """US dollars, as OpenRouter reports them; None if there is no such number."""
    is_number = isinstance(given, int | float) and not isinstance(given, bool)
    return float(given) if is_number and 0 <= given < MAX_COST else None


def _content(delta: Fields) -> tuple[str, str]:
    """The text and the thinking in `content`, which is a text, or a list of blocks (Mistral)."""
    if not is_list(delta.value("content")):
        return delta.text("content", ""), ""
    texts, thoughts = list[str](), list[str]()
    for block in delta.list("content"):
        if block.value("thinking") is not None:
            thoughts += _texts(block)
        else:
            texts.append(block.text("text", ""))
    return "".join(texts), "".join(thoughts)


def _texts(block: Fields) -> Iterator[str]:
    """The texts of a block of thinking, which is a text or a list of texts."""
    if is_list(block.value("thinking")):
        yield from (each.text("text", "") for each in block.list("thinking"))
    else:
        yield block.text("thinking", "")


def _joined(
    thinking: ThinkingDelta | None, thought: ThinkingDelta | None, text: TextDelta | None
) -> TextDelta | ThinkingDelta | None:
    """What the user sees of a chunk. If it has both text and thinking, the text."""
    return text or thinking or thought


def _add_block(blocks: list[dict[str, Any]], piece: dict[str, Any]) -> None:
    """Adds a piece of a block of thinking: to the last block if it is of the same one, else as a new one."""
    last = blocks[-1] if blocks else None
    if last is None or any(last.get(name) != piece.get(name) for name in ("type", "index")) or last.get("signature"):
        blocks.append(piece)
        return
    for name, value in piece.items():
        if name in _JOINED and isinstance(value, str) and isinstance(last.get(name), str):
            last[name] += value
        elif value is not None:
            last[name] = value
