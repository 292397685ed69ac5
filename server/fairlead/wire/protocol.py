"""The names of the protocol, the results of the client's requests, and the server's requests (docs/protocol.md).

The modules `protocol*.py` are the only place where a name or a shape of the wire is written: `npm run wire` generates
the client's TypeScript and the tables of docs/protocol.md from them. Field names are camelCase. Every field is present
unless it is marked as `NotRequired`. The text under a field or a shape describes it on both.
"""

from typing import Literal, NotRequired, TypedDict

from fairlead.wire.states import (
    CheckResultWire,
    ChosenModelWire,
    EditsWire,
    FileDiagnosticsWire,
    PlanWire,
    TitleWire,
)

VERSION = 1

# requests and notifications from the client
CREATE_SESSION = "agent/sessions/create"
LIST_SESSIONS = "agent/sessions/list"
OPEN_SESSION = "agent/sessions/open"
REWIND_SESSION = "agent/sessions/rewind"
RENAME_SESSION = "agent/sessions/rename"
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
CHANGES_IN_FILE = "agent/edits/inFile"
RUN_CHECKS = "agent/checks/run"
MINIMIZE_CHECKS = "agent/checks/minimize"
NEEDED_CHANGES = "agent/checks/needed"
SUGGEST_CHECKS = "agent/checks/suggest"
CHECK_TOGETHER = "agent/checks/together"
RANK_RACE = "agent/race/rank"
PLAN_EDIT = "agent/plan/edit"
RECORD = "agent/record"
PLAN_HISTORY = "agent/plan/history"
COSTS = "agent/costs"
COMMAND_RULES = "agent/command/rules"
TRY_RULE = "agent/command/tryRule"
CREDENTIALS = "agent/credentials"
WARM = "agent/warm"
MODELS = "agent/models"
CHOOSE_MODEL = "agent/models/choose"
TRY_MODEL = "agent/models/try"
HOSTED_AGENTS = "agent/hosted"
INSTALL_AGENT = "agent/hosted/install"
SET_AGENT_OPTION = "agent/hosted/option"
SKILLS_LIST = "agent/skills/list"
SKILLS_PAGE = "agent/skills/page"
SUBAGENT_PAGE = "agent/subagents/page"
STOP_SUBAGENT = "agent/subagents/stop"
HOOKS_PAGE = "agent/hooks/page"
TOOL_SERVERS_LIST = "agent/toolServers/list"
TOOL_SERVERS_RESTART = "agent/toolServers/restart"
TOOL_SERVERS_OFFERS = "agent/toolServers/offers"
SERVER_PROMPT = "agent/toolServers/prompt"
CALL_TOOL = "agent/tools/call"
RUN_IN_TERMINAL = "agent/terminal/run"
TERMINAL_INPUT = "agent/terminal/input"
TERMINAL_SIZE = "agent/terminal/size"
LOG_IN = "agent/toolServers/login"
SECRETS = "agent/toolServers/secrets"
TRUST = "agent/trust"
"""The user trusts the workspace, or no longer does. A running session continues."""

# notifications from the server
PLAN = "agent/plan"
EDITS = "agent/edits"
PLAN_CHANGED = "agent/plan/changed"
"""The difference from the last `agent/plan` or `agent/plan/changed` of the session."""
EDITS_CHANGED = "agent/edits/changed"
"""The difference from the last `agent/edits` or `agent/edits/changed` of the session."""
EVENT = "agent/event"
SESSIONS = "agent/sessions"
TOGETHER = "agent/together"
"""The check of all sessions together: its progress and its last result. Only for clients with `sessions`."""
TOOL_SERVERS = "agent/toolServers"
"""The tool servers of a session, a moment after the state, a problem or the tools of one have changed."""
SAVING = "agent/saving"
"""A session can no longer be saved, or is saved again. `window/showMessage` tells the user."""
SECRET_CHANGED = "agent/toolServers/secretChanged"
"""What the client must save as a secret about a tool server, or remove. Only for clients with `signIns`."""

# requests from the server
APPROVE = "agent/approve"
ASK = "agent/ask"
TERMINAL_OUTPUT = "agent/terminal/output"
AUTHORIZE = "agent/toolServers/authorize"
ENTER = "agent/toolServers/enter"
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


Mode = Literal["agent", "plan", "ask"]
"""`plan`: the agent only reads files and writes the plan. `ask`: the agent only reads files and answers."""


