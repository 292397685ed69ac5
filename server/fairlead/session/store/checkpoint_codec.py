"""Converts a session's checkpoints to JSON and back. Each one is saved as its differences from the one before."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from types import MappingProxyType
from typing import Any, TypeVar

from fairlead.edits.changeset import Changeset
from fairlead.messages.parts import Message
from fairlead.per_item import common_prefix_length
from fairlead.plan.evidence import Record
from fairlead.session.checkpoints import Checkpoint
from fairlead.session.evidence.recorder import Inferred
from fairlead.session.store import codec
from fairlead.session.store.codec import Json
from fairlead.session.store.saved_texts import Texts

V = TypeVar("V")

EMPTY = Checkpoint(0, "")


def changed_values(old: Mapping[str, V], new: Mapping[str, V], to_json: Callable[[V | None, V], Any]) -> dict[str, Any]:
    """The new and changed values by key, as JSON; None for a removed one.

    A value is unchanged if it is the same object.

    Args:
        to_json: gets the old value (None if the key is new) and the new one.
    """
    if new is old:
        return {}
    changed = {key: to_json(old.get(key), value) for key, value in new.items() if old.get(key) is not value}
    return {**dict.fromkeys(key for key in old if key not in new), **changed}


def merged_values(old: Mapping[str, V], changed: Json, read: Callable[[V | None, Any], V]) -> dict[str, V]:
    """The inverse of `changed_values`. `read` gets the old value (None if the key is new) and the JSON."""
    remaining = {key: value for key, value in old.items() if changed.get(key, value) is not None}
    return {**remaining, **{key: read(old.get(key), value) for key, value in changed.items() if value is not None}}


def checkpoints_json(
    old: Sequence[Checkpoint], new: Sequence[Checkpoint], messages: Sequence[Message], numbers: codec.NumbersOf
) -> list[Any]:
    """The number of unchanged checkpoints at the beginning, and the checkpoints after them, as JSON.

    Args:
        messages: the session's conversation. Most checkpoints contain its first messages.
        numbers: returns the numbers of a proposal's texts.
    """
    unchanged = common_prefix_length(old, new)
    predecessors = [EMPTY, *new][unchanged:]
    added = zip(predecessors, new[unchanged:], strict=False)
    return [unchanged, [_json(each, last, messages, numbers) for last, each in added]]


def read_checkpoints(
    old: Sequence[Checkpoint], value: Any, messages: Sequence[Message], texts: Texts
) -> tuple[Checkpoint, ...]:
    """The inverse of `checkpoints_json`."""
    unchanged, added = value
    checkpoints = [EMPTY, *old[:unchanged]]
    for each in added:
        checkpoints.append(_read(each, checkpoints[-1], messages, texts))
    return tuple(checkpoints[1:])


def _json(new: Checkpoint, last: Checkpoint, messages: Sequence[Message], numbers: codec.NumbersOf) -> Json:
    # after a compaction, the conversation no longer begins like earlier checkpoints; then this checkpoint shares more
    # messages with the one before it
    in_conversation = common_prefix_length(messages, new.messages)
    in_last = common_prefix_length(last.messages, new.messages)
    shared = max(in_conversation, in_last)
    return {
        "id": new.id,
        "prompt": new.prompt,
        "mode": new.mode,
        "messages": [in_conversation >= in_last, shared, list(map(codec.message_json, new.messages[shared:]))],
        "items": codec.items_json(new.items) if new.items is not last.items else None,
        "awaits_approval": new.awaits_approval,
        "wish": codec.user_edits_json(new.user_edits),
        "record": changed_values(last.record.by_step, new.record.by_step, codec.evidence_json),
        "inferred": [asdict(step) for step in new.inferred],
        "proposals": changed_values(last.changes.files, new.changes.files, lambda _, proposal: numbers(proposal)),
        "order": new.changes.order,
        "emptyFolders": sorted(new.changes.empty_folders),
        "decisions": new.decisions,
        "unheard": asdict(new.pending_feedback),
    }


def _read(value: Json, last: Checkpoint, messages: Sequence[Message], texts: Texts) -> Checkpoint:
    is_in_conversation, shared, added = value["messages"]
    first: Iterable[Message] = (messages if is_in_conversation else last.messages)[:shared]
    files = merged_values(
        last.changes.files, value["proposals"], lambda _, proposal: codec.read_proposal(proposal, texts)
    )
    return Checkpoint(
        id=value["id"],
        prompt=value["prompt"],
        mode=value.get("mode", EMPTY.mode),
        messages=(*first, *map(codec.read_message, added)),
        items=codec.read_items(value["items"]) if value["items"] is not None else last.items,
        awaits_approval=value.get("awaits_approval", False),
        user_edits=codec.read_user_edits(value["wish"]),
        record=Record(merged_values(last.record.by_step, value["record"], codec.read_evidence)),
        inferred=tuple(Inferred(**step) for step in value["inferred"]),
        changes=Changeset(MappingProxyType(files), value["order"], frozenset(value.get("emptyFolders", ()))),
        decisions=value["decisions"],
        pending_feedback=codec.read_pending_feedback(value["unheard"]),
    )
