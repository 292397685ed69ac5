"""Asks before a command runs, a secret is read or a protected file is accepted, and for values of tool servers."""

import asyncio
from typing import Any

from rich.text import Text

from fairlead.cli.ask import Option, ask
from fairlead.cli.client import Answers
from fairlead.cli.keys import Interrupted, Keyboard
from fairlead.cli.view.display import Display
from fairlead.cli.view.text import clean, wrap
from fairlead.display import escape_invisible, escape_to_one_line
from fairlead.uris import file_path
from fairlead.wire import protocol as wire

CALL_OPTIONS = (
    Option("y", "yes, once", "call it, this once"),
    Option("s", "for this session", "call it, and do not ask about calls of this tool again"),
    Option("n", "no", "do not call it; you can give the agent a reason"),
)
WEB_OPTIONS = (
    Option("y", "yes, once", "fetch it, this once"),
    Option("s", "for this session", "fetch it, and do not ask about this host again"),
    Option("n", "no", "do not fetch it; you can give the agent a reason"),
)
SAME_CALL_OPTIONS = (
    Option("y", "yes, once", "make it, this once"),
    Option("s", "for this session", "make it, and do not ask about the same call again"),
    Option("n", "no", "do not make it; you can give the agent a reason"),
)
SERVER_OPTIONS = (
    Option("y", "yes", "allow it, and do not ask again until it changes"),
    Option("n", "no", "do not allow it"),
)
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
CANNOT_ASK_WEB = "This run cannot ask the user. The setting web.allow allows hosts."
CANNOT_ASK_OTHER = "This run cannot ask the user."
REFUSALS = {"command": CANNOT_ASK, "web": CANNOT_ASK_WEB}
HEADLINES = {
    "command": "The agent wants to run a command:",
    "file": "This file needs your confirmation:",
    "tool": "The agent wants to call a tool:",
    "toolServer": "A tool server wants to start:",
    "installServer": "The package of a tool server is to be installed:",
    "changedTools": "A tool server has changed its tools:",
    "web": "The agent wants to fetch a page from {server}:",
    "hook": "A hook wants to run:",
    "call": "A hook wants you to look at this call:",
}
QUESTIONS = {
    "command": ("  Run it?", OPTIONS),
    "file": ("  Allow it?", FILE_OPTIONS),
    "tool": ("  Call it?", CALL_OPTIONS),
    "toolServer": ("  Start it?", SERVER_OPTIONS),
    "installServer": ("  Install it?", SERVER_OPTIONS),
    "changedTools": ("  Allow the changed tools?", SERVER_OPTIONS),
    "web": ("  Fetch it?", WEB_OPTIONS),
    "hook": ("  Allow it, now and later?", SERVER_OPTIONS),
    "call": ("  Make it?", SAME_CALL_OPTIONS),
}
STOPPED = {"option": "reject", "reason": "The run was stopped."}


class Approvals:
    """Answers the questions of one run.

    Args:
        allow: whether commands run without asking. Does not apply to files, tool servers and hooks.
        attended: whether the run may ask the user: not without a terminal, and not with `--accept all`.
    """

    def __init__(self, display: Display, keyboard: Keyboard, *, allow: bool, attended: bool) -> None:
        self._display = display
        self._keyboard = keyboard
        self._allow = allow
        self._attended = attended
        self._one_at_a_time = asyncio.Lock()

    @property
    def answers(self) -> Answers:
        return {wire.APPROVE: self.answer, wire.ENTER: self.enter}

    async def answer(self, params: dict[str, Any]) -> dict[str, Any]:
        """The result of `agent/approve`. Asks one question at a time. Rejects if the run cannot ask or is stopped."""
        is_command = params["kind"] == "command"
        if self._allow and is_command:
            return {"option": "allow_once"}
        if not self._attended:
            return {"option": "reject", "reason": REFUSALS.get(params["kind"], CANNOT_ASK_OTHER)}
        async with self._one_at_a_time:
            with self._display.without_status():
                return await self._ask(params)

    async def enter(self, params: dict[str, Any]) -> dict[str, Any]:
        """The result of `agent/toolServers/enter`."""
        if not self._attended:
            return {"value": None}
        async with self._one_at_a_time:
            with self._display.without_status():
                return {"value": await self._enter(params)}

    async def _enter(self, params: dict[str, Any]) -> str | None:
        if self._keyboard.is_interrupted:
            return None
        console, width, server = self._display.console, self._display.width, escape_to_one_line(params["server"])
        console.print(Text(), Text(f"  The tool server {server} needs a value:", style="bold yellow"), sep="\n")
        console.print(*wrap(Text(clean(params["question"]), style="bold"), console, width, indent=4), sep="\n")
        options, default = params["options"], params["default"]
        hints = [f"one of: {', '.join(options)}"] if options else []
        hints += [f"Enter for {default}"] if default else []
        hint = escape_to_one_line(f" ({'; '.join(hints)})") if hints else ""
        self._keyboard.discard_input()
        try:
            while True:
                console.print(Text(f"  Value{hint}: ", style="cyan"), end="")
                console.file.flush()
                value = await self._keyboard.line(console, is_hidden=params["isSecret"]) or default
                if not options or value in options:
                    return value
        except Interrupted:
            console.print()
            return None

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
            if options in (CONFIRM_OPTIONS, SERVER_OPTIONS):
                return {"option": "reject"}
            self._display.console.print(Text("  Why not? (Enter for no reason) ", style="cyan"), end="")
            self._display.console.file.flush()
            reason = (await self._keyboard.line(self._display.console)).strip()
            return {"option": "reject", "reason": reason} if reason else {"option": "reject"}
        except Interrupted:
            self._display.console.print()
            return STOPPED

    def _request_lines(self, params: dict[str, Any]) -> list[Text]:
        """What the question is about, where it runs, and the reasons for asking."""
        console, width, marks = self._display.console, self._display.width, self._display.marks
        headline = HEADLINES[params["kind"]].format(server=escape_to_one_line(params["server"] or ""))
        lines = [Text(), Text(f"  {headline}", style="bold yellow")]
        what = params["command"] or file_path(params["uri"] or "") or params["uri"]
        lines += wrap(Text(escape_invisible(str(what)), style="bold"), console, width, indent=4)
        if params["cwd"] is not None:
            lines += wrap(Text(f"in {escape_invisible(params['cwd'])}", style="dim"), console, width, indent=4)
        for reason in params["reasons"]:
            lines += wrap(Text(f"{marks.note} {clean(reason)}", style="yellow"), console, width, indent=4)
        return lines


def _question(params: dict[str, Any]) -> tuple[str, tuple[Option, ...]]:
    """The question and its options. If a file has no tool call, the user is accepting its changes."""
    if params["kind"] == "file" and params["toolCallId"] is None:
        return "  Accept it?", CONFIRM_OPTIONS
    return QUESTIONS[params["kind"]]
