"""Encodes a session's state as journal entries, each with the changes since the one before, and decodes entries.

Does no I/O. An entry is an object with the changed parts only. Large values are written once:

- A text of a proposal (saved_texts.py) or a review decision gets a number in its first entry. Later entries refer to it
  by that number, as long as the state contains it.
- A file or a command on record is written once.
- A checkpoint is written once. If a checkpoint changes, it and those after it are written again.
- A message is written once. If the history was rewritten, the messages from the first difference on are written again.
- A tool's result is written with its call, when the call ends. In the message written later, it is null.

Some names in an entry differ from the fields of the state: `steps` are the decisions, `wish` the user's edits to the
plan, `files` and `states` the file states, `told` the number of events sent, and `unheard` the pending feedback.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from itertools import count
from types import MappingProxyType
from typing import Any, TypeVar

from fairlead.edits.changeset import Changeset, changed_paths
from fairlead.edits.proposal import Proposal
from fairlead.edits.undo import Decision, DecisionLog
from fairlead.per_item import common_prefix_length
from fairlead.plan import PlanningState
from fairlead.plan.evidence import Record
from fairlead.plan.file_states import FileStates
from fairlead.session.checkpoints import Checkpoint
from fairlead.session.evidence.recorder import Inferred
from fairlead.session.state import Calls, CallState, SessionState
from fairlead.session.store import codec
from fairlead.session.store.checkpoint_codec import (
    changed_values,
    checkpoints_json,
    merged_values,
    read_checkpoints,
)
from fairlead.session.store.codec import Json
from fairlead.session.store.saved_texts import SavedTexts, read_added
from fairlead.session.store.type_check import matches_type

V = TypeVar("V")


@dataclass(frozen=True)
class JournalContent:
    """The state that a journal's entries add up to, and the texts and decisions by their numbers."""

    state: SessionState = field(default_factory=SessionState)
    texts: dict[int, str] = field(default_factory=dict[int, str])
    decisions: Mapping[int, Decision] = field(default_factory=dict[int, Decision])


class EntryEncoder:
    """Encodes each state as the difference from the one before."""

    def __init__(self, content: JournalContent | None = None) -> None:
        """`content` is what the journal contains already."""
        content = content or JournalContent()
        self._state = state = content.state
        self._texts = SavedTexts(content.texts)
        self._count([*state.changes, *_proposed_at(state.checkpoints)], _decisions_in(state.decisions).values(), 1)
        # by identity; the map also holds each decision, so that no other object gets the same id
        self._decisions = {id(decision): (number, decision) for number, decision in content.decisions.items()}
        self._numbers = count(max(content.decisions, default=0) + 1)

    def entry(self, new: SessionState) -> Json | None:
        """The entry that leads to a state from the one before; None if nothing but the time has changed.

        The next entry continues from this state. If this entry cannot be written, a new encoder must write the whole
        state.
        """
        old, self._state = self._state, new
        entry: Json = {}
        if new.title != old.title:
            entry["title"] = new.title
        if (new.phase, new.updated) != (old.phase, old.updated):
            entry["phase"] = [new.phase, new.updated]
        if new.mode != old.mode:
            entry["mode"] = new.mode
        if new.events_sent != old.events_sent:
            entry["told"] = new.events_sent
        _add_plan(entry, old, new)
        _add_mapping(entry, "record", old.record.by_step, new.record.by_step, codec.evidence_json)
        _add_file_states(entry, old.file_states, new.file_states)
        if new.workspace_files != old.workspace_files:
            entry["workspace_files"] = new.workspace_files
        if new.inferred is not old.inferred:
            shared = common_prefix_length(old.inferred, new.inferred)
            if (shared, shared) != (len(old.inferred), len(new.inferred)):
                entry["inferred"] = [shared, [asdict(step) for step in new.inferred[shared:]]]
        if new.models != old.models:
            entry["models"] = new.models
        self._add_edits(entry, old, new)
        if new.rejected is not old.rejected:
            entry["rejected"] = [codec.rejected_json(rejected) for rejected in new.rejected]
        if new.pending_feedback != old.pending_feedback:
            entry["unheard"] = asdict(new.pending_feedback)
        if old.messages != new.messages:  # quick, as most are identical
            shared = common_prefix_length(old.messages, new.messages)
            further = [_without_known(codec.message_json(message), old.calls) for message in new.messages[shared:]]
            entry["messages"] = [shared, further]
        _add_mapping(entry, "calls", old.calls, new.calls, lambda _, call: asdict(call))
        return {"at": new.at, **entry} if entry else None

    def _add_edits(self, entry: Json, old: SessionState, new: SessionState) -> None:
        if new.edits_version != old.edits_version:
            entry["edits_version"] = new.edits_version
        is_same = new.changes is old.changes and new.decisions is old.decisions
        if is_same and new.checkpoints is old.checkpoints:
            return
        latest: dict[str, Proposal] = {}

        def numbers(proposal: Proposal) -> list[int | None]:
            similar = latest.get(proposal.path) or old.changes.get(proposal.path)
            latest[proposal.path] = proposal
            return codec.proposal_numbers(proposal, similar, self._texts.number)

        files = old.changes.files, new.changes.files
        _add_mapping(entry, "proposals", *files, lambda _, proposal: numbers(proposal))
        if new.changes.order != old.changes.order:
            entry["order"] = new.changes.order
        if new.changes.empty_folders != old.changes.empty_folders:
            entry["emptyFolders"] = sorted(new.changes.empty_folders)
        if new.decisions is not old.decisions:
            entry["steps"] = self._decisions_json(new.decisions, numbers)
        if new.checkpoints is not old.checkpoints:
            entry["checkpoints"] = checkpoints_json(old.checkpoints, new.checkpoints, new.messages, numbers)
        changed = changed_paths(old.changes, new.changes)
        before, after = _decisions_in(old.decisions), _decisions_in(new.decisions)
        new_decisions = [decision for key, decision in after.items() if key not in before]
        gone_decisions = [decision for key, decision in before.items() if key not in after]
        same = common_prefix_length(old.checkpoints, new.checkpoints)
        added = filter(None, map(new.changes.get, changed))
        removed = filter(None, map(old.changes.get, changed))
        self._count([*added, *_proposed_at(new.checkpoints[same:])], new_decisions, 1)
        self._count([*removed, *_proposed_at(old.checkpoints[same:])], gone_decisions, -1)
        entry |= self._texts.changes()

    def _count(self, proposals: Iterable[Proposal], decisions: Iterable[Decision], change: int) -> None:
        """Adds `change` to the number of uses of each text of these proposals and decisions."""
        for proposal in proposals:
            self._texts.count(codec.proposal_texts(proposal), change)
        for decision in decisions:
            self._texts.count(codec.decision_texts(decision), change)

    def _decisions_json(self, log: DecisionLog, numbers: codec.NumbersOf) -> Json:
        known, self._decisions = self._decisions, dict[int, tuple[int, Decision]]()
        added: dict[int, Json] = {}
        for decision in (*log.done, *log.undone):
            found = known.get(id(decision))
            if found is None:
                found = next(self._numbers), decision
                added[found[0]] = codec.decision_json(decision, numbers, self._texts.number)
            self._decisions[id(decision)] = found
        done, undone = ([self._decisions[id(decision)][0] for decision in part] for part in (log.done, log.undone))
        return {"made": added, "done": done, "undone": undone}


