"""Finds the notes of one kind that a conversation contains. Compaction may have removed some."""

from collections.abc import Sequence
from itertools import chain

from fairlead.messages.history import Message
from fairlead.per_item import PerItem


class SentNotes:
    """Finds the texts for the model that begin with a prefix. Reads each message once."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._notes = PerItem[Message, tuple[str, ...]](self._notes_in)

    def of(self, messages: Sequence[Message]) -> list[str]:
        """The notes in the user messages among these, in order."""
        return list(chain.from_iterable(self._notes.of(messages)))

    def _notes_in(self, message: Message) -> tuple[str, ...]:
        texts = (block["text"] for block in message["content"] if block["type"] == "text")
        return tuple(text for text in texts if text.startswith(self._prefix)) if message["role"] == "user" else ()
