"""What the checks say about each change, in words (docs/plan.md P23)."""

from collections.abc import Iterator, Sequence

from fairlead.cli.view.text import clean, escape_hidden
from fairlead.wire import states


def need_lines(
    needed: states.NeededChangesWire | None, file: states.FileEditsWire, hunks: Sequence[states.HunkWire]
) -> Iterator[str]:
    """A line for each of these hunks of a file, or for the file if it is decided as a whole, if something is known."""
    if needed is None:
        return
    places = {None: "This file", **{hunk["id"]: _place(hunk) for hunk in hunks}}
    one = len(needed["commands"]) == 1
    names = f"`{escape_hidden(clean(needed['commands'][0]))}`" if one else "the checks"
    texts = (
        (needed["needed"], f"{names} {'fails' if one else 'fail'} without this."),
        (needed["notNeeded"], f"{names} {'passes' if one else 'pass'} without this alone."),
        (needed["unread"], f"{names} {'does' if one else 'do'} not read this file."),
    )
    for hunk_id, place in places.items():
        for changes, text in texts:
            if any(change["uri"] == file["uri"] and change["hunk"] == hunk_id for change in changes):
                yield f"{place}: {text}"


def _place(hunk: states.HunkWire) -> str:
    """The lines of a hunk in the proposed text. For removed lines, the line after them."""
    if hunk["newLines"] == 0:
        return f"Line {hunk['newStart'] + 1}"
    first, last = hunk["newStart"], hunk["newStart"] + hunk["newLines"] - 1
    return f"Lines {first}-{last}" if last > first else f"Line {first}"
