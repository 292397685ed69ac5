"""Line ends of a rewritten text: those of the text before, so that only what was meant to change changes."""

from fairlead.edits.diff import changed_blocks
from fairlead.edits.text import body, line_end, split_lines, with_line_end


def dressed_as(old: str, new: str, default: str = "\n") -> str:
    """`new` with the line ends of `old`, which it replaces; `default` where `old` has none.

    Where `old` mixes them, a line that stays or is replaced keeps its own, an added one gets the most usual.
    """
    usual = line_end(old, default)
    if with_line_end(old, usual) == old:
        return with_line_end(new, usual)
    before, after = split_lines(old), split_lines(with_line_end(new, usual))
    twins: dict[int, int] = {}
    a, b = 0, 0
    blocks = changed_blocks([*map(body, before)], [*map(body, after)])
    for a0, a1, b0, b1 in [*blocks, (len(before), len(before), len(after), len(after))]:
        twins.update(zip(range(b, b0), range(a, a0), strict=True))
        twins.update(zip(range(b0, b1), range(a0, a1), strict=False))
        a, b = a1, b1
    for j, i in twins.items():
        end = before[i][len(body(before[i])) :]
        if end and body(after[j]) != after[j]:
            after[j] = body(after[j]) + end
    for j in range(1, len(after)):
        if after[j] == "\n" and after[j - 1].endswith("\r"):
            after[j] = "\r"  # the two would be one line end
    return "".join(after)
