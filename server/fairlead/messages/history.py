"""The conversation in the form of the Messages API: plain dicts.

Two invariants keep the next request valid, whatever happens in a run: every tool_use has exactly one tool_result in the
next message, and between runs the last message is the assistant's.
"""

import json
import re
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import uuid4

EMPTY = "(The answer was empty.)"
_NOT_IN_ID = re.compile(r"[^a-zA-Z0-9_-]")

Block = dict[str, Any]
Message = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call that the model made."""

    id: str
    name: str
    input: dict[str, Any]
    problem: str | None = None
    """Why it cannot be run, as text for the model: its input is incomplete or invalid; None if it can."""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of a tool call."""

    call_id: str
    text: str
    """What the model reads. If it is empty, the block says so instead."""
    is_error: bool = False

    def block(self) -> Block:
        """The content block for the next user message."""
        block: Block = {
            "type": "tool_result",
            "tool_use_id": self.call_id,
            "content": self.text or "(no output)",
        }
        if self.is_error:
            block["is_error"] = True
        return block


def text_block(text: str) -> Block:
    """A text as a content block."""
    return {"type": "text", "text": text}


def clean_text(text: str) -> str:
    """The text with U+FFFD in place of lone surrogates, which no request may contain. A pair becomes one character."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


class History:
    """The messages of a session.

    Messages are appended and do not change, because the provider caches what was sent. Only `replace` rewrites them.
    """

    def __init__(self) -> None:
        self._messages: list[Message] = []
        self._call_keys: dict[str, str] = {}  # by call id
        self._last_results: dict[str, str] = {}  # by call key

    @property
    def messages(self) -> Sequence[Message]:
        return self._messages

    def replace(self, messages: Iterable[Message]) -> None:
        """Replaces all messages, for example with restored or compacted ones."""
        self._messages = list(messages)
        self._call_keys, self._last_results = {}, {}
        for message in self._messages:
            self._index(message["content"])

    def already_shown(self, name: str, given: Mapping[str, Any], text: str) -> bool:
        """Whether the last result of a call with this name and input is this text, and is still in the conversation."""
        return self._last_results.get(call_key(name, given)) == text

    def _index(self, blocks: Iterable[Block]) -> None:
        for block in blocks:
            if block["type"] == "tool_use":
                self._call_keys[block["id"]] = call_key(block["name"], block["input"])
            elif block["type"] == "tool_result" and block["tool_use_id"] in self._call_keys:
                self._last_results[self._call_keys[block["tool_use_id"]]] = block["content"]

    def add_user_message(self, blocks: Iterable[Block]) -> None:
        """Appends a user message."""
        self._messages.append({"role": "user", "content": list(blocks)})

    def add_reply(self, content: Iterable[Block], calls: Sequence[ToolCall] = ()) -> list[ToolCall]:
        """Appends an answer and returns its calls with valid, unique ids, which their results must use.

        Some servers repeat ids or use characters that no request may contain, and a model may invent a tool name. The
        appended message has valid names; the returned calls have the model's. An empty answer gets a text.
        """
        blocks, renamed, remaining = list[Block](), list[ToolCall](), list(calls)
        ids = set(self._call_keys)
        for block in content:
            if block["type"] == "tool_use" and remaining:
                call = remaining.pop(0)
                call = replace(call, id=_valid_id(call.id, ids))
                ids.add(call.id)
                renamed.append(call)
                block = {**block, "id": call.id, "name": _NOT_IN_ID.sub("_", call.name)[:128] or "_"}
            blocks.append(block)
        if not any(block["type"] in ("text", "tool_use") for block in blocks):
            blocks.append(text_block(EMPTY))
        self._index(blocks)
        self._messages.append({"role": "assistant", "content": blocks})
        return renamed

    def add_results(self, results: Iterable[ToolResult], texts: Iterable[str] = ()) -> None:
        """Appends one user message: all results first, then texts such as a reminder (docs/plan.md L6)."""
        blocks = [result.block() for result in results]
        self._index(blocks)
        self._messages.append({"role": "user", "content": blocks + [text_block(text) for text in texts]})

    def close(self, note: str) -> None:
        """If the last message is the user's, because a run stopped halfway, appends the note as the answer to it."""
        if self._messages and self._messages[-1]["role"] == "user":
            self._messages.append({"role": "assistant", "content": [text_block(note)]})


def without_thinking(messages: Sequence[Message]) -> list[Message]:
    """The messages without the model's thinking. Unchanged messages are the same objects."""
    return [_without_thinking(message) for message in messages]


def _without_thinking(message: Message) -> Message:
    kept = [block for block in message["content"] if block["type"] not in ("thinking", "redacted_thinking")]
    return message if len(kept) == len(message["content"]) else {**message, "content": kept or [text_block(EMPTY)]}


def _valid_id(call_id: str, used: Container[str]) -> str:
    if not call_id or _NOT_IN_ID.search(call_id) or call_id in used:
        return f"toolu_{uuid4().hex}"
    return call_id


def call_key(name: str, given: Mapping[str, Any]) -> str:
    """A key that is equal for calls with the same name and input."""
    return name + json.dumps(given, sort_keys=True)
