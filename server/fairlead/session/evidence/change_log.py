"""The changes of known files in this process, in order, and who made them (docs/plan.md P26)."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from fairlead.edits.changeset import Changeset
from fairlead.edits.diff import hunks
from fairlead.edits.proposal import empty_proposal

MAX_CHANGES = 2000

Maker = Literal["agent", "user", "decision"]
"""`user`: an edit of the user's file, or another program. `decision`: a reject, an undo or an amendment."""

Content = str | bytes | None
"""Of a file with the proposals; None: there is no file. Bytes cannot be shown to a command again."""


@dataclass(frozen=True, slots=True)
class ViewChange:
    """A change of a file as commands see it, with the proposals."""

    path: str
    before: Content
    after: Content
    maker: Maker
    step: str
    """The step that the agent worked on; empty if the agent did not make the change."""
    states: int
    """How many file states there were at that time."""

    @property
    def lines(self) -> tuple[int, int]:
        """The first and the last changed line in the text after it, from 1; 0 and 0 if there are several places."""
        if not isinstance(self.before, str) or not isinstance(self.after, str):
            return 0, 0
        found = hunks(self.before, self.after)
        if len(found) != 1:
            return 0, 0
        first = found[0].new_start + 1
        return first, max(first, found[0].new_start + len(found[0].new))


@dataclass(frozen=True, slots=True)
class Cause:
    """What broke a verification."""

    maker: Maker | Literal["unknown"]
    paths: tuple[str, ...]
    """The changed file; if the maker is unknown, all files that changed."""
    step: str = ""
    """The step of the agent's change."""
    lines: tuple[int, int] = (0, 0)
    """See `ViewChange.lines`."""


class ChangeLog:
    """The changes in the order in which they were made. Successive changes of a file by the same maker are one."""

    def __init__(self, complete_from: int = 0) -> None:
        self.changes: list[ViewChange] = []
        self.complete_from = complete_from
        """All changes after the file states with this number and higher ones are in the log."""

    def add(self, change: ViewChange) -> None:
        """Adds a change."""
        last = self.changes[-1] if self.changes else None
        if last is not None and replace(last, before=change.before, after=change.after) == change:
            self.changes[-1] = replace(last, after=change.after)
            return
        self.changes.append(change)
        if len(self.changes) > MAX_CHANGES:
            self.complete_from = self.changes.pop(0).states

    def between(self, first: int, last: int, counts: Callable[[str], bool]) -> list[ViewChange]:
        """The changes after one file state and before another one, of the files that count."""
        return [each for each in self.changes if first < each.states <= last and counts(each.path)]


def view_after(
    now: Changeset, changes: Sequence[ViewChange], count: int, user_texts: Mapping[str, str | None]
) -> Changeset:
    """The proposals with which a command sees the files as after the first changes.

    Args:
        now: the current proposals.
        changes: all changes until now.
        count: how many of them it sees.
        user_texts: the text of each file in the user's workspace.
    """
    for path in {change.path: None for change in changes}:
        own = [change for change in changes if change.path == path]
        seen = [change for change in changes[:count] if change.path == path]
        text = seen[-1].after if seen else own[0].before
        if text == own[-1].after or isinstance(text, bytes):
            continue
        current, proposal = user_texts[path], now.for_target(path) or now.get(path)
        if proposal is not None and proposal.new_path is not None:
            now = now.with_proposal(replace(proposal, proposed=text))
        elif text == current:
            now = now.without(path)
        else:
            now = now.with_proposal(replace(empty_proposal(path, current), proposed=text))
    return now


def can_show(changes: Collection[ViewChange]) -> bool:
    """Whether the files can be shown as they were before any of the changes."""
    return not any(isinstance(each, bytes) for change in changes for each in (change.before, change.after))
