"""The states of sessions: the plan, the proposed edits and the list of sessions (docs/protocol.md, Shapes)."""

from typing import Any, Literal, TypedDict

ItemStatus = Literal["pending", "in_progress", "completed"]

Phase = Literal["idle", "running", "paused"]

VerificationStatus = Literal[
    "none", "looked", "unverified", "verified", "proved", "stale", "failed", "noEvidence", "marked"
]  # fmt: skip
"""What supports a completed item; `none` for any other (docs/protocol.md, `PlanItem`)."""


class EvidenceCommandWire(TypedDict):
    """A command that ran for a step."""

    command: str
    exitCode: int | None
    """`null`: it was stopped, timed out or could not be started."""
    toolCallId: str
    seconds: float
    stopped: bool
    """It was stopped on purpose and did not fail."""
    verifies: bool
    """It is a test run, a build, a linter or a type checker, and its exit code shows the result."""
    withoutChanges: bool
    """It is a check that ran on the files without the proposals."""
    withTests: bool
    """It is a check that ran on the files with only the proposed tests (docs/plan.md, P23)."""
    reads: int | None
    """The number of files of the workspace that it read, which alone can make its result stale ([plan.md](plan.md),
    P21); `null`: that is not known, so every file can.
    """


class EvidenceCallWire(TypedDict):
    """A call of a tool of a tool server for a step, or a request to the web."""

    server: str
    """The host of a request to the web, with the port if it is unusual."""
    tool: str
    toolCallId: str
    outcome: Literal["answered", "failed", "unknown"]
    """`failed`: the server answered with an error or ended. `unknown`: it was cancelled, or not answered in time."""
    seconds: float
    """0 if the outcome is unknown."""
    effectsOutside: bool
    """It can have effects outside of the workspace, which nobody reviews."""
    arguments: str
    """As JSON on one line, cut; `""` for a tool server's call without effects outside."""


class EvidenceSubagentWire(TypedDict):
    """The work of a subagent for a step (docs/subagents.md)."""

    toolCallId: str
    title: str
    agent: str
    """The agent in a file that did it; `""`: an explorer."""
    state: Literal["running", "done", "stopped", "failed", "interrupted"]
    """`failed`: an error or a limit ended it. `interrupted`: its process ended."""
    tokens: int
    costUsd: float | None
    """`null`: the model's price is unknown, or no tokens were used."""


class EvidenceWire(TypedDict):
    """What was done for a step, or outside of the steps."""

    files: list[str]
    """URIs of the changed files."""
    commands: list[EvidenceCommandWire]
    """The commands that ended, in order."""
    calls: list[EvidenceCallWire]
    """The calls of tool servers that ended, in order."""
    subagents: list[EvidenceSubagentWire]
    """In the order in which they began."""
    looks: int
    """The number of reads and searches."""
    tokens: int
    """All tokens of its requests."""
    costUsd: float | None
    """`null`: the model's price is unknown, or no tokens were used."""
    seconds: float
    """The time in progress."""


class BrokenByWire(TypedDict):
    """The change that broke the verification of an item (docs/plan.md, P26)."""

    maker: Literal["agent", "user", "decision", "unknown"]
    """`user`: an edit of the user's own file, also by another program. `decision`: the user rejected, undid or amended
    proposed changes.
    """
    itemId: str | None
    """The item that the agent worked on; `null`: none, or the agent did not make the change."""
    files: list[str]
    """The URI of the changed file; if the maker is `unknown`, those of all files that it may be."""
    firstLine: int
    """The first changed line in the text after the change, from 1; 0: not known, or several places."""
    lastLine: int
    """The last changed line; 0 as for `firstLine`."""


