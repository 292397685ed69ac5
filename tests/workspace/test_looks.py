"""Which files a boundary looks at (docs/plan.md L6)."""

import os
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from fairlead.workspace.looks import AT_ONCE, Looks

MANY = [Path(f"/ws/f{number}") for number in range(3 * AT_ONCE + 7)]


@given(st.integers(1, 3 * AT_ONCE))
def test_each_file_has_its_turn(count: int) -> None:
    """For any number of files, and never more than AT_ONCE in one turn."""
    looks, known = Looks(str), dict.fromkeys(map(str, MANY[:count]))
    turns = [looks.take(known.keys(), []) for _ in range(-(-count // AT_ONCE))]
    assert {path for turn in turns for path in turn} == known.keys()
    assert all(len(turn) <= AT_ONCE for turn in turns)


def test_reported_and_open_files_are_looked_at_now(tmp_path: Path) -> None:
    """Also under the name of a link to them; unknown ones are not, and a report holds for one look."""
    target, link = tmp_path / "real", tmp_path / "link"
    target.write_text("x")
    os.symlink(target, link)
    known = dict.fromkeys([*MANY, target])
    looks = Looks(Path)
    looks.report([MANY[-1], Path("/elsewhere")])
    first = looks.take(known.keys(), [link])
    assert set(first) == {*MANY[:AT_ONCE], MANY[-1], target}
    assert set(looks.take(known.keys(), [])) == set(MANY[AT_ONCE : 2 * AT_ONCE])


def test_after_a_command_all_files_are_looked_at() -> None:
    looks, known = Looks(Path), dict.fromkeys(MANY)
    looks.report(None)
    assert looks.take(known.keys(), []) == MANY
    assert len(looks.take(known.keys(), [])) == AT_ONCE
