"""The diffs that the terminal shows in a review."""

import difflib
import io

from hypothesis import given
from hypothesis import strategies as st
from rich.text import Text

from fairlead.cli.view.diffs import draw_diff, two_sides
from fairlead.edits.diff import hunks
from fairlead.wire import states

lines = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "\n"]), max_size=25).map("".join)


def on_the_wire(base: str, proposed: str) -> list[states.HunkWire]:
    """Hunks in the shape of docs/protocol.md."""
    return [
        {
            "id": hunk.id,
            "oldStart": hunk.old_start + (1 if hunk.old else 0),
            "oldLines": len(hunk.old),
            "newStart": hunk.new_start + (1 if hunk.new else 0),
            "newLines": len(hunk.new),
            "snippet": "",
            "itemId": None,
            "toolCallIds": [],
            "state": "pending",
            "conflict": None,
            "weakens": [],
        }
        for hunk in hunks(base, proposed)
    ]


def drawn(base: str, proposed: str) -> list[Text]:
    return draw_diff(two_sides(base, proposed), on_the_wire(base, proposed), "␍")


@given(lines, lines)
def test_the_shown_diff_is_a_unified_diff(base: str, proposed: str) -> None:
    """Applying the shown diff to the base gives the proposed text."""
    shown = [line.plain for line in drawn(base, proposed)]
    assert apply(base.splitlines(), shown) == proposed.splitlines()


def apply(base: list[str], diff: list[str]) -> list[str]:
    """A minimal patch program that checks each context line and each removed line."""
    result: list[str] = []
    at = 0
    for line in diff:
        if line.startswith("@@"):
            start, count = (int(n) for n in line.split()[1][1:].split(","))
            begin = start - 1 if count else start
            result += base[at:begin]
            at = begin
            continue
        if line[0] in " -":
            assert base[at] == line[1:]
            at += 1
        if line[0] in " +":
            result.append(line[1:])
    return result + base[at:]


def test_the_shown_diff_equals_that_of_the_standard_library() -> None:
    """The context and the line numbers are the same as in difflib."""
    base = "".join(f"line {n}\n" for n in range(1, 31))
    proposed = base.replace("line 3\n", "three\n").replace("line 8\n", "").replace("line 25\n", "line 25\nmore\n")
    known = difflib.unified_diff(io.StringIO(base).readlines(), io.StringIO(proposed).readlines())
    assert [line.plain for line in drawn(base, proposed)] == [line.rstrip("\n") for line in known][2:]


def test_invisible_characters_are_shown() -> None:
    """Different or missing line endings and invisible characters are shown."""
    shown = drawn("one\ntwo\n", "one\r\ntwo\u200b")
    assert [line.plain for line in shown] == [
        "@@ -1,2 +1,2 @@",
        "-one",
        "-two",
        "+one␍",
        "+two\\u200b",
        "\\ No newline at end of file",
    ]
    assert [str(line.style) for line in shown[1:5]] == ["red", "red", "green", "green"]


def test_a_very_long_line_is_shortened() -> None:
    """A line of one megabyte is cut off, and ends with the number of omitted characters."""
    (_, line, *_) = drawn("", "x" * 1_000_000)
    assert len(line.plain) < 1100
    assert line.plain.endswith("999,000 more characters")
