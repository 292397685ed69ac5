"""Converts the values of a session's state to JSON and back. entries.py numbers texts and decisions."""

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, astuple, fields, replace
from itertools import compress, count, islice, pairwise
from operator import is_not
from typing import Any, NamedTuple, get_args

from fairlead.edits.origins import Origin, Origins
from fairlead.edits.proposal import Proposal, Raw
from fairlead.edits.undo import Decision, FileDecision, RemovedFolder
from fairlead.messages.parts import Call, Foreign, Image, Message, Note, Part, Prompt, Result, Text, Thinking
from fairlead.per_item import common_prefix_length
from fairlead.plan import PlanItem
from fairlead.plan.evidence import CommandRun, Evidence, Verification
from fairlead.plan.history import PlanVersion
from fairlead.plan.items import UserEdits
from fairlead.session.run.feedback import PendingFeedback
from fairlead.session.state import Phase
from fairlead.session.store.saved_texts import Texts
from fairlead.workspace.rejections import Rejected

Json = dict[str, Any]
NumberOf = Callable[..., int | None]
"""`SavedTexts.number`."""
NumbersOf = Callable[[Proposal], list[int | None]]
"""Returns the numbers of a proposal's texts (`proposal_numbers`)."""

LATEST_TIME = 253_402_300_799
"""The last second of the year 9999 (UTC), in seconds since the epoch. `datetime` supports no later year."""


