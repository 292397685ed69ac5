"""Asking the person before a command runs or a file is touched that needs it (`agent/approve`)."""

import asyncio
from typing import Any

from rich.text import Text

from fairlead.cli.ask import Option, ask
from fairlead.cli.display import Display
from fairlead.cli.keys import Interrupted, Keyboard
from fairlead.cli.text import clean, rows
from fairlead.display import escape_invisible
from fairlead.lsp.params import file_path

OPTIONS = (
    Option("y", "yes, once", "run it, this once"),
    Option("s", "for this session", "run it, and the very same command again without asking"),
    Option("n", "no", "do not run it; the agent is told so, with your reason if you give one"),
)
FILE_OPTIONS = (
    Option("y", "yes, once", "let the agent go on with this file"),
    Option("s", "for this session", "and do not ask for this file again"),
    Option("n", "no", "the agent is told so, with your reason if you give one"),
)
CONFIRM_OPTIONS = (
    Option("y", "yes", "accept what is proposed for this file"),
    Option("n", "no", "leave it as it is; nothing of it is applied"),
)
NOBODY = "Nobody could be asked. `fairlead run --allow-commands` allows commands without asking."
NOBODY_FILE = "Nobody could be asked."


class Approvals:
    """Answers for one run. `allow` lets every command run; else a person is asked, where there is one to ask.

    A file's question is the person's in any case: `attended` says that somebody is at the terminal.
    """

    def __init__(self, display: Display, keyboard: Keyboard, *, allow: bool, attended: bool) -> None:
        self._display = display
        self._keyboard = keyboard
        self._allow = allow
        self._attended = attended
        self._one_at_a_time = asyncio.Lock()

    async def answer(self, params: dict[str, Any]) -> dict[str, Any]:
        """The result of an `agent/approve`."""
        of_file = params["kind"] == "file"
        if self._allow and not of_file:
            return {"option": "allow_once"}
        if not self._attended:
            return {"option": "reject", "reason": NOBODY_FILE if of_file else NOBODY}
        async with self._one_at_a_time:
            with self._display.aside():
                return await self._ask(params)

    async def _ask(self, params: dict[str, Any]) -> dict[str, Any]:
        self._display.console.print(*self._question(params), sep="\n")
        self._keyboard.forget()
        try:
            question, options = _words(params)
            match await ask(self._display, self._keyboard, question, options):
                case "y":
                    return {"option": "allow_once"}
                case "s":
                    return {"option": "allow_session"}
            if options is CONFIRM_OPTIONS:
                return {"option": "reject"}
            self._display.console.print(Text("  Why not? (Enter for no reason) ", style="cyan"), end="")
            self._display.console.file.flush()
            reason = (await self._keyboard.line(self._display.console)).strip()
            return {"option": "reject", "reason": reason} if reason else {"option": "reject"}
        except Interrupted:
            self._display.console.print()
            return {"option": "reject", "reason": "The run was stopped."}

    def _question(self, params: dict[str, Any]) -> list[Text]:
        """The whole command and where it would run, or the file; and why the person is asked."""
        console, width, marks = self._display.console, self._display.width, self._display.marks
        if params["kind"] == "file":
            lines = [Text(), Text("  This file is not touched without asking:", style="bold yellow")]
            name = file_path(params["uri"] or "") or params["uri"]
            lines += rows(Text(escape_invisible(str(name)), style="bold"), console, width, indent=4)
        else:
            lines = [Text(), Text("  The agent wants to run a command:", style="bold yellow")]
            lines += rows(Text(escape_invisible(params["command"] or ""), style="bold"), console, width, indent=4)
            lines += rows(Text(f"in {escape_invisible(params['cwd'] or '')}", style="dim"), console, width, indent=4)
        for reason in params["reasons"]:
            lines += rows(Text(f"{marks.note} {clean(reason)}", style="yellow"), console, width, indent=4)
        return lines


def _words(params: dict[str, Any]) -> tuple[str, tuple[Option, ...]]:
    """The question and its answers; without a tool call it is the person's own accept that is asked about."""
    if params["kind"] != "file":
        return "  Run it?", OPTIONS
    return ("  Accept it?", CONFIRM_OPTIONS) if params["toolCallId"] is None else ("  Allow it?", FILE_OPTIONS)
