"""What weakens a test, and where it is in the texts."""

from dataclasses import dataclass, replace
from typing import Literal

from fairlead.display import escape_to_one_line, shorten
from fairlead.sentences import Sentence

MAX_SHOWN = 60  # characters of code that a reason quotes

Side = Literal["old", "new"]


@dataclass(frozen=True, slots=True)
class Place:
    """Some lines of the old or the new text, from 0."""

    side: Side
    start: int
    end: int
    """The line after the last one."""


@dataclass(frozen=True, slots=True)
class Weakening:
    """A change that weakens a test."""

    reason: Sentence
    places: tuple[Place, ...] = ()
    """Where it is: in the first of these in which something changes. Empty: it is the file as a whole."""

    @property
    def shown(self) -> "Weakening":
        """With the names and the code in the reason shortened, on one line each."""
        parts = (shorten(escape_to_one_line(each), MAX_SHOWN) for each in self.reason.arguments)
        return replace(self, reason=Sentence(self.reason.template, *parts))


def line(side: Side, number: int) -> Place:
    """One line."""
    return Place(side, number, number + 1)