def read_time(value: Any) -> float:
    """The value as a time, in seconds since the epoch.

    Raises:
        ValueError: the value is not a time.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= LATEST_TIME:
        raise ValueError("an invalid time")
    return float(value)


def read_phase(value: list[Any]) -> tuple[Phase, float]:
    phase, updated = value
    if phase not in get_args(Phase):
        raise ValueError("an unknown phase")
    return phase, read_time(updated)


_PARTS: dict[str, type[Part]] = {
    "prompt": Prompt,
    "note": Note,
    "text": Text,
    "thinking": Thinking,
    "foreign": Foreign,
    "call": Call,
    "image": Image,
    "result": Result,
}
"""The parts of messages by the name of their kind."""
_KINDS = {part: name for name, part in _PARTS.items()}


def message_json(message: Message) -> Json:
    return {"role": message.role, "parts": list(map(_part_json, message.parts))}


def _part_json(part: Part) -> Json:
    return {"part": _KINDS[type(part)], **{field.name: getattr(part, field.name) for field in fields(part)}}


def read_message(value: Json) -> Message:
    """Reads a message. Its output of a result may be None, if its call has it (entries.py)."""
    return Message(value["role"], tuple(map(_read_part, value["parts"])))


def _read_part(value: Json) -> Part:
    given = {name: field for name, field in value.items() if name != "part"}
    if "sections" in given:
        given["sections"] = tuple((label, text) for label, text in given["sections"])
    return _PARTS[value["part"]](**given)


def items_json(items: tuple[PlanItem, ...]) -> list[Any]:
    return [astuple(item) for item in items]


def read_items(value: list[Any]) -> tuple[PlanItem, ...]:
    return tuple(PlanItem(*item) for item in value)


def version_json(version: PlanVersion) -> list[Any]:
    return [version.revision, version.by, version.summary, version.reason, items_json(version.items)]


def read_version(value: list[Any]) -> PlanVersion:
    revision, by, summary, reason, items = value
    return PlanVersion(revision, by, summary, reason, read_items(items))


def user_edits_json(user_edits: UserEdits) -> Json:
    return {"dropped": items_json(user_edits.dropped), "reworded": user_edits.reworded}


def read_user_edits(value: Json) -> UserEdits:
    return UserEdits(read_items(value["dropped"]), _pairs(value["reworded"]))


def evidence_json(old: Evidence | None, new: Evidence) -> Json:
    """A step's evidence without the files and commands that `old` contains already, because a long step has hundreds.

    `kept` counts the omitted ones.
    """
    old = old or Evidence()
    files = common_prefix_length(old.files, new.files)
    commands = common_prefix_length(old.commands, new.commands)
    return {
        "kept": (files, commands),
        **asdict(replace(new, files=new.files[files:], commands=new.commands[commands:])),
    }


def _read_command(value: Json) -> CommandRun:
    verified = tuple(map(_read_verification, value.get("verified", ())))
    fields: Json = {**value, "verified": verified, "leftovers": tuple(value.get("leftovers", ()))}
    return CommandRun(**fields)


def _read_verification(value: Json) -> Verification:
    lists = {name: tuple(value[name]) for name in ("targets", "options", "narrowing")}
    return Verification(value["program"], value["folder"], **lists, by_path=value["by_path"])


def read_evidence(old: Evidence | None, value: Json) -> Evidence:
    old = old or Evidence()
    rest = dict(value)
    files, commands = rest.pop("kept", (0, 0))
    further = map(_read_command, rest.pop("commands"))
    return Evidence((*old.files[:files], *rest.pop("files")), (*old.commands[:commands], *further), **rest)


def read_pending_feedback(value: Json) -> PendingFeedback:
    return PendingFeedback(
        said=tuple(value["said"]),
        plan_edits=tuple(value["plan_edits"]),
        accepted=_pairs(value["accepted"]),
        items=tuple(value["items"]),
        rejected=value["rejected"],
        conflicts=_pairs(value["conflicts"]),
    )


def rejected_json(rejected: Rejected) -> list[Any]:
    return [rejected.path, rejected.digest.hex(), rejected.reason, rejected.warned]


def read_rejected(value: list[Any]) -> Rejected:
    path, digest, reason, warned = value
    return Rejected(path, bytes.fromhex(digest), reason, warned)


class ProposalTexts(NamedTuple):
    """A proposal as texts, because each edit repeats most of every part."""

    base: str | None
    current: str | None
    proposed: str | None
    data: str | None
    """The proposed bytes (`raw_data`)."""
    rest: str
    """Everything else as JSON."""


def proposal_texts(proposal: Proposal) -> ProposalTexts:
    """The texts of a proposal. Computed once for each proposal."""
    return proposal.derive(_proposal_texts)


def _proposal_texts(proposal: Proposal) -> ProposalTexts:
    rest = {
        "path": proposal.path,
        "newPath": proposal.new_path,
        "made": _origin_json(proposal.file_origin),
        "mode": proposal.raw.mode,
        "bom": proposal.raw.bom,
        "decided": sorted(proposal.decided),
        "lines": _runs(proposal.origins.lines),
        "gaps": _runs(proposal.origins.gaps),
    }
    rest_text = json.dumps(rest, separators=(",", ":"), ensure_ascii=False)
    data = raw_data(proposal.raw)
    return ProposalTexts(proposal.base, proposal.current, proposal.proposed, data, rest_text)


def proposal_numbers(proposal: Proposal, similar: Proposal | None, number: NumberOf) -> list[int | None]:
    """The numbers of a proposal's texts.

    Args:
        similar: an earlier proposal for the same file.
    """
    texts = proposal_texts(proposal)
    earlier = proposal_texts(similar) if similar is not None else ProposalTexts(None, None, None, None, "")
    base = number(texts.base, earlier.base)
    current = number(texts.current, earlier.current, texts.base)
    proposed = number(texts.proposed, earlier.proposed, texts.base)
    return [base, current, proposed, number(texts.data, earlier.data), number(texts.rest, earlier.rest)]


def read_proposal(value: list[int | None], texts: Texts) -> Proposal:
    base, current, proposed, data, rest_text = (texts[each] if each is not None else None for each in value)
    if rest_text is None:
        raise ValueError("a proposal without a path")
    rest = json.loads(rest_text)
    max_lines = 1 + max(len(text or "") for text in (base, current, proposed))
    proposal = Proposal(
        path=rest["path"],
        base=base,
        current=current,
        proposed=proposed,
        origins=Origins(*(_read_runs(rest[name], max_lines) for name in ("lines", "gaps"))),
        new_path=rest["newPath"],
        file_origin=_read_origin(rest["made"]),
        decided=frozenset(rest["decided"]),
        raw=_raw(data, rest["mode"], rest["bom"]),
    )
    proposal.know(_proposal_texts, ProposalTexts(base, current, proposed, data, rest_text))
    return proposal


def decision_texts(decision: Decision) -> Iterator[str | None]:
    """The texts of all files of a decision, some of them several times."""
    for file in decision.files:
        yield from proposal_texts(file.before)
        yield from proposal_texts(file.after)
        yield from (raw_data(file.raw_before), raw_data(file.raw_after))


def decision_json(decision: Decision, numbers: NumbersOf, number: NumberOf) -> Json:
    files = [
        {
            "before": numbers(file.before),
            "after": numbers(file.after),
            "inFile": file.in_file,
            "had": _raw_json(file.raw_before, number),
            "got": _raw_json(file.raw_after, number),
            "folders": file.folders,
            "removedFolders": [astuple(folder) for folder in file.removed_folders],
        }
        for file in decision.files
    ]
    return {
        "kind": decision.kind,
        "label": decision.label,
        "reason": decision.reason,
        "item": decision.item_id,
        "files": files,
    }


def read_decision(value: Json, texts: Texts) -> Decision:
    files = tuple(
        FileDecision(
            read_proposal(file["before"], texts),
            read_proposal(file["after"], texts),
            file["inFile"],
            _read_raw(file["had"], texts),
            _read_raw(file["got"], texts),
            tuple(file["folders"]),
            tuple(RemovedFolder(*folder) for folder in file.get("removedFolders", ())),
        )
        for file in value["files"]
    )
    return Decision(value["kind"], value["label"], files, value["reason"], value["item"])


def _pairs(value: list[list[str]]) -> tuple[tuple[str, str], ...]:
    return tuple((first, second) for first, second in value)


def raw_data(raw: Raw) -> str | None:
    """The bytes of a file as text: not in base64, where one more byte changes everything after it."""
    return raw.data.hex() if raw.data is not None else None


def _raw_json(raw: Raw, number: NumberOf) -> list[Any]:
    return [number(raw_data(raw)), raw.mode, raw.bom]


def _read_raw(value: list[Any], texts: Texts) -> Raw:
    data, mode, bom = value
    return _raw(texts[data] if data is not None else None, mode, bom)


def _raw(data: str | None, mode: int | None, bom: bool) -> Raw:
    return Raw(bytes.fromhex(data) if data is not None else None, mode, bom)


def _origin_json(origin: Origin | None) -> list[Any] | None:
    return [origin.order, origin.item_id, origin.call_id, *origin.over] if origin is not None else None


def _read_origin(value: list[Any] | None) -> Origin | None:
    return Origin(*value[:3], over=tuple(value[3:])) if value is not None else None


def _runs(origins: tuple[Origin | None, ...]) -> list[list[Any]]:
    """The origins as `[count, origin]` for each series of the same one. There are few: most lines have no origin."""
    starts = [0, *compress(count(1), map(is_not, origins, islice(origins, 1, None)))]
    return [[end - start, _origin_json(origins[start])] for start, end in pairwise([*starts, len(origins)]) if end]


def _read_runs(runs: list[list[Any]], most: int) -> tuple[Origin | None, ...]:
    if sum(max(0, count) for count, _ in runs) > most:  # a damaged count would use up the memory
        raise ValueError("more lines than the text has")
    return tuple(origin for count, value in runs for origin in [_read_origin(value)] * count)