def _decisions_in(log: DecisionLog) -> dict[int, Decision]:
    """The decisions by their identity."""
    return {id(decision): decision for decision in (*log.done, *log.undone)}


def _proposed_at(checkpoints: Iterable[Checkpoint]) -> Iterator[Proposal]:
    return (proposal for checkpoint in checkpoints for proposal in checkpoint.changes)


def _add_plan(entry: Json, old: SessionState, new: SessionState) -> None:
    if new.plan != old.plan:
        plan = new.plan
        items = {"items": codec.items_json(plan.items)} if plan.items is not old.plan.items else {}
        numbers = {"rounds": plan.rounds_since_update, "version": plan.version, "revision": plan.revision}
        entry["plan"] = {**numbers, "awaits_approval": plan.awaits_approval, **items}
    if len(new.versions) != len(old.versions):
        entry["versions"] = [codec.version_json(version) for version in new.versions[len(old.versions) :]]
    if new.user_edits != old.user_edits:
        entry["wish"] = codec.user_edits_json(new.user_edits)


def _add_file_states(entry: Json, old: FileStates, new: FileStates) -> None:
    _add_mapping(entry, "files", old.first, new.first, lambda _, digest: digest)
    count = len(old.changes)
    if len(new.changes) != count:
        entry["states"] = [dict(changed) for changed in new.changes[count:]]
    if new.changes is not old.changes:
        pairs = enumerate(zip(old.changes, new.changes[:count], strict=True))
        corrected = {number: dict(now) for number, (before, now) in pairs if before is not now and before != now}
        if corrected:
            entry["corrected"] = corrected


def _add_mapping(
    entry: Json, name: str, old: Mapping[str, V], new: Mapping[str, V], to_json: Callable[[V | None, V], Any]
) -> None:
    """Adds the values that are new or changed, if there are any."""
    changed = changed_values(old, new, to_json)
    if changed:
        entry[name] = changed


def _without_known(message: Json, calls: Calls) -> Json:
    """The message without the results that its calls have in the journal: None is in their place."""

    def omitted(part: Json) -> Json:
        call = calls.get(part["call_id"])
        is_known = call is not None and call.result is not None and call.result == part["output"]
        return {**part, "output": None} if is_known else part

    return {**message, "parts": [omitted(part) if part["part"] == "result" else part for part in message["parts"]]}


