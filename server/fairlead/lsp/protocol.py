"""The method names of the protocol, and the shapes of its params and results (docs/protocol.md).

Field names are camelCase. Every field is present unless it is marked as `NotRequired`.
"""

from typing import Literal, NotRequired, TypedDict

from fairlead.lsp.protocol_states import CheckResultWire, DiagnosticWire, EditsWire, PlanWire, RangeWire

VERSION = 1

# requests and notifications from the client
CREATE_SESSION = "agent/sessions/create"
LIST_SESSIONS = "agent/sessions/list"
OPEN_SESSION = "agent/sessions/open"
REWIND_SESSION = "agent/sessions/rewind"
DELETE_SESSION = "agent/sessions/delete"
FORMER_FOLDERS = "agent/sessions/former"
ADOPT_SESSIONS = "agent/sessions/adopt"
RUN_TASK = "agent/runTask"
STEER = "agent/steer"
STOP_COMMAND = "agent/command/stop"
CANCEL = "agent/cancel"
ACCEPT = "agent/edits/accept"
REJECT = "agent/edits/reject"
AMEND = "agent/edits/amend"
UNDO = "agent/edits/undo"
REDO = "agent/edits/redo"
RUN_CHECKS = "agent/checks/run"
MINIMIZE_CHECKS = "agent/checks/minimize"
SUGGEST_CHECKS = "agent/checks/suggest"
PLAN_EDIT = "agent/plan/edit"
RECORD = "agent/record"
PLAN_HISTORY = "agent/plan/history"
COMMAND_RULES = "agent/command/rules"
CREDENTIALS = "agent/credentials"
WARM = "agent/warm"
TEST_MODEL = "agent/model/test"
TRUST = "agent/trust"

# notifications from the server
PLAN = "agent/plan"
EDITS = "agent/edits"
PLAN_CHANGED = "agent/plan/changed"
EDITS_CHANGED = "agent/edits/changed"
EVENT = "agent/event"
SESSIONS = "agent/sessions"

# requests from the server
APPROVE = "agent/approve"
ASK = "agent/ask"
CLAIMS = "agent/editor/claims"
DIAGNOSTICS = "agent/editor/diagnostics"
DEFINITION = "agent/editor/definition"
REFERENCES = "agent/editor/references"
IMPLEMENTATION = "agent/editor/implementation"
HOVER = "agent/editor/hover"
DOCUMENT_SYMBOLS = "agent/editor/documentSymbols"
WORKSPACE_SYMBOLS = "agent/editor/workspaceSymbols"
RENAME = "agent/editor/rename"
CODE_ACTIONS = "agent/editor/codeActions"

# commands of the server
COMMAND_RUN_TASK = "fairlead.server.runTask"
COMMAND_CANCEL = "fairlead.server.cancel"
COMMAND_STEER = "fairlead.server.steer"
COMMAND_ACCEPT = "fairlead.server.accept"
COMMAND_REJECT = "fairlead.server.reject"
COMMAND_AMEND = "fairlead.server.amend"
COMMAND_UNDO = "fairlead.server.undo"
COMMAND_REDO = "fairlead.server.redo"
COMMAND_PLAN = "fairlead.server.plan"
COMMAND_EDITS = "fairlead.server.edits"
COMMAND_SESSIONS = "fairlead.server.sessions"
COMMANDS = (
    COMMAND_RUN_TASK,
    COMMAND_CANCEL,
    COMMAND_STEER,
    COMMAND_ACCEPT,
    COMMAND_REJECT,
    COMMAND_AMEND,
    COMMAND_UNDO,
    COMMAND_REDO,
    COMMAND_PLAN,
    COMMAND_EDITS,
    COMMAND_SESSIONS,
)
"""The commands that the server announces (`workspace/executeCommand`)."""

CLIENT_SHOW = "fairlead.showChange"
"""A command of the client that shows a change as a diff."""
CLIENT_PREVIEW = "fairlead.previewChange"
"""A command of the client that shows the proposed lines in the user's file."""

BASE_SCHEME = "fairlead-base"
PROPOSED_SCHEME = "fairlead-proposed"

ALLOW_ONCE = "Allow Once"
ALLOW_SESSION = "Allow for This Session"
REJECT_COMMAND = "Reject"

