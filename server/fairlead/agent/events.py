"""The events that a run emits, as one union. Front ends subscribe to them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from fairlead.agent.errors import ModelFailure
from fairlead.agent.model import Usage
from fairlead.edits.selection import Change
from fairlead.messages.parts import NoteKind
from fairlead.plan.evidence import CommandRun, ServerCall
from fairlead.plan.render import PlanUpdate

ToolKind = Literal["read", "edit", "delete", "move", "search", "execute", "think", "fetch", "ask", "agent", "other"]
StopReason = Literal[
    "end_turn", "max_tokens", "max_turn_requests", "budget", "loop", "refusal", "hook", "cancelled", "error"
]

SearchOutcome = Literal["minimal", "limit", "stopped", "fails", "flaky", "changed"]
"""How a search for the smallest set of changes ended (docs/plan.md P19).

`minimal`: each change of the set is needed. `limit`: at a limit, or not all sets could be tried. `stopped`: by the
user. `fails`: the checks fail even with all changes. `flaky`: they passed and then failed with the same changes.
`changed`: the proposals or their files changed, or the agent began to work. The last three have no set.
"""

NeededOutcome = Literal["complete", "limit", "stopped", "fails", "flaky", "changed"]
"""How a search for the changes that checks need ended (docs/plan.md P23). As `SearchOutcome`.

`complete`: all changes were tried.
"""

CheckScope = Literal["all", "some", "none"]
"""How many of the undecided changes a check saw."""


@dataclass(frozen=True, slots=True)
class Location:
    """A file, or a line of it, that a call reads or changes."""

    path: str
    """As the model wrote it."""
    line: int | None = None
    """Counted from 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _OfRun:
    run_id: str | None = None
    """The run that it is about; None: what the user asked for outside of a run, such as a check."""


@dataclass(frozen=True, slots=True)
class RunStarted(_OfRun):
    """A run begins."""

    model: str
    checkpoint: int | None = None
    """The id of the session's checkpoint before the run's prompt.

    None if the run continues an earlier run or starts the work on an approved plan: its prompt is not the user's.
    """
    recording: str | None = None
    """The name of the recording that replaces the model; None: there is none."""


@dataclass(frozen=True, slots=True)
class RulesSource:
    """A file with the project's rules."""

    path: Path
    is_cut: bool
    """Whether the model gets only its beginning, because it is too long."""


@dataclass(frozen=True, slots=True)
class RulesFound(_OfRun):
    """The model gets the project's rules (docs/plan.md L17)."""

    files: tuple[RulesSource, ...]


@dataclass(frozen=True, slots=True)
class ContextSent(_OfRun):
    """What the model got with a prompt in addition to the user's words."""

    title: str
    """In one line, for the user."""
    text: str
    """As the model reads it."""
    pictures: tuple[str, ...] = ()
    """The names of the pictures that the user sent, with the reason if the model does not get one."""


@dataclass(frozen=True, slots=True)
class RoundStarted(_OfRun):
    """A request to the model begins. `round` counts from 1 in each run."""

    round: int


@dataclass(frozen=True, slots=True)
class Text(_OfRun):
    """A piece of the model's answer."""

    text: str
    restarts: bool = False
    """As in `TextDelta`."""


@dataclass(frozen=True, slots=True)
class Thinking(_OfRun):
    """A piece of the model's thinking."""

    text: str
    restarts: bool = False
    """As in `TextDelta`."""


@dataclass(frozen=True, slots=True)
class ToolStarted(_OfRun):
    """A tool call begins."""

    call_id: str
    name: str
    kind: ToolKind
    title: str
    input: dict[str, Any]
    locations: tuple[Location, ...]
    refused: bool = False
    """Whether it does not run because of how the model's answer ended (docs/plan.md L13)."""
    shown: tuple[str, ...] = ()
    """The parts of the `Sentence` that the title is; empty: it is none."""
    has_claimed_locations: bool = False
    """Whether the locations are what a hosted agent says. Then they are shown, and are no evidence."""


