"""Answers `agent/approve`: asks before a command runs, a secret is read or a protected file is accepted."""

import asyncio
from typing import Any

from rich.text import Text

from fairlead.cli.ask import Option, ask
from fairlead.cli.keys import Interrupted, Keyboard
from fairlead.cli.view.display import Display
from fairlead.cli.view.text import clean, wrap
from fairlead.display import escape_invisible
from fairlead.uris import file_path

OPTIONS = (
    Option("y", "yes, once", "run it, this once"),
    Option("s", "for this session", "run it, and do not ask about the same command again"),
    Option("n", "no", "do not run it; you can give the agent a reason"),
)
FILE_OPTIONS = (
    Option("y", "yes, once", "let the agent use this file"),
    Option("s", "for this session", "let it use this file, and do not ask about it again"),
    Option("n", "no", "do not allow it; you can give the agent a reason"),
)
CONFIRM_OPTIONS = (
    Option("y", "yes", "accept the changes of this file"),
    Option("n", "no", "do not change this file"),
)
CANNOT_ASK = "This run cannot ask the user. `fairlead run --allow-commands` runs commands without asking."
CANNOT_ASK_FILE = "This run cannot ask the user."
STOPPED = {"option": "reject", "reason": "The run was stopped."}


class Approvals:
    """Answers the questions of one run.

    Args:
        allow: whether commands run without asking. Does not apply to files.
        attended: whether the run may ask the user: not without a terminal, and not with `--accept all`.
    """

    def __init__(self, display: Display, keyboard: Keyboard, *, allow: bool, attended: bool) -> None:
        self._display = display
        self._keyboard = keyboard
        self._allow = allow
        self._attended = attended
        self._one_at_a_time = asyncio.Lock()

    async def answer(self, params: dict[str, Any]) -> dict[str, Any]:
        """The result of `agent/approve`. Asks one question at a time. Rejects if the run cannot ask or is stopped."""
        is_file = params["kind"] == "file"
        if self._allow and not is_file:
            return {"option": "allow_once"}
        if not self._attended:
            return {"option": "reject", "reason": CANNOT_ASK_FILE if is_file else CANNOT_ASK}
        async with self._one_at_a_time:
            with self._display.without_status():
                return await self._ask(params)

    async def _ask(self, params: dict[str, Any]) -> dict[str, Any]:
        if self._keyboard.is_interrupted:
            return STOPPED
        self._display.console.print(*self._request_lines(params), sep="\n")
        self._keyboard.discard_input()
        try:
            question, options = _question(params)
            match await ask(self._display, self._keyboard, question, options):
                case "y":
                    return {"option": "allow_once"}
                case "s":
                    return {"option": "allow_session"}
                case _:
                    pass
            if options is CONFIRM_OPTIONS:
                return {"option": "reject"}
            self._display.console.print(Text("  Why not? (Enter for no reason) ", style="cyan"), end="")
            self._display.console.file.flush()
            reason = (await self._keyboard.line(self._display.console)).strip()
            return {"option": "reject", "reason": reason} if reason else {"option": "reject"}
        except Interrupted:
            self._display.console.print()
            return STOPPED

    def _request_lines(self, params: dict[str, Any]) -> list[Text]:
        """The command and its folder, or the file, with the reasons for asking."""
        console, width, marks = self._display.console, self._display.width, self._display.marks
        if params["kind"] == "file":
            lines = [Text(), Text("  This file needs your confirmation:", style="bold yellow")]
            name = file_path(params["uri"] or "") or params["uri"]
            lines += wrap(Text(escape_invisible(str(name)), style="bold"), console, width, indent=4)
        else:
            lines = [Text(), Text("  The agent wants to run a command:", style="bold yellow")]
            lines += wrap(Text(escape_invisible(params["command"] or ""), style="bold"), console, width, indent=4)
            lines += wrap(Text(f"in {escape_invisible(params['cwd'] or '')}", style="dim"), console, width, indent=4)
        for reason in params["reasons"]:
            lines += wrap(Text(f"{marks.note} {clean(reason)}", style="yellow"), console, width, indent=4)
        return lines


def _question(params: dict[str, Any]) -> tuple[str, tuple[Option, ...]]:
    """The question and its options. If a file has no tool call, the user is accepting its changes."""
    if params["kind"] != "file":
        return "  Run it?", OPTIONS
    return ("  Accept it?", CONFIRM_OPTIONS) if params["toolCallId"] is None else ("  Allow it?", FILE_OPTIONS)
