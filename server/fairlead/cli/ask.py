"""Questions that the user answers with one key."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.text import Text

from fairlead.cli.keys import Keyboard
from fairlead.cli.view.display import Display


@dataclass(frozen=True)
class Option:
    """A key, its label in the question, and its explanation in the help."""

    key: str
    label: str
    help: str


async def ask(display: Display, keyboard: Keyboard, question: str, options: Sequence[Option]) -> str:
    """Asks and returns the chosen key, in lower case. `?` shows the help; other keys are ignored.

    The status area of the display must be hidden, because this writes to the console directly.

    Raises:
        Interrupted: as `Keyboard.key`.
    """
    keys = {option.key for option in options}
    while True:
        _print_question(display, question, options)
        key = ""
        while key not in keys and key != "?":
            key = (await keyboard.key()).lower()
        if key != "?":
            chosen = next(option for option in options if option.key == key)
            display.console.print(Text(chosen.label, style="bold"))
            return key
        display.console.print(Text("?"))
        for option in options:
            display.console.print(Text.assemble("    ", (option.key, "bold"), f"  {option.help}"))


def _print_question(display: Display, question: str, options: Sequence[Option]) -> None:
    line = Text.assemble((question, "bold cyan"), "  ")
    for option in options:
        line.append_text(Text.assemble((option.key, "bold"), f" {option.label}  "))
    line.append_text(Text.assemble(("?", "bold"), " help  "))
    display.console.print(line, end="")
    display.console.file.flush()
