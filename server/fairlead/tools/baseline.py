"""What a check must fail with to prove the proposals: the old code, with the new tests (docs/plan.md P23)."""

from collections.abc import Sequence
from pathlib import Path, PurePath

from fairlead.edits.changeset import Changeset
from fairlead.edits.proposal import Proposal
from fairlead.plan.inputs import Inputs
from fairlead.weakened_tests.kinds import belongs_to_tests
from fairlead.workspace.paths import Roots


def baseline_of(changes: Changeset, roots: Roots) -> Changeset:
    """The proposals for tests, if there are others too. Otherwise none.

    Without the new tests, a check that names one would fail because it is missing, whatever it tests.
    """
    others = others_than_tests(changes, roots)
    if not others or len(others) == len(changes):
        return Changeset()
    for proposal in others:
        changes = changes.without(proposal.path)
    return changes


def others_than_tests(changes: Changeset, roots: Roots) -> Sequence[Proposal]:
    """The proposals for files that not only tests use."""
    return [proposal for proposal in changes if not is_of_tests(proposal, roots)]


def is_of_tests(proposal: Proposal, roots: Roots) -> bool:
    """Whether a proposal is for a file that only tests use, before and after it."""
    paths = (PurePath(roots.relative(Path(path))).as_posix() for path in (proposal.path, proposal.target))
    return all(map(belongs_to_tests, paths))


def reads_any(inputs: Inputs | None, proposals: Sequence[Proposal]) -> bool:
    """Whether any of these proposals can change the result of a command that has read this. See `CheckEnd.inputs`."""
    return inputs is None or any(_depends_on(inputs, each) for each in proposals)


def _depends_on(inputs: Inputs, proposal: Proposal) -> bool:
    if proposal.kind != "modify":
        return inputs.reads(proposal.path) or inputs.reads(proposal.target)
    return inputs.depends_on(proposal.path, appeared=False, vanished=False, stays=lambda _: True)
