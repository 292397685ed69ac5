"""The options of `fairlead run` for scripts and CI, and the task from standard input."""

import argparse
import math
import re
import sys
from collections.abc import Callable, Sequence
from typing import NoReturn

from fairlead.cli.headless.outcome import EXIT_CODES
from fairlead.gate.host_rules import HostRule
from fairlead.gate.tool_rules import ToolRule
from fairlead.messages.history import clean_text
from fairlead.shell.command_line.rules import Rule
from fairlead.wire.run_lines import RunOutcome

EXIT_TEXTS: dict[RunOutcome, str] = {
    "done": "done",
    "failed": "not done: the model, its server or Fairlead failed, or a change or a file\ncould not be written",
    "not_started": "incorrect usage, or nothing to continue",
    "check_failed": "a check failed or could not run, or --accept checks did not accept all",
    "limit": "a limit was reached: a budget, rounds, repeats, the length of an answer",
    "not_allowed": "done, but a permission was refused that nobody could give",
    "not_answered": "done, but a question was not answered, because nobody could be asked",
    "interrupted": "stopped with Ctrl-C or another signal",
}
MAX_TASK_BYTES = 1_000_000
FROM_STDIN = "-"
_TOOL_RULE = re.compile(r"[^\s()]+__[^\s()]+(\(.*\))?", re.DOTALL)


def add_headless_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options to the parser of `fairlead run`."""
    parser.add_argument(
        "--json",
        dest="as_json",
        action="store_true",
        help="write what happens as lines of JSON; the usual lines go to standard error",
    )
    parser.add_argument(
        "--max-cost",
        metavar="AMOUNT",
        type=_amount,
        default=0.0,
        help="US dollars after which the run pauses; needs a model whose price is known",
    )
    parser.add_argument(
        "--allow",
        metavar="RULE",
        type=_rule,
        action="append",
        default=[],
        help="commands that run without asking, such as 'npm test *', or calls of tool servers, such as "
        "'github__get_*', in addition to those of your settings; can be given several times",
    )

    parser.add_argument(
        "--allow-host",
        metavar="HOST",
        type=_host,
        action="append",
        default=[],
        help="a host whose pages the agent reads without asking, such as docs.python.org or '*.example.com', in "
        "addition to those of your settings; can be given several times",
    )


def exit_code_lines() -> str:
    """The exit codes for the help."""
    lines = [f"{EXIT_CODES[outcome]:>4}  {text}" for outcome, text in EXIT_TEXTS.items()]
    return "exit codes; if several apply, docs/headless.md says which one it is:\n" + "\n".join(
        line.replace("\n", "\n      ") for line in lines
    )


def _host(text: str) -> str:
    try:
        return HostRule.parse(text).text
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} was not understood. {error}".rstrip(".")) from error


def split_rules(rules: Sequence[str]) -> tuple[list[str], list[str]]:
    """The rules for commands, and those for calls of tool servers."""
    tools = [rule for rule in rules if _TOOL_RULE.fullmatch(rule)]
    return [rule for rule in rules if rule not in tools], tools


def read_task(given: str | None, *, needed: bool, fail: Callable[[str], NoReturn]) -> str | None:
    """The task of the command line or of standard input; None if there is none.

    Standard input is read if the task is `-`, or if one is needed but not given and standard input is no terminal.

    Args:
        given: TASK as in the arguments; None: it was left out.
        needed: False: the run can continue without a task.
        fail: ends the command with the message that it gets; called if the task is empty, too long or missing.
    """
    is_piped = given == FROM_STDIN or (given is None and needed and not _is_terminal())
    task = _read_stdin(fail) if is_piped else given
    if given is None and needed and not (task or "").strip():
        fail(
            "TASK is missing: say what the agent should do, here or on standard input, or use --continue to continue "
            "the last session"
        )
    if task is None:
        return None
    task = clean_text(task)  # bytes that are not UTF-8 are lone surrogates
    if not task.strip():
        fail("the task is empty: say what the agent should do")
    return task


def _is_terminal() -> bool:
    return sys.stdin is not None and not sys.stdin.closed and sys.stdin.isatty()


def _read_stdin(fail: Callable[[str], NoReturn]) -> str:
    if sys.stdin is None:  # closed at the start
        return ""
    try:
        data = sys.stdin.buffer.read(MAX_TASK_BYTES + 1)
    except (OSError, ValueError) as error:
        fail(f"the task cannot be read from standard input: {error}")
    if len(data) > MAX_TASK_BYTES:
        fail("the task on standard input is too long: more than 1 MB; mention a file as @FILE instead")
    return data.decode("utf-8-sig", "surrogateescape")


def _amount(text: str) -> float:
    try:
        amount = float(text)
    except ValueError:
        amount = math.nan
    if not 0 < amount < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not an amount in US dollars, such as 1.50")
    return amount


def _rule(text: str) -> str:
    kind = ToolRule if _TOOL_RULE.fullmatch(text.strip()) else Rule
    try:
        return kind.parse(text.strip()).text
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} was not understood. {error}".rstrip(".")) from error
