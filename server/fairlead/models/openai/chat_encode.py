"""Messages in the form of Chat Completions. What another server made for itself is left out."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from fairlead.agent.model import ToolSpec
from fairlead.messages.history import EMPTY
from fairlead.messages.parts import Call, Foreign, Image, Message, Note, Prompt, Result, Text, Thinking

MAX_NAME = 64
PICTURES = "The pictures of the result of {tool}:"
READ = "(I have read the results.)"
"""The answer between results and a message of the user, for servers that demand one."""

NO_SIGNATURE = "skip_thought_signature_validator"
"""What Gemini takes in place of a signature: https://ai.google.dev/gemini-api/docs/thought-signatures."""

_NOT_IN_NAME = re.compile(r"[^a-zA-Z0-9_-]")
_ID = re.compile(r"[a-zA-Z0-9_-]{1,40}")
_SHORT_ID = re.compile(r"[a-zA-Z0-9]{9}")


@dataclass(frozen=True, slots=True)
class Dialect:
    """What a server demands of messages that others do not, or do not allow."""

    short_ids: bool = False
    """Ids of nine letters and digits, and the tool's name with a result (Mistral)."""
    answers_results: bool = False
    """An answer between results and a message of the user (Mistral)."""
    text_without_calls: bool = False
    """No text in a message with calls (Mistral)."""
    fills_reasoning: bool = False
    """Thinking in each message with calls, if only an empty one (DeepSeek)."""
    fills_signatures: bool = False
    """A signature with the first call of each message, even if another model made the call (Gemini)."""
    omits_reasoning: bool = False
    """No thinking at all."""


class ChatEncoder:
    """Encodes the messages for one server.

    Args:
        provider: what `ChatReader` marked the server's own thinking with.
        dialect: what the server demands.
    """

    def __init__(self, provider: str, dialect: Dialect) -> None:
        self._provider, self._dialect = provider, dialect
        self._names: dict[str, str] = {}

    def encode(self, message: Message) -> list[dict[str, Any]]:
        """One message as those of the API. Encode the messages of a conversation in order."""
        return [self._assistant(message)] if message.role == "assistant" else list(self._user(message))

    def _assistant(self, message: Message) -> dict[str, Any]:
        texts, calls, reasoning = list[str](), list[dict[str, Any]](), dict[str, Any]()
        for part in message.parts:
            match part:
                case Call(call_id, name, given):
                    name = _NOT_IN_NAME.sub("_", name)[:MAX_NAME] or "_"
                    self._names[call_id] = name
                    function = {"name": name, "arguments": json.dumps(given, ensure_ascii=False)}
                    calls.append({"id": self._id(call_id), "type": "function", "function": function})
                case Foreign(provider, data) if provider == self._provider and calls:
                    calls[-1].update(data)
                case Thinking(text, provider, sealed) if provider == self._provider:
                    blocks = {name: value for name, value in sealed.items() if name != "field"}
                    reasoning |= {sealed["field"]: text, **blocks} if sealed["field"] else blocks
                case Text(text):
                    texts.append(text)
                case _:
                    pass
        if calls and self._dialect.fills_reasoning:
            reasoning.setdefault("reasoning_content", "")
        if calls and self._dialect.fills_signatures:
            calls[0].setdefault("extra_content", {"google": {"thought_signature": NO_SIGNATURE}})
        text = "" if calls and self._dialect.text_without_calls else "\n\n".join(texts)
        encoded = {"role": "assistant", "content": text or ("" if calls else EMPTY)}
        if not self._dialect.omits_reasoning:
            encoded |= reasoning
        return {**encoded, "tool_calls": calls} if calls else encoded

    def _user(self, message: Message) -> Iterator[dict[str, Any]]:
        """A message for each result, because their form has no pictures and no text of others; then the rest."""
        rest: list[dict[str, Any]] = []
        has_results = False
        for part in message.parts:
            match part:
                case Result(call_id, images=images):
                    has_results = True
                    yield self._result(part)
                    if images:
                        pictures = PICTURES.format(tool=self._names.get(call_id, "a tool"))
                        rest += [_text(pictures), *map(_image, images)]
                case Image():
                    rest.append(_image(part))
                case Prompt() | Note():
                    rest.append(_text(part.text))
                case _:
                    pass
        if rest or not has_results:
            if has_results and self._dialect.answers_results:
                yield {"role": "assistant", "content": READ}
            yield {"role": "user", "content": _content(rest)}

    def _result(self, result: Result) -> dict[str, Any]:
        text = f"Error: {result.text}" if result.is_error else result.text
        encoded = {"role": "tool", "tool_call_id": self._id(result.call_id), "content": text}
        return {**encoded, "name": self._names.get(result.call_id, "_")} if self._dialect.short_ids else encoded

    def _id(self, call_id: str) -> str:
        """An id that the server accepts; the same one for a call and its result."""
        valid, length = (_SHORT_ID, 9) if self._dialect.short_ids else (_ID, 32)
        return call_id if valid.fullmatch(call_id) else sha256(call_id.encode()).hexdigest()[:length]


def encode_tool(spec: ToolSpec) -> dict[str, Any]:
    """A tool as a function of the API."""
    function = {"name": spec.name, "description": spec.description, "parameters": spec.input_schema}
    return {"type": "function", "function": function}


def _content(blocks: Sequence[dict[str, Any]]) -> Any:
    """Blocks as content. Text alone is one text, because some servers take no lists."""
    if all(block["type"] == "text" for block in blocks):
        return "\n\n".join(block["text"] for block in blocks) or EMPTY
    return list(blocks)


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _image(image: Image) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": f"data:{image.media_type};base64,{image.data}"}}
