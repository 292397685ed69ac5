"""Confirmation of protected files: each accept of one asks the user separately (docs/faults.md 35)."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from fairlead.edits.proposal import Kind
from fairlead.session.review.target import HunkOutcome, Selection
from fairlead.session.session import Session

NOT_CONFIRMED = "Not accepted: this file is protected, and you did not confirm it. It is still proposed."
_VERBS: dict[Kind, str] = {"create": "creates", "modify": "changes", "delete": "deletes", "rename": "renames"}


async def confirm_protected(
    session: Session, selections: Sequence[Selection], why: Mapping[str, str]
) -> tuple[list[Selection], list[HunkOutcome]]:
    """Asks the user about one protected file after the other; returns the confirmed ones and the failed outcomes.

    Args:
        why: why each file is protected, for the user, by the path of its proposal.
    """
    confirmed: list[Selection] = []
    refused: list[HunkOutcome] = []
    for selection in selections:
        proposal = selection.seen
        to = f" to {session.roots.relative(Path(proposal.target))}" if proposal.new_path is not None else ""
        reasons = (f"Accepting {_VERBS[proposal.kind]} this protected file{to}.", why[proposal.path])
        if await session.approvals.confirm(selection.path, repr((proposal.target, proposal.proposed)), reasons):
            confirmed.append(selection)
        else:
            refused += selection.outcomes("failed", NOT_CONFIRMED)
    return confirmed, refused
