"""Builds a Reply from the stream events of Responses.

An answer consists of items. Its events should name an item by its id and its place, but some servers leave out one or
both, or give all items the same place.
"""

from itertools import chain
from typing import Any, Literal

from fairlead.agent.model import Reply, Stop, TextDelta, ThinkingDelta, Usage
from fairlead.json_reader import WrongValue
from fairlead.json_values import is_object
from fairlead.messages.history import clean_text
from fairlead.messages.parts import Foreign, Thinking
from fairlead.models.common.fields import Fields, nonsense
from fairlead.models.common.reply_parts import MAX_ID, OpenPart, ReplyParts
from fairlead.models.openai.responses_encode import PHASE

Kind = Literal["text", "thinking", "call"]

CUT_OFF = "max_output_tokens"
STOPS: dict[str, Stop] = {CUT_OFF: "cut_off", "content_filter": "refused"}
"""Why an answer is incomplete."""
KINDS: dict[str, Kind] = {"message": "text", "reasoning": "thinking", "function_call": "call"}
"""The types of items. Others are ignored: a server sends them only for tools of its own, and Fairlead offers none."""
PHASES = ("commentary", "final_answer")
MAX_STOP_REASON = 100  # characters
MAX_EXPLANATION = 500
SEPARATOR = "\n\n"
"""Between the parts of one text or of one summary."""
_ENDS = ("response.completed", "response.incomplete")
_DELTAS: dict[str, Kind] = {
    "response.output_text.delta": "text",
    "response.reasoning_summary_text.delta": "thinking",
    "response.reasoning_text.delta": "thinking",
    "response.function_call_arguments.delta": "call",
}
"""The kind of the item that a piece belongs to."""
_BEGINNINGS: dict[str, tuple[Kind, str]] = {
    "response.content_part.added": ("text", "content_index"),
    "response.reasoning_summary_part.added": ("thinking", "summary_index"),
}
"""The events that begin another part of an item, with the field for its place."""


