"""The goldens of the server's requests, and of the client's answers, which are written here as JSON."""

import hashlib
from typing import Any

from lsprotocol import types

from fairlead.gate.request import (
    ApprovalRequest,
    CallTool,
    ChangeProtectedFile,
    ConfirmCall,
    FetchPage,
    InstallAgent,
    InstallServer,
    RunCommand,
    RunHook,
    StartAgent,
    StartServer,
    UseChangedTools,
    UseSecretFile,
    ValueRequest,
)
from fairlead.lsp.documents import Documents
from fairlead.lsp.editor import LspEditor
from fairlead.lsp.editor_code import EditorProvider
from fairlead.lsp.editor_diagnostics import EditorDiagnostics
from fairlead.sentences import Sentence
from fairlead.wire import protocol as wire
from fairlead.wire import states
from fairlead.workspace.editor import Claims, FileEdit
from protocol.golden import CALL, FOLDER, SESSION, Golden, Json, RecordingClient

AN_APPROVAL = ApprovalRequest(
    SESSION,
    CALL,
    RunCommand("python3 greet.py", FOLDER, "workspace"),
    (
        "Runs on the files on disk; 2 proposed edits are not visible to it.",
        "It runs outside the sandbox, with your permissions.",
    ),
    ("python3 greet.py",),
)
A_SECRET = ApprovalRequest(
    SESSION,
    CALL,
    UseSecretFile(FOLDER / ".env"),
    (
        "The agent wants to read this file, which looks like a secret.",
        "Its content would be sent to the model.",
    ),
)
A_CALL = ApprovalRequest(
    SESSION,
    CALL,
    CallTool("筆記", "write", {"path": "a.md", "text": "one\ntwo"}, "digest", True, True),
    (Sentence("The server says that this may delete or overwrite something."),),
    ("筆記__write",),
)
A_SERVER = ApprovalRequest(
    SESSION,
    None,
    StartServer("筆記", "npx -y notes 'a b'", FOLDER, "sandboxed", "digest"),
    (Sentence("The workspace's {0} defines this tool server, {1}.", ".mcp.json", "筆記"),),
)
A_REMOTE_SERVER = ApprovalRequest(
    SESSION,
    None,
    StartServer("筆記", "https://notes.example/mcp", FOLDER, None, "digest"),
    (Sentence("The workspace's {0} defines this tool server, {1}.", ".mcp.json", "筆記"),),
)
AN_AGENT = ApprovalRequest(
    SESSION,
    None,
    StartAgent("我的", "mine acp --说=好", FOLDER, "digest"),
    (Sentence("It reaches {0}.", "api.example.com:443"),),
)
ITS_PACKAGES = ApprovalRequest(SESSION, None, InstallAgent("我的", "npm install mine@1", FOLDER))
AN_INSTALLATION = ApprovalRequest(
    SESSION,
    None,
    InstallServer("筆記", "npm install --ignore-scripts notes", FOLDER),
    (Sentence("It installs the package of a tool server, once, with the versions that are the newest now."),),
)
CHANGED_TOOLS = ApprovalRequest(
    SESSION,
    None,
    UseChangedTools("筆記", "- Reads a note.\n+ Deletes a note.", "digest"),
    (Sentence("The tool server {0} has changed its tools.", "筆記"),),
)
A_PAGE = ApprovalRequest(
    SESSION,
    CALL,
    FetchPage("example.com:8080", "http://example.com:8080/%E5%95%8F%E5%80%99?q=1", True, True),
    (Sentence("Another page redirects to it."), Sentence("The connection is not encrypted.")),
    ("example.com:8080",),
)
A_HOOK = ApprovalRequest(
    SESSION,
    None,
    RunHook("PostToolUse", "scripts/格式.sh", FOLDER, "sandboxed", "digest"),
    (
        Sentence("The workspace's {0} defines this hook, line {1}.", ".claude/settings.json", 7),
        Sentence("It runs at {0}, for {1}.", "PostToolUse", "Edit|Write"),
    ),
)
A_CONFIRMED_CALL = ApprovalRequest(
    SESSION,
    CALL,
    ConfirmCall("bash\ncommand: git push"),
    (Sentence("A hook wants you to look at this: {0}", "It pushes."),),
)
A_CONFIRMATION = ApprovalRequest(
    SESSION,
    None,
    ChangeProtectedFile(FOLDER / ".github" / "workflows" / "問候.yml", "new"),
    ("Accepting creates this protected file.", "It defines what your CI builds run."),
)
DECISIONS: dict[str, Json] = {
    "allow_once": {"option": "allow_once"},
    "allow_session": {"option": "allow_session"},
    "reject": {"option": "reject", "reason": "現在不行 (not now)"},
}
A_PROBLEM: states.DiagnosticWire = {
    "range": {"start": {"line": 1, "character": 4}, "end": {"line": 1, "character": 10}},
    "severity": 1,
    "message": "“return” outside of a function",
    "source": "ruff",
}
A_QUESTION = ("Which greeting? 你好 or 您好?", ("你好", "您好"))