class PlanItemWire(TypedDict):
    """A step of the plan."""

    id: str
    """Stable as long as the item is the same (docs/plan.md, P6)."""
    content: str
    """One line."""
    status: ItemStatus
    activeForm: str
    """The item's text while it is in progress; may be empty."""
    held: bool
    """The user put it on hold: the agent must not start it."""
    byUser: bool
    """The user wrote it."""
    check: str
    """A command that must pass before the item is completed (docs/plan.md, P17); empty: none."""
    checkByUser: bool
    """The user attached or removed the check, so the agent cannot change it."""
    flaky: bool
    """Its command has passed and failed on the same files, so the item is `unverified`."""
    leftovers: list[str]
    """The URIs of ignored files and folders that commands of the session left, if its command passes only with them, so
    that the item is `unverified`; some of them, if they are many.
    """
    verification: VerificationStatus
    """What supports a completed item, `none` for others."""
    decidedBy: str
    """The command that decides `verification`; empty: none."""
    changedSince: list[str]
    """If it is `stale`: the URIs of what has changed after that command: files, or what else it read (P21)."""
    unread: list[str]
    """The URIs of the files that it changed and that no command behind `verification` has read, if that is known. If a
    command of another item has read none of the item's files, the item is `unverified`.
    """
    testsPassWithout: bool
    """Its command passes on the old code with the new tests, so these do not test its changes (docs/plan.md, P23)."""
    brokenBy: BrokenByWire | None
    """If it is `failed`: what broke it, if the command passed before and Fairlead has looked for that."""
    newErrors: int
    """The errors among the `problems` of the files that the item changed."""
    evidence: EvidenceWire
    """What happened while it was in progress."""


class OutsideWire(TypedDict):
    """What happened while no item was in progress."""

    id: Literal["before", "unplanned"]
    """Before there was a plan, or with a plan but no item in progress."""
    evidence: EvidenceWire


class PlanWire(TypedDict):
    """The plan of a session."""

    sessionId: str
    version: int
    """Increases with every change."""
    revision: int
    """Increases only when an item's id, content, status, `held`, `check` or position changes."""
    items: list[PlanItemWire]
    """In order."""
    outside: list[OutsideWire]
    """What happened while no item was in progress."""
    inferred: list[str]
    """The steps that the server inferred if the model works without a plan. Show them as inferred."""
    completed: int
    total: int
    roundsSinceUpdate: int
    """The basis of the reminder (docs/plan.md, L5)."""
    awaitsApproval: bool
    """Whether a run in the mode `"plan"` has begun, and has not left the plan as it was, since the last one in the mode
    `"agent"`. If no run is active and an
    item is not completed, offer the user to approve the plan: `agent/runTask` with `continue: "plan"`.
    """
    lapsed: list[str]
    """The ids of the items whose verification did not hold anymore when the session was restored in a new process, and
    that were not verified again since (docs/plan.md, P26).
    """


class UpdatedStep(TypedDict):
    status: ItemStatus
    text: str
    """The item's id, content, active form and check, in one line for the model."""


class OpenStep(TypedDict):
    id: str
    problem: str
    """What is wrong with the check, after “its check”: `failed`, or `could not run: ...`; empty if it was stopped."""


class PlanUpdateWire(TypedDict):
    """What a call of `todo` led to."""

    steps: list[UpdatedStep]
    """The new plan."""
    open: list[OpenStep]
    """The steps that the call could not complete because of their checks."""


class PositionWire(TypedDict):
    """A position in a text, as in LSP."""

    line: int
    """From 0."""
    character: int
    """From 0, in the units of the `positionEncoding`."""


class RangeWire(TypedDict):
    start: PositionWire
    end: PositionWire


class DiagnosticWire(TypedDict):
    range: RangeWire
    severity: int
    """As in LSP: 1 an error, 2 a warning, 3 information, 4 a hint."""
    message: str
    source: str | None
    """The tool, such as `ruff`."""


class FileDiagnosticsWire(TypedDict):
    uri: str
    diagnostics: list[DiagnosticWire]


class TitleWire(TypedDict):
    """A title or a sentence in parts, for a client that shows another language; the `data` of a code lens or action."""

    prefix: str
    """The beginning, such as `Fairlead: `; may be empty."""
    template: str
    """The rest in English, such as `Accept {0}`; empty: there is no more."""
    arguments: list[str]
    """What `{0}` and `{1}` stand for."""


class ConflictWire(TypedDict):
    """The three texts of a conflict."""

    base: str
    """The original lines that both sides changed."""
    current: str | None
    """The user's lines; `null` if the user deleted the file."""
    proposed: str
    """The agent's lines. If one change of the user touches two hunks, they share a conflict and are decided together.
    """


