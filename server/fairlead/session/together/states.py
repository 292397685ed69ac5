"""What is known about the proposals of all sessions together (docs/plan.md P24). Values and texts, no I/O."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from fairlead.display import count_of, escape_to_one_line

TogetherOutcome = Literal["passes", "fails", "conflict", "changed", "stopped"]
CheckOutcome = Literal["passes", "alone", "without", "minimal", "limit", "flaky", "not_run"]

CHANGED = "A proposal or a file changed while the checks ran. Check again."
STOPPED = "The checks were stopped."


@dataclass(frozen=True, slots=True)
class CheckedSession:
    """A session whose proposals are checked with those of others."""

    id: str
    title: str
    changes: int = 0
    """How many of its changes are undecided."""

    @property
    def name(self) -> str:
        """Its title, as texts for the user quote it."""
        return f"“{escape_to_one_line(self.title or 'New session')}”"


@dataclass(frozen=True, slots=True)
class SessionChange:
    """A change of one session: a hunk, or a file that is decided as a whole."""

    session_id: str
    path: str
    """The current path of the file."""
    hunk_id: str | None
    """None: the file as a whole."""
    name: str
    """The file and the lines in the session's proposed text, such as "a.py, lines 3-5"."""
    line: int
    """The first of these lines, from 1."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """Changes of two sessions that cannot be combined: they change the same lines, or exclude each other."""

    sides: tuple[SessionChange, SessionChange]


@dataclass(frozen=True, slots=True)
class CheckedTogether:
    """The result of one check."""

    command: str
    outcome: CheckOutcome
    """As `Outcome` in edits/combination.py. `not_run`: it was not allowed or could not run."""
    runs: int
    failing: tuple[str, ...]
    """For `alone` and `without`: the ids of the sessions with whose changes alone it fails."""
    changes: tuple[SessionChange, ...]
    """For `minimal` and `limit`: the smallest set of changes with which it fails. May be empty for `limit`."""
    message: str
    """What the result means, for the user."""


@dataclass(frozen=True, slots=True)
class TogetherProgress:
    """The check that runs."""

    command: str
    number: int
    """Which of the checks it is, from 1."""
    count: int
    """How many checks there are."""
    runs: int
    """The number of this run of the check, from 1."""
    most_runs: int
    """The maximum number of runs; 1 until it has failed."""


@dataclass(frozen=True, slots=True)
class TogetherResult:
    """The result of checking the proposals of several sessions together."""

    outcome: TogetherOutcome
    """`conflict`: nothing ran, because changes cannot be combined. `fails`: not all checks passed.

    `changed`: a proposal or a file changed, so there is no result. `stopped`: `checks` has those that had ended.
    """
    sessions: tuple[CheckedSession, ...]
    left_out: tuple[CheckedSession, ...]
    """The sessions with proposals that other processes have open."""
    conflicts: tuple[Conflict, ...]
    checks: tuple[CheckedTogether, ...]
    message: str
    """A summary for the user, without the messages of the checks and the conflicts."""


@dataclass(frozen=True, slots=True)
class TogetherState:
    """What clients show."""

    running: TogetherProgress | None = None
    result: TogetherResult | None = None
    """The last result, until a proposal or a file of one of the sessions changes."""


def summary(
    outcome: TogetherOutcome,
    sessions: Sequence[CheckedSession],
    left_out: Sequence[CheckedSession],
    checks: Sequence[CheckedTogether],
    conflicts: Sequence[Conflict],
) -> str:
    """The message of a result."""
    of_all = f"the changes of {count_of(len(sessions), 'session')}"
    passed = sum(check.outcome == "passes" for check in checks)
    match outcome:
        case "passes":
            text = f"All checks pass with {of_all}." if len(checks) > 1 else f"The check passes with {of_all}."
        case "fails":
            text = f"{passed} of {count_of(len(checks), 'check')} passed with {of_all}."
        case "conflict":
            found = f"{count_of(len(conflicts), 'conflict')} between"
            text = f"{found} {of_all}, so the checks did not run. Reject or change one side of each, then check again."
        case "changed":
            text = CHANGED
        case "stopped":
            text = STOPPED
    if left_out:
        names = ", ".join(each.name for each in left_out)
        text += f" Without {names}: open in another window or terminal."
    return text


def check_message(
    command: str,
    outcome: CheckOutcome,
    failing: Sequence[CheckedSession],
    changes: Sequence[SessionChange],
    sessions: Sequence[CheckedSession],
    *,
    passes_without_any_one: bool,
) -> str:
    """What the result of a check means. Not for `not_run`."""
    check, count = f"`{command}`", sum(session.changes for session in sessions)
    alone = " and of ".join(each.name for each in failing)
    named = "; ".join(f"{change.name} ({_name_of(change, sessions)})" for change in changes)
    match outcome:
        case "passes":
            return f"{check} passes with the changes of all sessions."
        case "alone":
            each = " alone" if len(failing) == 1 else ", each alone"
            return f"{check} fails, and it fails with the changes of {alone}{each}. It passes without any changes."
        case "without":
            return f"{check} fails, and it fails without any changes, too."
        case "flaky":
            return f"{check} failed, and then passed with the same changes. A flaky check proves nothing."
        case "minimal" if len(changes) == 1:
            return f"{check} fails with this change of {count}, and passes without it: {named}."
        case "minimal" if passes_without_any_one:
            these, one = (
                (f"these {len(changes)} changes", "any one") if len(changes) > 2 else ("these 2 changes", "either")
            )
            return f"{check} fails with {these} together, and passes if {one} of them is missing: {named}."
        case "minimal":
            return (
                f"{check} fails with these {len(changes)} changes together, although it passes with those of each "
                f"session alone: {named}."
            )
        case _ if changes:
            return (
                f"{check} fails with {len(changes)} of {count} changes together. Not all sets could be tried, so fewer "
                f"may be enough: {named}."
            )
        case _:
            return f"{check} fails. Not all sets could be tried, so it is not known which changes are the reason."


def _name_of(change: SessionChange, sessions: Sequence[CheckedSession]) -> str:
    return next(session.name for session in sessions if session.id == change.session_id)