async def questions() -> list[Golden]:
    client = RecordingClient({"answer": "您好"})
    editor = LspEditor(client.protocol, Documents())
    editor.capabilities.questions = True
    await editor.ask(SESSION, CALL, *A_QUESTION)
    [(method, params)] = client.sent
    return [
        Golden("ask.params", method, "server-to-client", "params", params),
        Golden("ask.result", method, "client-to-server", "result", {"answer": "您好"}),
    ]


async def terminal_output() -> list[Golden]:
    client = RecordingClient(None)
    await LspEditor(client.protocol, Documents()).show_output(SESSION, "您好\r\n".encode())
    [(method, params)] = client.sent
    return [
        Golden("terminal.output.params", method, "server-to-client", "params", params),
        Golden("terminal.output.result", method, "client-to-server", "result", None),
    ]


async def authorizations() -> list[Golden]:
    url, back = "https://example.com/authorize?state=a", "http://127.0.0.1:33418/callback?code=b&state=a"
    client = RecordingClient({"callbackUrl": back})
    assert await LspEditor(client.protocol, Documents()).authorize("議題", url) == back
    [(method, params)] = client.sent
    return [
        Golden("toolServers.authorize.params", method, "server-to-client", "params", params),
        Golden("toolServers.authorize.result", method, "client-to-server", "result", {"callbackUrl": back}),
    ]


async def entries() -> list[Golden]:
    client = RecordingClient({"value": "钥匙"})
    editor = LspEditor(client.protocol, Documents())
    editor.capabilities.sign_ins = True
    assert await editor.enter(ValueRequest("議題", "密钥?", False, "a", ("a", "b"))) == "钥匙"
    [(method, params)] = client.sent
    return [
        Golden("toolServers.enter.params", method, "server-to-client", "params", params),
        Golden("toolServers.enter.result", method, "client-to-server", "result", {"value": "钥匙"}),
    ]


async def diagnostics() -> list[Golden]:
    path = FOLDER / "src/問候.py"
    result: wire.DiagnosticsResult = {"files": [{"uri": path.as_uri(), "diagnostics": [A_PROBLEM]}]}
    client = RecordingClient(result)
    await EditorDiagnostics(client.protocol, Documents()).diagnostics(path)
    [(method, params)] = client.sent
    return [
        Golden("diagnostics.params", method, "server-to-client", "params", params),
        Golden("diagnostics.result", method, "client-to-server", "result", result),
    ]


async def code() -> list[Golden]:
    """The server's requests about code, in LSP's own shapes, and an editor's answers."""
    uri, other = (FOLDER / "src/問候.py").as_uri(), (FOLDER / "main.py").as_uri()
    document, name = {"uri": uri}, _range(0, 4, 9)
    at = {"textDocument": document, "position": name["start"]}
    places = [{"uri": uri, "range": name}, {"uri": other, "range": _range(3, 0, 5)}]
    edits = [
        {"textDocument": {"uri": uri, "version": 7}, "edits": [{"range": name, "newText": "問候"}]},
        {"kind": "rename", "oldUri": other, "newUri": (FOLDER / "開始.py").as_uri(), "options": {}},
    ]
    symbol = {"name": "greet", "detail": "", "kind": 12, "range": _range(0, 0, 40), "selectionRange": name}
    found = {"name": "greet", "kind": 12, "location": places[0], "containerName": "問候"}
    fix = {"title": "Import greet", "kind": "quickfix", "isPreferred": True, "edit": {"documentChanges": edits[:1]}}
    problem = {"diagnostics": [A_PROBLEM], "only": ["quickfix"], "triggerKind": 1}
    shown = {"contents": {"kind": "markdown", "value": "```python\ndef greet() -> str\n```"}, "range": name}
    asked: dict[str, tuple[Json, Any]] = {
        types.TEXT_DOCUMENT_DEFINITION: (at, places[:1]),
        types.TEXT_DOCUMENT_REFERENCES: ({**at, "context": {"includeDeclaration": True}}, places),
        types.TEXT_DOCUMENT_IMPLEMENTATION: (at, places[:1]),
        types.TEXT_DOCUMENT_HOVER: (at, shown),
        types.TEXT_DOCUMENT_DOCUMENT_SYMBOL: ({"textDocument": document}, [{**symbol, "children": []}]),
        types.WORKSPACE_SYMBOL: ({"query": "greet"}, [found]),
        types.TEXT_DOCUMENT_RENAME: ({**at, "newName": "問候"}, {"documentChanges": edits}),
        types.TEXT_DOCUMENT_CODE_ACTION: ({"textDocument": document, "range": name, "context": problem}, [fix]),
    }
    made: list[Golden] = []
    for method, (given, result) in asked.items():
        client = RecordingClient(result)
        await EditorProvider(client.protocol, Documents()).request(method, given)
        [(ours, params)] = client.sent
        short = f"editor.{ours.rpartition('/')[2]}"
        made.append(Golden(f"{short}.params", ours, "server-to-client", "params", params))
        made.append(Golden(f"{short}.result", ours, "client-to-server", "result", result))
    return made