class UsageWire(TypedDict):
    """The tokens and the cost of a run."""

    requests: int
    """The number of requests that got a complete answer. The tokens include those of answers that broke off or were
    stopped.
    """
    inputTokens: int
    """Without cached tokens."""
    cacheReadTokens: int
    cacheWriteTokens: int
    outputTokens: int
    """Of an answer that broke or was stopped: an estimate from the received text, at four bytes per token."""
    costUsd: float | None
    """US dollars; `null`: the model's price is unknown (`models/prices.json` in the server)."""


class RunErrorWire(TypedDict):
    """Why a run failed, or why a model did not answer, and what can help."""

    kind: str
    """What went wrong; more kinds may be added."""
    message: str
    """For the user: what happened and what to do."""
    texts: list[TitleWire]
    """The message in parts, for a client that shows another language: their texts one after the other."""
    retryable: bool
    """The same task may work later."""
    models: list[str]
    """If the kind is `unknown_model`: similar names that its server has, the most similar first."""
    keyEndpoint: str
    """If the kind is `auth`: the name of the endpoint to which the refused key belongs by its form; may be `""`."""
    accountUrl: str
    """If the kind is `billing`: the provider's page where the user adds credit; may be `""`."""


class RunResult(TypedDict):
    sessionId: str
    stopReason: str
    """Why the run ended."""
    message: str
    """The model's last text, or a message for the user."""
    usage: UsageWire
    """Of this run."""
    error: RunErrorWire | None
    """Set exactly when `stopReason` is `"error"`."""
    record: str
    """A short summary of the whole session: steps, files and decisions, commands, cost, and the first steps that are
    not done or not verified, with how many more there are; may be `""`.
    """
    recordTexts: list[TitleWire]
    """The same in parts, for a client that shows another language: their texts one after the other."""


class CallToolResult(TypedDict):
    """What a call of a tool returned."""

    toolCallId: str
    """That of its events."""
    text: str
    """As a model reads it."""
    isError: bool
    """The tool failed, was not allowed, or does not exist."""
    feedback: str
    """What the user decided and changed since the last call, as a model reads it; `""`: nothing."""


class TerminalResult(TypedDict):
    """How a program in a terminal ended."""

    exitCode: int | None
    """128 plus the signal's number if a signal ended it; null: it was stopped."""
    notes: list[str]
    """What the review of its changes does not show, as sentences for the user."""


class TerminalOutputParams(TypedDict):
    sessionId: str
    data: str
    """What the program wrote to its terminal, as Base64."""


class CreatedSession(TypedDict):
    sessionId: str


class AdoptResult(TypedDict):
    adopted: int
    """The number of moved sessions."""


class ModelWire(TypedDict):
    """A model that can be chosen. What is unknown is `null`."""

    name: str
    title: str
    """Its name for the user."""
    contextTokens: int | None
    """The size of the window that Fairlead uses."""
    inputPrice: float | None
    """US dollars per million tokens."""
    outputPrice: float | None
    tools: bool | None
    """Whether it can call tools. Fairlead needs them."""
    efforts: list[str]
    """The levels of effort that it has; `[]`: none, or unknown."""


class EndpointWire(TypedDict):
    """A server of models."""

    name: str
    title: str
    local: bool
    """Whether it is on the server's machine or in the user's network."""
    needsKey: bool
    """Whether its models need a key, and there is none."""
    keyRefusal: str
    """What it said when it refused the key; empty: it did not refuse one."""
    problem: str
    """Why it could not be asked for its models, and what to do; empty: it was not asked, or it answered."""
    answers: bool
    """Whether a model's server answered there, or was not asked."""
    models: list[ModelWire]
    """The chosen and described ones first."""


class ModelsResult(TypedDict):
    endpoints: list[EndpointWire]
    """The one in use first. Without clouds, and local servers that do not run, unless they are set up."""
    chosen: ChosenModelWire
    """The model of the session, or of a new one."""
    recent: list[ChosenModelWire]
    """Other models that sessions use, the latest first."""


class TryRuleResult(TypedDict):
    problem: str
    """Why the rule cannot be used for the command, for the user; empty if it can."""
    matches: list[str]
    """Some commands that it allows."""
    misses: list[str]
    """Similar ones that it does not allow."""


