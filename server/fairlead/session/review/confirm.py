"""Protected files in an accept: each needs a yes of its own, whatever else is accepted with it (docs/faults.md 35)."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from fairlead.edits.proposal import Kind
from fairlead.session.review.target import Choice, Decided
from fairlead.session.session import Session

NOT_CONFIRMED = "Not accepted: this file is protected, and you did not confirm it. It is still proposed."
_DOES: dict[Kind, str] = {"create": "makes", "modify": "changes", "delete": "deletes", "rename": "renames"}


async def confirmed(
    session: Session, choices: Sequence[Choice], why: Mapping[str, str]
) -> tuple[list[Choice], list[Decided]]:
    """Asks for protected files, one after the other; returns what may be accepted, and what became of the rest.

    Args:
        why: the reason for people, by the proposal's path.
    """
    allowed: list[Choice] = []
    refused: list[Decided] = []
    for choice in choices:
        proposal = choice.seen
        to = f" to {session.root.relative(Path(proposal.target))}" if proposal.new_path is not None else ""
        reasons = (f"Accepting {_DOES[proposal.kind]} this protected file{to}.", why[proposal.path])
        if await session.approvals.confirm(choice.path, repr((proposal.target, proposal.proposed)), reasons):
            allowed.append(choice)
        else:
            refused += choice.decided("failed", NOT_CONFIRMED)
    return allowed, refused
