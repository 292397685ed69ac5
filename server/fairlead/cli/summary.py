"""The lines that are shown at the start and at the end of a run."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote

from rich.text import Text

from fairlead import __version__
from fairlead.cli.options import Accept, RunOptions
from fairlead.cli.program import program_name
from fairlead.cli.review import FileReport
from fairlead.cli.view.display import Display
from fairlead.cli.view.terminal import Marks
from fairlead.cli.view.text import clean, escape_hidden, wrap
from fairlead.display import count_of
from fairlead.models.common.endpoint import without_password
from fairlead.wire import protocol as wire
from fairlead.wire import states
from fairlead.workspace.paths import Roots

Window = tuple[int, int | None]
"""The tokens in the model's window, and the size of the window if it is known."""

LABEL_WIDTH = 10
MAX_TASK_LINES = 5
TICKED = ("verified", "proved", "stale", "failed")
"""The states of completed steps that a command has verified at some time."""
ENDING_TEXTS = {
    "max_tokens": "The last answer was cut off",
    "max_turn_requests": "Paused before the task was finished",
    "budget": "The budget is used up",
    "loop": "The model repeated itself",
    "refusal": "The model refused",
    "hook": "Ended by a hook",
    "cancelled": "Stopped",
    "error": "Failed",
}


def heading_lines(options: RunOptions, display: Display) -> list[Text]:
    """The task, the workspace and unusual options."""
    lines = [Text(f"Fairlead {__version__}", style="bold")]
    if options.prompt is not None:
        lines += _field("Task", _task(options.prompt), display)
    lines += _field("Workspace", ", ".join(map(_short, options.workspace.paths)), display)
    if options.replay:
        name = escape_hidden(options.replay.name)
        lines += _field("Model", f"none: replay of the recorded conversation {name}", display, "magenta")
    if options.allow_commands:
        lines += _field("Commands", "run without asking (--allow-commands)", display, "bold yellow")
    return lines


def model_lines(name: str, options: RunOptions | None, display: Display) -> list[Text]:
    """The model, with its cloud, and its address if it is not the usual one; None: an agent with its own model."""
    if options is None:
        return _field("Agent", clean(name), display)
    return _field("Model", clean(name) + clean(options.where(name)), display)


def continued_lines(title: str, plan: states.PlanWire, files: int, display: Display) -> list[Text]:
    """The session that is continued, with its progress and its undecided files."""
    steps = [f"{plan['completed']} of {plan['total']} step{'s' if plan['total'] != 1 else ''}"] if plan["total"] else []
    undecided = [f"{files} file{'s' if files != 1 else ''} to review"] if files else []
    facts = f" ({', '.join([*steps, *undecided])})" if steps or undecided else ""
    return [*_field("Continues", f"“{escape_hidden(title)}”{facts}", display), *lapsed_lines(plan, display)]


def lapsed_lines(plan: states.PlanWire, display: Display) -> list[Text]:
    """Which ticks of an earlier process no longer hold; no line if all of them do."""
    lapsed = [item for item in plan["items"] if item["id"] in plan["lapsed"]]
    if not lapsed:
        return []
    ticks = sum(item["verification"] in TICKED for item in plan["items"])
    hold = "no longer holds" if len(lapsed) == 1 else "no longer hold"
    steps = ", ".join(f"step {clean(item['id'])}{_why_lapsed(item)}" for item in lapsed)
    return _field("Checks", f"{len(lapsed)} of {count_of(ticks, 'verified step')} {hold}: {steps}", display, "yellow")


def _why_lapsed(item: states.PlanItemWire) -> str:
    if item["verification"] == "failed":
        return " (failed)"
    more = len(item["changedSince"]) - 1
    name = escape_hidden(unquote(item["changedSince"][0].rpartition("/")[2]))
    return f" ({name}{f' and {more} more' if more else ''} changed)"


def workspace_arguments(roots: Roots) -> str:
    """The `--workspace` options that name these folders; empty for the current folder."""
    is_default = len(roots.paths) == 1 and _is_here(roots.paths[0])
    return "" if is_default else "".join(f" --workspace {shlex.quote(str(path))}" for path in roots.paths)


def continue_line(options: RunOptions, *, finished: bool) -> Text:
    """How to continue a session that is unfinished or has undecided changes."""
    why = "Undecided changes are saved. To review them" if finished else "To continue where it stopped"
    return Text(f"{why}: {escape_hidden(continue_command(options))}", style="dim")


