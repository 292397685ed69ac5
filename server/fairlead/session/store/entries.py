"""A session's state as entries that say what changed, and their fold back to the state. Pure: values in, values out.

An entry is an object with the changed parts only. A text, as of a file, is written once and named by number from then
on; so is a step of the review. Of a record's files and commands the new ones are written. Messages are written once;
where the history was rewritten, from the first that differs. A tool's result is written with its call, as it ends; in
the message that holds it afterwards, null stands for it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import count
from types import MappingProxyType
from typing import Any, TypeVar

from fairlead.agent.messages import Block, Message
from fairlead.edits.changeset import Changeset
from fairlead.edits.proposal import Proposal
from fairlead.edits.undo import Decision, DecisionLog
from fairlead.plan import PlanningState
from fairlead.plan.evidence import Record
from fairlead.session.recorder import Inferred
from fairlead.session.state import Calls, OpenCall, SessionState
from fairlead.session.store import codec
from fairlead.session.store.codec import Json
from fairlead.session.store.type_check import fits

V = TypeVar("V")


@dataclass(frozen=True)
class Folded:
    """What entries come to, with the texts and steps that they named by number."""

    state: SessionState = field(default_factory=SessionState)
    texts: Mapping[int, str] = field(default_factory=dict[int, str])
    decisions: Mapping[int, Decision] = field(default_factory=dict[int, Decision])


class Written:
    """What was written last; says what has changed since then."""

    def __init__(self, folded: Folded | None = None) -> None:
        folded = folded or Folded()
        self._state = folded.state
        self._texts = {text: number for number, text in folded.texts.items()}
        self._decisions = {id(decision): (number, decision) for number, decision in folded.decisions.items()}
        self._numbers = count(max([*folded.texts, *folded.decisions], default=0) + 1)

    def entry(self, new: SessionState) -> Json | None:
        """The entry that leads to a state, None where nothing but the time has changed."""
        old, self._state = self._state, new
        entry: Json = {}
        if new.title != old.title:
            entry["title"] = new.title
        if (new.phase, new.updated) != (old.phase, old.updated):
            entry["phase"] = [new.phase, new.updated]
        if new.told != old.told:
            entry["told"] = new.told
        _plan(entry, old, new)
        _mapping(entry, "record", old.record.by_place, new.record.by_place, codec.evidence_json)
        if new.inferred is not old.inferred:
            kept = codec.common(old.inferred, new.inferred)
            if (kept, kept) != (len(old.inferred), len(new.inferred)):
                entry["inferred"] = [kept, [asdict(step) for step in new.inferred[kept:]]]
        self._edits(entry, old, new)
        if new.rejected is not old.rejected:
            entry["rejected"] = [codec.rejected_json(one) for one in new.rejected]
        if new.unheard != old.unheard:
            entry["unheard"] = codec.unheard_json(new.unheard)
        if (tail := _tail(old.messages, new.messages)) is not None:
            kept, further = tail
            entry["messages"] = [kept, [_with_results(message, _short, old.calls) for message in further]]
        _mapping(entry, "calls", old.calls, new.calls, lambda _, call: asdict(call))
        return {"at": new.at, **entry} if entry else None

    def _edits(self, entry: Json, old: SessionState, new: SessionState) -> None:
        if new.edits_version != old.edits_version:
            entry["edits_version"] = new.edits_version
        if new.changes is old.changes and new.decisions is old.decisions:
            return
        known = self._texts
        self._texts = {}  # those that are still spoken of stay
        fresh: dict[int, str] = {}

        def number(text: str | None) -> int | None:
            if text is None:
                return None
            if text not in self._texts:
                found = known.get(text)
                if found is None:
                    found = next(self._numbers)
                    fresh[found] = text
                self._texts[text] = found
            return self._texts[text]

        for proposal in new.changes:
            _name_texts(proposal, number)
        for decision in (*new.decisions.done, *new.decisions.undone):
            for file in decision.files:
                _name_texts(file.before, number)
                _name_texts(file.after, number)
        files = old.changes.files, new.changes.files
        _mapping(entry, "proposals", *files, lambda _, one: codec.proposal_json(one, number))
        if new.changes.order != old.changes.order:
            entry["order"] = new.changes.order
        if new.decisions is not old.decisions:
            entry["steps"] = self._review(new.decisions, number)
        if fresh:
            entry["texts"] = fresh

    def _review(self, log: DecisionLog, number: codec.NumberOf) -> Json:
        known, self._decisions = self._decisions, {}
        made: dict[int, Json] = {}
        for decision in (*log.done, *log.undone):
            found = known.get(id(decision))
            if found is None:
                found = next(self._numbers), decision
                made[found[0]] = codec.decision_json(decision, number)
            self._decisions[id(decision)] = found
        done, undone = ([self._decisions[id(decision)][0] for decision in part] for part in (log.done, log.undone))
        return {"made": made, "done": done, "undone": undone}


def _name_texts(proposal: Proposal, number: codec.NumberOf) -> None:
    for text in (proposal.base, proposal.current, proposal.proposed):
        number(text)


def _plan(entry: Json, old: SessionState, new: SessionState) -> None:
    if new.plan != old.plan:
        plan = new.plan
        items = {"items": codec.items_json(plan.items)} if plan.items is not old.plan.items else {}
        numbers = {"rounds": plan.rounds_since_update, "version": plan.version, "revision": plan.revision}
        entry["plan"] = {**numbers, **items}
    if len(new.versions) != len(old.versions):
        entry["versions"] = [codec.version_json(version) for version in new.versions[len(old.versions) :]]
    if new.wish != old.wish:
        entry["wish"] = codec.wish_json(new.wish)


def _mapping(
    entry: Json, name: str, old: Mapping[str, V], new: Mapping[str, V], to_json: Callable[[V | None, V], Any]
) -> None:
    """What is new or another under its key, as it differs from the old; what is no longer there is null."""
    if new is old:
        return
    changed = {key: to_json(old.get(key), value) for key, value in new.items() if old.get(key) is not value}
    gone = dict.fromkeys(key for key in old if key not in new)
    if changed or gone:
        entry[name] = {**gone, **changed}


def _tail(old: Sequence[Message], new: Sequence[Message]) -> list[Any] | None:
    """`[how many stay, those that follow]`, None where all stay."""
    if old == new:  # quick, as most are the very same
        return None
    kept = codec.common(old, new)
    return [kept, new[kept:]]


def _with_results(message: Message, change: Callable[[Block, Calls], Block], calls: Calls) -> Message:
    """The message with its tool results changed."""
    blocks = (change(block, calls) if block["type"] == "tool_result" else block for block in message["content"])
    return {**message, "content": list(blocks)}


def _short(block: Block, calls: Calls) -> Block:
    call = calls.get(block["tool_use_id"])
    known = call is not None and call.result is not None and call.result == block["content"]
    return {**block, "content": None} if known else block


def _whole(block: Block, calls: Calls) -> Block:
    if block["content"] is not None:
        return block
    result = calls[block["tool_use_id"]].result
    if result is None:
        raise ValueError("a result of a call that has none")
    return {**block, "content": result}


def fold(entries: Iterable[Json]) -> Folded:
    """The state that entries lead to.

    Raises:
        ValueError: one of them is no entry, or what they lead to is no state.
    """
    folded = Folded()
    try:
        for entry in entries:
            folded = _folded(folded, entry)
        if not fits(SessionState, folded.state) or not fits(dict[int, str], folded.texts):
            raise ValueError("a value of the wrong type")
    except ValueError:
        raise
    except Exception as error:  # what a damaged entry raises cannot be told in advance
        raise ValueError(f"no entry of a session's journal: {error!r}") from error
    return folded


def _folded(folded: Folded, entry: Json) -> Folded:
    old = folded.state
    texts = {**folded.texts, **{int(number): text for number, text in entry.get("texts", {}).items()}}
    decisions = folded.decisions
    changed: Json = {name: read(entry[name]) for name, read in _READ.items() if name in entry}
    changed |= _read_plan(old, entry)
    if "phase" in entry:
        changed["phase"], changed["updated"] = codec.read_phase(entry["phase"])
    if "record" in entry:
        changed["record"] = Record(_merged(old.record.by_place, entry["record"], codec.read_evidence))
    if "inferred" in entry:
        kept, further = entry["inferred"]
        changed["inferred"] = (*old.inferred[:kept], *(Inferred(**step) for step in further))
    if "proposals" in entry or "order" in entry:
        files = _merged(old.changes.files, entry.get("proposals", {}), lambda _, one: codec.read_proposal(one, texts))
        changed["changes"] = Changeset(MappingProxyType(files), entry.get("order", old.changes.order))
    if "steps" in entry:
        review = entry["steps"]
        made = {int(number): codec.read_decision(value, texts) for number, value in review["made"].items()}
        decisions = {number: made.get(number) or decisions[number] for number in (*review["done"], *review["undone"])}
        done, undone = (tuple(decisions[number] for number in review[name]) for name in ("done", "undone"))
        changed["decisions"] = DecisionLog(done, undone)
    if "messages" in entry:
        kept, further = entry["messages"]
        fresh = (_with_results(codec.read_message(message), _whole, old.calls) for message in further)
        changed["messages"] = (*old.messages[:kept], *fresh)
    if "calls" in entry:
        changed["calls"] = MappingProxyType(_merged(old.calls, entry["calls"], lambda _, call: OpenCall(**call)))
    return Folded(replace(old, **changed), texts, decisions)


def _same(value: Any) -> Any:
    return value


# what an entry says whole
_READ: dict[str, Callable[[Any], Any]] = {
    "title": _same,
    "at": codec.read_time,
    "told": _same,
    "edits_version": _same,
    "wish": codec.read_wish,
    "rejected": lambda all: tuple(map(codec.read_rejected, all)),
    "unheard": codec.read_unheard,
}


def _read_plan(old: SessionState, entry: Json) -> Json:
    changed: Json = {}
    if "plan" in entry:
        plan = entry["plan"]
        items = codec.read_items(plan["items"]) if "items" in plan else old.plan.items
        changed["plan"] = PlanningState(items, plan["rounds"], plan["version"], plan["revision"])
    if "versions" in entry:
        changed["versions"] = (*old.versions, *map(codec.read_version, entry["versions"]))
    return changed


def _merged(old: Mapping[str, V], changed: Json, read: Callable[[V | None, Any], V]) -> dict[str, V]:
    kept = {key: value for key, value in old.items() if changed.get(key, value) is not None}
    return {**kept, **{key: read(old.get(key), value) for key, value in changed.items() if value is not None}}
