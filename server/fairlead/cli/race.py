"""`fairlead race`: the same task by several models, agents or prompts at the same time (docs/plan.md P25)."""

import argparse
import asyncio
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, Literal

from rich.cells import cell_len
from rich.text import Text

from fairlead.agent.errors import ModelError
from fairlead.app.state_folder import state_folder
from fairlead.cli.approvals import Approvals
from fairlead.cli.arguments import Parser, add_config, add_workspace, path_of, read_config_option, read_workspace
from fairlead.cli.ask import Option, ask
from fairlead.cli.client import AgentClient, ServerExited, StartServer
from fairlead.cli.config import with_options
from fairlead.cli.keys import Interrupted, Keyboard
from fairlead.cli.review_saved import review_command, review_session
from fairlead.cli.signals import CANCELLED
from fairlead.cli.view.display import Display
from fairlead.cli.view.plain import PlainDisplay
from fairlead.cli.view.terminal import Terminal
from fairlead.cli.view.text import clean, escape_hidden
from fairlead.models.recording import read_recording
from fairlead.session.run.prompt import title_of
from fairlead.wire import protocol as wire
from fairlead.wire.events import OpenedSession
from fairlead.workspace.paths import Roots

MAX_RUNS = 8
"""How many runs take part: each has a layer of its own, and they share the processors."""
ABOUT = """\
Lets several models or agents do the same task at the same time, each in a session
of its own, on the same files. When all have ended, Fairlead runs your checks on
each, ranks the runs, and you review one of them. No file changes before that.

With several TASKs, such as the same task in other words, each of them is done by
each model. Runs are ranked by proof (proved, verified, unverified, failed), new
errors, the number of changes that the checks need, changed lines, and cost.
"""
EPILOG = """\
examples:
  fairlead race "Fix the failing test" --models claude-sonnet-5-5,claude-haiku-4-5 --check "pytest -q"
  fairlead race "Fix the failing test" --models claude-sonnet-5-5 --agents codex,opencode
  fairlead race "Fix the test" "Find why the test fails, then fix it" --models claude-sonnet-5-5

exit codes: 0 a run succeeded; 1 none did, or a change could not be applied; 2 incorrect
usage; 130 stopped with Ctrl-C.
"""


@dataclass(frozen=True)
class Runner:
    """What does the task in one or more runs of the race."""

    name: str
    kind: Literal["model", "agent", "replay"]

    @property
    def title(self) -> str:
        """Its name; for a recording, the name of the file."""
        return Path(self.name).name if self.kind == "replay" else self.name


@dataclass(frozen=True)
class _Run:
    """A run of the race."""

    session_id: str
    title: str
    task: str
    runner: Runner


async def run_race(arguments: Sequence[str], terminal: Terminal, start_server: StartServer) -> int:
    """Runs a race. Returns the exit code. Raises SystemExit for `--help` and incorrect usage."""
    given, parser = _read(arguments)
    runners = _runners(given, parser)
    workspace, settings = read_workspace(given.workspace, parser.error), read_config_option(given, parser.error)
    storage = path_of(given.storage).absolute() if given.storage else state_folder() / "terminal"
    display = PlainDisplay(terminal)
    with Keyboard(terminal.can_ask) as keyboard:
        agent = any(runner.kind == "agent" for runner in runners)
        approvals = Approvals(
            display, keyboard, allow=given.allow_commands, attended=terminal.can_ask, starts_agent=agent
        )
        started = Started()
        client = AgentClient(workspace, started.note, approvals.answers, start_server)
        race = Race(client, started, display)
        options = {"checks": given.check, "endpoint": given.endpoint, "budget.costUsd": given.max_cost}
        try:
            await client.start(
                with_options(settings, {name: value for name, value in options.items() if value}), storage
            )
            runs = await race.run(given.tasks, runners)
            result = await race.rank(runs)
            review = review_command(workspace, given.storage)
            display.show(list(race_lines(result, review)))
            applied = await _review(client, display, keyboard, workspace, result, can_ask=terminal.can_ask)
            return 0 if applied and result["standings"][0]["proof"] != "failed" else 1
        except Interrupted:
            return CANCELLED
        except (wire.RequestError, ServerExited, OSError) as error:
            terminal.print(escape_hidden(clean(str(error))), "red")
            return 1
        finally:
            await asyncio.shield(client.stop())