REQUEST_FAILED = -32803
CONTENT_MODIFIED = -32801


class RequestError(Exception):
    """The other side answered a request with an error, or closed the connection."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class UsageWire(TypedDict):
    requests: int
    inputTokens: int
    cacheReadTokens: int
    cacheWriteTokens: int
    outputTokens: int
    costUsd: float | None


class ErrorWire(TypedDict):
    kind: str
    message: str
    retryable: bool


class RunResult(TypedDict):
    sessionId: str
    stopReason: str
    message: str
    usage: UsageWire
    error: ErrorWire | None
    record: str


class LineWire(TypedDict):
    role: Literal["user", "context", "assistant", "tool"]
    text: str
    failed: bool
    result: str
    checkpoint: int | None


class PageResult(TypedDict):
    markdown: str


class RecordResult(TypedDict):
    markdown: str
    summary: str
    commitMessage: str
    record: object


class PlanEditResult(TypedDict):
    plan: PlanWire


class SteerResult(TypedDict):
    queued: int


class ChecksResult(TypedDict):
    results: list[CheckResultWire]


class SuggestedCheckWire(TypedDict):
    command: str
    source: str


class SuggestedChecks(TypedDict):
    suggestions: list[SuggestedCheckWire]


class OpenResult(TypedDict):
    sessionId: str
    state: Literal["idle", "running", "paused"]
    mode: Literal["agent", "plan", "ask"]
    plan: PlanWire
    edits: EditsWire
    transcript: list[LineWire]


class RewindResult(TypedDict):
    sessionId: str
    prompt: str
    kept: list["OutcomeWire"]


class OutcomeWire(TypedDict):
    uri: str
    hunk: str | None
    outcome: Literal["applied", "rejected", "conflict", "failed"]
    message: str


class ReviewResult(TypedDict):
    outcomes: list[OutcomeWire]
    edits: EditsWire | None


class AmendResult(TypedDict):
    edits: EditsWire | None


class LocationWire(TypedDict):
    uri: str
    line: int | None


class ApproveParams(TypedDict):
    sessionId: str
    toolCallId: str | None
    kind: Literal["command", "file"]
    mode: Literal["sandboxed", "workspace"] | None
    command: str | None
    cwd: str | None
    uri: str | None
    reasons: list[str]


class AskParams(TypedDict):
    sessionId: str
    toolCallId: str
    question: str
    options: list[str]


class FormerFolder(TypedDict):
    uri: str
    sessions: int


class FormerFoldersResult(TypedDict):
    folders: list[FormerFolder]


class ClaimsParams(TypedDict):
    uris: list[str]


class RefusedFile(TypedDict):
    uri: str
    reason: str


class ClaimsResult(TypedDict):
    claimed: list[str]
    refused: list[RefusedFile]


class AskResult(TypedDict):
    answer: str | None


class DiagnosticsParams(TypedDict):
    uri: str | None


class FileDiagnosticsWire(TypedDict):
    uri: str
    diagnostics: list[DiagnosticWire]


class ContextItemWire(TypedDict):
    kind: NotRequired[Literal["file", "selection", "problems", "changes", "image"]]
    uri: NotRequired[str | None]
    range: NotRequired[RangeWire | None]
    text: NotRequired[str | None]
    name: NotRequired[str | None]
    data: NotRequired[str | None]


class EditorProblemsWire(TypedDict):
    errors: int
    warnings: int
    files: list[FileDiagnosticsWire]


class ChangedFileWire(TypedDict):
    uri: str
    state: str


class GitStateWire(TypedDict):
    branch: str
    changed: int
    files: list[ChangedFileWire]


class EditorContextWire(TypedDict):
    activeFile: NotRequired[str | None]
    visibleRange: NotRequired[RangeWire | None]
    selection: NotRequired[RangeWire | None]
    openFiles: NotRequired[list[str]]
    problems: NotRequired[EditorProblemsWire | None]
    git: NotRequired[GitStateWire | None]


class DiagnosticsResult(TypedDict):
    files: list[FileDiagnosticsWire]


class ApproveResult(TypedDict):
    option: Literal["allow_once", "allow_session", "reject"]
    reason: NotRequired[str]
