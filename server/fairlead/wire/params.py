"""The params of the client's requests and notifications, and what it sends in `initialize` (docs/protocol.md).

An optional field may also be null.
"""

from typing import Any, Literal, NotRequired, TypedDict

from fairlead.wire.protocol import Mode
from fairlead.wire.states import ChangeIdWire, FileDiagnosticsWire, ItemStatus, RangeWire

Continuation = Literal["paused", "plan"]
"""What a run continues without a prompt: a run that did not finish, or a plan that the user approved."""

RewindScope = Literal["everything", "conversation", "fork"]
"""`everything`: the conversation, the plan and the proposals; also undoes what the user accepted later. `conversation`:
only the conversation. `fork`: a new session that begins with the conversation, the plan and the proposals of that
moment.
"""


class AgentCapabilities(TypedDict):
    """The client capability `experimental.agent`: what the client does. An absent field is false."""

    approvals: NotRequired[bool]
    """Answers `agent/approve`."""
    questions: NotRequired[bool]
    """Answers `agent/ask`."""
    sessions: NotRequired[bool]
    """Shows `agent/sessions` and `agent/together`."""
    editor: NotRequired[bool]
    """Answers the requests about code (docs/protocol.md, The editor's language support), or some of them. Without it,
    only language servers answer the model's questions about code (docs/plan.md, L18).
    """
    checksEdits: NotRequired[bool]
    """Compares the `digests` of a `workspace/applyEdit` with the files (docs/protocol.md, Standard LSP)."""
    claimsFiles: NotRequired[bool]
    """Answers `agent/editor/claims`. Without it, the server writes all files that are not open documents."""
    diffs: NotRequired[bool]
    """Has the command `fairlead.showChange`, which takes `{sessionId, target}` and shows that change as a diff. Only
    then do the code lenses in the user's files include **Open Diff**.
    """
    signIns: NotRequired[bool]
    """Answers `agent/toolServers/authorize` and `agent/toolServers/enter`, and saves what
    `agent/toolServers/secretChanged` brings.
    """
    incremental: NotRequired[bool]
    """Takes the differences of states that `Changed` describes. Without it, every change sends the whole state."""


class InitializationOptions(TypedDict):
    settings: NotRequired[dict[str, Any]]
    """As in docs/protocol.md, Settings. Default: the defaults of that table."""
    trusted: NotRequired[bool]
    """False: tasks are refused until `agent/trust`. Default: true."""
    storageDir: NotRequired[str]
    """The absolute path of a folder in which sessions are saved. All workspaces can share it, because a server lists
    and opens only the sessions that began with one of its folders. Without it, or if it cannot be a folder (a
    `window/showMessage` says so), sessions end with the process.
    """
    restore: NotRequired[bool]
    """False: a saved session is restored only when a request names it. For a client that runs one task and leaves the
    other sessions to other clients. Default: true.
    """


class NoParams(TypedDict):
    pass


class SessionParams(TypedDict):
    sessionId: str


class CreateSessionParams(TypedDict):
    title: NotRequired[str]


class RenameParams(TypedDict):
    sessionId: str
    title: str


class RewindParams(TypedDict):
    sessionId: str
    checkpoint: int
    """From the event `run_started` or a line of the transcript."""
    scope: RewindScope


class AdoptParams(TypedDict):
    former: str
    """The URI of a folder that no longer exists."""
    folder: str
    """The URI of an open folder, which gets its sessions."""


class FileItem(TypedDict):
    """A file or folder, or the lines of `range` in it."""

    kind: NotRequired[Literal["file"]]
    uri: str
    """A `file:` URI."""
    range: NotRequired[RangeWire]


class FileSelection(TypedDict):
    """Selected lines of a file."""

    kind: Literal["selection"]
    uri: str
    range: NotRequired[RangeWire]


class TextSelection(TypedDict):
    """Selected lines of a document that is not a file as the agent reads it: it was never saved, or is a side of a diff
    or a cell of a notebook.
    """

    kind: Literal["selection"]
    uri: NotRequired[str]
    """The file of which the document shows a part or another version. If it looks like a secret, the text is left
    out.
    """
    name: str
    """The name of the document. With `uri`, what the document shows of that file, in English: `before the proposed
    changes`, `cell 2`.
    """
    range: NotRequired[RangeWire]
    """Their place in the document."""
    text: str
    """These lines."""


