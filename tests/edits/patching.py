"""Applies and reverts hunks as `patch` does, to compare with the engine's results."""

from collections.abc import Sequence

from fairlead.edits.diff import Hunk
from fairlead.text_lines import split_lines


def patched(base: str, chosen: Sequence[Hunk]) -> str:
    """`base` with the chosen hunks applied."""
    lines = split_lines(base)
    for hunk in sorted(chosen, key=lambda h: h.old_start, reverse=True):
        lines[hunk.old_start : hunk.old_start + len(hunk.old)] = hunk.new
    return "".join(lines)


def unpatched(proposed: str, chosen: Sequence[Hunk]) -> str:
    """`proposed` with the chosen hunks reverted."""
    lines = split_lines(proposed)
    for hunk in sorted(chosen, key=lambda h: h.new_start, reverse=True):
        lines[hunk.new_start : hunk.new_start + len(hunk.new)] = hunk.old
    return "".join(lines)