def _with_known(message: Json, calls: Calls) -> Json:
    """The inverse of `_without_known`."""

    def filled_in(part: Json) -> Json:
        if part["part"] != "result" or part["output"] is not None:
            return part
        return {**part, "output": calls[part["call_id"]].result}

    return {**message, "parts": list(map(filled_in, message["parts"]))}


def read_entries(entries: Iterable[Json]) -> JournalContent:
    """Returns the state that the entries add up to, with the numbered texts and decisions.

    Raises:
        ValueError: one of them is not an entry, or they do not add up to a state.
    """
    content = JournalContent()
    try:
        for entry in entries:
            content = _with_entry(content, entry)
        if not matches_type(SessionState, content.state) or not matches_type(dict[int, str], content.texts):
            raise ValueError("a value of the wrong type")
    except ValueError:
        raise
    except Exception as error:  # a damaged entry can raise anything
        raise ValueError(f"not an entry of a session's journal: {error!r}") from error
    return content


def _with_entry(content: JournalContent, entry: Json) -> JournalContent:
    old = content.state
    texts, decisions = content.texts, content.decisions
    read_added(texts, entry.get("texts", {}))
    changed: Json = {field: read(entry[name]) for name, (field, read) in _WHOLE_FIELDS.items() if name in entry}
    changed |= _read_plan(old, entry)
    if "phase" in entry:
        changed["phase"], changed["updated"] = codec.read_phase(entry["phase"])
    if "record" in entry:
        changed["record"] = Record(merged_values(old.record.by_step, entry["record"], codec.read_evidence))
    if not entry.keys().isdisjoint(("files", "states", "corrected")):
        first = merged_values(old.file_states.first, entry.get("files", {}), lambda _, digest: digest)
        corrected = {int(number): value for number, value in entry.get("corrected", {}).items()}
        earlier = (corrected.get(number, value) for number, value in enumerate(old.file_states.changes))
        changed["file_states"] = FileStates(first, (*earlier, *entry.get("states", [])))
    if "inferred" in entry:
        shared, further = entry["inferred"]
        changed["inferred"] = (*old.inferred[:shared], *(Inferred(**step) for step in further))
    if entry.keys() & {"proposals", "order", "emptyFolders"}:
        proposals = entry.get("proposals", {})
        files = merged_values(old.changes.files, proposals, lambda _, value: codec.read_proposal(value, texts))
        empty_folders = frozenset(entry.get("emptyFolders", old.changes.empty_folders))
        changed["changes"] = Changeset(MappingProxyType(files), entry.get("order", old.changes.order), empty_folders)
    if "steps" in entry:
        log = entry["steps"]
        added = {int(number): codec.read_decision(value, texts) for number, value in log["made"].items()}
        decisions = {number: added.get(number) or decisions[number] for number in (*log["done"], *log["undone"])}
        done, undone = (tuple(decisions[number] for number in log[name]) for name in ("done", "undone"))
        changed["decisions"] = DecisionLog(done, undone)
    if "messages" in entry:
        shared, further = entry["messages"]
        added_messages = (codec.read_message(_with_known(message, old.calls)) for message in further)
        changed["messages"] = (*old.messages[:shared], *added_messages)
    if "checkpoints" in entry:
        messages = changed.get("messages", old.messages)
        changed["checkpoints"] = read_checkpoints(old.checkpoints, entry["checkpoints"], messages, texts)
    if "calls" in entry:
        changed["calls"] = MappingProxyType(merged_values(old.calls, entry["calls"], lambda _, call: CallState(**call)))
    for number in entry.get("gone", ()):
        texts.pop(number, None)
    return JournalContent(replace(old, **changed), texts, decisions)


def _identity(value: Any) -> Any:
    return value


# the fields that an entry contains as a whole: name in the entry -> field of `SessionState`, function that reads it
_WHOLE_FIELDS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "title": ("title", _identity),
    "mode": ("mode", _identity),
    "workspace_files": ("workspace_files", _identity),
    "at": ("at", codec.read_time),
    "told": ("events_sent", _identity),
    "models": ("models", tuple),
    "edits_version": ("edits_version", _identity),
    "wish": ("user_edits", codec.read_user_edits),
    "rejected": ("rejected", lambda values: tuple(map(codec.read_rejected, values))),
    "unheard": ("pending_feedback", codec.read_pending_feedback),
}


def _read_plan(old: SessionState, entry: Json) -> Json:
    changed: Json = {}
    if "plan" in entry:
        plan = entry["plan"]
        items = codec.read_items(plan["items"]) if "items" in plan else old.plan.items
        awaits_approval = plan.get("awaits_approval", False)
        changed["plan"] = PlanningState(items, plan["rounds"], plan["version"], plan["revision"], awaits_approval)
    if "versions" in entry:
        changed["versions"] = (*old.versions, *map(codec.read_version, entry["versions"]))
    return changed
