"""Finds the notes of one kind that a conversation contains. Compaction may have removed some."""

from collections.abc import Sequence
from itertools import chain

from fairlead.messages.parts import Message, Note, NoteKind
from fairlead.per_item import PerItem


class SentNotes:
    """Finds the notes. Reads each message once."""

    def __init__(self, kind: NoteKind) -> None:
        self._kind = kind
        self._notes = PerItem[Message, tuple[str, ...]](self._notes_in)

    def of(self, messages: Sequence[Message]) -> list[str]:
        """The texts of the notes in these messages, in order."""
        return list(chain.from_iterable(self._notes.of(messages)))

    def _notes_in(self, message: Message) -> tuple[str, ...]:
        return tuple(part.text for part in message.parts if isinstance(part, Note) and part.kind == self._kind)
