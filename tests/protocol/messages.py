"""One example of each message, made by the server's own code out of core values: the source of tests/goldens/.

What the client sends stands here as JSON; the tests read it with the server's own readers.
"""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

from lsprotocol import types

from fairlead.agent import events
from fairlead.agent.errors import ModelError
from fairlead.agent.loop import Outcome
from fairlead.agent.model import Usage
from fairlead.agent.tool import Location
from fairlead.edits import changeset as cs
from fairlead.edits.changeset import Changeset, Raw
from fairlead.lsp import convert
from fairlead.lsp import protocol as wire
from fairlead.lsp.content import proposal_uri
from fairlead.lsp.documents import Documents
from fairlead.lsp.editor import LspEditor
from fairlead.lsp.knowledge import EditorKnowledge
from fairlead.lsp.progress import Progress
from fairlead.lsp.publish import Publisher
from fairlead.lsp.rpc import AgentProtocol
from fairlead.plan import TodoManager
from fairlead.plan.evidence import BEFORE, CommandRun, Record
from fairlead.session.events import EditsChanged, PlanChanged, SessionEvent
from fairlead.session.listing import Line as Spoken
from fairlead.session.listing import Row
from fairlead.session.recorder import Inferred
from fairlead.session.target import Decided
from fairlead.workspace.editor import ApprovalRequest, FileEdit
from fairlead.workspace.paths import Root

Direction = Literal["client-to-server", "server-to-client"]
Json = dict[str, Any]

SESSION = "5bda328d487f"
FOLDER = Path("C:/project" if os.name == "nt" else "/project")
ROOT = Root(FOLDER)
URI = "file:///project"
CALL = "toolu_01"


@dataclass(frozen=True)
class Golden:
    """A message's content. `direction` is who sends this very message: of a result, who answers.

    `shape` is the TypedDict of the content, where there is one.
    """

    name: str
    method: str
    direction: Direction
    part: Literal["params", "result"]
    value: Any
    shape: type | None = None

    @property
    def text(self) -> str:
        """The golden file."""
        whole = {"method": self.method, "direction": self.direction, self.part: self.value}
        text = json.dumps(whole, ensure_ascii=False, indent=2) + "\n"
        for own, neutral in _SPELLINGS.items():
            text = text.replace(own, neutral)
        return text


# a file has the same content on each system, so its paths are spelt as on POSIX
_SPELLINGS = {} if os.name == "posix" else {
    "file:///C:/project": URI, "/C%3A/project": "/project", "C:\\\\project": "/project",
}  # fmt: skip


class Line:
    """The other end of the wire: keeps what is sent, answers each request alike."""

    def __init__(self, answer: Any = None) -> None:
        self.sent: list[tuple[str, Any]] = []
        self._answer = answer

    @property
    def protocol(self) -> AgentProtocol:
        return cast("AgentProtocol", self)

    def send_notification(self, method: str, params: Any) -> None:
        self.sent.append((method, params))

    async def request(self, method: str, params: Any) -> Any:
        self.sent.append((method, params))
        return self._answer


async def goldens() -> list[Golden]:
    """All of them, by name."""
    found = [
        *requests(),
        *states(),
        *run_events(),
        *reviews(),
        *await approvals(),
        *await questions(),
        *await knowledge(),
        await apply_edit(),
        *progress(),
    ]
    found += content()
    return sorted(found, key=lambda golden: golden.name)


# the plan and the proposals


def a_plan() -> TodoManager:
    plan = TodoManager()
    plan.update(
        [
            {"content": "Read 問候.py", "status": "completed", "activeForm": "Reading 問候.py"},
            {"content": "翻譯問候語 👋", "status": "in_progress", "activeForm": "正在翻譯問候語"},
            {"content": "Run the tests"},
        ]
    )
    plan.note_round_without_update()
    return plan


def a_record() -> Record:
    """Something under the first step, a command that failed under the second, a look before the plan."""
    record = Record().with_look(BEFORE).with_file("1", _path("src/問候.py")).with_cost("1", 310, 0.0125)
    return record.with_command("2", CommandRun("toolu_05", "python3 greet.py", 1, 0.25)).with_seconds("2", 12.34)