SelectionItem = FileSelection | TextSelection


class ProblemsItem(TypedDict):
    """The problems that `agent/editor/diagnostics` answers, in one file or, without `uri`, in all files."""

    kind: Literal["problems"]
    uri: NotRequired[str]


class ChangesItem(TypedDict):
    """The uncommitted changes."""

    kind: Literal["changes"]
    text: str
    """The output of `git diff`. Its paths should be those that the agent's tools take."""


class TerminalItem(TypedDict):
    """A command that the user ran in a terminal."""

    kind: Literal["terminal"]
    command: str
    output: str
    """As the terminal got it."""
    exitCode: NotRequired[int]
    """Not set: it still runs, or the shell does not say."""


class ImageItem(TypedDict):
    """A picture that is in no file of the workspace."""

    kind: Literal["image"]
    name: str
    """For the user."""
    data: str
    """Its bytes as base64."""


class SkillsParams(TypedDict):
    sessionId: NotRequired[str]
    """Without it, the skills that a new session would have."""


class ServerPromptItem(TypedDict):
    """What a prompt of a tool server says, as `agent/toolServers/prompt` answers it."""

    kind: Literal["serverPrompt"]
    server: str
    name: str
    text: str


class ResourceItem(TypedDict):
    """A resource of a tool server, which the server reads and starts if necessary."""

    kind: Literal["resource"]
    server: str
    resource: str
    """The resource's own URI, of any scheme."""


ContextItem = (
    FileItem | SelectionItem | ProblemsItem | ChangesItem | TerminalItem | ImageItem | ServerPromptItem | ResourceItem
)
"""Something that the user names in a prompt."""


class EditorProblemsWire(TypedDict):
    """The number of problems in the open files, and the worst of them."""

    errors: int
    warnings: int
    files: list[FileDiagnosticsWire]
    """Some of them, such as the five worst."""


class ChangedFileWire(TypedDict):
    uri: str
    state: str
    """One word: `modified`, `added`, `deleted`, `renamed`, `untracked` or `conflict`."""


class GitStateWire(TypedDict):
    branch: str
    """With the repositories of several folders: `main (api), topic (web)`."""
    changed: int
    """How many files of the workspace differ from the last commit, untracked ones included."""
    files: list[ChangedFileWire]
    """Some of them."""


class EditorContextWire(TypedDict):
    """What the user is looking at."""

    activeFile: NotRequired[str | None]
    """The URI of the file in the active editor."""
    visibleRange: NotRequired[RangeWire | None]
    """Its lines on the screen. Left out, as `selection` is, if the editor shows another version or a part of the file,
    which has other lines.
    """
    selection: NotRequired[RangeWire | None]
    """Its selected lines."""
    openFiles: NotRequired[list[str]]
    """The URIs of the open documents. Those that are not files are ignored."""
    problems: NotRequired[EditorProblemsWire | None]
    """In the open files."""
    git: NotRequired[GitStateWire | None]
    """Left out if there is no repository, or if the server should read the branch itself."""


ContinueParams = TypedDict("ContinueParams", {"continue": NotRequired[Continuation]})
"""A part of `RunTaskParams`: `continue` is a keyword of Python."""


class RunTaskParams(ContinueParams, TypedDict):
    """Either a `prompt`, or what to `continue` without one."""

    prompt: NotRequired[str]
    """At most 400,000 characters."""
    sessionId: NotRequired[str]
    """Without it, the run creates a session. Needed with `continue`."""
    mode: NotRequired[Mode]
    """Default: the mode of the paused run that it continues, else `agent`."""
    agent: NotRequired[str]
    """The name of one of the `agents` of `agent/skills/list`, which then does the task; `""`: none. Default: that of
    the paused run that it continues, else none.
    """
    hosted: NotRequired[str]
    """The name of one of the agents of `agent/hosted`, which then does the task in place of Fairlead's own; `""`: none.
    Default: that of the last run of the session, else none.
    """
    context: NotRequired[list[ContextItem]]
    """What the user mentions in the prompt."""
    editor: NotRequired[EditorContextWire]
    workDoneToken: NotRequired[str | int]
    """The token under which the client wants to see the progress."""
    needsPrice: NotRequired[bool]
    """True: if the setting `budget.costUsd` limits the cost of the run, and the price of the model is unknown, the
    server refuses. Default: it runs without that limit, and a `window/showMessage` says so.
    """


