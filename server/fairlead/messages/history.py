"""The conversation with the model.

Two invariants keep the next request valid, whatever happens in a run: every call has exactly one result in the next
message, and between runs the last message is the assistant's.
"""

import json
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import uuid4

from fairlead.messages.parts import Call, Message, Note, Part, Result, Text, Thinking

EMPTY = "(The answer was empty.)"


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
            self._index(message.parts)

    def already_shown(self, name: str, given: Mapping[str, Any], text: str) -> bool:
        """Whether the last result of a call with this name and input is this text, and is still in the conversation."""
        return self._last_results.get(call_key(name, given)) == text

    def _index(self, parts: Iterable[Part]) -> None:
        for part in parts:
            if isinstance(part, Call):
                self._call_keys[part.id] = call_key(part.name, part.input)
            elif isinstance(part, Result) and part.call_id in self._call_keys:
                self._last_results[self._call_keys[part.call_id]] = part.output

    def add_user_message(self, parts: Iterable[Part]) -> None:
        """Appends a user message."""
        self._messages.append(Message("user", tuple(parts)))

    def add_to_user_message(self, parts: Iterable[Part]) -> None:
        """Appends parts to the last message, which is the user's and was not sent yet."""
        added = tuple(parts)
        if added:
            last = self._messages[-1]
            # a new list, because readers that compute something for each message expect the same one only to grow
            self._messages = [*self._messages[:-1], replace(last, parts=(*last.parts, *added))]

    def add_reply(self, parts: Iterable[Part]) -> list[Call]:
        """Appends an answer and returns its calls with unique ids, which their results must use.

        Some servers repeat ids. An empty answer gets a text.
        """
        ids, added = set(self._call_keys), list[Part]()
        for part in parts:
            if isinstance(part, Call):
                part = replace(part, id=_unique_id(part.id, ids))
                ids.add(part.id)
            added.append(part)
        if not any(isinstance(part, Text | Call) for part in added):
            added.append(Text(EMPTY))
        self._index(added)
        self._messages.append(Message("assistant", tuple(added)))
        return [part for part in added if isinstance(part, Call)]

    def add_results(self, results: Iterable[Result]) -> None:
        """Appends one user message with the results. Notes, such as a reminder, may only follow (docs/plan.md L6)."""
        parts = tuple(results)
        self._index(parts)
        self._messages.append(Message("user", parts))

    def close(self, text: str) -> None:
        """If the last message is the user's, because a run stopped halfway, appends the text as the answer to it."""
        if self._messages and self._messages[-1].role == "user":
            self._messages.append(Message("assistant", (Text(text),)))


def without_thinking(messages: Sequence[Message]) -> list[Message]:
    """The messages without the model's thinking. Unchanged messages are the same objects."""
    return [_without_thinking(message) for message in messages]


def _without_thinking(message: Message) -> Message:
    kept = tuple(part for part in message.parts if not isinstance(part, Thinking))
    return message if len(kept) == len(message.parts) else replace(message, parts=kept or (Text(EMPTY),))


def notes_in(messages: Iterable[Message]) -> Iterable[Note]:
    """Fairlead's notes in these messages, in order."""
    return (part for message in messages for part in message.parts if isinstance(part, Note))


def _unique_id(call_id: str, used: Container[str]) -> str:
    return call_id if call_id and call_id not in used else f"call_{uuid4().hex}"


def call_key(name: str, given: Mapping[str, Any]) -> str:
    """A key that is equal for calls with the same name and input."""
    return name + json.dumps(given, sort_keys=True)
