"""The events of `agent/event` (docs/protocol.md). `convert.py` makes them from the events of the core."""

from typing import Any, Literal, TypedDict

from fairlead.wire.params import Continuation
from fairlead.wire.protocol import LocationWire, Mode, RunErrorWire, TitleWire, UsageWire
from fairlead.wire.states import (
    CheckResultWire,
    ChosenModelWire,
    EditsWire,
    NeededChangesWire,
    Phase,
    PlanUpdateWire,
    PlanWire,
    SmallestSetWire,
)


class EventHead(TypedDict):
    """What every event has, in addition to its `kind`."""

    sessionId: str
    seq: int
    """The number of the event in its session, from 1."""
    runId: str | None
    """The run that it is about, by an id that is unique in its session; `null`: what the user asked for outside of a
    run.
    """


class RunStarted(EventHead):
    """First of a run."""

    kind: Literal["run_started"]
    model: str
    """The model's name, or `replay (FILE)` for a recording."""
    recording: str | None
    """The file name of the recording that replaces the model; `null`: there is none."""
    checkpoint: int | None
    """The param of `agent/sessions/rewind` that restores the state before this run's prompt; `null` for a run with
    `continue`.
    """
    workDoneToken: str | int | None
    """The token of the request or of the server; `null`: there is none."""


class RulesFile(TypedDict):
    uri: str
    cut: bool


class RulesFound(EventHead):
    """The model gets rules of the project (docs/plan.md, L17): at the start of a run those of the workspace's folders,
    later those of folders in them.
    """

    kind: Literal["rules"]
    files: list[RulesFile]
    """If `cut`, the model gets only the beginning of a file, because it is too long."""


class ContextSent(EventHead):
    """What the model gets with the prompt about files and the editor. Once at the start of a run, if there is
    anything.
    """

    kind: Literal["context"]
    title: str
    """One line."""
    text: str
    """What the model reads."""
    pictures: list[str]
    """The names of the pictures that the user sent, with the reason if the model does not get one."""


class RoundStarted(EventHead):
    """Before each request to the model."""

    kind: Literal["round_started"]
    round: int
    """From 1 in each run."""


class TextReceived(EventHead):
    """A piece of the model's answer."""

    kind: Literal["text"]
    text: str
    restarts: bool
    """It is a note of Fairlead: the connection broke, and the answer starts again after the note."""


class ThinkingReceived(EventHead):
    """A piece of the model's thinking, if the model shows it."""

    kind: Literal["thinking"]
    text: str
    restarts: bool
    """As in `text`."""


class ToolStarted(EventHead):
    """Before a call is run or refused."""

    kind: Literal["tool_started"]
    toolCallId: str
    name: str
    """The tool. `hook`: a hook of the user that blocked something, changed something or failed; the model knows no such
    call.
    """
    toolKind: str
    title: str
    titleText: TitleWire
    """The title in parts, for a client that shows another language."""
    input: dict[str, Any]
    locations: list[LocationWire]
    """The files in the workspace that the call names."""
    refused: bool
    """It is not run because of how the model's answer ended, for example because it was cut off."""


class StepBegan(EventHead):
    """An item of the plan is in progress now."""

    kind: Literal["step_began"]
    itemId: str
    content: str


class CommandStarted(EventHead):
    """A command starts. For a command of `agent/checks/run` or `agent/checks/minimize`, there is no `tool_started`."""

    kind: Literal["command"]
    toolCallId: str
    itemId: str | None
    """The plan item to which it belongs."""
    command: str
    cwd: str
    mode: Literal["sandboxed", "workspace"]
    """Where it runs."""
    network: bool
    """Whether it may use the internet."""
    services: list[str]
    """What else it requested to reach, each as `host:port`."""
    handle: str | None
    """Set for a background command (`cmd-1`) and for every check (`check-1`), whether the user, a search or the agent
    runs it. `agent/command/stop` takes it.
    """
    check: bool
    """It is a check, of the user, a search or the agent."""


class ToolOutput(EventHead):
    """Output of a running command, for a terminal: with colors (SGR sequences) and lone carriage returns, without other
    sequences. The first 200 KB arrive at once, then at most the newest 20 KB twice a second, with a note about the
    omitted part. Output of a background command also arrives after `tool_finished` and `run_finished`.
    """

    kind: Literal["tool_output"]
    toolCallId: str
    text: str


class CommandEnded(EventHead):
    """A command has ended."""

    kind: Literal["command_ended"]
    toolCallId: str
    handle: str | None
    """As in `command`."""
    exitCode: int | None
    """`null` except for `exited`."""
    seconds: float
    ended: Literal["exited", "timeout", "stopped", "failed"]
    """`stopped`: by the agent, the user or the end of the session. `failed`: it could not start."""


class CheckFinished(EventHead, CheckResultWire):
    """A check of `agent/checks/run` has ended."""

    kind: Literal["check_finished"]