@dataclass(frozen=True, slots=True)
class CommandStarted(_OfRun):
    """A command was allowed and starts."""

    call_id: str
    item_id: str | None
    """The plan item that it is evidence for: a check's own, otherwise the one in progress when the tool was called."""
    command: str
    cwd: str
    where: Literal["sandboxed", "workspace"]
    network: bool
    """Whether it may use the internet."""
    services: Sequence[str] = ()
    """Further services that it requested, as `host:port`."""
    handle: str | None = None
    """Identifies a background command or a request for checks, so that the user can stop it; else None."""
    is_check: bool = False


@dataclass(frozen=True, slots=True)
class CommandEnded(_OfRun):
    """A command has ended, or could not be started."""

    handle: str | None
    """As in its `CommandStarted`."""
    run: CommandRun
    ended: Literal["exited", "timeout", "stopped", "failed"]
    """`timeout`: killed at its time limit. `stopped`: by the agent, the user or the end of the session.

    `failed`: it could not be started.
    """
    paths: Sequence[str] = ()
    """The absolute paths of the files that it changed and whose changes are proposed."""


@dataclass(frozen=True, slots=True)
class CheckFinished(_OfRun):
    """A check that the user asked for has ended (docs/plan.md P18)."""

    call_id: str | None
    """The id in its `CommandStarted`; None if it was stopped or could not run."""
    item_id: str | None
    """The plan item whose evidence it is; None if there is none."""
    command: str
    changes: CheckScope
    passed: bool | None
    """None: it was stopped or could not run."""
    exit_code: int | None
    """None if it reached its time limit, and if `passed` is None."""
    seconds: float
    """How long it ran; 0 if `passed` is None."""
    accepted: int
    """How many of the agent's changes the user had accepted when it began."""
    total: int
    """The number of all changes, including the rejected and the undecided ones."""
    proves: bool
    """Whether it fails without any of the changes and passes with all of them."""
    outdated: bool
    """Whether a file or a proposal changed while it ran."""
    intro: str
    """What of the changes the check saw, such as `2 of 5 changes accepted: `; empty if it saw all of them."""
    verdict: str
    """What the result means, as the rest of a sentence that begins with the command."""

    @property
    def message(self) -> str:
        """What the result means, for the user."""
        return f"{self.intro}`{self.command}` {self.verdict}"


@dataclass(frozen=True, slots=True)
class CheckSearch(_OfRun):
    """Progress of the search for the smallest set of changes with which the checks pass (docs/plan.md P19)."""

    handle: str
    commands: tuple[str, ...]
    runs: int
    """The number of this run, from 1. A run executes each check once, until one fails."""
    most_runs: int
    """The maximum number of runs."""
    changes: int
    """How many changes are undecided."""
    left: int
    """The size of the smallest set that has passed so far; `changes` if none has."""


@dataclass(frozen=True, slots=True)
class SmallestSet(_OfRun):
    """The result of a search."""

    commands: tuple[str, ...]
    outcome: SearchOutcome
    runs: int
    needed: tuple[Change, ...]
    """The changes with which the checks pass. All of them are needed only if the outcome is `minimal`."""
    not_needed: tuple[Change, ...]
    """The other undecided changes.

    Like `needed`, empty if the search found no set that is minimal or smaller than the set of all changes.
    """
    version: int
    """The version of the proposals with which the search began (`Files.version`)."""
    message: str
    """What the result means, for the user."""


@dataclass(frozen=True, slots=True)
class NeededProgress(_OfRun):
    """Progress of the search for the changes that the checks need (docs/plan.md P23)."""

    handle: str
    commands: tuple[str, ...]
    runs: int
    """The number of this run, from 1. A run executes each check once, until one fails."""
    most_runs: int
    """The maximum number of runs."""