def proposals() -> Changeset:
    """A file changed in two places, a new, a deleted, a renamed, a binary and an executable one, and a conflict."""
    base = 'def greet():\n    return "Hello"\n\n\ndef part():\n    return "👋 Bye"'
    first = base.replace("Hello", "你好")
    changes = cs.propose(Changeset(), _path("src/問候.py"), base, first, "1", "toolu_01")
    changes = cs.propose(changes, _path("src/問候.py"), base, first.replace("Bye", "再見"), "2", "toolu_02")
    changes = cs.propose(changes, _path("docs/new file.md"), None, "# 問候\n", "2", "toolu_03")
    changes = cs.propose(changes, _path("setup.cfg"), "a = 1\r\n", "a = 9\r\n", "1", "toolu_01")
    changes = cs.propose(changes, _path("setup.cfg"), "a = 1\r\n", "a = 2\r\n", None, "toolu_04")
    changes = cs.delete(changes, _path("alt.txt"), "alt\n", "2", "toolu_05")
    changes = cs.rename(changes, _path("a.py"), _path("lib/b.py"), "b = 1\n", "2", "toolu_06")
    picture = Raw(b"\x89PNG\0")
    changes = cs.propose(changes, _path("logo.png"), None, "(binary file, 5 bytes)", "2", "toolu_07", picture)
    changes = cs.propose(changes, _path("run.sh"), "ls\n", "ls -l\n", "2", "toolu_07", Raw(mode=0o755))
    return cs.observe(changes, _path("setup.cfg"), "a = 3\r\n")


def states() -> Iterator[Golden]:
    plan, changes = a_plan().snapshot(), proposals()
    yield _published("plan", PlanChanged(7, plan, a_record()), wire.PlanWire)
    inferred = (Inferred("look", "Look around"), Inferred("edit", "Edit src/問候.py"))
    empty = PlanChanged(1, TodoManager().snapshot(), Record(), inferred)
    yield _published("plan.empty", empty, wire.PlanWire)
    yield _published("edits", EditsChanged(5, changes, None, None), wire.EditsWire)
    yield _published("edits.empty", EditsChanged(6, Changeset(), "Accept 3 files", "Reject b.py"), wire.EditsWire)


def run_events() -> Iterator[Golden]:
    """One of each kind, in the order of a run."""
    started = events.ToolStarted(
        CALL,
        "edit_file",
        "edit",
        "Edit src/問候.py",
        {"path": "src/問候.py", "old_text": "Hello", "new_text": "你好"},
        (Location("src/問候.py"), Location("docs/new file.md", 3)),
    )
    for event in (
        events.RunStarted("claude-sonnet-5-5"),
        events.RoundStarted(1),
        events.Thinking("先看檔案。"),
        events.Text("I read the file first: 你好 👋"),
        started,
        events.CommandStarted(CALL, "2", "npm run dev", str(FOLDER), "sandboxed", False, "cmd-1"),
        events.ToolOutput(CALL, "\x1b[1mcollected 3 items\x1b[0m\n"),
        events.CommandEnded("cmd-1", CommandRun(CALL, "npm run dev", None, 62.04, True), "stopped"),
        events.ToolFinished(CALL, True, "Error: old_text not found, and nothing like it stands in the file."),
        events.ReminderSent(REMINDER),
        events.Steered("用您好 (say it politely)"),
        events.Told(FEEDBACK),
        events.Retry(1, 0.5, "The model is overloaded."),
        events.UsageReported(A_USAGE, 0.0042, 9810, 200_000),
        events.RoomMade("Old results were cleared to make room, about 80,000 tokens."),
        events.RunFinished("end_turn"),
    ):
        golden = _published("event", event)
        yield Golden(f"event.{golden.value['kind']}", golden.method, golden.direction, golden.part, golden.value)


REMINDER = "<reminder>Update your todos. In progress: #2: 翻譯問候語 👋.</reminder>"
FEEDBACK = "<review>\nThe user looked at your proposed edits:\n- accepted: src/問候.py\n</review>"
NO_KEY = "No API key. In a terminal set ANTHROPIC_API_KEY."
A_USAGE = Usage(requests=2, input_tokens=310, cache_read_tokens=9000, cache_write_tokens=412, output_tokens=88)


def _published(name: str, event: SessionEvent, shape: type | None = None) -> Golden:
    line = Line()
    publisher = Publisher(SESSION, ROOT, line.send_notification, lambda: "task-1")
    publisher(event)
    publisher.flush()
    [(method, params)] = line.sent
    return Golden(name, method, "server-to-client", "params", params, shape)


# requests of the client

THE_SESSIONS = (
    Row(SESSION, "翻譯問候語", 1_760_000_060.5, "running", 1, 3, 2),
    Row("0a1b2c3d4e5f", "", 1_760_000_000, "paused", 0, 0, 0),
)
A_TRANSCRIPT = (
    Spoken("user", "翻譯問候語 👋"),
    Spoken("tool", "read_file src/問候.py"),
    Spoken("assistant", "It greets in Chinese now."),
)