class CheckSearch(EventHead):
    """A search of `agent/checks/minimize` begins a run."""

    kind: Literal["check_search"]
    handle: str
    """`agent/command/stop` takes it."""
    commands: list[str]
    runs: int
    """The number of the run that begins, from 1."""
    mostRuns: int
    changes: int
    """The number of all changes."""
    left: int
    """How many of the `changes` are in the smallest set that has passed so far."""


class SmallestSetFound(EventHead, SmallestSetWire):
    """A search has ended."""

    kind: Literal["smallest_set"]


class NeededProgress(EventHead):
    """A search of `agent/checks/needed` begins a run."""

    kind: Literal["needed_progress"]
    handle: str
    """`agent/command/stop` takes it."""
    commands: list[str]
    runs: int
    """The number of the run that begins, from 1."""
    mostRuns: int


class NeededChangesFound(EventHead, NeededChangesWire):
    """Such a search has ended."""

    kind: Literal["needed_changes"]


class ToolFinished(EventHead):
    """The result of a call."""

    kind: Literal["tool_finished"]
    toolCallId: str
    isError: bool
    text: str
    """What the model reads, without the tags around the answer of a tool server."""
    planUpdate: PlanUpdateWire | None
    """Set if the call rewrote the plan."""
    shown: TitleWire | None
    """What the user reads instead of `text`, about a call that was refused; `null`: `text`."""


class ReminderSent(EventHead):
    """A reminder of the plan for the model."""

    kind: Literal["reminder"]
    about: str
    """What it says, without the instruction for the model."""
    text: str
    """What the model reads."""


class Steered(EventHead):
    """The user sent a message (`agent/steer`). The model reads it when a `feedback` about a message follows. Until
    then, show `text` and `thinking` before it, so that it does not cut an answer in two.
    """

    kind: Literal["steered"]
    text: str


class FeedbackSent(EventHead):
    """What the model reads between rounds without having asked for it."""

    kind: Literal["feedback"]
    about: str
    """`message`: what the user said. `review`: what the user decided. `plan`: what the user changed in the plan.
    `files`: the files that changed since the model read them. `new_errors`: errors that its proposals cause. `folders`:
    the folders of a workspace that has several. `rules`: the project's rules for a folder. `hook`: what a hook says.
    More may be added.
    """
    text: str


class Retry(EventHead):
    """A request to the model failed and is sent again after the delay."""

    kind: Literal["retry"]
    attempt: int
    """Counts the failed requests."""
    delayMs: int
    error: RunErrorWire
    """Why it failed, and what can help."""


class UsageEvent(EventHead, UsageWire):
    """The usage of the run so far: after each answer of the model, and at the end of a run whose last answer broke or
    was stopped.
    """

    kind: Literal["usage"]
    contextTokens: int
    """The size of the conversation in the model's window, in tokens."""
    contextLimit: int | None
    """The size of the window in tokens; `null`: it is unknown."""


class Compacted(EventHead):
    """The conversation was compacted to fit the model's window, or lost its oldest pictures."""

    kind: Literal["compacted"]
    text: str
    """What was removed."""


class RunFinished(EventHead):
    """Last of a run."""

    kind: Literal["run_finished"]
    stopReason: str


AgentEvent = (
    RunStarted
    | RulesFound
    | ContextSent
    | RoundStarted
    | TextReceived
    | ThinkingReceived
    | ToolStarted
    | StepBegan
    | CommandStarted
    | ToolOutput
    | CommandEnded
    | CheckFinished
    | CheckSearch
    | SmallestSetFound
    | NeededProgress
    | NeededChangesFound
    | ToolFinished
    | ReminderSent
    | Steered
    | FeedbackSent
    | Retry
    | UsageEvent
    | Compacted
    | RunFinished
)
"""What happens in a session."""


class PromptSent(EventHead):
    """A run began with a prompt."""

    kind: Literal["prompt"]
    text: str
    checkpoint: int | None
    """The param of `agent/sessions/rewind` that restores the state before it; `null` if it has none."""


class RunContinued(EventHead):
    """A run continued an earlier one."""

    kind: Literal["continued"]
    what: Continuation


class RunEnded(EventHead):
    """A run ended. One that was interrupted has no end."""

    kind: Literal["run_ended"]
    stopReason: str
    message: str
    record: str
    recordTexts: list[TitleWire]
    error: RunErrorWire | None
    """Like the other fields, that of `RunResult`."""


RunMark = PromptSent | RunContinued | RunEnded
"""How a run began or ended. It has `sessionId`, `seq`, `runId` and `kind`, like an event."""


class OpenedSession(TypedDict):
    sessionId: str
    phase: Phase
    mode: Mode
    """The mode of the last run; `"agent"` before the first run."""
    agent: str
    """The agent of the last run, as in `agent/runTask`; `""`: none."""
    hosted: str
    """The agent of another maker that did the last run, as in `agent/runTask`; `""`: Fairlead's own."""
    model: ChosenModelWire
    """The model that the next run asks."""
    plan: PlanWire
    edits: EditsWire
    transcript: list[AgentEvent | RunMark]
    """The conversation, in order, without output, commands and rounds. `runId` is `null` for how a run began and ended,
    and `input` is empty except for edits.
    """