class HunkWire(TypedDict):
    """A block of changed lines."""

    id: str
    """A digest of the old lines, the new lines and the occurrence. It changes with the content."""
    oldStart: int
    """The first line in the base, from 1. As in a unified diff, the start of an empty side is the line before it."""
    oldLines: int
    newStart: int
    """The same in the proposed text."""
    newLines: int
    snippet: str
    """The first line that is not blank: of the new lines, else of the old ones. Without indentation, at most 80
    characters, invisible ones escaped.
    """
    itemId: str | None
    """The plan item in progress at the last change."""
    toolCallIds: list[str]
    """The calls that its lines are from, the latest one last. A call whose lines were all changed again is not among
    them.
    """
    state: Literal["pending", "conflict"]
    conflict: ConflictWire | None
    """Set exactly when `state` is `"conflict"`."""
    weakens: list[TitleWire]
    """Why it weakens tests ([plan.md](plan.md), P22), as sentences for the user. `[]`: it does not, or the user has
    edited it. An accept of everything leaves it.
    """


class OvertakenWire(TypedDict):
    """A plan item whose changes to a file were changed again."""

    itemId: str
    """The plan item whose changes were changed again, in part or completely."""
    byItemId: str | None
    """The last plan item that changed them; `null`: no item was in progress."""


class FileEditsWire(TypedDict):
    """The proposal for a file."""

    uri: str
    """A `file:` URI. Compare paths, not strings: clients spell URIs differently."""
    kind: Literal["create", "modify", "delete", "rename"]
    """All except `modify` are decided as a whole."""
    newUri: str | None
    """Set for a rename. `uri` is then the old name."""
    state: Literal["pending", "conflict"]
    """`conflict`: a hunk is in conflict, or the whole file (a new file that now exists, a deleted one that changed)."""
    protected: bool
    """It configures the editor, Git hooks, CI, the shell or agents (`.vscode/`, `.github/workflows/`, `AGENTS.md` and
    similar). An accept with any target first sends `agent/approve`. Undo and redo do not.
    """
    risk: Literal["deletion", "configuration", "ci"] | None
    """Why it needs attention: a deletion, or a file that tools run automatically."""
    binary: bool
    """The proposal is bytes (content that is not text, or text in another encoding): no hunks, decided as a whole. If
    only the encoding changes, both texts are the same.
    """
    mode: str | None
    """The proposed permission bits, in octal (`"755"`). The file is then decided as a whole."""
    itemIds: list[str]
    """The plan items of its hunks."""
    overtaken: list[OvertakenWire]
    """The plan items whose changes were changed again by a later item."""
    additions: int
    """The number of added lines."""
    deletions: int
    """The number of removed lines."""
    hunks: list[HunkWire]
    """The undecided hunks; `[]` for an empty new file and for a rename without other changes. At most 5,000: in a file
    with more, the nearest ones are joined.
    """
    weakens: list[TitleWire]
    """Like that of a hunk, if it concerns the file as a whole."""
    unread: bool
    """Whether no check or other verifying command has read it ([plan.md](plan.md), P21); `false` if that is not known.
    """
    problems: list[DiagnosticWire]
    """The errors that the proposed text causes and that the file does not have without it, as far as a language server
    has checked. Their ranges are in the proposed text.
    """


class CheckResultWire(TypedDict):
    """The result of a check that the user requested, or that ran automatically after an accept."""

    toolCallId: str | None
    """That of its event `command`; `null`: it did not start, or was stopped."""
    itemId: str | None
    """The plan item whose evidence it is."""
    command: str
    changes: Literal["all", "some", "none"]
    """Which of the undecided changes it ran with."""
    passed: bool | None
    """`null`: it has no result, because it was stopped or could not run."""
    exitCode: int | None
    """`null`: it was killed or has no result."""
    seconds: float
    accepted: int
    """How many of the agent's changes the user has accepted."""
    total: int
    """How many changes there are, with the rejected and the undecided ones."""
    proves: bool
    """It fails without any of the changes and passes with all of them."""
    outdated: bool
    """A file or a proposal changed while it ran, so the result is not about the present files."""
    verdict: str
    """The part of `message` after the command, such as `passes (3 s).`"""
    message: str
    """What the result means, for the user."""


class ChangeIdWire(TypedDict):
    """A hunk, or a whole file."""

    uri: str
    hunk: str | None
    """`null`: the file as a whole."""


