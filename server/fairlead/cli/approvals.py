"""Asks before a command runs, a secret is read or a protected file is accepted, and for what the agent needs to know.

If nobody can be asked, every request is answered at once.
"""

import asyncio
import shlex
from collections.abc import Callable, Mapping, Sequence
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
from fairlead.wire.run_lines import RefusedLine, UnansweredLine

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
CANNOT_ASK = "This run cannot ask the user."
WITH_RULES = "The user can allow it with {options} of `fairlead run`."
WITHOUT_RULES = "`fairlead run --allow-commands` runs commands without asking."
HEADLINES = {
    "command": "The agent wants to run a command:",
    "file": "This file needs your confirmation:",
    "tool": "The agent wants to call a tool:",
    "toolServer": "A tool server wants to start:",
    "installServer": "The package of a tool server is to be installed:",
    "agent": "{server} wants to start:",
    "installAgent": "The packages of {server} are to be installed:",
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
    "agent": ("  Start it, now and later?", SERVER_OPTIONS),
    "installAgent": ("  Install them?", SERVER_OPTIONS),
    "changedTools": ("  Allow the changed tools?", SERVER_OPTIONS),
    "web": ("  Fetch it?", WEB_OPTIONS),
    "hook": ("  Allow it, now and later?", SERVER_OPTIONS),
    "call": ("  Make it?", SAME_CALL_OPTIONS),
}
INSTALL_BEFORE = "Install it before: fairlead agents install NAME."
STOPPED = {"option": "reject", "reason": "The run was stopped."}


class Approvals:
    """Answers the questions of one run.

    Args:
        allow: whether commands run without asking. Does not apply to files, tool servers and hooks.
        attended: whether the run may ask the user: not without a terminal, and not with `--accept all`.
        report: called with each permission that is refused, and each question that is not answered, because the run
            may not ask.
        starts_agent: whether the user has named an agent of another maker, which starts if nobody can be asked.
    """

    def __init__(
        self,
        display: Display,
        keyboard: Keyboard,
        *,
        allow: bool,
        attended: bool,
        report: Callable[[RefusedLine | UnansweredLine], None] = lambda _: None,
        starts_agent: bool = False,
    ) -> None:
        self._display = display
        self._keyboard = keyboard
        self._allow, self._starts_agent = allow, starts_agent
        self._attended = attended
        self._report = report
        self._one_at_a_time = asyncio.Lock()

    @property
    def answers(self) -> Answers:
        return {wire.APPROVE: self.answer, wire.ASK: self.ask, wire.ENTER: self.enter}

    async def answer(self, params: dict[str, Any]) -> dict[str, Any]:
        """The result of `agent/approve`. Asks one question at a time. Rejects if the run cannot ask or is stopped."""
        if self._allow and params["kind"] == "command":
            return {"option": "allow_once"}
        if not self._attended and self._starts_agent and params["kind"] == "agent":
            return {"option": "allow_once"}
        if not self._attended:
            self._report({"type": "refused", "request": params})  # type: ignore[typeddict-item]  the params of a server
            return {"option": "reject", "reason": " ".join(filter(None, [CANNOT_ASK, how_to_allow(params)]))}
        async with self._one_at_a_time:
            with self._display.without_status():
                return await self._ask(params)

    async def ask(self, params: dict[str, Any]) -> dict[str, Any]:
        """The result of `agent/ask`: what the user types, or the option with the number that they type."""
        options: list[str] = params["options"]
        if not self._attended:
            question, call_id = params["question"], params["toolCallId"]
            self._report(
                {"type": "unanswered", "question": question, "options": options, "toolCallId": call_id, "server": None}
            )
            return {"answer": None}
        async with self._one_at_a_time:
            with self._display.without_status():
                answer = await self._answer(params["question"], options)
        is_number = answer.isascii() and answer.isdecimal() and 0 < int(answer) <= len(options)
        return {"answer": (options[int(answer) - 1] if is_number else answer) or None}

    async def enter(self, params: dict[str, Any]) -> dict[str, Any]:
        """The result of `agent/toolServers/enter`."""
        if not self._attended:
            question, options, server = params["question"], params["options"], params["server"]
            self._report(
                {"type": "unanswered", "question": question, "options": options, "toolCallId": None, "server": server}
            )
            return {"value": None}
        async with self._one_at_a_time:
            with self._display.without_status():
                return {"value": await self._enter(params)}

    async def _answer(self, question: str, options: Sequence[str]) -> str:
        """What the user types; "" if they give no answer."""
        if self._keyboard.is_interrupted:
            return ""
        console, width = self._display.console, self._display.width
        console.print(Text(), Text("  The agent asks:", style="bold yellow"), sep="\n")
        console.print(*wrap(Text(clean(question), style="bold"), console, width, indent=4), sep="\n")
        for number, option in enumerate(options, 1):
            console.print(*wrap(Text(f"{number}  {escape_to_one_line(option)}"), console, width, indent=4), sep="\n")
        hint = "a number or other words; " if options else ""
        self._keyboard.discard_input()
        console.print(Text(f"  Answer ({hint}Enter for none): ", style="cyan"), end="")
        console.file.flush()
        try:
            return (await self._keyboard.line(console)).strip()
        except Interrupted:
            console.print()
            return ""

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


def how_to_allow(params: Mapping[str, Any]) -> str:
    """A sentence about the options with which this request would be allowed; empty: there is none."""
    if options := rule_options(params):
        return WITH_RULES.format(options=options)
    return {"command": WITHOUT_RULES, "installAgent": INSTALL_BEFORE}.get(params["kind"], "")


def rule_options(params: Mapping[str, Any]) -> str:
    """The options of `fairlead run` whose rules would allow this request; empty: no rule can."""
    option = "--allow-host" if params["kind"] == "web" else "--allow"
    return " ".join(f"{option} {shlex.quote(rule)}" for rule in params["rules"])
