"""Asks the user to confirm each accept of a protected file (docs/faults.md 35)."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from fairlead.edits.proposal import Kind
from fairlead.gate.gate import NotAllowed
from fairlead.gate.request import ChangeProtectedFile
from fairlead.sentences import Sentence
from fairlead.session.review.review import Review
from fairlead.session.review.target import HunkOutcome, Selection

NOT_CONFIRMED = "Not accepted: this file is protected, and you did not confirm it. It is still proposed."
_ACCEPTING: dict[Kind, Sentence] = {
    "create": Sentence("Accepting creates this protected file."),
    "modify": Sentence("Accepting changes this protected file."),
    "delete": Sentence("Accepting deletes this protected file."),
    "rename": Sentence("Accepting renames this protected file."),
}


async def confirm_protected(
    review: Review, selections: Sequence[Selection], why: Mapping[str, str]
) -> tuple[list[Selection], list[HunkOutcome]]:
    """Asks the user about the files one after the other, but not about a change that they allowed for the session.

    Returns the confirmed selections, and failed outcomes for the others.

    Args:
        why: why each file is protected, in words for the user, by the path of its proposal.
    """
    confirmed: list[Selection] = []
    refused: list[HunkOutcome] = []
    for selection in selections:
        proposal = selection.seen
        target = review.files.roots.relative(Path(proposal.target))
        to = [Sentence("Its new path is {0}.", target)] if proposal.new_path is not None else []
        reasons = (_ACCEPTING[proposal.kind], *to, why[proposal.path])
        change = ChangeProtectedFile(selection.path, repr((proposal.target, proposal.proposed)))
        try:
            await review.gate.check(change, reasons=reasons)
            confirmed.append(selection)
        except NotAllowed:
            refused += selection.outcomes("failed", NOT_CONFIRMED)
    return confirmed, refused
