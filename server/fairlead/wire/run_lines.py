"""The lines that `fairlead run --json` writes to standard output (docs/headless.md).

They contain the states and events of the server as it sends them. `npm run wire` generates docs/run-json.schema.json.
"""

from typing import Literal, TypedDict

from fairlead.wire.events import AgentEvent
from fairlead.wire.protocol import ApproveParams, OutcomeWire, RunErrorWire, UsageWire
from fairlead.wire.states import CheckResultWire, EditsWire, PlanWire, ToolServersWire

FORMAT: Literal[1] = 1

RunOutcome = Literal[
    "done", "failed", "not_started", "check_failed", "limit", "not_allowed", "not_answered", "interrupted"
]  # fmt: skip


class StartLine(TypedDict):
    """The first line of a run."""

    type: Literal["start"]
    format: Literal[1]
    """Increases when a field or a type is removed, or changes its meaning. Fields and types may be added."""
    version: str
    """That of Fairlead."""
    sessionId: str
    isContinued: bool
    """The session existed before."""
    folders: list[str]
    """The URIs of the workspace's folders."""


class EventLine(TypedDict):
    """Something happens in the session."""

    type: Literal["event"]
    event: AgentEvent


class PlanLine(TypedDict):
    """The plan has changed: the whole new plan."""

    type: Literal["plan"]
    plan: PlanWire


class EditsLine(TypedDict):
    """The undecided changes have changed: all of them."""

    type: Literal["edits"]
    edits: EditsWire


class ToolServersLine(TypedDict):
    """The tool servers have changed: all of them."""

    type: Literal["toolServers"]
    toolServers: ToolServersWire


class MessageLine(TypedDict):
    """Something that the user should know, such as a setting that has no effect."""

    type: Literal["message"]
    level: Literal["error", "warning", "info"]
    text: str


class RefusedLine(TypedDict):
    """A permission was needed that no rule gives. It was refused, because no user could be asked."""

    type: Literal["refused"]
    request: ApproveParams


class UnansweredLine(TypedDict):
    """A question was not answered, because no user could be asked."""

    type: Literal["unanswered"]
    question: str
    options: list[str]
    """Suggested answers."""
    toolCallId: str | None
    """The call that asked; `null`: a tool server needs a value before it starts."""
    server: str | None
    """The name of that tool server; `null`: the model asked."""


class ReviewLine(TypedDict):
    """Changes were accepted or rejected, by `--accept`."""

    type: Literal["review"]
    decision: Literal["accept", "reject"]
    outcomes: list[OutcomeWire]


class StepCountsWire(TypedDict):
    """The steps of the plan."""

    total: int
    completed: int
    verified: int
    """Completed, and a command verified what they changed (docs/plan.md, P16)."""


class ReviewedFileWire(TypedDict):
    """What happened to the proposed changes of a file. One that is decided as a whole counts as one change."""

    uri: str
    kind: Literal["create", "modify", "delete", "rename"]
    applied: int
    rejected: int
    refused: int
    """They were accepted, but could not be applied."""
    undecided: int
    weakens: list[str]
    """Why changes that are left weaken tests (docs/plan.md, P22). `--accept all` and `checks` leave them, as `refused`.
    """


class OutcomeLine(TypedDict):
    """The last line of a run, also if it could not start."""

    type: Literal["outcome"]
    outcome: RunOutcome
    exitCode: int
    """That of the process."""
    sessionId: str | None
    """`null`: there is no session."""
    stopReason: str | None
    """Why the agent ended (docs/protocol.md, `RunResult`); `null`: it did not start, or the server ended."""
    message: str
    """The model's last text, or what went wrong."""
    error: RunErrorWire | None
    """Why the model did not answer."""
    usage: UsageWire | None
    """The tokens and the cost of the run; `null`: the agent did not start."""
    steps: StepCountsWire
    changes: list[ReviewedFileWire]
    """The files with proposed changes."""
    checks: list[CheckResultWire]
    """The last result of each check that ran after the agent had ended."""
    refused: list[ApproveParams]
    """The permissions that were refused. Only those with a `toolCallId` or of the kind `file` decide the outcome."""
    unanswered: list[str]
    """The questions that were not answered. Only those of a call decide the outcome."""
    warnings: list[str]
    """The errors and warnings among the messages."""
    summary: str
    """A short summary of the whole session."""
    recordFile: str | None
    """The path of the record that was saved (`--save-record`)."""
    recordingFile: str | None
    """The path of the recording that was written (`--record`)."""


RunLine = (
    StartLine
    | EventLine
    | PlanLine
    | EditsLine
    | ToolServersLine
    | MessageLine
    | RefusedLine
    | UnansweredLine
    | ReviewLine
    | OutcomeLine
)
"""A line of `fairlead run --json`."""
