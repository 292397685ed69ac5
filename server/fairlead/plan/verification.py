"""What supports a completed step: the commands that verified its text, if they still hold (docs/plan.md P16)."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from fairlead.plan.evidence import CHECK, CommandRun, Evidence, Record, Verification
from fairlead.plan.items import PlanItem

VerificationStatus = Literal[
    "none", "looked", "unverified", "verified", "proved", "stale", "failed", "noEvidence", "marked"
]  # fmt: skip
"""`none`: the step is not completed. docs/plan.md P16 describes the others."""

ChangedSince = Callable[[int], Sequence[str]]
"""The paths whose content differs from a file state, given by its number."""

CountErrors = Callable[[str], int]
"""The number of new errors that the proposed text of a file has, given by its path (docs/plan.md P20)."""


@dataclass(frozen=True, slots=True)
class Support:
    """What supports a step."""

    status: VerificationStatus
    command: str = ""
    """The command that decides the status, if one does."""
    changed: tuple[str, ...] = ()
    """The paths that changed after it, if the status is `stale`."""
    flaky: bool = False
    """The command has passed and failed on the same files, so it verifies nothing."""
    new_errors: int = 0
    """The number of new errors in the proposed files that it changed. If there are any, it is not `verified`."""


def supports(
    items: Iterable[PlanItem], record: Record, changed_since: ChangedSince, count_errors: CountErrors = lambda _: 0
) -> Mapping[str, Support]:
    """What supports each item, by id."""
    runs, found = _runs(record), dict[str, Support]()
    for item in items:
        evidence = record.of(item.id)
        support = _proved(_support(item, evidence, runs, changed_since), record, changed_since)
        found[item.id] = _with_errors(support, sum(map(count_errors, evidence.files)))
    return found


def holds(command: str, record: Record, changed_since: ChangedSince) -> bool:
    """Whether the last run of a verifying command passed, on the files as they are now."""
    run = next((run for run in _runs(record) if run.command.strip() == command), None)
    return run is not None and not run.failed and not changed_since(_state(run))


def is_flaky(command: str, record: Record, changed_since: ChangedSince) -> bool:
    """Whether a verifying command passed on the files as they are now, and failed on them afterwards.

    The other order may have another cause: the agent installed what was missing.
    """
    runs = [run for run in _runs(record) if run.command.strip() == command and not changed_since(_state(run))]
    codes = [run.failed for run in reversed(runs)]
    return False in codes and True in codes[codes.index(False) :]


def _runs(record: Record) -> list[CommandRun]:
    """The verifying commands that have a result, the latest first."""
    return sorted((run for run in record.runs() if _has_result(run)), key=_state, reverse=True)


def _support(item: PlanItem, evidence: Evidence, runs: Sequence[CommandRun], changed_since: ChangedSince) -> Support:
    """`runs` are all verifying commands of the session that have a result, the latest first."""
    if item.status != "completed":
        return Support("none")
    if item.marked:
        return Support("marked")
    own = dict.fromkeys(wanted for run in evidence.commands for wanted in run.verified if not _is_dropped(wanted, item))
    if own:
        found = [_latest(wanted, runs) for wanted in own]
        failed = next((run for run in found if run is not None and run.failed), None)
        if failed is not None:
            return Support("failed", failed.command)
        if None not in found:
            return _passed([run for run in found if run is not None], changed_since)
    elif evidence.files:
        # verified by a later command of another step, such as the tests at the end
        later = next((run for run in runs if _state(run) >= evidence.changed_at), None)
        if later is not None and not later.failed:
            return _passed([later], changed_since)
    if evidence.files or evidence.commands:
        return Support("unverified")
    return Support("looked" if evidence.looks else "noEvidence")


def _latest(wanted: Verification, runs: Sequence[CommandRun]) -> CommandRun | None:
    return next((run for run in runs if any(each.covers(wanted) for each in run.verified)), None)


def _is_dropped(wanted: Verification, item: PlanItem) -> bool:
    """Whether this was the item's check, and the user has replaced or removed it since."""
    return wanted.program == CHECK and item.checked_by_user and wanted.targets != (item.check,)


def _passed(runs: Sequence[CommandRun], changed_since: ChangedSince) -> Support:
    """`stale` if the files of one of the runs have changed. Names the run with the most changes."""
    found = [Support("verified", run.command, tuple(changed_since(_state(run)))) for run in runs]
    worst = max(found, key=lambda support: len(support.changed))
    return replace(worst, status="stale") if worst.changed else worst


def _proved(support: Support, record: Record, changed_since: ChangedSince) -> Support:
    """`proved` if the command last failed without the changes, `unverified` if it is flaky."""
    if support.status != "verified":
        return support
    if is_flaky(support.command.strip(), record, changed_since):
        return replace(support, status="unverified", flaky=True)
    without = [
        (run.without_changes, run)
        for run in record.runs()
        if run.without_changes is not None and run.command == support.command and run.exit_code is not None
    ]
    without = [(state, run) for state, run in without if not changed_since(state)]
    red = bool(without) and max(without, key=lambda found: found[0])[1].exit_code != 0
    return replace(support, status="proved") if red else support


def _with_errors(support: Support, errors: int) -> Support:
    is_verified = support.status in ("verified", "proved")
    return replace(support, new_errors=errors, status="unverified" if errors and is_verified else support.status)


def _has_result(run: CommandRun) -> bool:
    return bool(run.verified) and run.state is not None and not run.stopped


def _state(run: CommandRun) -> int:
    return -1 if run.state is None else run.state
