"""Finds out what the runs of a race are worth (docs/plan.md P25). The client starts them, as it starts any run."""

from collections.abc import Sequence

from fairlead.edits.selection import pending
from fairlead.errors import ToolError
from fairlead.session.errors import RequestRefused
from fairlead.session.evidence.spending import total
from fairlead.session.review.checks import UserChecks, find_checks, run_checks
from fairlead.session.review.smallest import find_smallest_set
from fairlead.session.session import Session
from fairlead.session.together.standings import PROOFS, Proof, Standing

RUNNING = "A run of the race is still going on. Wait until it has ended, or stop it."


async def judge(sessions: Sequence[Session]) -> list[Standing]:
    """The standings of ended runs, in the order of the sessions.

    Runs the checks of each session with all changes, without changes, and to find the smallest set that passes. Judges
    one session after the other, because checks share the processors.

    Raises:
        RequestRefused: a session is running.
    """
    if any(session.running for session in sessions):
        raise RequestRefused(RUNNING)
    return [await _judge(session) for session in sessions]


async def _judge(session: Session) -> Standing:
    await session.evidence.problems.check()
    new_errors = sum(map(len, session.evidence.problems.errors().values()))
    proof, reason = await _proof(session)
    needed = await _needed(session) if proof in ("proved", "verified") and find_checks(session.user_checks) else None
    if new_errors and PROOFS.index(proof) < PROOFS.index("unverified"):
        proof, reason = "unverified", "Its changes cause new errors."
    spent = total(session.evidence.recorder.spent.values())
    return Standing(
        session.id,
        session.title,
        proof,
        reason,
        new_errors,
        needed,
        len(pending(session.files.changes)),
        sum(len(hunk.old) + len(hunk.new) for proposal in session.files.changes for hunk in proposal.hunks),
        spent.known_usd if spent.tokens else None,
        spent.tokens,
    )


async def _proof(session: Session) -> tuple[Proof, str]:
    """What supports the run's changes, and why."""
    if session.runs.ended != "end_turn":
        return "failed", "The run was ended before it had finished."
    if not len(session.files.changes):
        return "failed", "It proposes no changes."
    if find_checks(session.user_checks):
        return await _proof_by_checks(session.user_checks)
    supports = session.evidence.support_by_item().values()
    found = [support.status for support in supports if support.status not in ("none", "looked", "marked")]
    if "failed" in found:
        return "failed", "A check of a step failed."
    if found and all(status in ("proved", "verified") for status in found):
        return ("proved" if "proved" in found else "verified"), "The agent's own commands verified its steps."
    return "unverified", "No check is set, and not all steps are verified."


async def _proof_by_checks(user_checks: UserChecks) -> tuple[Proof, str]:
    try:
        results = await run_checks(user_checks, None, None)
        failed = next((result for result in results if result.passed is False), None)
        if failed is not None:
            return "failed", failed.message
        unknown = next((result for result in results if result.passed is None or result.outdated), None)
        if unknown is not None:
            return "unverified", unknown.message
        without = await run_checks(user_checks, None, [])
    except RequestRefused as error:
        return "unverified", str(error)
    proving = next((result for result in without if result.proves), None)
    return ("verified", "All checks pass.") if proving is None else ("proved", f"All checks pass. {proving.message}")


async def _needed(session: Session) -> int | None:
    """The size of the smallest set that passes; None: it is not known."""
    try:
        found = await find_smallest_set(session.user_checks, None)
    except (RequestRefused, ToolError):
        return None
    return len(found.needed) if found.outcome == "minimal" or found.needed else None
