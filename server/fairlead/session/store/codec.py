"""The values of a session's state as JSON, and back. Texts and steps have numbers; entries.py keeps the tables."""

from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, astuple, replace
from itertools import groupby
from operator import is_
from types import NoneType
from typing import Any, get_args

from fairlead.agent.messages import Message
from fairlead.edits.origins import Origin, Origins
from fairlead.edits.proposal import Proposal, Raw
from fairlead.edits.undo import Decision, FileDecision
from fairlead.plan import PlanItem
from fairlead.plan.evidence import CommandRun, Evidence
from fairlead.plan.history import PlanVersion
from fairlead.plan.items import Wish
from fairlead.session.feedback import Unheard
from fairlead.session.state import Phase
from fairlead.workspace.rejections import Rejected

Json = dict[str, Any]
NumberOf = Callable[[str | None], int | None]
Texts = Mapping[int, str]


# the end of the year 9999: what comes later is no time that a calendar knows
LATEST = 253_402_300_799


def read_time(value: Any) -> float:
    """Seconds since the epoch.

    Raises:
        ValueError: it is none.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= LATEST:
        raise ValueError("a time that is none")
    return float(value)


def read_phase(value: list[Any]) -> tuple[Phase, float]:
    phase, updated = value
    if phase not in get_args(Phase):
        raise ValueError("a phase that is none")
    return phase, read_time(updated)


# of the blocks that Fairlead itself reads: what is in them; a result's text may stand with its call (entries.py)
_BLOCKS: dict[str, dict[str, tuple[type, ...]]] = {
    "text": {"text": (str,)},
    "tool_use": {"id": (str,), "name": (str,), "input": (dict,)},
    "tool_result": {"tool_use_id": (str,), "content": (str, NoneType)},
}


def read_message(value: Any) -> Message:
    blocks = value["content"]
    good = isinstance(blocks, list) and bool(blocks) and all(map(_is_block, blocks))
    if value["role"] not in ("user", "assistant") or not good:
        raise ValueError("a message that is none")
    return value


def _is_block(value: Any) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get("type"), str):
        return False
    return all(isinstance(value.get(name), kinds) for name, kinds in _BLOCKS.get(value["type"], {}).items())


def items_json(items: tuple[PlanItem, ...]) -> list[Any]:
    return [astuple(item) for item in items]


def read_items(value: list[Any]) -> tuple[PlanItem, ...]:
    return tuple(PlanItem(*item) for item in value)


def version_json(version: PlanVersion) -> list[Any]:
    return [version.revision, version.by, version.summary, version.reason, items_json(version.items)]


def read_version(value: list[Any]) -> PlanVersion:
    revision, by, summary, reason, items = value
    return PlanVersion(revision, by, summary, reason, read_items(items))


def wish_json(wish: Wish) -> Json:
    return {"dropped": items_json(wish.dropped), "reworded": wish.reworded}


def read_wish(value: Json) -> Wish:
    return Wish(read_items(value["dropped"]), _pairs(value["reworded"]))


def evidence_json(old: Evidence | None, new: Evidence) -> Json:
    """Of files and commands those behind as many as `kept` says: a long step has hundreds, and each comes by itself."""
    old = old or Evidence()
    files, commands = kept = common(old.files, new.files), common(old.commands, new.commands)
    return {"kept": kept, **asdict(replace(new, files=new.files[files:], commands=new.commands[commands:]))}


def read_evidence(old: Evidence | None, value: Json) -> Evidence:
    old = old or Evidence()
    rest = dict(value)
    files, commands = rest.pop("kept", (0, 0))
    further = (CommandRun(**run) for run in rest.pop("commands"))
    return Evidence((*old.files[:files], *rest.pop("files")), (*old.commands[:commands], *further), **rest)


def common(old: Sequence[Any], new: Sequence[Any]) -> int:
    """How many of two sequences' first members are the very same."""
    return next((index for index, same in enumerate(map(is_, old, new)) if not same), min(len(old), len(new)))


