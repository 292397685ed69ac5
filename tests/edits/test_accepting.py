"""Proposals that the agent makes while the user accepts a deletion or a rename are not lost."""

from collections.abc import Callable

import pytest

from fairlead.edits import changeset as cs
from fairlead.edits.changeset import Changeset
from fairlead.edits.origins import Author

PATH, OTHER = "/ws/a.py", "/ws/b.py"
LATER = Author("2", "c")
RENAMED = cs.rename(Changeset(), PATH, OTHER, "a\n", Author("1", "c"))


def while_accepted(
    changes: Changeset, meanwhile: Callable[[Changeset], Changeset]
) -> dict[str, tuple[str | None, ...]]:
    """Accepts the proposal for PATH while the agent changes the proposals.

    Returns the kind, base, proposed text, new path and items of each remaining proposal.
    """
    before = changes.files[PATH]
    done = cs.accepted(before, cs.regions_to_accept(before, None, overwrite_user_lines=False))
    after = cs.accept(meanwhile(changes), before, done)
    return {each.path: (each.kind, each.base, each.proposed, each.new_path, *each.item_ids) for each in after}


def test_a_file_that_is_written_again_while_its_deletion_is_accepted_stays_proposed() -> None:
    """The file is then proposed as a new one, under the plan item of the agent's latest change."""
    changes = cs.delete(Changeset(), PATH, "a\n", Author("1", "c"))
    assert while_accepted(changes, lambda now: cs.propose(now, PATH, None, "b\n", LATER)) == {
        PATH: ("create", None, "b\n", None, "2")
    }
    assert while_accepted(changes, lambda now: now) == {}


@pytest.mark.parametrize(
    ("meanwhile", "expected"),
    [
        (lambda now: now, {}),
        (lambda now: cs.rename(now, OTHER, PATH, None, LATER), {OTHER: ("rename", "a\n", "a\n", PATH)}),
        (
            lambda now: cs.rename(cs.propose(now, OTHER, None, "b\n", LATER), OTHER, PATH, None, LATER),
            {OTHER: ("rename", "a\n", "b\n", PATH, "2")},
        ),
        (lambda now: cs.propose(now, OTHER, None, "b\n", LATER), {OTHER: ("modify", "a\n", "b\n", None, "2")}),
        (lambda now: cs.delete(now, OTHER, None, LATER), {OTHER: ("delete", "a\n", None, None, "2")}),
        (lambda now: cs.propose(now, PATH, None, "new\n", LATER), {PATH: ("create", None, "new\n", None, "2")}),
        (
            lambda now: cs.propose(cs.propose(now, PATH, None, "new\n", LATER), OTHER, None, "b\n", LATER),
            {PATH: ("create", None, "new\n", None, "2"), OTHER: ("modify", "a\n", "b\n", None, "2")},
        ),
        (
            lambda now: cs.propose(cs.delete(now, OTHER, None, LATER), OTHER, None, "b\n", LATER),
            {OTHER: ("modify", "a\n", "b\n", None, "2")},
        ),
    ],
    ids=["nothing", "back", "an edit and back", "an edit", "deleted", "a new file", "two files", "replaced"],
)
def test_changes_proposed_while_a_rename_is_accepted_stay_proposed(
    meanwhile: Callable[[Changeset], Changeset], expected: dict[str, tuple[str | None, ...]]
) -> None:
    """The file is now at its new path, and the changes that the agent proposed to both paths meanwhile remain."""
    assert while_accepted(RENAMED, meanwhile) == expected