class CallToolParams(TypedDict):
    sessionId: str
    name: str
    """A tool of the agent, as a model names it, or `run_check`, which runs a command or all checks on the proposals."""
    input: dict[str, Any]
    caller: str
    """The program that calls, for the user. At most 80 characters of it are shown."""
    prompt: NotRequired[str]
    """What the program begins, in a sentence for the user; it is in the conversation. Without it, the call continues
    the work. The first call of a session needs it.
    """


class TerminalWire(TypedDict):
    """A terminal of the client."""

    kind: str
    """As in the variable TERM, such as `xterm-256color`."""
    columns: int
    rows: int


class ShownFolderWire(TypedDict):
    """A folder outside of the workspace that a program sees."""

    path: str
    isWritable: bool
    """Whether what it writes there reaches the disk, without a review."""


class RunInTerminalParams(TypedDict):
    sessionId: str
    argv: list[str]
    """The program and its arguments. It starts in the first folder of the workspace."""
    terminal: TerminalWire
    network: NotRequired[bool]
    """Whether it reaches the internet. Default: `false`."""
    variables: NotRequired[dict[str, str]]
    """Environment variables, besides those that all commands in the sandbox get."""
    folders: NotRequired[list[ShownFolderWire]]


class TerminalInputParams(TypedDict):
    sessionId: str
    data: str
    """What the user typed, as Base64."""


class TerminalSizeParams(TypedDict):
    sessionId: str
    columns: int
    rows: int


class SteerParams(TypedDict):
    sessionId: str
    text: str
    toolCallId: NotRequired[str]
    """The call of the subagent that reads the text. Without it, the main run does."""


class SubagentParams(TypedDict):
    sessionId: str
    toolCallId: str
    """The call that started it."""


class StopCommandParams(TypedDict):
    sessionId: str
    handle: str
    """As in the event `command` or `check_search`."""


class Everything(TypedDict):
    """All proposals."""

    all: Literal[True]


class FileTarget(TypedDict):
    """A file."""

    uri: str


class HunkTarget(TypedDict):
    """A hunk, by its id; the whole file if it is created, deleted or renamed."""

    uri: str
    hunk: str


class SeveralChanges(TypedDict):
    """Some files and hunks, as one decision."""

    changes: list[ChangeIdWire]
    """In each of them, `hunk` may be left out."""


class ItemTarget(TypedDict):
    """All hunks that were last changed under this plan item."""

    item: str


class WeakenedTestsTarget(TypedDict):
    """All changes with reasons in `weakens`, as one decision."""

    weakenedTests: Literal[True]


Target = Everything | FileTarget | HunkTarget | SeveralChanges | ItemTarget | WeakenedTestsTarget
"""What a decision applies to. An accept leaves the changes that weaken tests, unless it names one change, one file or
these changes: their outcome is `failed`, with the reasons.
"""


class DecideParams(TypedDict):
    sessionId: str
    target: Target
    version: NotRequired[int]
    """The version of the edits that the user saw. If the target has changed since, the server refuses; without a
    version, it only compares with what a hook before an accept has seen.
    """


class AcceptParams(DecideParams):
    resolution: NotRequired[Literal["proposed"]]
    """Replaces the user's lines in a conflict."""


class RejectParams(DecideParams):
    reason: NotRequired[str]
    """The model reads it."""


class AmendParams(TypedDict):
    sessionId: str
    uri: str
    """The file's URI, for a rename the old one."""
    text: str
    """The complete new text."""
    version: NotRequired[int]
    """As in `DecideParams`."""


class UndoParams(TypedDict):
    sessionId: str
    item: NotRequired[str]
    """The id of a plan item: undoes what was accepted of it. Without it, the last decision is undone."""


class RunChecksParams(TypedDict):
    sessionId: str
    check: NotRequired[str]
    """A command; without it, all checks that are set."""
    base: NotRequired[bool]
    """True: the checks run without the undecided changes."""
    target: NotRequired[Target]
    """The checks see only these changes."""


class RaceParams(TypedDict):
    sessionIds: list[str]
    """Two or more sessions whose runs have ended, in the order in which equal ones are ranked."""


class MinimizeChecksParams(TypedDict):
    sessionId: str
    check: NotRequired[str]
    """A command; without it, all checks that are set."""