class ResponsesReader:
    """Takes the events of one stream in order. `reply` is set after the event that ends an answer.

    Args:
        provider: marks what only this server can read again.
        limit: of the answer's tokens, as the request has it. Some servers call an answer that reached it complete.
    """

    def __init__(self, provider: str, limit: int) -> None:
        self._provider, self._limit = provider, limit
        self._parts = ReplyParts()
        self._items: list[OpenPart] = []
        self._open: list[OpenPart] = []
        """Those whose end has not arrived, the latest one first."""
        self._closed: set[tuple[Kind, str]] = set()
        """The kinds and ids of the others. Some servers repeat the end of an item."""
        self._refusal = ""
        self.reply: Reply | None = None

    @property
    def usage(self) -> Usage:
        """The tokens used so far. The output tokens are an estimate until the end of the answer."""
        return self.reply.usage if self.reply is not None else Usage(output_tokens=self._parts.estimated_tokens)

    def feed(self, data: dict[str, Any]) -> TextDelta | ThinkingDelta | None:
        """Takes one event and returns the part that the user sees; None if there is none. Ignores unknown events.

        Raises:
            ModelError: a field is missing or has a wrong type, or the answer gets too long.
        """
        try:
            kind = Fields(data, "event").text("type", "")
            return self._take(kind, Fields(data, kind or "event"))
        except WrongValue as error:
            raise nonsense(f"a wrong event: “{error.path}” {error.problem}") from error

    def end(self) -> None:
        """The stream has ended; only `response.completed` or `response.incomplete` completes an answer."""

    def _take(self, kind: str, event: Fields) -> TextDelta | ThinkingDelta | None:
        match kind:
            case "response.output_item.added":
                item = event.fields("item", required=True)
                if (begun := KINDS.get(item.text("type", ""))) is not None:
                    self._begin(begun, item.text("id", "", MAX_ID), event.value("output_index"), item)
            case "response.output_item.done":
                return self._complete(event)
            case "response.refusal.delta":
                self._refuse(event.text("delta", ""))
            case _ if kind in _DELTAS:
                return self._parts.add(self._item(_DELTAS[kind], event), event.text("delta", ""))
            case _ if kind in _BEGINNINGS:
                name, place = _BEGINNINGS[kind]
                if event.count(place, 0) > 0 and (item := self._item(name, event)).text.tell():
                    return self._parts.add(item, SEPARATOR)
            case _ if kind in _ENDS:
                self._finish(event.fields("response"), is_whole=kind == _ENDS[0])
            case _:
                pass
        return None

    def _refuse(self, text: str) -> None:
        self._refusal += clean_text(text)[: MAX_EXPLANATION - len(self._refusal)]

    def _begin(self, kind: Kind, item_id: str, index: Any, item: Fields | None = None) -> OpenPart:
        place = index if type(index) is int else None
        part = OpenPart(kind, {"id": item_id, "index": place, "item": dict[str, Any]()})
        if kind == "call":
            part.data |= {"call_id": "", "name": "", "input": None}
        if item is not None and kind == "call":
            _name_call(part, item)
        self._items.append(self._parts.begin(part, len(item_id)))
        self._open.insert(0, part)
        return part

    def _item(self, kind: Kind, event: Fields, item_id: str = "") -> OpenPart:
        """The open item of this kind that an event is about: by its id, else its place, else the latest one.

        A server may leave out the event that begins an item.
        """
        item_id = item_id or event.text("item_id", "", MAX_ID)
        index = event.value("output_index")
        items = [item for item in self._open if item.kind == kind]
        with_id = (item for item in items if item_id and item.data["id"] == item_id)
        with_index = (item for item in items if index is not None and item.data["index"] == index)
        found = next(chain(with_id, with_index, items), None)
        return found or self._begin(kind, item_id, index)

    def _complete(self, event: Fields) -> TextDelta | ThinkingDelta | None:
        """Takes the end of an item, which repeats all of it. Returns its text if it did not come in pieces."""
        item = event.fields("item", required=True)
        kind, item_id = KINDS.get(item.text("type", "")), item.text("id", "", MAX_ID)
        if kind is None or (kind, item_id) in self._closed:
            return None
        part = self._item(kind, event, item_id)
        self._open.remove(part)
        self._closed |= {(kind, item_id)} if item_id else set()
        match kind:
            case "text":
                if (phase := item.text(PHASE, "")) in PHASES:
                    part.data["item"] = {PHASE: phase}
                if not self._refusal:
                    self._refuse("".join(each.text("refusal", "") for each in item.list("content")))
                text = SEPARATOR.join(filter(None, (each.text("text", "") for each in item.list("content"))))
                return self._parts.add(part, text) if text and not part.text.tell() else None
            case "thinking":
                self._parts.count(part, item.size())
                part.data["item"], text = _reasoning(item)
                return self._parts.add(part, text) if text and not part.text.tell() else None
            case "call":
                _name_call(part, item)
                if not part.text.tell():
                    self._take_arguments(part, item)
        return None

    def _take_arguments(self, part: OpenPart, item: Fields) -> None:
        """Takes the arguments of a call that did not come in pieces. Some servers send them as an object."""
        if is_object(item.value("arguments")):
            self._parts.count(part, item.size())
            part.data["input"] = item.fields("arguments").without()
        else:
            self._parts.add(part, item.text("arguments", ""))

    def _finish(self, response: Fields, *, is_whole: bool) -> None:
        """Makes the reply. An item whose end has not arrived is complete only if the answer is."""
        reason = clean_text(response.fields("incomplete_details").text("reason", ""))[:MAX_STOP_REASON]
        is_whole = is_whole and not reason and response.text("status", "") != "incomplete"
        if not self._items:
            self._take_output(response)
        if all(item.data["index"] is not None for item in self._items):
            self._items.sort(key=lambda item: item.data["index"])
        for item in self._items:
            self._add(item, is_whole=is_whole or item not in self._open)
        parts = self._parts.parts
        if not is_whole and parts and isinstance(parts[-1], Thinking):  # without what must follow it
            parts[-1] = Thinking(parts[-1].text, self._provider, {})
        usage = self._usage(response)
        if is_whole and response.fields("usage").count("output_tokens", 0) >= self._limit:
            is_whole, reason = False, CUT_OFF
        has_calls = any(item.kind == "call" for item in self._items)
        stop: Stop = ("calls" if has_calls else "done") if is_whole else STOPS.get(reason, "unknown")
        self.reply = Reply(
            parts,
            "refused" if self._refusal else stop,
            "completed" if is_whole else reason or "incomplete",
            usage + Usage(requests=1),
            explanation=self._refusal,
        )

    def _take_output(self, response: Fields) -> None:
        """Takes the items of a server that sends them only at the end."""
        for item in response.list("output"):
            self._complete(Fields({"item": item.without()}, "response.output"))

    def _add(self, item: OpenPart, *, is_whole: bool) -> None:
        """Adds an item to the parts of the reply."""
        parts, data = self._parts.parts, item.data
        match item.kind:
            case "text":
                if data["item"] and item.text.getvalue().strip():
                    parts.append(Foreign(self._provider, data["item"]))
                self._parts.add_text(item)
            case "call":
                call_id = data["call_id"] or data["id"] or f"call_{len(parts)}"
                self._parts.add_call(item, call_id, data["name"], data["input"], is_whole=is_whole)
            case _:
                text = clean_text(item.text.getvalue())
                if text or data["item"]:
                    parts.append(Thinking(text, self._provider, data["item"]))

    def _usage(self, response: Fields) -> Usage:
        """The tokens of the answer. On the wire, the input includes the cached tokens, and the output the reasoning."""
        usage = response.fields("usage")
        if usage.value("input_tokens") is None and usage.value("output_tokens") is None:
            return Usage(output_tokens=self._parts.estimated_tokens)
        details = usage.fields("input_tokens_details")
        cached, written = details.count("cached_tokens", 0), details.count("cache_write_tokens", 0)
        return Usage(
            input_tokens=max(0, usage.count("input_tokens", 0) - cached - written),
            cache_read_tokens=cached,
            cache_write_tokens=written,
            output_tokens=usage.count("output_tokens", 0),
        )


def _reasoning(item: Fields) -> tuple[dict[str, Any], str]:
    """What goes back to the server for an item of reasoning, and its text.

    Without an id, the server knows an item only by its encrypted content. A server that does not encrypt sends the
    whole reasoning as content. If there is neither, nothing goes back.
    """
    encrypted = clean_text(item.text("encrypted_content", ""))
    summary = [clean_text(part.text("text", "")) for part in item.list("summary")]
    content = [clean_text(part.text("text", "")) for part in item.list("content")]
    sent = {
        "type": "reasoning",
        "summary": [{"type": "summary_text", "text": text} for text in summary],
        "encrypted_content": encrypted,
    }
    if content:
        sent["content"] = [{"type": "reasoning_text", "text": text} for text in content]
    return sent if encrypted or content else {}, SEPARATOR.join(filter(None, (*summary, *content)))


def _name_call(part: OpenPart, item: Fields) -> None:
    """Takes the name and the id of a call. Both are in each event about the whole item."""
    for name in ("call_id", "name"):
        part.data[name] = clean_text(item.text(name, "", MAX_ID)) or part.data[name]