class SmallestSetWire(TypedDict):
    """The result of a search for the smallest set of changes with which checks pass (docs/plan.md, P19)."""

    commands: list[str]
    """The checks, which must all pass."""
    outcome: Literal["minimal", "limit", "stopped", "fails", "flaky", "changed"]
    """`minimal`: the checks pass with `needed`, and fail if any one of them is missing. `limit`, `stopped`: they pass
    with `needed`, but fewer may be enough. `fails`: they fail with all changes. `flaky`: they passed and failed with
    the same changes. `changed`: the proposals changed, or the agent began to work.
    """
    runs: int
    version: int
    """The version of the edits for which it was found."""
    needed: list[ChangeIdWire]
    notNeeded: list[ChangeIdWire]
    """The other changes. Both are empty if no smaller set was found."""
    message: str
    """What the result means, for the user."""


class NeededChangesWire(TypedDict):
    """Which changes the checks need: each was left out alone (docs/plan.md, P23). Those to tests are in no list."""

    commands: list[str]
    """The checks, which must all pass."""
    outcome: Literal["complete", "limit", "stopped", "fails", "flaky", "changed"]
    """`complete`: all changes were tried. `limit`, `stopped`: those in `untried` were not. `fails`: the checks fail
    with all changes. `flaky`: they passed and failed with all changes. `changed`: the proposals changed, or the agent
    began to work. With the last three, all lists are empty.
    """
    runs: int
    version: int
    """The version of the edits for which it was found."""
    needed: list[ChangeIdWire]
    """A check fails without the change."""
    notNeeded: list[ChangeIdWire]
    """The checks pass without the change. They may fail without several of these."""
    unread: list[ChangeIdWire]
    """No check has read the file."""
    untried: list[ChangeIdWire]
    message: str
    """What the result means, for the user."""


class CheckedSessionWire(TypedDict):
    """A session whose proposals are checked with those of others."""

    sessionId: str
    title: str
    changes: int
    """How many of its changes are undecided; 0 if it is left out."""


class SessionChangeWire(TypedDict):
    """A change of one of several sessions."""

    sessionId: str
    uri: str
    hunk: str | None
    """`null`: the file as a whole."""
    name: str
    """The file and the lines in the session's proposed text, such as "a.py, lines 3-5"."""
    line: int
    """The first of these lines, from 1."""


class CheckedTogetherWire(TypedDict):
    """The result of a check with the changes of all sessions."""

    command: str
    outcome: Literal["passes", "alone", "without", "minimal", "limit", "flaky", "not_run"]
    """`alone`: it fails with the changes of each of the sessions in `failing` alone, and passes without changes.
    `without`: it fails without changes. `minimal`: it fails with `changes` together, which is the smallest such set.
    `limit`: `changes` may not be the smallest set, and may be empty. `flaky`: it failed and passed with the same
    changes. `not_run`: it was not allowed or could not run.
    """
    runs: int
    failing: list[str]
    """The ids of sessions with whose changes alone it fails."""
    changes: list[SessionChangeWire]
    message: str
    """What the result means, for the user."""


class TogetherConflictWire(TypedDict):
    """Changes of two sessions that change the same lines differently, or exclude each other."""

    sides: list[SessionChangeWire]
    """One of each session."""


class TogetherResultWire(TypedDict):
    """The result of checking the proposals of all sessions together (docs/plan.md, P24)."""

    outcome: Literal["passes", "fails", "conflict", "changed", "stopped"]
    """`conflict`: changes cannot be combined, so nothing ran. `changed`: a proposal or a file changed, so there is no
    result. `stopped`: `checks` has those that had ended.
    """
    sessions: list[CheckedSessionWire]
    leftOut: list[CheckedSessionWire]
    """Sessions with proposals that other servers have open."""
    conflicts: list[TogetherConflictWire]
    checks: list[CheckedTogetherWire]
    message: str
    """A summary for the user, without the messages of the checks and without the conflicts."""


class TogetherProgressWire(TypedDict):
    """A run of a check with the changes of all sessions."""

    command: str
    number: int
    """Which of the checks it is, from 1."""
    count: int
    """How many checks there are."""
    runs: int
    """The number of this run of the check, from 1."""
    mostRuns: int
    """The maximum number of runs; 1 until the check has failed."""


class TogetherWire(TypedDict):
    """The check of all sessions together."""

    running: TogetherProgressWire | None
    """`null`: no check runs."""
    result: TogetherResultWire | None
    """The last result, until a proposal or a file of one of the sessions changes."""


