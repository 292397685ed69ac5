"""Runs checks at the user's request: with all undecided changes, some of them or none (docs/plan.md P18)."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

from fairlead.agent.events import CheckFinished, CheckScope, Event
from fairlead.agent.tool import RunningCall
from fairlead.display import count_of
from fairlead.edits import selection
from fairlead.edits.changeset import Changeset
from fairlead.edits.diff import Hunk
from fairlead.edits.review_outcomes import ReviewCount, count_review
from fairlead.edits.selection import Change
from fairlead.errors import ToolError
from fairlead.plan import TodoManager
from fairlead.session.commands import SessionCommands
from fairlead.session.errors import RequestRefused
from fairlead.session.evidence.session_evidence import SessionEvidence
from fairlead.session.review.review import Review
from fairlead.session.run.current_run import CurrentRun
from fairlead.session.server_context import ServerContext
from fairlead.tools.baseline import baseline_of
from fairlead.tools.check_queue import CheckQueue, Stopped
from fairlead.tools.check_run import WITHOUT_RETAINED, CheckEnd, CheckRun, allow_check, run_check
from fairlead.workspace.files import Files
from fairlead.workspace.paths import Roots

MAX_NAMED = 3

NO_CHECKS = "No check is set. Attach one to a step, or list commands in the setting “checks”."
NOTHING_PROPOSED = "There are no proposed changes to leave out. Run the check on the files as they are."
WITH_TESTS = "Without the changes, but with those to tests: "
OUTDATED = " Files have changed since it started, so run it again."
FLAKY = " It has passed and failed on the same files, so it is flaky and proves nothing."


@dataclass(frozen=True, slots=True)
class UserChecks:
    """What the checks of a session need when the user runs them."""

    context: ServerContext
    review: Review
    plan: TodoManager
    evidence: SessionEvidence
    commands: SessionCommands
    queue: CheckQueue
    run: CurrentRun
    publish: Callable[[Event | None], None]

    @property
    def files(self) -> Files:
        """The files with the proposals."""
        return self.review.files


@dataclass(frozen=True, slots=True)
class Check:
    """A check, and the plan item that its evidence belongs to."""

    command: str
    item_id: str | None
    """None: no item."""


@dataclass(frozen=True, slots=True)
class _Request:
    """A requested run of a check."""

    check: Check
    chosen: Collection[Change] | None
    """The undecided changes that the check sees. None: all."""
    handle: str
    """Identifies the request in `CheckQueue`, with all its checks, so that the user can stop it."""
    call_id: str
    """Identifies the run in its events."""

    @property
    def scope(self) -> CheckScope:
        """How many of the undecided changes the check sees."""
        if self.chosen is None:
            return "all"
        return "some" if self.chosen else "none"


@dataclass(frozen=True)
class _ReviewProgress:
    """The undecided changes, and how many changes are accepted, at one moment."""

    undecided: Changeset
    reviewed: ReviewCount


async def run_checks(
    user_checks: UserChecks, command: str | None, chosen: Collection[Change] | None
) -> list[CheckFinished]:
    """Runs checks, publishes the results and returns them. Waits for earlier requests of the session.

    A result is evidence for a plan item if the check saw all of the undecided changes, or none of them. A check that
    could not run or that the user stopped has a `CheckFinished` too, without a result.

    Args:
        command: the check to run, which need not be one of the session's. None: all checks of the session.
        chosen: the undecided changes that the checks see. None: all.

    Raises:
        RequestRefused: there is no check; `chosen` is given, but nothing was proposed; or the workspace cannot be
            used.
    """
    checks = requested_checks(user_checks, command)
    user_checks.context.workspace()
    if not checks:
        raise RequestRefused(NO_CHECKS)
    if chosen is not None and not count_review(user_checks.files.changes, user_checks.review.decisions).total:
        raise RequestRefused(NOTHING_PROPOSED)
    results: list[CheckFinished] = []

    def finish(result: CheckFinished) -> None:
        results.append(result)
        user_checks.publish(result)

    def request(number: int, handle: str) -> _Request:
        return _Request(checks[number], chosen, handle, f"{handle}.{number + 1}")

    async def work(handle: str) -> None:
        await user_checks.commands.ready()
        for number in range(len(checks)):
            finish(await _run(user_checks, request(number, handle)))

    try:
        await user_checks.queue.run(work)
    except Stopped:
        for number in range(len(results), len(checks)):
            stopped = request(number, "")
            finish(_without_result(user_checks.review, stopped, "was stopped. It has no result."))
    return results


async def check_accepted(user_checks: UserChecks) -> list[str]:
    """Runs all checks on the accepted changes, if the settings require it. Returns what the user should know.

    Does nothing if no change is undecided or no check is set.
    """
    is_wanted = user_checks.context.settings.check.after_partial_accept
    if not (is_wanted and len(user_checks.files.changes) and find_checks(user_checks)):
        return []
    try:
        results = await run_checks(user_checks, None, [])
    except RequestRefused as error:
        return [str(error)]
    return [result.message for result in results if result.passed is False]


def requested_checks(user_checks: UserChecks, command: str | None) -> list[Check]:
    """The check that runs this command; all checks of the session if the command is None."""
    return find_checks(user_checks) if command is None else [_check(user_checks, command)]


def find_checks(user_checks: UserChecks) -> list[Check]:
    """The checks of the plan items and of the settings, without duplicates."""
    of_items = [Check(item.check, item.id) for item in user_checks.plan.snapshot().items if item.check]
    of_settings = [_check(user_checks, command) for command in user_checks.context.settings.checks]
    return list({check.command: check for check in [*of_settings, *of_items]}.values())


def _check(user_checks: UserChecks, command: str) -> Check:
    """The check with its plan item: the item it is attached to, else the last item that changed files, else none."""
    items = user_checks.plan.snapshot().items
    owner = next((item.id for item in items if item.check == command), None)
    changed = [item.id for item in items if user_checks.evidence.recorder.record.of(item.id).files]
    return Check(command, owner or (changed[-1] if changed else None))


async def _run(user_checks: UserChecks, request: _Request) -> CheckFinished:
    check, before = request.check, _progress_of(user_checks.review)
    passed_before = await user_checks.evidence.still_passes(check.command)
    intro, proves = "", False
    visible = _visible_changes(user_checks, request, before)
    try:
        end, is_outdated = await _execute(
            user_checks,
            request,
            visible,
            request.call_id,
            retained=request.scope == "all",
        )
        if is_outdated:
            verdict = f"{_verdict(end)}{OUTDATED}"
        elif request.scope == "all":
            is_flaky = user_checks.evidence.is_flaky(check.command) or (passed_before and not end.passed)
            verdict = f"{_verdict(end)}{FLAKY if is_flaky else ''}"
        elif request.scope == "some":
            chosen, total = len(request.chosen or ()), len(selection.pending(before.undecided))
            intro = f"With {chosen} of {count_of(total, 'undecided change')}: "
            verdict = f"{_verdict(end)}{_lacked(end)}"
        else:
            accepted, total = before.reviewed.accepted, before.reviewed.total
            intro = WITH_TESTS if visible is not None and len(visible) else "Without the changes: "
            intro = f"{accepted} of {count_of(total, 'change')} accepted: " if accepted else intro
            complete = None
            needs_complete = not end.passed and not end.fails_with_all and len(before.undecided)
            if needs_complete and not await user_checks.evidence.still_passes(check.command):
                complete, is_outdated = await _execute(user_checks, request, None, f"{request.call_id}.all")
            roots = user_checks.files.roots
            verdict, proves = _judge_accepted(roots, end, complete, before, is_outdated=is_outdated)
    except ToolError as error:
        return _without_result(user_checks.review, request, f"could not run. {error}")
    return CheckFinished(
        request.call_id,
        check.item_id,
        check.command,
        request.scope,
        end.passed,
        end.result.exit_code,
        end.result.seconds,
        before.reviewed.accepted,
        before.reviewed.total,
        proves,
        is_outdated,
        intro,
        f"{verdict}{end.discarded}",
    )


def _progress_of(review: Review) -> _ReviewProgress:
    return _ReviewProgress(review.files.changes, count_review(review.files.changes, review.decisions))


def _visible_changes(user_checks: UserChecks, request: _Request, before: _ReviewProgress) -> Changeset | None:
    """The proposals that the check sees. None: all of them, or there are none.

    If it sees none, and nothing is accepted, it sees those of the baseline (docs/plan.md P23).
    """
    changes = user_checks.files.changes
    if request.chosen is None or not len(changes):
        return None
    if request.scope == "none" and not before.reviewed.accepted and not user_checks.commands.tools().unavailable:
        return baseline_of(changes, user_checks.files.roots)
    return selection.only(changes, request.chosen)


async def _execute(
    user_checks: UserChecks, request: _Request, visible: Changeset | None, call_id: str, *, retained: bool = True
) -> tuple[CheckEnd, bool]:
    """Runs the command. Returns how it ended, and whether a file or a proposal changed while it ran.

    Raises:
        ToolError: the command is not allowed, needs the sandbox, or could not be started.
    """
    commands, command = user_checks.commands.tools(), request.check.command
    call = RunningCall(call_id, request.check.item_id, user_checks.publish)
    where = await allow_check(commands, command, call)
    if where == "workspace" and visible is not None and request.scope == "some":
        raise ToolError(f"It needs the sandbox. {commands.unavailable}")
    state = commands.record_state(where)
    # if only some of the changes are accepted, the undecided tests are missing too, so a failure proves nothing
    baseline = baseline_of(user_checks.files.changes, user_checks.files.roots)
    is_baseline = request.scope == "none" and visible is not None and len(visible) == len(baseline)
    check = CheckRun(command, where, state, request.handle, visible, is_baseline, is_of_user=True, retained=retained)
    reviewed = _progress_of(user_checks.review).reviewed
    end = await run_check(commands, check, call)
    await user_checks.evidence.compare()
    user_checks.publish(None)
    is_outdated = bool(user_checks.evidence.known_files.changed_since(check.state))
    return end, is_outdated or _progress_of(user_checks.review).reviewed != reviewed


def _judge_accepted(
    roots: Roots, end: CheckEnd, complete: CheckEnd | None, before: _ReviewProgress, *, is_outdated: bool
) -> tuple[str, bool]:
    """Describes the result of a run without the undecided changes, and returns whether the check proves the changes.

    Args:
        end: how the run without the undecided changes ended.
        complete: how the following run with all changes ended; None: it was not needed.
    """
    undecided, accepted, result = before.undecided, before.reviewed.accepted, _verdict(end)
    if is_outdated:
        return f"{result}{OUTDATED}", False
    if end.passed:
        return result if accepted else f"{result} So it does not prove them.", False
    if not len(undecided):
        return f"{result}{_lacked(end)}", False
    if end.fails_with_all:
        return f"{result}{_lacked(end)} So it fails with all of them, too.", False
    if complete is not None and not complete.passed:
        return f"{result} It fails with all of them, too.", False
    if accepted:
        return f"fails without {_list_changes(undecided, roots)}.", False
    return f"{result} With them it passes, so it proves them.", True


def _verdict(end: CheckEnd) -> str:
    return f"{'passes' if end.passed else 'fails'} ({end.summary})."


def _lacked(end: CheckEnd) -> str:
    """A sentence, with a leading space, if the check may have failed because of missing builds; otherwise empty."""
    return f" {WITHOUT_RETAINED}" if end.lacked_retained else ""


def _list_changes(changes: Changeset, roots: Roots) -> str:
    """The first `MAX_NAMED` undecided changes as text, such as "parser.py, lines 40-52", and how many more there are.

    A file is named without lines if it can only be decided as a whole, or if none of its hunks has been decided.
    """
    names: list[str] = []
    for proposal in changes:
        name = roots.relative(Path(proposal.path))
        if proposal.decided_as_whole or not proposal.decided:
            names.append(name)
        else:
            names += [f"{name}, {lines_of(hunk)}" for hunk in proposal.hunks]
    more = len(names) - MAX_NAMED
    shown = [*names[:MAX_NAMED], *([f"{more} more"] if more > 0 else [])]
    first = "; ".join(shown[:-1]) if any("," in name for name in shown) else ", ".join(shown[:-1])
    return " and ".join(filter(None, [first, shown[-1]]))


def lines_of(hunk: Hunk) -> str:
    """The lines of a hunk in the proposed text, as the review shows them. For removed lines, the line after them."""
    first, last = hunk.new_start + 1, hunk.new_start + len(hunk.new)
    return f"lines {first}-{last}" if last > first else f"line {first}"


def _without_result(review: Review, request: _Request, verdict: str) -> CheckFinished:
    check, reviewed = request.check, _progress_of(review).reviewed
    counts = reviewed.accepted, reviewed.total
    return CheckFinished(
        None, check.item_id, check.command, request.scope, None, None, 0.0, *counts, False, False, "", verdict
    )