def requests() -> Iterator[Golden]:
    yield _asks("sessions.create.params", wire.CREATE_SESSION, {"title": "翻譯問候語"})
    yield _answers("sessions.create.result", wire.CREATE_SESSION, {"sessionId": SESSION})
    a_list = convert.sessions(THE_SESSIONS)
    yield Golden("sessions", wire.SESSIONS, "server-to-client", "params", a_list, wire.SessionsWire)
    yield _asks("sessions.list.params", wire.LIST_SESSIONS, {})
    yield _answers("sessions.list.result", wire.LIST_SESSIONS, a_list, wire.SessionsWire)
    for name, method in (("open", wire.OPEN_SESSION), ("delete", wire.DELETE_SESSION)):
        yield _asks(f"sessions.{name}.params", method, {"sessionId": SESSION})
    whole_session = {
        "sessionId": SESSION,
        "state": "idle",
        "plan": convert.plan(SESSION, PlanChanged(7, a_plan().snapshot(), a_record())),
        "edits": convert.edits(SESSION, ROOT, EditsChanged(6, Changeset(), "Accept 問候.py", None)),
        "transcript": convert.transcript(A_TRANSCRIPT),
    }
    yield _answers("sessions.open.result", wire.OPEN_SESSION, whole_session, wire.OpenResult)
    yield _answers("sessions.delete.result", wire.DELETE_SESSION, None)
    yield _asks("steer.params", wire.STEER, {"sessionId": SESSION, "text": "用您好 (say it politely)"})
    yield _answers("steer.result", wire.STEER, {"queued": 1}, wire.SteerResult)
    yield _asks("runTask.params", wire.RUN_TASK, {"prompt": "翻譯問候語 👋"})
    whole = {
        "prompt": "Greet in Chinese",
        "sessionId": SESSION,
        "mode": "agent",
        "context": [
            {"uri": f"{URI}/src/%E5%95%8F%E5%80%99.py"},
            {
                "uri": f"{URI}/setup.cfg",
                "range": {"start": {"line": 0, "character": 0}, "end": {"line": 4, "character": 2}},
            },
        ],
        "workDoneToken": "run-1",
    }
    yield _asks("runTask.params.all", wire.RUN_TASK, whole)
    ended = Outcome("end_turn", "It greets in Chinese now: 你好 👋", A_USAGE)
    failed = Outcome("error", NO_KEY, Usage(), ModelError("auth", NO_KEY))
    yield _answers(
        "runTask.result", wire.RUN_TASK, convert.run_result(SESSION, ended, "2 of 3 steps, 1 file."), wire.RunResult
    )
    yield _answers("runTask.result.error", wire.RUN_TASK, convert.run_result(SESSION, failed, ""), wire.RunResult)
    ops = [
        {"op": "add", "content": "測試 🚀", "after": "1"},
        {"op": "update", "id": "2", "content": "翻譯", "status": "pending", "held": True},
        {"op": "remove", "id": "3"},
        {"op": "move", "id": "2", "after": None},
    ]
    yield _asks("plan.edit.params", wire.PLAN_EDIT, {"sessionId": SESSION, "revision": 1, "ops": ops})
    state = PlanChanged(8, a_plan().snapshot(), Record())
    yield _answers("plan.edit.result", wire.PLAN_EDIT, {"plan": convert.plan(SESSION, state)}, wire.PlanEditResult)
    page = {"markdown": "## 翻譯問候語\n\n- [x] Read 問候.py\n"}
    for name, method in (("plan.history", wire.PLAN_HISTORY), ("record", wire.RECORD)):
        yield _asks(f"{name}.params", method, {"sessionId": SESSION})
        yield _answers(f"{name}.result", method, page, wire.PageResult)
    yield _asks("command.rules.params", wire.COMMAND_RULES, {})
    yield _answers("command.rules.result", wire.COMMAND_RULES, page, wire.PageResult)
    yield _asks("command.stop.params", wire.STOP_COMMAND, {"sessionId": SESSION, "handle": "cmd-1"})
    yield _answers("command.stop.result", wire.STOP_COMMAND, None)
    yield _asks("cancel.params", wire.CANCEL, {"sessionId": SESSION})
    yield _answers("cancel.result", wire.CANCEL, None)
    key = {"apiKey": "a-key", "authToken": "a-token", "baseUrl": "http://localhost:11434"}
    yield _asks("credentials.params", wire.CREDENTIALS, key)
    yield _answers("credentials.result", wire.CREDENTIALS, None)
    yield _asks("trust.params", wire.TRUST, {"trusted": True})