class TryResult(TypedDict):
    model: str
    works: bool
    message: str
    """What happened, for the user: how long the answer took, or why there is none and what to do."""
    error: RunErrorWire | None
    """Set if it does not work."""


class ChangeInFileWire(TypedDict):
    """A proposed change, as it would change the user's text of a file."""

    sessionId: str
    uri: str
    """That of the proposal: for a renamed file, its old one."""
    hunk: str
    line: int
    """The first line of the user's text that it replaces, from 0; if it replaces none, the line that it precedes."""
    removed: int
    """How many lines it replaces."""
    added: list[str]
    """The new lines, without line ends."""
    state: Literal["pending", "conflict"]
    """`conflict`: the user changed the lines too. The user's lines are `line` and `removed`."""
    itemId: str | None
    """The plan item that made it; `null`: none."""
    number: int
    """Of the changes in its file, from 1."""
    count: int
    """How many changes its file has."""


class ChangesInFileResult(TypedDict):
    version: int | None
    """The version of the document that the lines belong to; `null`: it is not open, or has just changed again."""
    changes: list[ChangeInFileWire]
    """From top to bottom, for each session. Without files that are decided as a whole."""


class SavingParams(TypedDict):
    sessionId: str
    saved: bool


class PageResult(TypedDict):
    markdown: str


class RecordResult(TypedDict):
    markdown: str
    summary: str
    """The current text for `record` of `RunResult`."""
    commitMessage: str
    """For a commit: what the user accepted, what verified it, and the record. Empty if nothing is accepted."""
    record: object
    """The content of a record file (docs/record.md)."""


class PlanEditResult(TypedDict):
    plan: PlanWire
    """The new state."""


class SteerResult(TypedDict):
    queued: int
    """The number of waiting messages."""


class CheckResults(TypedDict):
    results: list[CheckResultWire]
    """In the order in which the checks ran."""


class StandingWire(TypedDict):
    """What one run of a race is worth (docs/plan.md, P25)."""

    sessionId: str
    title: str
    proof: Literal["proved", "verified", "unverified", "failed"]
    reason: str
    """Why, for the user."""
    newErrors: int
    needed: int | None
    """The size of the smallest set of its changes with which the checks pass; `null`: unknown."""
    changes: int
    lines: int
    """How many lines its changes add and remove."""
    costUsd: float | None
    """`null`: unknown."""
    tokens: int


class RaceResult(TypedDict):
    standings: list[StandingWire]
    """The best one first."""
    why: str
    """Why the first run is first, for the user."""


class SuggestedCheckWire(TypedDict):
    """A command that the workspace suggests as a check."""

    command: str
    source: str
    """The file or folder that suggests it."""


class SuggestedChecks(TypedDict):
    suggestions: list[SuggestedCheckWire]
    """Tests first."""


class OutcomeWire(TypedDict):
    """What happened to a hunk, or to a file as a whole."""

    uri: str
    hunk: str | None
    """`null`: the file as a whole."""
    outcome: Literal["applied", "rejected", "conflict", "failed"]
    """For undo and redo: `applied` or `failed`."""
    message: str
    """The reason, or a note, for the user; may be `""`."""
    texts: list[TitleWire]
    """The message in parts, for a client that shows another language: their texts one after the other."""


class RewindResult(TypedDict):
    sessionId: str
    """The session that was rewound, or the new one."""
    prompt: str
    """The prompt, which the conversation no longer contains. Offer it to the user for editing."""
    kept: list[OutcomeWire]
    """The files whose accepted text could not be undone, with the reasons."""


class ReviewResult(TypedDict):
    outcomes: list[OutcomeWire]
    edits: EditsWire | None
    """The new state; `null` for a client with `incremental`, which got it before the answer."""


class AmendResult(TypedDict):
    edits: EditsWire | None
    """The new state; `null` for a client with `incremental`, which got it before the answer."""


class LocationWire(TypedDict):
    """A line of a file, or the file."""

    uri: str
    line: int | None
    """From 1."""


class FormerFolder(TypedDict):
    uri: str
    """A folder that no longer exists."""
    sessions: int
    """The number of its saved sessions."""


class FormerFoldersResult(TypedDict):
    folders: list[FormerFolder]
    """The folder with the latest saved session first."""


