"""Encodes a session's state as journal entries, each with the difference from the one before, and decodes entries.

Does no I/O. An entry has

- `at`: when the state was saved,
- `patch`: the difference from the state before (differences.py), without the checkpoints and the time,
- `checkpoints`: if they changed, how many are the same, and the others, each as its difference from the one before it,
- `texts` and `values`: the large values that are new, by the numbers that stand for them (saved_values.py), and
- `gone`: the numbers of those that the state no longer contains.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from typing import Any

from fairlead.differences import Form, Operation, difference, patched
from fairlead.edits.proposal import Proposal
from fairlead.json_reader import to_json
from fairlead.per_item import common_prefix_length
from fairlead.session.checkpoints import Checkpoint
from fairlead.session.state import SessionState
from fairlead.session.store import codec
from fairlead.session.store.codec import Json
from fairlead.session.store.saved_values import SavedValues, read_added

LATEST_TIME = 253_402_300_799
"""The last second of the year 9999 (UTC), in seconds since the epoch. `datetime` supports no later year."""
_FIRST = Checkpoint(0, "")
"""In place of the one before the first."""


@dataclass(frozen=True)
class JournalContent:
    """The state that a journal's entries add up to, and its texts, messages and decisions by their numbers."""

    state: SessionState = field(default_factory=SessionState)
    texts: dict[int, str] = field(default_factory=dict[int, str])
    objects: Mapping[int, Any] = field(default_factory=dict[int, Any])


class EntryEncoder:
    """Encodes each state as the difference from the one before."""

    def __init__(self, content: JournalContent | None = None) -> None:
        """`content` is what the journal contains already."""
        content = content or JournalContent()
        self._state = self._before = SessionState()
        self._written: dict[str, Proposal] = {}

        def save_content(value: Any) -> Any:
            return codec.content(value, saving)

        def release_content(value: Any) -> Any:
            return codec.content(value, releasing)

        self._values = SavedValues(content.texts, content.objects, save_content, release_content)
        saving = codec.writers(self._values.number, self._earlier)
        releasing = codec.writers(self._values.release, lambda _: None)
        self._saving = Form(partial(to_json, special=saving), codec.WHOLE)
        self._releasing = Form(partial(to_json, special=releasing), codec.WHOLE)
        self.entry(content.state)  # counts the uses of the values

    def entry(self, new: SessionState) -> Json | None:
        """The entry that leads to a state from the one before; None if nothing but the time has changed.

        The next entry continues from this state. If this entry cannot be written, a new encoder must write the whole
        state.
        """
        old, self._state, self._written, removed = self._state, new, {}, list[Any]()
        self._before = old
        main = replace(self._saving, removed=removed.append)
        entry: Json = {"patch": _packed(difference(_main_part(old), _main_part(new), main))}
        if new.checkpoints is not old.checkpoints:
            same = common_prefix_length(old.checkpoints, new.checkpoints)
            entry["checkpoints"] = [same, _chain(new.checkpoints, same, self._saving)]
            _chain(old.checkpoints, same, self._releasing)
        for value in removed:
            self._releasing.to_json(value)
        entry |= self._values.changes()
        return {"at": new.at, **entry} if entry["patch"] or len(entry) > 1 else None

    def _earlier(self, proposal: Proposal) -> Proposal | None:
        """The last proposal for the same file that was written."""
        found = self._written.get(proposal.path) or self._before.changes.get(proposal.path)
        self._written[proposal.path] = proposal
        return found


def _main_part(state: SessionState) -> SessionState:
    return replace(state, at=0.0, checkpoints=())


def _chain(checkpoints: tuple[Checkpoint, ...], start: int, form: Form) -> list[Any]:
    """The checkpoints from `start` on, each as its difference from the one before it."""
    chain = (_FIRST, *checkpoints)[start:]
    return [_packed(difference(before, each, form)) for before, each in pairwise(chain)]


def _packed(operations: Iterable[Operation]) -> list[Any]:
    """Operations in few characters: `[path]` removes, `[path, value]` replaces, and `[path, value, 1]` adds."""
    return [[*list(each.values())[1:], *([1] if each["op"] == "add" else [])] for each in operations]


def _unpacked(operations: Iterable[Any]) -> list[Operation]:
    """The inverse of `_packed`."""
    names = ("remove", "replace", "add")
    return [
        {"op": names[len(each) - 1], "path": each[0], "value": each[-1 if len(each) < 3 else 1]} for each in operations
    ]


def read_entries(entries: Iterable[Json]) -> JournalContent:
    """Returns the state that the entries add up to, with the numbered texts and objects.

    Raises:
        ValueError: one of them is not an entry, or they do not add up to a state.
    """
    state: Json = to_json(SessionState())
    checkpoints: list[Json] = []
    texts, objects, known = dict[int, str](), dict[int, Any](), dict[int, Any]()
    try:
        for entry in entries:
            read_added(texts, entry.get("texts", {}))
            objects.update((int(number), value) for number, value in entry.get("values", {}).items())
            state = {**patched(state, _unpacked(entry["patch"])), "at": entry["at"]}
            if "checkpoints" in entry:
                same, added = entry["checkpoints"]
                del checkpoints[same:]
                for operations in added:
                    checkpoints.append(patched([to_json(_FIRST), *checkpoints][-1], _unpacked(operations)))
            for number in entry.get("gone", ()):
                texts.pop(number, None)
                objects.pop(number, None)
        readers = codec.readers(texts, objects, known)
        found = readers.read(SessionState, {**state, "checkpoints": checkpoints}, "state")
        if max(found.at, found.updated) > LATEST_TIME:
            raise ValueError("an invalid time")
    except ValueError:
        raise
    except Exception as error:  # a damaged entry can raise anything
        raise ValueError(f"not an entry of a session's journal: {error!r}") from error
    return JournalContent(found, texts, known)
