"""The lines at the beginning and at the end of a run."""

import shlex
from collections.abc import Sequence
from pathlib import Path

from rich.text import Text

from fairlead import __version__
from fairlead.cli.display import Display
from fairlead.cli.options import Accept, RunOptions
from fairlead.cli.review import FileReport
from fairlead.cli.terminal import Marks
from fairlead.cli.text import clean, revealed, rows
from fairlead.lsp import protocol as wire
from fairlead.models.clouds import LABELS

Window = tuple[int, int | None]
"""How many tokens the conversation takes of the model's window, and its size where it is known."""

LABEL = 10
MAX_TASK_LINES = 5
ENDS = {
    "max_tokens": "The last answer was cut off",
    "max_turn_requests": "Paused before the end",
    "budget": "The budget is used up",
    "loop": "The model went round in circles",
    "refusal": "The model refused",
    "cancelled": "Stopped",
    "error": "Failed",
}


def heading(options: RunOptions, display: Display) -> list[Text]:
    """What runs where, and, for a replay, that no model does."""
    lines = [Text(f"Fairlead {__version__}", style="bold"), *_field("Task", _task(options.prompt), display)]
    lines += _field("Workspace", _short(options.workspace), display)
    if options.replay:
        name = revealed(options.replay.name)
        lines += _field("Model", f"none: replay of the recorded conversation {name}", display, "magenta")
    if options.allow_commands:
        lines += _field("Commands", "run without asking (--allow-commands)", display, "bold yellow")
    return lines


def model_lines(name: str, options: RunOptions, display: Display) -> list[Text]:
    """Who answers, and where."""
    cloud = LABELS.get(options.provider)
    on = f" on {cloud}" if cloud else ""
    at = f" at {clean(options.address)}" if options.address else ""
    return _field("Model", clean(name) + on + at, display)


def continued_lines(title: str, plan: wire.PlanWire, files: int, display: Display) -> list[Text]:
    """The task that is gone on with, how far it is, and how many files have undecided changes."""
    steps = [f"{plan['completed']} of {plan['total']} step{'s' if plan['total'] != 1 else ''}"] if plan["total"] else []
    left = [f"{files} file{'s' if files != 1 else ''} to decide on"] if files else []
    facts = f" ({', '.join([*steps, *left])})" if steps or left else ""
    return _field("Goes on", f"“{revealed(title)}”{facts}", display)


def go_on_line(options: RunOptions, *, finished: bool) -> Text:
    """How to go on with a task that stopped in the middle, or that left changes undecided."""
    where = "" if _is_here(options.workspace) else f" --workspace {shlex.quote(str(options.workspace))}"
    what = "What you did not decide on is kept. To go on with it" if finished else "To go on where it stopped"
    return Text(f"{what}: fairlead run --continue{revealed(where)}", style="dim")


def result_lines(result: wire.RunResult, said: str, window: Window, seconds: float, marks: Marks) -> list[Text]:
    """How the run ended, what it used, and what the user should know of it. `said` has been shown already."""
    good = result["stopReason"] == "end_turn"
    what = "Done" if good else ENDS.get(result["stopReason"], result["stopReason"])
    kind = f" ({result['error']['kind']})" if result["error"] else ""
    head = Text(f"{marks.done if good else marks.failed} {what}{kind}", style="bold green" if good else "bold red")
    head.append(f"  {usage_words(result['usage'], window, seconds, marks)}", style="not bold dim default")
    record = [Text(f"  {clean(result['record'])}", style="dim")] if result["record"] else []
    message = clean(result["message"]).strip().removeprefix(clean(said).strip()).strip()
    if good or result["stopReason"] == "cancelled" or not message:
        return [head, *record]
    return [head, *record, *(Text(f"  {line}" if line else "", style="red") for line in message.split("\n"))]


def usage_words(usage: wire.UsageWire, window: Window, seconds: float, marks: Marks) -> str:
    """Requests, tokens, the share of them that came from the cache, the cost and the window, as far as known."""
    requests = usage["requests"]
    words = [f"{requests} request{'s' if requests != 1 else ''}"]
    cached = usage["cacheReadTokens"]
    read = usage["inputTokens"] + cached + usage["cacheWriteTokens"]
    if read:
        words.append(f"{read:,} tokens in ({cached / read:.0%} cached)")
    if usage["outputTokens"]:
        words.append(f"{usage['outputTokens']:,} out")
    if usage["costUsd"] is not None:
        words.append(f"${usage['costUsd']:.2f}")
    used, limit = window
    if limit is not None:
        words.append(f"window {used:,} of {limit:,}")
    return f" {marks.note} ".join([*words, f"{seconds:.1f} s"])


def replay_line(options: RunOptions) -> Text:
    assert options.replay is not None
    return Text(f"  This was a replay: {revealed(options.replay.name)} played the model.", style="magenta")


def summary_lines(reports: Sequence[FileReport], accept: Accept, *, chosen: bool) -> list[Text]:
    """Which files changed and which did not. `chosen`: the person said what to accept, on the command line or now."""
    changed = [report.line for report in reports if report.counts["applied"]]
    refused = [report.name for report in reports if report.counts["refused"]]
    left = [report.name for report in reports if report.counts["left"]]
    if not reports:
        return [Text("No changes were proposed.")]
    lines = [Text(f"Changed: {', '.join(changed)}", style="bold green")] if changed else []
    if not changed:
        lines.append(Text("Nothing was changed.", style="bold"))
    if refused:
        lines.append(Text(f"Could not be applied: {', '.join(refused)}", style="bold red"))
    if left:
        lines.append(Text(f"Not applied: {', '.join(left)}", style="yellow"))
    if accept == "none" and not chosen:
        lines.append(Text("Without a terminal nobody can be asked; --accept all applies the changes.", style="dim"))
    return lines


def _is_here(folder: Path) -> bool:
    try:
        return folder.samefile(".")
    except OSError:  # one of them is gone
        return False


def _task(prompt: str) -> str:
    lines = clean(prompt.strip()).split("\n")
    left = len(lines) - MAX_TASK_LINES
    return "\n".join([*lines[:MAX_TASK_LINES], f"... (+{left} lines)"] if left > 0 else lines)


def _field(name: str, value: str, display: Display, style: str = "") -> list[Text]:
    """A name and its value, which may take several rows, all in one column."""
    first, *more = rows(Text(value, style=style), display.console, display.width, indent=LABEL)
    return [Text.assemble((name.ljust(LABEL), "dim"), first[LABEL:]), *more]


def _short(path: Path) -> str:
    """The path, below the home folder with `~`."""
    home = Path.home()
    return revealed(f"~/{path.relative_to(home).as_posix()}" if path.is_relative_to(home) else str(path))
