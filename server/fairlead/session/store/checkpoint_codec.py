"""Converts a session's checkpoints to JSON and back. Each contains only what differs from the one before."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from types import MappingProxyType
from typing import Any, TypeVar

from fairlead.agent.messages import Message
from fairlead.edits.changeset import Changeset
from fairlead.per_item import common_prefix
from fairlead.plan.evidence import Record
from fairlead.session.checkpoints import Checkpoint
from fairlead.session.evidence.recorder import Inferred
from fairlead.session.store import codec
from fairlead.session.store.codec import Json

V = TypeVar("V")

EMPTY = Checkpoint(0, "")


def changed_values(old: Mapping[str, V], new: Mapping[str, V], to_json: Callable[[V | None, V], Any]) -> dict[str, Any]:
    """The values that are new or changed, by key; null means a removed value."""
    if new is old:
        return {}
    changed = {key: to_json(old.get(key), value) for key, value in new.items() if old.get(key) is not value}
    return {**dict.fromkeys(key for key in old if key not in new), **changed}


def merged_values(old: Mapping[str, V], changed: Json, read: Callable[[V | None, Any], V]) -> dict[str, V]:
    """The inverse of `changed_values`."""
    rest = {key: value for key, value in old.items() if changed.get(key, value) is not None}
    return {**rest, **{key: read(old.get(key), value) for key, value in changed.items() if value is not None}}


def checkpoints_json(
    old: Sequence[Checkpoint], new: Sequence[Checkpoint], messages: Sequence[Message], number: codec.NumberOf
) -> list[Any]:
    """The number of checkpoints that stay, and the checkpoints after them.

    Args:
        messages: the session's conversation. Most checkpoints contain a beginning of it.
        number: returns the number of a text.
    """
    kept = common_prefix(old, new)
    before = [EMPTY, *new][kept:]
    return [kept, [_json(each, last, messages, number) for last, each in zip(before, new[kept:], strict=False)]]


def read_checkpoints(
    old: Sequence[Checkpoint], value: Any, messages: Sequence[Message], texts: codec.Texts
) -> tuple[Checkpoint, ...]:
    """The inverse of `checkpoints_json`."""
    kept, further = value
    checkpoints = [EMPTY, *old[:kept]]
    for each in further:
        checkpoints.append(_read(each, checkpoints[-1], messages, texts))
    return tuple(checkpoints[1:])


def _json(new: Checkpoint, last: Checkpoint, messages: Sequence[Message], number: codec.NumberOf) -> Json:
    # after a compaction, the conversation no longer contains what an earlier checkpoint does
    shared, of_last = common_prefix(messages, new.messages), common_prefix(last.messages, new.messages)
    return {
        "id": new.id,
        "prompt": new.prompt,
        "messages": [shared >= of_last, max(shared, of_last), new.messages[max(shared, of_last) :]],
        "items": codec.items_json(new.items) if new.items is not last.items else None,
        "wish": codec.user_edits_json(new.user_edits),
        "record": changed_values(last.record.by_step, new.record.by_step, codec.evidence_json),
        "inferred": [asdict(step) for step in new.inferred],
        "proposals": changed_values(
            last.changes.files, new.changes.files, lambda _, proposal: codec.proposal_json(proposal, number)
        ),
        "order": new.changes.order,
        "decisions": new.decisions,
        "unheard": asdict(new.pending_feedback),
    }


def _read(value: Json, last: Checkpoint, messages: Sequence[Message], texts: codec.Texts) -> Checkpoint:
    is_of_session, shared, further = value["messages"]
    base: Iterable[Message] = (messages if is_of_session else last.messages)[:shared]
    files = merged_values(
        last.changes.files, value["proposals"], lambda _, proposal: codec.read_proposal(proposal, texts)
    )
    return Checkpoint(
        id=value["id"],
        prompt=value["prompt"],
        messages=(*base, *map(codec.read_message, further)),
        items=codec.read_items(value["items"]) if value["items"] is not None else last.items,
        user_edits=codec.read_user_edits(value["wish"]),
        record=Record(merged_values(last.record.by_step, value["record"], codec.read_evidence)),
        inferred=tuple(Inferred(**step) for step in value["inferred"]),
        changes=Changeset(MappingProxyType(files), value["order"]),
        decisions=value["decisions"],
        pending_feedback=codec.read_pending_feedback(value["unheard"]),
    )