def continue_command(options: RunOptions) -> str:
    """The command that continues the session with the same model, so that no other server gets the conversation.

    Without the password of an address, which a terminal's log must not contain.
    """
    given = {
        "config": options.config_file,
        "endpoint": options.endpoint,
        "base-url": without_password(options.base_url),
        "model": options.model,
        "small-model": options.small_model,
    }
    same = "".join(f" --{name} {shlex.quote(value)}" for name, value in given.items() if value)
    return f"{program_name()} run --continue{same}{workspace_arguments(options.workspace)}"


def result_lines(result: wire.RunResult, shown: str, window: Window, seconds: float, marks: Marks) -> list[Text]:
    """How the run ended, its usage, and a summary of the session's work.

    The run's message follows, unless the run was completed or stopped.

    Args:
        shown: the text that was shown last. If the message begins with it, this part is left out.
        seconds: how long the run took.
    """
    done = result["stopReason"] == "end_turn"
    end = "Done" if done else ENDING_TEXTS.get(result["stopReason"], result["stopReason"])
    kind = f" ({result['error']['kind']})" if result["error"] else ""
    head = Text(f"{marks.done if done else marks.failed} {end}{kind}", style="bold green" if done else "bold red")
    head.append(f"  {usage_words(result['usage'], window, seconds, marks)}", style="not bold dim default")
    record = [Text(f"  {clean(result['record'])}", style="dim")] if result["record"] else []
    message = clean(result["message"]).strip().removeprefix(clean(shown).strip()).strip()
    if done or result["stopReason"] == "cancelled" or not message:
        return [head, *record]
    return [head, *record, *(Text(f"  {line}" if line else "", style="red") for line in message.split("\n"))]


def usage_words(usage: wire.UsageWire, window: Window, seconds: float, marks: Marks) -> str:
    """Requests, tokens, the cached share, the cost and the window if they are known, and the time.

    If the first answer was stopped, there are tokens but no requests, and the number of requests is left out.
    """
    requests, cached = usage["requests"], usage["cacheReadTokens"]
    read = usage["inputTokens"] + cached + usage["cacheWriteTokens"]
    words = [f"{requests} request{'s' if requests != 1 else ''}"] if requests or not read else []
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
    """The line that says which recording replaced the model."""
    assert options.replay is not None
    return Text(f"  This was a replay of {escape_hidden(options.replay.name)}. No model was used.", style="magenta")


def summary_lines(reports: Sequence[FileReport], accept: Accept, *, chosen: bool) -> list[Text]:
    """Which files changed and which did not.

    Args:
        chosen: whether the user could decide: in the terminal, or with `--accept`.
    """
    changed = [report.line for report in reports if report.counts["applied"]]
    refused = [report.name for report in reports if report.counts["refused"]]
    left = [report.name for report in reports if report.counts["undecided"]]
    if not reports:
        return [Text("No changes were proposed.")]
    lines = [Text(f"Changed: {', '.join(changed)}", style="bold green")] if changed else []
    if not changed:
        lines.append(Text("Nothing was changed.", style="bold"))
    if refused:
        lines.append(Text(f"Could not be applied: {', '.join(refused)}", style="bold red"))
    weakened = [report.name for report in reports if report.weakens]
    if weakened:
        lines.append(Text(f"Weakens tests, so look at it: {', '.join(weakened)}", style="bold yellow"))
    if left:
        lines.append(Text(f"Not applied: {', '.join(left)}", style="yellow"))
    if accept == "none" and not chosen:
        lines.append(Text("No terminal is available to ask you. --accept all applies the changes.", style="dim"))
    return lines


def _is_here(folder: Path) -> bool:
    try:
        return folder.samefile(".")
    except OSError:  # one of the folders does not exist
        return False


def _task(prompt: str) -> str:
    lines = clean(prompt.strip()).split("\n")
    more = len(lines) - MAX_TASK_LINES
    return "\n".join([*lines[:MAX_TASK_LINES], f"... (+{count_of(more, 'line')})"] if more > 0 else lines)


def _field(name: str, value: str, display: Display, style: str = "") -> list[Text]:
    """A name and its value. Further rows are aligned with the value."""
    first, *more = wrap(Text(value, style=style), display.console, display.width, indent=LABEL_WIDTH)
    return [Text.assemble((name.ljust(LABEL_WIDTH), "dim"), first[LABEL_WIDTH:]), *more]


def _short(path: Path) -> str:
    """The path, with `~` for the home folder."""
    home = Path.home()
    return escape_hidden(f"~/{path.relative_to(home).as_posix()}" if path.is_relative_to(home) else str(path))
