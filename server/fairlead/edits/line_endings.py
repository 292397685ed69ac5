"""Gives a rewritten text the line endings of the text that it replaces, so that only intended lines change."""

from fairlead.edits.diff import changed_blocks
from fairlead.text_lines import split_lines, usual_line_ending, with_line_endings, without_line_ending


def match_line_endings(old: str, new: str, default: str = "\n") -> str:
    """`new` with the line endings of `old`, which it replaces; `default` if `old` has none.

    If `old` mixes line endings, unchanged and replaced lines get the ending of the old line, and added lines the most
    frequent one.
    """
    usual = usual_line_ending(old, default)
    if with_line_endings(old, usual) == old:
        return with_line_endings(new, usual)
    before, after = split_lines(old), split_lines(with_line_endings(new, usual))
    old_line_of: dict[int, int] = {}  # by index of the new line
    a, b = 0, 0
    blocks = changed_blocks([*map(without_line_ending, before)], [*map(without_line_ending, after)])
    for a0, a1, b0, b1 in [*blocks, (len(before), len(before), len(after), len(after))]:
        old_line_of.update(zip(range(b, b0), range(a, a0), strict=True))  # unchanged lines
        old_line_of.update(zip(range(b0, b1), range(a0, a1), strict=False))  # replaced lines
        a, b = a1, b1
    for j, i in old_line_of.items():
        end = before[i][len(without_line_ending(before[i])) :]
        if end and without_line_ending(after[j]) != after[j]:
            after[j] = without_line_ending(after[j]) + end
    for j in range(1, len(after)):
        if after[j] == "\n" and after[j - 1].endswith("\r"):
            after[j] = "\r"  # otherwise the two would be one line ending
    return "".join(after)