class EditsWire(TypedDict):
    """The proposed edits of a session."""

    sessionId: str
    version: int
    """Increases with every change."""
    files: list[FileEditsWire]
    """The files with undecided changes. Those with a `risk` and `protected` ones come first, then by folder."""
    undoLabel: str | None
    """What `agent/edits/undo` would undo, such as "Accept a.py"; `null`: nothing."""
    redoLabel: str | None
    """What `agent/edits/redo` would redo."""
    checked: CheckResultWire | None
    """If something was accepted: the result of a check that ran with `base`; the first one that failed or, if none
    failed, the last one. `null` as soon as a file or a proposal changes.
    """
    smallest: SmallestSetWire | None
    """The last smallest set that a search found, with the changes that are still undecided, as long as it holds."""
    needed: NeededChangesWire | None
    """Which of the changes that are still undecided the checks need, until the text of a file changes."""


class SetOperation(TypedDict):
    """Adds or replaces a value."""

    op: Literal["add", "replace"]
    path: str
    """A JSON Pointer (RFC 6901) into the state, such as `/files/2/hunks/0`."""
    value: Any


class RemoveOperation(TypedDict):
    """Removes a value."""

    op: Literal["remove"]
    path: str


PatchOperation = SetOperation | RemoveOperation
"""An operation of JSON Patch (RFC 6902)."""


class ChangedWire(TypedDict):
    """The difference between two states of a session's plan or edits."""

    sessionId: str
    since: int
    """The `version` of the state that it changes."""
    patch: list[PatchOperation]
    """Apply all, in order. The new `version` is among them."""


class ChosenModelWire(TypedDict):
    """A model and where it is."""

    endpoint: str
    """The name of the endpoint."""
    model: str
    effort: str
    """How much the model thinks; empty: its default."""


class SessionRowWire(TypedDict):
    """A session in the list."""

    sessionId: str
    title: str
    """The user's name for it, the small model's, or the first line of the first prompt, at most 80 characters: a longer
    one ends with “…”. `""` before there is one.
    """
    updatedAt: str
    """When its last run started or ended (ISO 8601, UTC), or when it was created."""
    phase: Phase
    """`paused`: its run is unfinished, because the server ended or a limit was reached (`budget`, `max_turn_requests`,
    `loop`). It does not continue automatically.
    """
    completed: int
    """The completed items of its plan."""
    total: int
    """All items of its plan."""
    pendingFiles: int
    """Files with something to review."""
    model: ChosenModelWire
    """The model that its next run asks."""
    ended: str | None
    """The `stopReason` of its last run; `null` while it runs, and if that run was interrupted or there was none."""
    tokens: int
    """All tokens of its requests, also of those that a rewind discarded."""
    costUsd: float | None
    """US dollars for the tokens whose price is known; `null`: it is known for none."""
    openElsewhere: bool
    """Another server has it open. The other fields are then as they were when this server read them, and `paused` can
    also mean that the run continues there.
    """


class SessionListWire(TypedDict):
    """The sessions of the workspace."""

    sessions: list[SessionRowWire]
    """Newest first."""


class ServerToolWire(TypedDict):
    """A tool of a tool server. All texts are the server's own."""

    name: str
    title: str
    """May be `""`."""
    description: str
    """May be `""`."""
    readsOnly: bool
    """The server claims that it changes nothing."""
    isDestructive: bool
    """The server claims that it may destroy something."""
    tokens: int
    """About how many tokens its definition takes of each request, unless the agent finds the tools by a search."""
    isEnabled: bool
    """Whether the agent gets it: neither the tool nor its server is switched off."""


class ToolServerWire(TypedDict):
    """A tool server (docs/mcp.md)."""

    name: str
    command: str
    """The command line, or the address, with its variables. It may contain invisible or direction characters: show them
    as escapes.
    """
    isRemote: bool
    """It is at an address, and not started in the sandbox."""
    hasInputs: bool
    """It needs values that the user enters."""
    hosts: list[str]
    """What it reaches over the network, as `host:port`."""
    definedIn: str | None
    """The URI of the file in the workspace that defines it; `null`: the user's settings."""
    state: Literal["disabled", "stopped", "starting", "running", "failed", "notAllowed", "signIn"]
    """`stopped`: it starts when it is needed. `notAllowed`: the user did not allow its start.

    `signIn`: the user must sign in to it.
    """
    problem: str
    """Why it cannot be used; `""` if it can."""
    output: str
    """The last lines that it wrote beside its messages; may be `""`."""
    tools: list[ServerToolWire]
    """Those that it had when it last ran; `[]` before its first start."""