def unheard_json(unheard: Unheard) -> Json:
    return asdict(unheard)


def read_unheard(value: Json) -> Unheard:
    return Unheard(
        said=tuple(value["said"]),
        plan_edits=tuple(value["plan_edits"]),
        accepted=_pairs(value["accepted"]),
        items=tuple(value["items"]),
        rejected=value["rejected"],
        conflicts=_pairs(value["conflicts"]),
    )


def rejected_json(rejected: Rejected) -> list[Any]:
    return [rejected.path, rejected.says.hex(), rejected.reason, rejected.warned]


def read_rejected(value: list[Any]) -> Rejected:
    path, says, reason, warned = value
    return Rejected(path, bytes.fromhex(says), reason, warned)


def proposal_json(proposal: Proposal, number: NumberOf) -> Json:
    """`number` names a text."""
    return {
        "path": proposal.path,
        "base": number(proposal.base),
        "current": number(proposal.current),
        "proposed": number(proposal.proposed),
        "newPath": proposal.new_path,
        "made": _origin_json(proposal.made),
        "decided": sorted(proposal.decided),
        "raw": _raw_json(proposal.raw),
        "lines": _runs(proposal.origins.lines),
        "gaps": _runs(proposal.origins.gaps),
    }


def read_proposal(value: Json, texts: Texts) -> Proposal:
    base, current, proposed = (
        texts[value[name]] if value[name] is not None else None for name in ("base", "current", "proposed")
    )
    return Proposal(
        path=value["path"],
        base=base,
        current=current,
        proposed=proposed,
        origins=Origins(*(_of_runs(value[name], _most_lines(base, current, proposed)) for name in ("lines", "gaps"))),
        new_path=value["newPath"],
        made=_origin(value["made"]),
        decided=frozenset(value["decided"]),
        raw=_raw(value["raw"]),
    )


def decision_json(decision: Decision, number: NumberOf) -> Json:
    files = [
        {
            "before": proposal_json(file.before, number),
            "after": proposal_json(file.after, number),
            "inFile": file.in_file,
            "had": _raw_json(file.raw_before),
            "got": _raw_json(file.raw_after),
            "folders": file.folders,
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
            _raw(file["had"]),
            _raw(file["got"]),
            tuple(file["folders"]),
        )
        for file in value["files"]
    )
    return Decision(value["kind"], value["label"], files, value["reason"], value["item"])


def _pairs(value: list[list[str]]) -> tuple[tuple[str, str], ...]:
    return tuple((one, other) for one, other in value)


def _raw_json(raw: Raw) -> list[Any]:
    return [b64encode(raw.data).decode() if raw.data is not None else None, raw.mode]


def _raw(value: list[Any]) -> Raw:
    data, mode = value
    return Raw(b64decode(data) if data is not None else None, mode)


def _origin_json(origin: Origin | None) -> list[Any] | None:
    return [origin.order, origin.item_id, origin.call_id, *origin.over] if origin is not None else None


def _origin(value: list[Any] | None) -> Origin | None:
    return Origin(*value[:3], over=tuple(value[3:])) if value is not None else None


def _runs(origins: tuple[Origin | None, ...]) -> list[list[Any]]:
    """Equal neighbours as `[how many, which]`: most lines of a file are nobody's."""
    return [[len(list(group)), _origin_json(origin)] for origin, group in groupby(origins)]


def _most_lines(*texts: str | None) -> int:
    return 1 + max(len(text or "") for text in texts)


def _of_runs(runs: list[list[Any]], most: int) -> tuple[Origin | None, ...]:
    if sum(max(0, count) for count, _ in runs) > most:  # else a damaged number would take all memory
        raise ValueError("more lines than there are")
    return tuple(origin for count, value in runs for origin in [_origin(value)] * count)
