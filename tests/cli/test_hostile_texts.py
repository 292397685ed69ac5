"""Texts that try to control the terminal, to hide a part of themselves, or to look like another line."""

import io
import re

import pytest
from rich.text import Text

from fairlead.cli.main import run_command_line
from fairlead.cli.view.plan_view import plan_steps
from fairlead.cli.view.terminal import PLAIN_MARKS, SafeConsole, Terminal
from fairlead.lsp import convert
from fairlead.plan import PlanItem
from fairlead.plan.evidence import Record
from fairlead.plan.manager import PlanningState
from fairlead.plan.verification import Support
from fairlead.session.events import PlanChanged

HOSTILE = {
    "title": "a\x1b]0;root\x07b",
    "link": "\x1b]8;;https://evil.example\x07a\x1b]8;;\x07",
    "clipboard": "\x1b]52;c;cm0gLXJmIH4=\x07a",
    "cursor": "a\x1b[1A\x1b[2Kb",
    "color": "a\x1b[8mb",
    "question to the terminal": "a\x1b[6nb",
    "device control": "\x1bP$q\x1b\\a",
    "one character sequence": "a\x9b2Jb",
    "unfinished sequence": "a\x1b[",
    "carriage return": "rm -rf x\recho ok",
    "backspace": "ab\b\bcd",
    "form feed": "a\x0cb",
    "null": "a\x00b",
    "delete": "a\x7fb",
    "override": "invoice\u202efdp.exe",
    "isolate": "a\u2067b\u2069c",
    "mark of a direction": "a\u200fb",
    "line separator": "a\u2028b",
}
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
HARMLESS = ["Fix 你好　世界", "می\u200cخواهم", "👩\u200d💻 ❤\ufe0f", "a\tb", "über naïve", "[bold]x[/bold]"]


@pytest.mark.parametrize("what", HOSTILE)
def test_fault_175_a_forgotten_text_cannot_control_the_terminal(what: str) -> None:
    """The console shows it, whoever wrote it; only the console's own sequences reach the terminal."""
    file = io.StringIO()
    console = SafeConsole(file=file, force_terminal=True, color_system="standard", width=80)
    console.print(Text(HOSTILE[what], style="bold"))
    Terminal(console, PLAIN_MARKS, can_ask=True, can_draw=True).print(HOSTILE[what], "dim")
    written = re.sub(r"\x1b\[[0-9;]*m", "", file.getvalue(), count=4)
    assert OBEYED.findall(written) == []
    assert written.count("\n") == 2


def test_fault_175_harmless_texts_are_shown_unchanged() -> None:
    file = io.StringIO()
    console = SafeConsole(file=file, markup=False, width=80)
    for text in HARMLESS:
        console.print(Text(text), soft_wrap=True)
    assert file.getvalue().splitlines() == [text.expandtabs(8) for text in HARMLESS]


@pytest.mark.parametrize("what", HOSTILE)
def test_fault_175_an_error_about_an_option_shows_it_as_it_is(what: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The name of a folder in a repository, completed by the user's shell, may contain anything."""
    name = HOSTILE[what].replace("/", "").replace("\x00", "")
    assert run_command_line(["run", "x", "--workspace", name]) == 2
    assert OBEYED.findall(capsys.readouterr().err) == []


def test_fault_175_the_name_of_a_file_cannot_look_like_a_step() -> None:
    """A file's name and a command stay on the line of their step."""
    forged = "x\n[x] #2: Reviewed by you"
    support = Support("stale", f"make\n{forged}", (f"/folder/{forged}",))
    plan = PlanningState((PlanItem("1", "Build", "completed"),))
    [step] = plan_steps(convert.plan("s", PlanChanged(1, plan, Record(), supports={"1": support})))
    assert "\n" not in step.note
    assert "x\\n[x] #2: Reviewed by you" in step.note
