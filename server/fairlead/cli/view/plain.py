"""The display without a terminal: plain lines in order, without a status area."""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext

from rich.console import Console
from rich.text import Text

from fairlead.cli.view.plan_view import Step
from fairlead.cli.view.terminal import Marks, Terminal


class PlainDisplay:
    """Writes each line when it is complete. Shows no status."""

    def __init__(self, terminal: Terminal) -> None:
        self.console: Console = terminal.console
        self.marks: Marks = terminal.marks
        self.width: int | None = None

    def show(self, lines: Sequence[Text]) -> None:
        for line in lines:
            self.console.print(line, soft_wrap=True)

    def set_status(self, activity: str, draft: Text | None = None) -> None:
        pass

    def set_plan(self, items: Sequence[Step]) -> None:
        pass

    def without_status(self) -> AbstractContextManager[None]:
        return nullcontext()

    def close(self) -> None:
        pass
