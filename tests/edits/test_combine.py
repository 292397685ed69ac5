"""The proposals of several sessions as one changeset, and which of them exclude each other (docs/plan.md P24)."""

from collections.abc import Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pytest
import yaml
from hypothesis import given

from fairlead.edits import changeset as cs
from fairlead.edits.changeset import Changeset
from fairlead.edits.combine import combine
from fairlead.edits.origins import Author
from fairlead.edits.selection import only, units

AUTHOR = Author("1", "call")
PATH = "/ws/a.py"
CASES: list[dict[str, Any]] = yaml.safe_load(Path(__file__).with_name("combine.yaml").read_text("utf-8"))

SLOTS = st.dictionaries(st.integers(0, 4), st.sampled_from(["", "one\n", "two\n", "two\nthree\n"]), max_size=5)
"""What a session writes into some of the five slots of a file."""


def text_of(slots: Mapping[int, str]) -> str:
    """The file. Each slot is between two lines that no session changes."""
    return "".join(f"frame {number}\n{slots.get(number, f'old {number}' + chr(10))}" for number in range(5)) + "end\n"


def proposed(slots: Mapping[int, str]) -> Changeset:
    return cs.propose(Changeset(), PATH, text_of({}), text_of(slots), AUTHOR)


@given(st.lists(SLOTS, min_size=1, max_size=3))
def test_p24_changes_of_different_lines_are_combined_and_others_are_named(sessions: list[dict[int, str]]) -> None:
    """Two sessions are in conflict exactly if they write something different into the same slot."""
    expected = {
        (one, other)
        for (one, mine), (other, theirs) in combinations(enumerate(sessions), 2)
        if any(mine[slot] != theirs[slot] for slot in mine.keys() & theirs.keys())
    }
    combined = combine([proposed(slots) for slots in sessions])
    assert {conflict.sides for conflict in combined.conflicts} == expected
    if not expected:
        together = {slot: text for slots in sessions for slot, text in slots.items()}
        proposal = combined.changes.get(PATH)
        assert (text_of({}) if proposal is None else proposal.proposed) == text_of(together)


@given(st.lists(SLOTS, min_size=2, max_size=3), st.data())
def test_p24_parts_of_what_is_combined_are_combined_too(sessions: list[dict[int, str]], data: st.DataObject) -> None:
    """A search combines some changes of each session. The result has the chosen ones and no others."""
    changesets = [proposed(slots) for slots in sessions]
    if combine(changesets).conflicts:
        return
    chosen = [[unit for unit in units(changes) if data.draw(st.booleans())] for changes in changesets]
    some = [
        only(changes, [each for unit in part for each in unit])
        for changes, part in zip(changesets, chosen, strict=True)
    ]
    combined = combine(some)
    assert not combined.conflicts
    texts = {proposal.proposed for proposal in combined.changes} or {text_of({})}
    hunks = {hunk.new for changes in some for proposal in changes for hunk in proposal.hunks}
    [text] = texts
    assert text is not None
    assert all("".join(new) in text for new in hunks)
    assert combine([combined.changes]).changes.files == combined.changes.files


@given(SLOTS, SLOTS)
def test_p24_a_conflict_names_the_lines_of_both_sides(mine: dict[int, str], theirs: dict[int, str]) -> None:
    changesets = [proposed(mine), proposed(theirs)]
    for conflict in combine(changesets).conflicts:
        assert conflict.lines is not None and conflict.path == PATH
        for (start, end), changes, slots in zip(conflict.lines, changesets, (mine, theirs), strict=True):
            lines = text_of(slots).splitlines(keepends=True)[start:end]
            assert not any(line.startswith("frame") for line in lines)
            assert len(changes) == 1


def changeset_of(session: Mapping[str, Any], files: Mapping[str, str]) -> Changeset:
    """A changeset from a case: `write`, `delete` and `rename` of files."""
    changes = Changeset()
    for name, text in session.get("write", {}).items():
        changes = cs.propose(changes, f"/ws/{name}", files.get(name), text, AUTHOR)
    for name in session.get("delete", []):
        changes = cs.delete(changes, f"/ws/{name}", files[name], AUTHOR)
    for name, new in session.get("rename", {}).items():
        changes = cs.rename(changes, f"/ws/{name}", f"/ws/{new}", files[name], AUTHOR)
    return changes


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_p24_whole_files(case: dict[str, Any]) -> None:
    """What two sessions do to the same files: the files afterwards, or the conflicts."""
    files = case["files"]
    combined = combine([changeset_of(session, files) for session in case["sessions"]])
    assert [conflict.path.removeprefix("/ws/") for conflict in combined.conflicts] == case.get("conflicts", [])
    if "result" in case:
        left = dict(files)
        for proposal in combined.changes:
            left.pop(proposal.path.removeprefix("/ws/"), None)
        for proposal in combined.changes:
            if proposal.proposed is not None:
                left[proposal.target.removeprefix("/ws/")] = proposal.proposed
        assert left == case["result"]
