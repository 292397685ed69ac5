"""All that is kept of a session, as a value and as JSON."""

from dataclasses import asdict, astuple, dataclass
from itertools import groupby
from typing import Any

from fairlead.agent.messages import Message
from fairlead.edits.changeset import Changeset
from fairlead.edits.origins import Origin, Origins
from fairlead.edits.proposal import Proposal
from fairlead.plan import PlanItem, PlanningState
from fairlead.plan.evidence import CommandRun, Evidence, Record

FORMAT = 1

Json = dict[str, Any]


@dataclass(frozen=True)
class Snapshot:
    """Values only, so that another thread may write them. `version` is that of the proposals.

    `messages` are the conversation up to the last run's end, `feedback` what the model is still to hear.
    """

    id: str
    title: str
    root: str
    plan: PlanningState
    record: Record
    changes: Changeset
    version: int
    messages: tuple[Message, ...]
    feedback: tuple[str, ...]


def snapshot_json(snapshot: Snapshot) -> Json:
    plan = snapshot.plan
    items = [list(astuple(item)) for item in plan.items]
    return {
        "format": FORMAT,
        "id": snapshot.id,
        "title": snapshot.title,
        "root": snapshot.root,
        "plan": {"items": items, "version": plan.version, "revision": plan.revision},
        "record": {place: asdict(evidence) for place, evidence in snapshot.record.by_place.items()},
        "version": snapshot.version,
        "order": snapshot.changes.order,
        "proposals": [_proposal_json(proposal) for proposal in snapshot.changes],
        "messages": snapshot.messages,
        "feedback": snapshot.feedback,
    }


def read_snapshot(value: Any) -> Snapshot:
    """A snapshot from its JSON.

    Raises:
        ValueError: it is none, or one of another format.
    """
    try:
        if value["format"] != FORMAT:
            raise ValueError(f"format {value['format']!r}")
        return _snapshot(value)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"no snapshot of a session: {error!r}") from error


def _snapshot(value: Json) -> Snapshot:
    plan = value["plan"]
    changes = Changeset(order=value["order"])
    for proposal in value["proposals"]:
        changes = changes.with_proposal(_proposal(proposal))
    return Snapshot(
        id=str(value["id"]),
        title=str(value["title"]),
        root=str(value["root"]),
        plan=PlanningState(tuple(PlanItem(*item) for item in plan["items"]), 0, plan["version"], plan["revision"]),
        record=Record({place: _evidence(evidence) for place, evidence in value["record"].items()}),
        changes=changes,
        version=int(value["version"]),
        messages=tuple(value["messages"]),
        feedback=tuple(value["feedback"]),
    )


def _evidence(value: Json) -> Evidence:
    commands = tuple(CommandRun(**run) for run in value["commands"])
    return Evidence(**{**value, "files": tuple(value["files"]), "commands": commands})


def _proposal_json(proposal: Proposal) -> Json:
    return {
        "path": proposal.path,
        "base": proposal.base,
        "current": proposal.current,
        "proposed": proposal.proposed,
        "newPath": proposal.new_path,
        "made": _origin_json(proposal.made),
        "decided": sorted(proposal.decided),
        "lines": _runs(proposal.origins.lines),
        "gaps": _runs(proposal.origins.gaps),
    }


def _proposal(value: Json) -> Proposal:
    return Proposal(
        path=value["path"],
        base=value["base"],
        current=value["current"],
        proposed=value["proposed"],
        origins=Origins(_of_runs(value["lines"]), _of_runs(value["gaps"])),
        new_path=value["newPath"],
        made=_origin(value["made"]),
        decided=frozenset(value["decided"]),
    )


def _origin_json(origin: Origin | None) -> list[Any] | None:
    return [origin.order, origin.item_id, origin.call_id] if origin is not None else None


def _origin(value: list[Any] | None) -> Origin | None:
    return Origin(*value) if value is not None else None


def _runs(origins: tuple[Origin | None, ...]) -> list[list[Any]]:
    """Equal neighbours as `[how many, which]`: most lines of a file are nobody's."""
    return [[len(list(group)), _origin_json(origin)] for origin, group in groupby(origins)]


def _of_runs(runs: list[list[Any]]) -> tuple[Origin | None, ...]:
    return tuple(origin for count, value in runs for origin in [_origin(value)] * count)