class Started:
    """Knows the sessions whose runs have begun."""

    def __init__(self) -> None:
        self._begun = dict[str, asyncio.Event]()

    def note(self, method: str, params: dict[str, Any]) -> None:
        """Takes a notification of the server."""
        if method == wire.EVENT and params["kind"] == "run_started":
            self._of(params["sessionId"]).set()

    async def wait(self, session_id: str) -> None:
        """Waits until the run of a session has begun."""
        await self._of(session_id).wait()

    def _of(self, session_id: str) -> asyncio.Event:
        return self._begun.setdefault(session_id, asyncio.Event())


class Race:
    """Starts the runs, and lets the server rank them."""

    def __init__(self, client: AgentClient, started: Started, display: Display) -> None:
        self._client, self._started, self._display = client, started, display

    async def run(self, tasks: Sequence[str], runners: Sequence[Runner]) -> list[_Run]:
        """Runs each task by each runner. All run at the same time. Returns the runs in order.

        Raises:
            RequestError, ServerExited: as `AgentClient.request`, if a session cannot be created.
        """
        runs: list[_Run] = []
        ends: list[asyncio.Future[None]] = []
        for task, runner in product(tasks, runners):
            title = title_of(f"{runner.title}: {task}")
            created = await self._client.request(wire.CREATE_SESSION, {"title": title})
            runs.append(_Run(created["sessionId"], title, task, runner))
            ends.append(asyncio.ensure_future(self._execute(runs[-1])))
            # a recording is a setting, which the next run may replace once this one has begun
            begun = asyncio.ensure_future(self._started.wait(created["sessionId"]))
            await asyncio.wait([ends[-1], begun], return_when=asyncio.FIRST_COMPLETED)
            begun.cancel()
        await asyncio.gather(*ends)
        return runs

    async def _execute(self, run: _Run) -> None:
        """Runs a task, and shows how it ended. A run that is refused or fails does not end the race."""
        try:
            if run.runner.kind == "model":
                chosen = {"sessionId": run.session_id, "model": run.runner.name}
                await self._client.request(wire.CHOOSE_MODEL, chosen)
            if run.runner.kind == "replay":
                settings = {"settings": {"fairlead": {"replay": run.runner.name}}}
                self._client.notify("workspace/didChangeConfiguration", settings)
            hosted = {"hosted": run.runner.name} if run.runner.kind == "agent" else {}
            params = {"sessionId": run.session_id, "prompt": run.task, **hosted}
            ended: wire.RunResult = await self._client.request(wire.RUN_TASK, params)
            is_done = ended["stopReason"] == "end_turn"
            text = ended["record"] if is_done and ended["record"] else ended["message"]
        except wire.RequestError as error:
            is_done, text = False, str(error)
        mark = self._display.marks.done if is_done else self._display.marks.failed
        self._display.show([_line(f"{mark} {run.title}: {' '.join(text.split())}", "" if is_done else "red")])

    async def rank(self, runs: Iterable[_Run]) -> wire.RaceResult:
        """Runs the checks on each run's changes, and ranks the runs. Raises as `AgentClient.request`."""
        self._display.show([_line("Comparing the runs with the checks.", "dim")])
        return await self._client.request(wire.RANK_RACE, {"sessionIds": [run.session_id for run in runs]})


