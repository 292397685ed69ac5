"""What the run is shown on: the port between what is said (transcript.py, review.py) and how it is drawn."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from rich.console import Console
from rich.text import Text

from fairlead.cli.terminal import Marks
from fairlead.plan import PlanItem


class Display(Protocol):
    """Lines that stay, and what is only true for now."""

    @property
    def console(self) -> Console: ...

    @property
    def marks(self) -> Marks: ...

    @property
    def width(self) -> int | None:
        """The columns to keep to; None where lines have no end."""
        ...

    def show(self, lines: Sequence[Text]) -> None:
        """Writes lines that stay."""
        ...

    def now(self, doing: str, draft: Text | None = None) -> None:
        """What is going on, and the row that is being written; each call replaces the one before."""
        ...

    def plan(self, items: Sequence[PlanItem]) -> None:
        """The plan as it is now."""
        ...

    def aside(self) -> AbstractContextManager[None]:
        """Takes away what is only true for now, for as long as a person is asked."""
        ...

    def close(self) -> None:
        """Takes it away for good; lines can still be shown."""
        ...
