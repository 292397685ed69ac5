"""Which files are read again between two rounds (docs/plan.md L6)."""

import os
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from fairlead.workspace.reread_queue import AT_ONCE, RereadQueue

MANY = [Path(f"/ws/f{number}") for number in range(3 * AT_ONCE + 7)]


@given(st.integers(1, 3 * AT_ONCE))
def test_each_file_has_its_turn(count: int) -> None:
    """All files are read in as few turns as possible, for any number of files, with at most AT_ONCE in one turn."""
    queue, known = RereadQueue(str), dict.fromkeys(map(str, MANY[:count]))
    turns = [queue.take(known.keys(), []) for _ in range(-(-count // AT_ONCE))]
    assert {path for turn in turns for path in turn} == known.keys()
    assert all(len(turn) <= AT_ONCE for turn in turns)


def test_reported_and_open_files_are_read_now(tmp_path: Path) -> None:
    """A file that is open through a link counts too. Unknown files are not read, and a report counts once."""
    target, link = tmp_path / "real", tmp_path / "link"
    target.write_text("x")
    os.symlink(target, link)
    known = dict.fromkeys([*MANY, target])
    queue = RereadQueue(Path)
    queue.report([MANY[-1], Path("/elsewhere")])
    first = queue.take(known.keys(), [link])
    assert set(first) == {*MANY[:AT_ONCE], MANY[-1], target}
    assert set(queue.take(known.keys(), [])) == set(MANY[AT_ONCE : 2 * AT_ONCE])


def test_after_a_command_all_files_are_read() -> None:
    queue, known = RereadQueue(Path), dict.fromkeys(MANY)
    queue.report(None)
    assert queue.take(known.keys(), []) == MANY
    assert len(queue.take(known.keys(), [])) == AT_ONCE