def _range(line: int, start: int, end: int) -> Json:
    return {"start": {"line": line, "character": start}, "end": {"line": line, "character": end}}


async def approvals() -> list[Golden]:
    client = RecordingClient()
    editor = LspEditor(client.protocol, Documents())
    editor.capabilities.approvals = True
    of_tools = (A_CALL, A_SERVER, A_REMOTE_SERVER, AN_INSTALLATION, AN_AGENT, ITS_PACKAGES, CHANGED_TOOLS)
    for request in (AN_APPROVAL, A_SECRET, A_CONFIRMATION, *of_tools, A_PAGE, A_HOOK, A_CONFIRMED_CALL):
        await editor.approve(request)
    editor.capabilities.approvals = False
    await editor.approve(AN_APPROVAL)
    [(asked, params), *others, (message, question)] = client.sent
    kinds = (
        "secret",
        "confirmation",
        "tool",
        "toolServer",
        "remoteServer",
        "installServer",
        "agent",
        "installAgent",
        "changedTools",
        "web",
        "hook",
        "call",
    )
    return [
        Golden("approve.params", asked, "server-to-client", "params", params),
        *(
            Golden(f"approve.params.{kind}", asked, "server-to-client", "params", given)
            for kind, (_, given) in zip(kinds, others, strict=True)
        ),
        *(
            Golden(f"approve.result.{name}", asked, "client-to-server", "result", result)
            for name, result in DECISIONS.items()
        ),
        Golden("approve.message.params", message, "server-to-client", "params", question),
        Golden("approve.message.result", message, "client-to-server", "result", {"title": wire.ALLOW_SESSION}),
    ]


async def claims() -> list[Golden]:
    shown, notebook, closed = (FOLDER / name for name in ("shown.py", "問候.ipynb", "closed.py"))
    reason = "問候.ipynb is open as a notebook. Close it, then try again."
    result: wire.ClaimsResult = {"claimed": [shown.as_uri()], "refused": [{"uri": notebook.as_uri(), "reason": reason}]}
    client = RecordingClient(result)
    editor = LspEditor(client.protocol, Documents())
    editor.capabilities.claims_files = True
    assert await editor.claims([shown, notebook, closed]) == Claims({shown}, {notebook: reason})
    [(method, params)] = client.sent
    return [
        Golden("claims.params", method, "server-to-client", "params", params),
        Golden("claims.result", method, "client-to-server", "result", result),
    ]


async def apply_edit() -> Golden:
    """An open file (a version, columns in UTF-16), a closed one (a digest), a new, a deleted and a renamed one."""
    client = RecordingClient({"applied": True})
    documents = Documents()
    editor = LspEditor(client.protocol, documents)
    able = editor.capabilities
    able.apply_edit = able.document_changes = able.checks_edits = True
    able.file_operations = list(types.ResourceOperationKind)
    base, proposed = "a\n👋 Bye", "a\n👋 再見"
    documents.opened(f"{FOLDER.as_uri()}/open.txt", base, 7)
    digest = hashlib.sha256(b"a\r\n").hexdigest()
    edits = [
        FileEdit(FOLDER / "open.txt", base, proposed, 7),
        FileEdit(FOLDER / "closed.txt", "a\r\n", "b\r\n", digest=digest),
        FileEdit(FOLDER / "新.md", None, "# 問候\n"),
        FileEdit(FOLDER / "alt.txt", "alt\n", None),
        FileEdit(FOLDER / "a.py", "a = 1\n", "b = 1\n", new_path=FOLDER / "lib/b.py"),
    ]
    await editor.apply("Accept 5 files", edits)
    [(method, params)] = client.sent
    return Golden("applyEdit.params", method, "server-to-client", "params", params)
