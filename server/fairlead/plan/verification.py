"""Finds what supports a completed step: commands that passed and whose results still hold (docs/plan.md P16)."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from fairlead.plan.evidence import CHECK, CommandRun, Evidence, Record, Verification
from fairlead.plan.inputs import Inputs
from fairlead.plan.items import PlanItem

VerificationStatus = Literal[
    "none", "looked", "unverified", "verified", "proved", "stale", "failed", "noEvidence", "marked"
]  # fmt: skip
"""`none`: the step is not completed. docs/plan.md P16 describes the others."""

ChangedSince = Callable[[int, Inputs | None], Sequence[str]]
"""Given the number of a file state, and what a command read then, returns what has changed of that since, as paths."""

CountErrors = Callable[[str], int]
"""Given the path of a file, returns the number of new errors known in its proposed text (docs/plan.md P20)."""


@dataclass(frozen=True, slots=True)
class Support:
    """What supports a step."""

    status: VerificationStatus
    command: str = ""
    """The command that the status is based on; empty if there is none."""
    changed: tuple[str, ...] = ()
    """The paths that changed after the command, if the status is `stale`."""
    flaky: bool = False
    """Whether the command passed and then failed on the same files, so that it verifies nothing."""
    leftovers: tuple[str, ...] = ()
    """The ignored files without which the command did not pass, so that it verifies nothing (docs/plan.md P16)."""
    unread: tuple[str, ...] = ()
    """The paths of the files that the step changed and that no command behind the status has read, if that is known.

    If a command of another step has read none of them, it does not verify the step.
    """
    tests_pass_without: bool = False
    """Whether the command passes on the old code with the new tests, so that these do not test the changes (P23)."""
    new_errors: int = 0
    """The number of new errors in the proposed files that the step changed.

    If there are any, `unverified` replaces `verified` and `proved`.
    """


def support_by_item(
    items: Iterable[PlanItem], record: Record, changed_since: ChangedSince, count_errors: CountErrors = lambda _: 0
) -> Mapping[str, Support]:
    """What supports each item, by id."""
    runs, found = _runs(record), dict[str, Support]()
    for item in items:
        evidence = record.of(item.id)
        support = _support(item, evidence, runs, changed_since)
        refined = _refine_verified(support, record, changed_since)
        # a command that has read none of the item's files does not fail because of them
        is_unrelated = refined.status == "proved" and bool(evidence.files) and refined.unread == evidence.files
        support = support if is_unrelated else refined
        found[item.id] = _with_errors(support, sum(map(count_errors, evidence.files)))
    return found


def still_passes(command: str, record: Record, changed_since: ChangedSince) -> bool:
    """Whether the last run of exactly this verifying command passed, and the files have not changed since."""
    run = next((run for run in _runs(record) if run.command.strip() == command), None)
    return run is not None and not run.failed and not run.leftovers and not changed_since(_state(run), run.inputs)


def find_outdated(support: Support, record: Record, changed_since: ChangedSince) -> tuple[str, CommandRun] | None:
    """The last run of the command that decides the state of a stale or failed item, and the step that it belongs to.

    None if nothing that it depends on has changed since: it would have the same result again.
    """
    if support.status not in ("stale", "failed"):
        return None
    runs = [
        (step, run)
        for step, evidence in record.by_step.items()
        for run in evidence.commands
        if _has_result(run) and run.command == support.command
    ]
    step, last = max(runs, key=lambda found: _state(found[1]))
    return (step, last) if changed_since(_state(last), last.inputs) else None


def runs_of(command: str, record: Record) -> list[CommandRun]:
    """The runs of exactly this verifying command that have a result, the latest first."""
    return [run for run in _runs(record) if run.command == command]


def is_flaky(command: str, record: Record, changed_since: ChangedSince) -> bool:
    """Whether a verifying command passed on the files as they are now, and failed on them afterwards.

    A failure before the first pass does not count: the agent may have installed what was missing.
    """
    same = (run for run in _runs(record) if run.command.strip() == command and not run.leftovers)
    runs = [run for run in same if not changed_since(_state(run), run.inputs)]
    failures = [run.failed for run in reversed(runs)]
    return False in failures and True in failures[failures.index(False) :]


def unread(paths: Iterable[str], record: Record) -> Sequence[str]:
    """The files that no verifying command has read. Empty if there was none, or if it is not known what one has read.

    Of the runs of a command, the last one counts.
    """
    latest: dict[str, CommandRun] = {}
    for run in _runs(record):
        latest.setdefault(run.command.strip(), run)
    return _unread(tuple(paths), list(latest.values())) if latest else ()


def _runs(record: Record) -> list[CommandRun]:
    """The runs of verifying commands that have a result, by the number of their file state, the highest first."""
    return sorted((run for run in record.runs() if _has_result(run)), key=_state)[::-1]


def _support(item: PlanItem, evidence: Evidence, runs: Sequence[CommandRun], changed_since: ChangedSince) -> Support:
    """What supports an item, before `_refine_verified`. `runs` are those of the whole session, as from `_runs`."""
    if item.status != "completed":
        return Support("none")
    if item.marked:
        return Support("marked")
    verifications = dict.fromkeys(
        each for run in evidence.commands for each in run.verified if not _is_dropped(each, item)
    )
    if verifications:
        found = [_latest_covering(each, runs) for each in verifications]
        failed = next((run for run in found if run is not None and run.failed), None)
        if failed is not None:
            return Support("failed", failed.command)
        if None not in found:
            passed = [run for run in found if run is not None]
            return replace(_passed(passed, changed_since), unread=_unread(evidence.files, passed))
    elif evidence.files:
        # verified by a later command of another step, such as the tests at the end
        later = next((run for run in runs if _state(run) >= evidence.changed_at), None)
        if later is not None and not later.failed:
            support = _passed([later], changed_since)
            unread = _unread(evidence.files, [later])
            is_unrelated = support.status == "verified" and len(unread) == len(evidence.files)
            return replace(support, unread=unread, status="unverified" if is_unrelated else support.status)
        if later is None and runs and not runs[0].failed and _unread(evidence.files, runs[:1]) == evidence.files:
            return Support("unverified", runs[0].command, unread=evidence.files)  # so it was not run again
    if evidence.files or evidence.commands or any(call.has_effects_outside for call in evidence.calls):
        return Support("unverified")
    has_looked = evidence.looks or evidence.calls or evidence.subagents
    return Support("looked" if has_looked else "noEvidence")


def _latest_covering(verification: Verification, runs: Sequence[CommandRun]) -> CommandRun | None:
    return next((run for run in runs if any(each.covers(verification) for each in run.verified)), None)


def _is_dropped(verification: Verification, item: PlanItem) -> bool:
    """Whether it was the item's check, and the user has replaced or removed that since."""
    return verification.program == CHECK and item.checked_by_user and verification.targets != (item.check,)


