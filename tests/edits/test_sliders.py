"""The position of a change among equal lines: as a human would choose it, without altering the change."""

import time
from collections.abc import Sequence

import hypothesis.strategies as st
import pytest
from hypothesis import given

from fairlead.edits.diff import changed_blocks
from fairlead.edits.sliders import Block, align_blocks
from fairlead.text_lines import split_lines

LINES = st.lists(st.sampled_from(["a\n", "    b\n", "\n", "}\n", "  }\n"]), max_size=14)


def made(blocks: Sequence[Block], a: Sequence[str], b: Sequence[str]) -> list[str]:
    """`a` with the blocks applied."""
    result: list[str] = []
    last = 0
    for a0, a1, b0, b1 in blocks:
        result += [*a[last:a0], *b[b0:b1]]
        last = a1
    return [*result, *a[last:]]


@given(LINES, LINES)
def test_alignment_never_alters_the_change(a: list[str], b: list[str]) -> None:
    """The blocks still turn one text into the other. Their number and sizes stay the same, and no two of them touch."""
    blocks = changed_blocks(a, b)
    again = align_blocks(blocks, a, b)
    assert made(blocks, a, b) == made(again, a, b) == b
    assert [(a1 - a0, b1 - b0) for a0, a1, b0, b1 in blocks] == [(a1 - a0, b1 - b0) for a0, a1, b0, b1 in again]
    end = -1
    for a0, a1, b0, b1 in again:
        assert a0 > end
        assert (a0, b0) != (a1, b1)
        end = a1


SAME = st.sampled_from(["a\n", "\n"])
SCRIPTS = st.lists(
    st.tuples(st.lists(SAME, min_size=1, max_size=3), st.lists(SAME, max_size=2), st.lists(SAME, max_size=2)),
    max_size=5,
)


@given(SCRIPTS)
def test_blocks_stay_apart_among_equal_lines(script: list[tuple[list[str], list[str], list[str]]]) -> None:
    """However a change is split into blocks, not only as a diff does it: each block stays between its neighbors."""
    a: list[str] = []
    b: list[str] = []
    blocks: list[Block] = []
    for kept, old, new in script:
        a, b = [*a, *kept], [*b, *kept]
        if old or new:
            blocks.append((len(a), len(a) + len(old), len(b), len(b) + len(new)))
        a, b = [*a, *old], [*b, *new]
    a, b = [*a, "end\n"], [*b, "end\n"]
    drawn = align_blocks(blocks, a, b)
    assert made(drawn, a, b) == b
    ends = [-1, *(block[1] for block in drawn)]
    assert all(end < block[0] for end, block in zip(ends, drawn, strict=False))


@given(LINES, LINES)
def test_aligning_again_changes_nothing(a: list[str], b: list[str]) -> None:
    """`changed_blocks` returns aligned blocks."""
    blocks = changed_blocks(a, b)
    assert align_blocks(blocks, a, b) == blocks


@given(LINES, st.integers(0, 14), LINES.filter(bool))
def test_inserted_lines_are_one_block(a: list[str], at: int, new: list[str]) -> None:
    """It has as many lines as were inserted. The reverse change removes the same lines at the same position."""
    b = [*a[:at], *new, *a[at:]]
    [(a0, a1, b0, b1)] = changed_blocks(a, b)
    assert (a1 - a0, b1 - b0) == (0, len(new))
    assert changed_blocks(b, a) == [(b0, b1, a0, a1)]


FUNCTIONS = """\
def one():
    return 1

def two():
    return 2

"""
DRAWN = {
    "a function before another": (
        FUNCTIONS,
        FUNCTIONS.replace("def two", "def new():\n    return 3\n\ndef two"),
        "def new():\n    return 3\n\n",
    ),
    "one at the end": (FUNCTIONS, FUNCTIONS + "def new():\n    return 2\n\n", "def new():\n    return 2\n\n"),
    "one at the start": (FUNCTIONS, "def new():\n    return 1\n\n" + FUNCTIONS, "def new():\n    return 1\n\n"),
    "a twin": ("x\n\na\n\ny\n", "x\n\na\n\na\n\ny\n", "a\n\n"),
    "a block with braces": (
        "f() {\n  x\n}\n\ng() {\n  x\n}\n",
        "f() {\n  x\n}\n\nnew() {\n  x\n}\n\ng() {\n  x\n}\n",
        "new() {\n  x\n}\n\n",
    ),
    "a case in a switch": (
        "  case 1:\n    break;\n  case 3:\n    break;\n",
        "  case 1:\n    break;\n  case 2:\n    break;\n  case 3:\n    break;\n",
        "  case 2:\n    break;\n",
    ),
}


@pytest.mark.parametrize("name", DRAWN)
def test_a_block_begins_and_ends_where_a_reader_expects_it(name: str) -> None:
    """An added or removed block is shown from its own first line, to the blank line after it if there is one."""
    before, after, shown = DRAWN[name]
    a, b = split_lines(before), split_lines(after)
    [(a0, a1, b0, b1)] = changed_blocks(a, b)
    assert (a0, "".join(b[b0:b1])) == (a1, shown)
    [(a0, a1, b0, b1)] = changed_blocks(b, a)
    assert ("".join(b[a0:a1]), b0) == (shown, b1)


def test_many_equal_lines_take_bounded_time() -> None:
    """The distance by which a block is moved is limited."""
    a = ["same\n"] * 100_000
    began = time.process_time()
    blocks = changed_blocks(a, [*a, *a])
    assert time.process_time() - began < 2
    assert made(blocks, a, [*a, *a]) == [*a, *a]