def race_lines(result: wire.RaceResult, review: str) -> Iterator[Text]:
    """The ranking as a table, why the first run is first, and how to review each later."""
    rows = [("", "run", "proof", "new errors", "needed", "changes", "lines", "cost")]
    for number, each in enumerate(result["standings"], 1):
        needed = "-" if each["needed"] is None else str(each["needed"])
        cost = "-" if each["costUsd"] is None else f"${each['costUsd']:.4f}"
        counts = (str(each["newErrors"]), needed, str(each["changes"]), str(each["lines"]))
        title = escape_hidden(clean(each["title"]))
        rows.append((str(number), title, each["proof"], *counts, cost))
    widths = [max(cell_len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        cells = (cell + " " * (width - cell_len(cell)) for cell, width in zip(row, widths, strict=True))
        yield Text("  ".join(cells).rstrip(), "bold" if row is rows[0] else "")
    yield _line(result["why"], "")
    for number, each in enumerate(result["standings"], 1):
        if each["proof"] in ("unverified", "failed"):
            yield _line(f"{number} is {each['proof']}: {each['reason']}", "yellow")
    for number, each in enumerate(result["standings"], 1):
        yield _line(f"To review {number} later: {review} --session {each['sessionId']}", "dim")


async def _review(
    client: AgentClient,
    display: Display,
    keyboard: Keyboard,
    workspace: Roots,
    result: wire.RaceResult,
    *,
    can_ask: bool,
) -> bool:
    """Lets the user review one run, and then delete the others. Returns whether all could be applied.

    Raises:
        Interrupted, RequestError, ServerExited: as for `review_session`.
    """
    standings = [each for each in result["standings"] if each["changes"]]
    if not can_ask or not standings:
        return True
    numbers = [(str(number), each) for number, each in enumerate(result["standings"], 1) if each["changes"]]
    options = [Option(number, each["title"], "review the changes of this run") for number, each in numbers]
    none = Option("n", "none", "review none now; all sessions are saved")
    key = await ask(display, keyboard, "Review which run?", [*options, none])
    chosen = dict(numbers).get(key)
    if chosen is None:
        return True
    opened: OpenedSession = await client.request(wire.OPEN_SESSION, {"sessionId": chosen["sessionId"]})
    applied = await review_session(client, display, keyboard, workspace, opened["edits"], "ask", chosen=True)
    others = [each for each in result["standings"] if each is not chosen]
    delete = (
        Option("y", "yes", "delete their conversations and proposals; your files do not change"),
        Option("n", "no", "keep them; they can be reviewed later"),
    )
    if await ask(display, keyboard, f"Delete the sessions of the other {len(others)}?", delete) == "y":
        for each in others:
            await client.request(wire.DELETE_SESSION, {"sessionId": each["sessionId"]})
    return applied


def _runners(given: argparse.Namespace, parser: Parser) -> list[Runner]:
    """What does the tasks. Calls `parser.error` if there are too few or too many runs, or a recording is wrong."""
    runners = [Runner(name, "model") for name in _names(given.models)]
    runners += [Runner(name, "agent") for name in _names(given.agents)]
    runners += [Runner(str(path_of(name).absolute()), "replay") for name in given.replay]
    if given.replay and len(runners) > len(given.replay):
        parser.error("--replay cannot be combined with --models and --agents")
    runs = len(given.tasks) * len(runners)
    if runs < 2:
        parser.error("a race needs at least two runs: name several models or agents, or give several TASKs")
    if runs > MAX_RUNS:
        parser.error(f"a race has at most {MAX_RUNS} runs, and these are {runs}")
    for runner in runners:
        if runner.kind == "replay":
            try:
                read_recording(Path(runner.name))
            except ModelError as error:
                parser.error(str(error))
    return runners


def _names(lists: Iterable[str]) -> list[str]:
    """The names in comma-separated lists, each once."""
    return list(dict.fromkeys(name.strip() for each in lists for name in each.split(",") if name.strip()))


def _read(arguments: Sequence[str]) -> tuple[argparse.Namespace, Parser]:
    raw = argparse.RawDescriptionHelpFormatter
    parser = Parser("fairlead race", description=ABOUT, epilog=EPILOG, formatter_class=raw)
    parser.usage = "fairlead race TASK... [OPTIONS]"
    parser.add_argument("tasks", metavar="TASK", nargs="+", help="the task, in one or several wordings")
    add_workspace(parser, "work in")
    about = "models, with commas between them; can be given several times"
    parser.add_argument("--models", metavar="NAMES", action="append", default=[], help=about)
    about = "agents of others, such as claude (see `fairlead agents`), with commas between them"
    parser.add_argument("--agents", metavar="NAMES", action="append", default=[], help=about)
    about = "a recording that is played in place of a model; give several"
    parser.add_argument("--replay", metavar="FILE", action="append", default=[], help=about)
    parser.add_argument("--endpoint", metavar="NAME", default="", help="the endpoint that serves the models")
    about = "a command that must pass; can be given several times"
    parser.add_argument("--check", metavar="COMMAND", action="append", default=[], help=about)
    about = "US dollars after which each run pauses"
    parser.add_argument("--max-cost", metavar="USD", type=float, default=0.0, help=about)
    about = "run commands without asking where there is no sandbox"
    parser.add_argument("--allow-commands", action="store_true", help=about)
    about = "the folder of the saved sessions (default: that of the terminal)"
    parser.add_argument("--storage", metavar="DIR", help=about)
    add_config(parser)
    return parser.parse_args(arguments), parser


def _line(text: str, style: str) -> Text:
    return Text(escape_hidden(clean(text)), style)