def _passed(runs: Sequence[CommandRun], changed_since: ChangedSince) -> Support:
    """`verified`, or `stale` if files changed after a run. Names the command after which the most files changed.

    If a run passed only with ignored files that others do not have, `unverified`, whatever changed since.
    """
    needing = next((run for run in runs if run.leftovers), None)
    if needing is not None:
        return Support("unverified", needing.command, leftovers=needing.leftovers)
    found = [Support("verified", run.command, tuple(changed_since(_state(run), run.inputs))) for run in runs]
    stalest = max(found, key=lambda support: len(support.changed))
    return replace(stalest, status="stale") if stalest.changed else stalest


def _unread(files: Sequence[str], runs: Sequence[CommandRun]) -> tuple[str, ...]:
    """The files that none of these commands has read; none if it is not known what one of them has read."""
    inputs = [run.inputs for run in runs if run.inputs is not None]
    if len(inputs) < len(runs):
        return ()
    return tuple(path for path in files if not any(each.reads(path) for each in inputs))


def _refine_verified(support: Support, record: Record, changed_since: ChangedSince) -> Support:
    """Turns `verified` into `unverified` if the command is flaky, or into `proved` if it fails without the proposals.

    Of its runs without the proposals, the last one decides. Runs do not count if the files or proposals changed since.
    """
    if support.status != "verified":
        return support
    if is_flaky(support.command.strip(), record, changed_since):
        return replace(support, status="unverified", flaky=True)
    runs_without_proposals = [
        (run.without_changes, run)
        for run in record.runs()
        if run.without_changes is not None and run.command == support.command and run.exit_code is not None
    ]
    current = [(state, run) for state, run in runs_without_proposals if not changed_since(state, run.inputs)]
    if not current:
        return support
    last = max(current, key=lambda found: found[0])[1]
    if last.exit_code != 0:
        return replace(support, status="proved")
    return replace(support, tests_pass_without=last.with_tests)


def _with_errors(support: Support, errors: int) -> Support:
    is_verified = support.status in ("verified", "proved")
    return replace(support, new_errors=errors, status="unverified" if errors and is_verified else support.status)


def _has_result(run: CommandRun) -> bool:
    return bool(run.verified) and run.state is not None and not run.stopped


def _state(run: CommandRun) -> int:
    return -1 if run.state is None else run.state