@dataclass(frozen=True, slots=True)
class NeededChanges(_OfRun):
    """Which of the undecided changes the checks need. Those to tests are in none of the groups.

    Each change was left out alone. All groups are empty if the outcome is `fails`, `flaky` or `changed`.
    """

    commands: tuple[str, ...]
    outcome: NeededOutcome
    runs: int
    needed: tuple[Change, ...]
    """The changes without each of which a check fails."""
    not_needed: tuple[Change, ...]
    """The changes without each of which the checks pass."""
    unread: tuple[Change, ...]
    """The changes in files that no check has read."""
    untried: tuple[Change, ...]
    version: int
    """The version of the proposals with which the search began (`Files.version`)."""
    message: str
    """What the result means, for the user."""


@dataclass(frozen=True, slots=True)
class StepBegan(_OfRun):
    """An item of the plan is in progress now."""

    item_id: str
    content: str


@dataclass(frozen=True, slots=True)
class ToolOutput(_OfRun):
    """A piece of a command's output. It may contain colors (SGR sequences) and lone carriage returns."""

    call_id: str
    text: str


@dataclass(frozen=True, slots=True)
class ToolFinished(_OfRun):
    """A tool call has ended."""

    call_id: str
    is_error: bool
    text: str
    paths: Sequence[str] = ()
    """The absolute paths of files that it changed in addition to its locations."""
    plan_update: PlanUpdate | None = None
    """Set if it rewrote the plan."""
    shown: tuple[str, ...] = ()
    """The parts of the `Sentence` that the user reads instead of `text`; empty: there is none."""
    server_call: ServerCall | None = field(default=None, compare=False)
    """Set if it called a tool server. It is saved with the evidence, not with the conversation."""


@dataclass(frozen=True, slots=True)
class ReminderSent(_OfRun):
    """The model got a reminder to update its plan (docs/plan.md L6)."""

    about: str
    """The part of the text that is also for the user."""
    text: str


@dataclass(frozen=True, slots=True)
class FeedbackSent(_OfRun):
    """The model got a text that it did not ask for (docs/plan.md L6).

    It is about the user's messages, decisions or edits, the workspace's folders or rules, or new errors.
    """

    about: Literal["message"] | NoteKind
    text: str


@dataclass(frozen=True, slots=True)
class Steered(_OfRun):
    """The user sent a message to the run. It reaches the model with the next `FeedbackSent`."""

    text: str


@dataclass(frozen=True, slots=True)
class Retry(_OfRun):
    """A request to the model failed and will be sent again. The other fields are those of `Retrying`."""

    attempt: int
    delay: float
    failure: ModelFailure
    """Why the attempt failed."""


@dataclass(frozen=True, slots=True)
class UsageReported(_OfRun):
    """What the run has used so far."""

    usage: Usage
    cost: float | None
    """US dollars, None if the model's price is unknown."""
    context: int
    """The tokens that the last request and its answer took in the model's window."""
    limit: int | None
    """The size of the window in tokens, None if it is unknown."""


@dataclass(frozen=True, slots=True)
class Compacted(_OfRun):
    """The conversation was shortened to fit into the model's window, or lost pictures to fit into a request."""

    text: str
    """What was cleared or replaced, for the user."""


@dataclass(frozen=True, slots=True)
class RunFinished(_OfRun):
    """The run has ended."""

    stop_reason: StopReason


Event = (
    RunStarted
    | RulesFound
    | ContextSent
    | RoundStarted
    | Text
    | Thinking
    | ToolStarted
    | StepBegan
    | CommandStarted
    | ToolOutput
    | CommandEnded
    | CheckFinished
    | CheckSearch
    | SmallestSet
    | NeededProgress
    | NeededChanges
    | ToolFinished
    | ReminderSent
    | FeedbackSent
    | Steered
    | Retry
    | UsageReported
    | Compacted
    | RunFinished
)