TARGETS: dict[str, Json] = {
    "all": {"all": True},
    "file": {"uri": f"{URI}/src/%E5%95%8F%E5%80%99.py"},
    "hunk": {"uri": f"{URI}/setup.cfg", "hunk": "02e3da028f848ad7"},
    "item": {"item": "2"},
}


def reviews() -> Iterator[Golden]:
    for name, target in TARGETS.items():
        params = {"sessionId": SESSION, "target": target, "version": 5}
        yield _asks(f"edits.accept.params.{name}", wire.ACCEPT, params)
    over = {"sessionId": SESSION, "target": TARGETS["hunk"], "version": 5, "resolution": "proposed"}
    yield _asks("edits.accept.params.resolution", wire.ACCEPT, over)
    why = {"sessionId": SESSION, "target": {"all": True}, "version": 5, "reason": "太長 (too long)"}
    yield _asks("edits.reject.params", wire.REJECT, why)
    changes = proposals()
    hunk = next(iter(changes)).hunks[0].id
    accepted = [
        Decided(FOLDER / "src/問候.py", hunk, "applied"),
        Decided(FOLDER / "setup.cfg", "02e3da028f848ad7", "conflict", "You changed these lines."),
        Decided(FOLDER / "docs/new file.md", None, "failed", "This editor cannot create files."),
    ]
    yield _review("edits.accept.result", wire.ACCEPT, accepted, changes)
    yield _review("edits.reject.result", wire.REJECT, [Decided(FOLDER / "src/問候.py", hunk, "rejected")], Changeset())
    text = {"sessionId": SESSION, "uri": TARGETS["file"]["uri"], "text": "# 問候\n", "version": 5}
    yield _asks("edits.amend.params", wire.AMEND, text)
    after = convert.edits(SESSION, ROOT, EditsChanged(6, changes, "Change 問候.py", None))
    yield _answers("edits.amend.result", wire.AMEND, {"edits": after}, wire.AmendResult)
    for name, method in (("undo", wire.UNDO), ("redo", wire.REDO)):
        item = {"item": "2"} if name == "undo" else {}
        yield _asks(f"edits.{name}.params", method, {"sessionId": SESSION, **item})
        yield _review(f"edits.{name}.result", method, [Decided(FOLDER / "src/問候.py", None, "applied")], changes)


def _review(name: str, method: str, decided: list[Decided], changes: Changeset) -> Golden:
    outcomes = [convert.outcome(one) for one in decided]
    state = EditsChanged(6, changes, "Accept 問候.py", None)
    result = {"outcomes": outcomes, "edits": convert.edits(SESSION, ROOT, state)}
    return _answers(name, method, result, wire.ReviewResult)


def _asks(name: str, method: str, params: Json) -> Golden:
    return Golden(name, method, "client-to-server", "params", params)


def _answers(name: str, method: str, result: Any, shape: type | None = None) -> Golden:
    return Golden(name, method, "server-to-client", "result", result, shape)


# requests of the server

AN_APPROVAL = ApprovalRequest(
    SESSION,
    CALL,
    "python3 greet.py",
    FOLDER,
    reasons=(
        "Runs on the files on disk; 2 proposed edits are not visible to it.",
        "Commands run in the workspace itself, with your rights.",
    ),
)
A_SECRET = ApprovalRequest(
    SESSION,
    CALL,
    reasons=("The agent wants to read this file, which looks like a secret.", "What it says would go to the model."),
    path=FOLDER / ".env",
)
A_CONFIRMATION = ApprovalRequest(
    SESSION,
    None,
    reasons=("Accepting makes this protected file.", "It says what your builds on the server run."),
    path=FOLDER / ".github" / "workflows" / "問候.yml",
)
DECISIONS: dict[str, Json] = {
    "allow_once": {"option": "allow_once"},
    "allow_session": {"option": "allow_session"},
    "reject": {"option": "reject", "reason": "現在不行 (not now)"},
}


A_PROBLEM: wire.DiagnosticWire = {
    "range": {"start": {"line": 1, "character": 4}, "end": {"line": 1, "character": 10}},
    "severity": 1,
    "message": "“return” outside of a function",
    "source": "ruff",
}
A_QUESTION = ("Which greeting? 你好 or 您好?", ("你好", "您好"))


