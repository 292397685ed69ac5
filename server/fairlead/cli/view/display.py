"""The port through which a run shows its lines, implemented with and without a terminal."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from rich.console import Console
from rich.text import Text

from fairlead.cli.view.plan_view import Step
from fairlead.cli.view.terminal import Marks


class Display(Protocol):
    """Shows permanent lines and, on a terminal, a status area below them."""

    @property
    def console(self) -> Console: ...

    @property
    def marks(self) -> Marks: ...

    @property
    def width(self) -> int | None:
        """The number of columns. None: lines are not wrapped."""
        ...

    def show(self, lines: Sequence[Text]) -> None:
        """Writes permanent lines."""
        ...

    def set_status(self, activity: str, draft: Text | None = None) -> None:
        """Shows the current activity and the row that is being written (None: no row), instead of the previous ones."""
        ...

    def set_plan(self, items: Sequence[Step]) -> None:
        """Shows this plan instead of the previous one."""
        ...

    def without_status(self) -> AbstractContextManager[None]:
        """Hides the status area within the context, for example during a question."""
        ...

    def close(self) -> None:
        """Removes the status area. Lines can still be shown."""
        ...