class SkillWire(TypedDict):
    """A skill or a command (docs/skills.md)."""

    kind: Literal["skill", "command"]
    name: str
    """A prompt that begins with `/` and this name uses it."""
    description: str
    hint: str
    """Its arguments; may be `""`."""
    uri: str
    """Its file."""
    isForModel: bool
    """The model may use it unasked."""
    isForUser: bool
    """The user may choose it."""
    isFromWorkspace: bool
    """Otherwise it is the user's own, for all workspaces."""


class AgentFileWire(TypedDict):
    """An agent that a file describes (docs/skills.md)."""

    name: str
    """The param `agent` of `agent/runTask`."""
    description: str
    uri: str
    """Its file."""
    isForModel: bool
    """The model may give it work."""
    isForUser: bool
    """The user may choose it for a task."""
    isFromWorkspace: bool
    """As in `SkillWire`."""


class FileProblemWire(TypedDict):
    """What is wrong with a file that the user wrote for the agent."""

    uri: str
    """The file."""
    line: int | None
    """Where, from 0. `null`: it concerns the file as a whole."""
    message: str
    """What is wrong, for a line that begins with the file."""
    isLeftOut: bool
    """Nothing in the file is used because of it."""


class SkillsWire(TypedDict):
    """The skills, commands and agents that can be used, by their names."""

    skills: list[SkillWire]
    agents: list[AgentFileWire]
    problems: list[FileProblemWire]
    """What is wrong with their files."""


class ToolServersWire(TypedDict):
    """The tool servers of a session."""

    sessionId: str | None
    """`null`: the servers that a new session would have."""
    servers: list[ToolServerWire]
    """In the order of their definitions."""


class PromptArgumentWire(TypedDict):
    name: str
    isRequired: bool


class ServerPromptWire(TypedDict):
    """A prompt of a tool server, which the user can choose. All texts are the server's own."""

    name: str
    description: str
    """May be `""`."""
    arguments: list[PromptArgumentWire]
    """In the server's order."""


class ServerResourceWire(TypedDict):
    """A resource of a tool server, which the user can mention. All texts are the server's own."""

    uri: str
    """Of any scheme."""
    name: str
    description: str
    """May be `""`."""


class ServerOfferWire(TypedDict):
    """What a tool server offers to the user."""

    server: str
    """Its name."""
    prompts: list[ServerPromptWire]
    """Those that it had when it last ran; `[]` before its first start."""
    resources: list[ServerResourceWire]
    """`[]` unless it runs."""


class ServerOffersWire(TypedDict):
    servers: list[ServerOfferWire]
    """Those that are not switched off, in the order of their definitions."""


class HostedAgentWire(TypedDict):
    """An agent of another maker that can work in place of Fairlead's own (docs/agents.md)."""

    name: str
    title: str
    """For the user."""
    command: str
    """The whole command line."""
    isInstalled: bool
    packages: list[str]
    """The packages with versions that are installed when it is used for the first time; `[]`: the user installs it."""
    signIn: list[str]
    """The program and the arguments with which the user signs in, in a terminal; `[]`: there is no such command, or the
    agent is not installed.
    """
    signInVariables: dict[str, str]
    """The environment variables for that."""


class AgentChoiceWire(TypedDict):
    """A value of an option, or a command after a slash."""

    id: str
    name: str
    about: str


class AgentOptionWire(TypedDict):
    id: str
    name: str
    category: str
    """Such as `mode`, `model` and `thought_level`."""
    value: str
    """The `id` of the choice that holds."""
    choices: list[AgentChoiceWire]


class HostedAgentsWire(TypedDict):
    """All texts but the names come from outside: show them as plain text."""

    agents: list[HostedAgentWire]
    chosen: str
    """The agent of the session; `""`: Fairlead's own."""
    options: list[AgentOptionWire]
    """Those of the chosen agent; `[]` before it runs."""
    commands: list[AgentChoiceWire]
    """What the chosen agent knows after a slash; `[]` before it runs."""