async def questions() -> list[Golden]:
    line = Line({"answer": "您好"})
    editor = LspEditor(line.protocol, Documents())
    editor.abilities.questions = True
    await editor.ask(SESSION, CALL, *A_QUESTION)
    [(method, params)] = line.sent
    return [
        Golden("ask.params", method, "server-to-client", "params", params, wire.AskParams),
        Golden("ask.result", method, "client-to-server", "result", {"answer": "您好"}, wire.AskResult),
    ]


async def knowledge() -> list[Golden]:
    path = Path(_path("src/問候.py"))
    result: wire.DiagnosticsResult = {"files": [{"uri": path.as_uri(), "diagnostics": [A_PROBLEM]}]}
    line = Line(result)
    await EditorKnowledge(line.protocol, Documents()).diagnostics(path)
    [(method, params)] = line.sent
    return [
        Golden("diagnostics.params", method, "server-to-client", "params", params, wire.DiagnosticsParams),
        Golden("diagnostics.result", method, "client-to-server", "result", result, wire.DiagnosticsResult),
    ]


async def approvals() -> list[Golden]:
    line = Line()
    editor = LspEditor(line.protocol, Documents())
    editor.abilities.approvals = True
    for request in (AN_APPROVAL, A_SECRET, A_CONFIRMATION):
        await editor.approve(request)
    editor.abilities.approvals = False
    await editor.approve(AN_APPROVAL)
    [(asked, params), (_, secret), (_, confirmation), (message, question)] = line.sent
    return [
        Golden("approve.params", asked, "server-to-client", "params", params, wire.ApproveParams),
        Golden("approve.params.secret", asked, "server-to-client", "params", secret, wire.ApproveParams),
        Golden("approve.params.confirmation", asked, "server-to-client", "params", confirmation, wire.ApproveParams),
        *(
            Golden(f"approve.result.{name}", asked, "client-to-server", "result", result, wire.ApproveResult)
            for name, result in DECISIONS.items()
        ),
        Golden("approve.message.params", message, "server-to-client", "params", question),
        Golden("approve.message.result", message, "client-to-server", "result", {"title": wire.ALLOW_SESSION}),
    ]


async def apply_edit() -> Golden:
    """An open file (a version, columns in UTF-16), a closed one, a new one, a deleted and a renamed one."""
    line = Line({"applied": True})
    documents = Documents()
    editor = LspEditor(line.protocol, documents)
    able = editor.abilities
    able.apply_edit = able.document_changes = True
    able.file_operations = list(types.ResourceOperationKind)
    base, proposed = "a\n👋 Bye", "a\n👋 再見"
    documents.opened(f"{FOLDER.as_uri()}/open.txt", base, 7)
    edits = [
        FileEdit(FOLDER / "open.txt", base, proposed, 7),
        FileEdit(FOLDER / "closed.txt", "a\r\n", "b\r\n"),
        FileEdit(FOLDER / "新.md", None, "# 問候\n"),
        FileEdit(FOLDER / "alt.txt", "alt\n", None),
        FileEdit(FOLDER / "a.py", "a = 1\n", "b = 1\n", new_path=FOLDER / "lib/b.py"),
    ]
    await editor.apply("Accept 5 files", edits)
    [(method, params)] = line.sent
    return Golden("applyEdit.params", method, "server-to-client", "params", params)


def progress() -> Iterator[Golden]:
    line = Line()
    shown = Progress(line.protocol)
    shown.use(SESSION, "run-1", can_create=False)
    for event in (
        events.RunStarted("replay (greet.replay.yaml)"),
        PlanChanged(7, a_plan().snapshot(), a_record()),
        events.RunFinished("cancelled"),
    ):
        shown.on_event(SESSION, event)
    for method, params in line.sent:
        yield Golden(f"progress.{params['value']['kind']}", method, "server-to-client", "params", params)


def content() -> Iterator[Golden]:
    method = "workspace/textDocumentContent"
    for side, scheme in (("base", wire.BASE_SCHEME), ("proposed", wire.PROPOSED_SCHEME)):
        yield _asks(f"content.params.{side}", method, {"uri": proposal_uri(scheme, SESSION, FOLDER / "src/問候.py")})
    item = f"{proposal_uri(wire.PROPOSED_SCHEME, SESSION, FOLDER / 'src/問候.py')}?item=2"
    yield _asks("content.params.item", method, {"uri": item})
    yield _answers("content.result", method, {"text": 'print("你好")\n'})


def _path(name: str) -> str:
    return str(FOLDER / name)