class AddItem(TypedDict):
    """Adds an item."""

    op: Literal["add"]
    content: str
    after: NotRequired[str | None]
    """The id of the item that it follows; `null` is the first position, and without `after` it becomes the last."""


class UpdateItem(TypedDict):
    """Changes an item. A held item cannot be in progress."""

    op: Literal["update"]
    id: str
    content: NotRequired[str]
    status: NotRequired[ItemStatus]
    held: NotRequired[bool]
    check: NotRequired[str]
    """A command that must pass before the item is completed; empty: none."""


class RemoveItem(TypedDict):
    """Removes an item, also from later versions by the model."""

    op: Literal["remove"]
    id: str


class MoveItem(TypedDict):
    """Moves an item."""

    op: Literal["move"]
    id: str
    after: NotRequired[str | None]
    """The id of the item that it then follows; `null` is the first position."""


class RestoreItem(TypedDict):
    """Brings back an item that the user has removed, as it was. It is pending if it was in progress."""

    op: Literal["restore"]
    id: str
    after: NotRequired[str | None]
    """As for `add`."""


PlanOp = AddItem | UpdateItem | RemoveItem | MoveItem | RestoreItem
"""One change of the plan by the user."""


class PlanEditParams(TypedDict):
    sessionId: str
    revision: int
    """The revision of the plan that the user saw."""
    ops: list[PlanOp]


class CredentialsParams(TypedDict):
    keys: NotRequired[dict[str, str]]
    """The API keys by the name of the endpoint."""
    apiKey: NotRequired[str]
    """The key of the endpoint `anthropic`, or of the server at the base URL if the setting `endpoint` is empty."""
    authToken: NotRequired[str]
    """For `anthropic`, in place of a key."""
    baseUrl: NotRequired[str]
    """As the setting `baseUrl`, which it replaces."""


class LogInParams(TypedDict):
    server: str
    """The name of a server that is remote or has inputs."""
    redirectUri: NotRequired[str]
    """Where the browser is sent back to: an address of the client, which it reads the answer from.

    Not needed for a local server.
    """


class SecretsParams(TypedDict):
    secrets: dict[str, str]
    """What `agent/toolServers/secretChanged` has brought, by its keys."""


class ModelsParams(TypedDict):
    sessionId: NotRequired[str]
    refresh: NotRequired[bool]
    """True: servers are asked again that were asked before."""
    ask: NotRequired[list[str]]
    """The names of the endpoints whose servers may be asked; without it, all."""


class FileParams(TypedDict):
    uri: str
    """A `file:` URI."""


class HostedAgentsParams(TypedDict):
    sessionId: NotRequired[str]
    """Without it, no agent runs, so none has options and commands."""


class InstallAgentParams(TypedDict):
    agent: str


class AgentOptionParams(TypedDict):
    sessionId: str
    option: str
    """The `id` of one of `options`."""
    value: str
    """The `id` of one of its `choices`."""


class TryRuleParams(TypedDict):
    rule: str
    """A rule of `bash.allow`."""
    command: str
    """The command that it is to allow."""
    mode: Literal["sandboxed", "workspace"]


class TryModelParams(TypedDict):
    """What is left out, the settings decide."""

    endpoint: NotRequired[str]
    model: NotRequired[str]
    effort: NotRequired[str]
    """Empty: the model's default, whatever the settings say."""


class ChooseModelParams(TryModelParams):
    sessionId: NotRequired[str]
    """Without it, nothing changes: the settings are the default for new sessions. The answer says what they choose."""


class WarmParams(TypedDict):
    sessionId: NotRequired[str]


class ToolServersParams(TypedDict):
    sessionId: NotRequired[str]
    """Without it, the servers that a new session would have, of which none runs."""


class ToolServerParams(TypedDict):
    sessionId: str
    server: str
    """Its name."""


class ServerPromptParams(TypedDict):
    sessionId: str
    server: str
    """Its name."""
    name: str
    """The prompt's name."""
    arguments: dict[str, str]
    """The values by the names of the arguments; without a value, an argument is left out."""


class ServerPromptResult(TypedDict):
    context: list[ServerPromptItem | ImageItem]
    """What `agent/runTask` needs in its `context`: the text, and the prompt's pictures."""


class TrustParams(TypedDict):
    trusted: bool