ApprovalKind = Literal[
    "command",
    "file",
    "tool",
    "toolServer",
    "installServer",
    "agent",
    "installAgent",
    "changedTools",
    "web",
    "hook",
    "call",
]


class ApproveParams(TypedDict):
    """A question to the user: whether something may run, or whether a file may be read, changed or accepted."""

    sessionId: str
    toolCallId: str | None
    """`null`: the user's own accept asks, or a tool server that no call has started."""
    kind: ApprovalKind
    """`tool`: a call of a tool server. `toolServer`: such a server is to start. `installServer`: its package is to be
    installed. `agent` and `installAgent`: the same for an agent of another maker. `changedTools`: the tools of a
    server have changed. `web`: a page of the web is to be fetched. `hook`: a hook is to run, now and later. `call`: a
    hook wants the user to look at a call.

    For servers, agents, changed tools and hooks, `allow_once` holds until these change.
    """
    mode: Literal["sandboxed", "workspace"] | None
    """Where it runs; `null` if nothing starts on this machine."""
    command: str | None
    """Exactly what runs. It may contain invisible or direction characters: show them as escapes.

    For `tool`, the server, the tool and the arguments in several lines. For `toolServer`, the command line, or the
    address if `mode` is `null`. For `changedTools`, the difference. For `web`, the URL. For `call`, the tool and a line
    for each field of its input. `null` for `file`.
    """
    cwd: str | None
    """The path of the folder in which it runs; `null` if `mode` is."""
    uri: str | None
    """The file; `null` for everything else."""
    server: str | None
    """The name of the tool server or the agent; for `web`, the host, with an unusual port; else `null`."""
    tool: str | None
    """The tool that is called; `null` for everything but `tool`."""
    reasons: list[str]
    """Why the user is asked, the most important reason first."""
    reasonTexts: list[TitleWire]
    """The same in parts, for a client that shows another language."""
    rules: list[str]
    """The rules with which this command, and no other one, would run without asking. `[]`: none can.

    Of the setting `bash.allow`, or of `tools.allow` for the kind `tool`, where the rule allows other calls of the tool
    too, or of `web.allow` for the kind `web`, where it allows the host.
    """


class ApproveResult(TypedDict):
    option: Literal["allow_once", "allow_session", "reject"]
    reason: NotRequired[str]
    """For a rejection; the model reads it."""


class AskParams(TypedDict):
    """A question of the model."""

    sessionId: str
    toolCallId: str
    question: str
    options: list[str]
    """Suggested answers; any other text is possible too. `[]`: no suggestions."""


class AskResult(TypedDict):
    answer: str | None
    """`null`: no answer."""


class AuthorizeParams(TypedDict):
    """The page on which the user signs in to a tool server."""

    server: str
    url: str
    """Its scheme is `https` or `http`."""


class AuthorizeResult(TypedDict):
    callbackUrl: str | None
    """The address that the browser was sent back to, with its query; `null`: the user gave up."""


class EnterParams(TypedDict):
    """A value that a tool server needs before it starts."""

    server: str
    question: str
    isSecret: bool
    """What the user types must not be shown."""
    default: str
    """What they may take over; `""` if there is nothing."""
    options: list[str]
    """What they choose from; `[]`: anything."""


class EnterResult(TypedDict):
    value: str | None
    """May be `""`; `null`: the user gave up."""


class SecretChangedParams(TypedDict):
    key: str
    value: str | None
    """`null`: remove it."""


class ClaimsParams(TypedDict):
    uris: list[str]
    """Files that are not open documents. Some may not exist."""


class RefusedFile(TypedDict):
    uri: str
    reason: str
    """For the user."""


class ClaimsResult(TypedDict):
    claimed: list[str]
    """The files that the editor must write."""
    refused: list[RefusedFile]
    """The files that nobody can write now."""


class DiagnosticsParams(TypedDict):
    uri: str | None
    """A file, which the client may need to open first; `null`: all files that it has opened."""


class DiagnosticsResult(TypedDict):
    files: list[FileDiagnosticsWire]
    """Files without a problem may be left out."""


class ApplyEditDigests(TypedDict):
    """What `workspace/applyEdit` has in addition to LSP's params, for a client that announces `checksEdits`."""

    digests: NotRequired[dict[str, str]]
    """The SHA-256 of the bytes on disk of each existing file, in hexadecimal, by URI. A file with unsaved changes is
    not compared.
    """
