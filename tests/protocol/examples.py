"""Core values that several golden messages use: a plan, its record, proposed edits, the usage of a run."""

from fairlead.agent.events import CheckFinished, NeededChanges, SmallestSet
from fairlead.agent.model import Usage
from fairlead.edits import changeset as cs
from fairlead.edits import selection
from fairlead.edits.changeset import Changeset
from fairlead.edits.diff import HunkPosition
from fairlead.edits.origins import Author
from fairlead.edits.proposal import Raw
from fairlead.plan import PlanItem, TodoManager
from fairlead.plan.evidence import BEFORE, CommandRun, Record, ServerCall, SubagentWork, Verification
from fairlead.plan.render import PlanUpdate
from fairlead.plan.verification import support_by_item
from fairlead.session.events import PlanChanged
from fairlead.session.record.document import (
    Change,
    ChangesCost,
    FileContent,
    KnownFile,
    PlannedItem,
    PlanVersion,
    RanCommand,
    SessionRecord,
    Step,
    Work,
    WorkOutside,
)
from fairlead.session.record.document import Verification as Verified
from fairlead.session.together.states import (
    CheckedSession,
    CheckedTogether,
    Conflict,
    SessionChange,
    TogetherResult,
    check_message,
    summary,
)
from fairlead.shell.network import Service
from fairlead.tool_servers.connection import ListedTool
from fairlead.tool_servers.definition import Definition
from fairlead.tool_servers.status import ServerStatus
from protocol.golden import FOLDER, SESSION

A_CHECK = CheckFinished(
    "check-1.1",
    "2",
    "pytest -q",
    "none",
    False,
    1,
    2.04,
    3,
    7,
    False,
    False,
    "3 of 7 changes accepted: ",
    "fails without src/問候.py, line 4.",
)
A_PLAN_UPDATE = PlanUpdate((PlanItem("2", "翻譯問候語 👋", "in_progress", check="pytest -q"),), (("2", "failed"),))
SERVER_STATUSES = (
    ServerStatus(
        Definition(
            "筆記",
            ("notes-server", "${workspaceFolder}", "問候"),
            hosts=(Service("api.example.com", 443),),
            disabled_tools=frozenset({"remove"}),
        ),
        "failed",
        "it ended during the call",
        "讀取 notes\nkilled",
        (
            ListedTool("search", "Finds notes: 問候 👋", {"type": "object"}, "Find Notes", reads_only=True),
            ListedTool("remove", "", {"type": "object"}, is_destructive=True),
        ),
    ),
    ServerStatus(
        Definition("docs", url="https://docs.example.com/mcp", defined_in=FOLDER / ".mcp.json"), "stopped", "", "", ()
    ),
)
A_USAGE = Usage(requests=2, input_tokens=310, cache_read_tokens=9000, cache_write_tokens=412, output_tokens=88)


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
    """Work under the first step, a failed command under the second, and something that was read before the plan."""
    record = Record().with_look(BEFORE).with_file("1", _path("src/問候.py")).with_cost("1", 310, 0.0125)
    tests = CommandRun("toolu_04", "pytest -q", 0, 2.5, verified=(Verification("pytest"),), state=0)
    record = record.with_command("1", tests)
    record = record.with_call(
        "2", ServerCall("toolu_06", "issues", "作成", "answered", 0.25, True, '{"title": "問候"}')
    )
    record = record.with_subagent("2", SubagentWork("toolu_07", "找出問候語", "審查", "done", 1200, 0.01))
    return record.with_command("2", CommandRun("toolu_05", "python3 greet.py", 1, 0.25)).with_seconds("2", 12.34)


def a_plan_state(version: int, *, changed: bool = True) -> PlanChanged:
    """A state whose first step was verified. If `changed`, its file has changed since, so the verification is stale."""
    plan, record = a_plan().snapshot(), a_record()
    found = support_by_item(plan.items, record, lambda *_: [_path("src/問候.py")] if changed else [])
    return PlanChanged(version, plan, record, supports=found)


def proposals() -> Changeset:
    """A file with two changes; a new, a deleted, a renamed, a binary and an executable file; and a file in conflict."""
    base = 'def greet():\n    return "Hello"\n\n\ndef part():\n    return "👋 Bye"'
    first = base.replace("Hello", "你好")
    changes = cs.propose(Changeset(), _path("src/問候.py"), base, first, Author("1", "toolu_01"))
    changes = cs.propose(changes, _path("src/問候.py"), base, first.replace("Bye", "再見"), Author("2", "toolu_02"))
    changes = cs.propose(changes, _path("docs/new file.md"), None, "# 問候\n", Author("2", "toolu_03"))
    changes = cs.propose(changes, _path("setup.cfg"), "a = 1\r\n", "a = 9\r\n", Author("1", "toolu_01"))
    changes = cs.propose(changes, _path("setup.cfg"), "a = 1\r\n", "a = 2\r\n", Author(None, "toolu_04"))
    changes = cs.delete(changes, _path("alt.txt"), "alt\n", Author("2", "toolu_05"))
    changes = cs.rename(changes, _path("a.py"), _path("lib/b.py"), "b = 1\n", Author("2", "toolu_06"))
    picture = Raw(b"\x89PNG\0")
    changes = cs.propose(changes, _path("logo.png"), None, "(binary file, 5 bytes)", Author("2", "toolu_07"), picture)
    changes = cs.propose(changes, _path("run.sh"), "ls\n", "ls -l\n", Author("2", "toolu_07"), Raw(mode=0o755))
    return cs.observe(changes, _path("setup.cfg"), "a = 3\r\n")


def a_session_record() -> SessionRecord:
    """A step that was verified before its file changed again, a dropped step, an accepted and a pending change, a new
    file, and a file whose digest is unknown."""
    before, after = (FileContent(digit * 64, executable=digit == "b") for digit in "ab")
    tests = RanCommand("pytest -q", 0, 2.5, stopped=False, verifies=True, without_changes=False)
    red = RanCommand("pytest -q", 1, 2.25, stopped=False, verifies=False, without_changes=True)
    work = Work(("src/問候.py",), (tests, red), 1, 12.34, 310, 0.0125)
    nothing = Work((), (), 1, 0.5, 0, None)
    version = PlanVersion(
        1, "model", "1 added", "", (PlannedItem("1", "翻譯問候語 👋", "pending", "pytest -q", False, False),)
    )
    return SessionRecord(
        format=1,
        fairlead="0.1.0",
        title="翻譯問候語",
        state="idle",
        updated_at="2026-11-22T20:15:00+00:00",
        prompts=("翻譯問候語 👋", "用您好 (say it politely)"),
        models=("claude-sonnet-5-5",),
        seconds=12.84,
        tokens=310,
        cost_usd=0.0125,
        plan=(version,),
        steps=(
            Step("1", "翻譯問候語 👋", "completed", False, "pytest -q", "stale", "pytest -q", ("src/問候.py",), work),
            Step("2", "Read 問候.py", "pending", True, "", "none", "", (), nothing),
        ),
        outside=(WorkOutside("before", nothing),),
        changes=(
            Change("src/問候.py", None, "1", "accepted", HunkPosition("02e3da028f848ad7", 2, 1, 2, 1)),
            Change("a.py", "lib/b.py", None, "review", None),
        ),
        costs=(ChangesCost("accepted", 1, 310, 0.0125), ChangesCost("review", 1, 0, None)),
        verifications=(Verified("pytest -q", 0, 2.5, "1", True, {"src/問候.py": before, "alt.txt": None}, ()),),
        files=(
            KnownFile("alt.txt", None, after),
            KnownFile("src/問候.py", before, FileContent(None, executable=False)),
        ),
    )


def the_needed_changes() -> NeededChanges:
    """Two changes: one is needed, and the check passes without the other one."""
    (first,), (other, *_) = a_smallest_set().needed, a_smallest_set().not_needed
    message = "`pytest -q` passes without src/問候.py, line 4. (4 runs)"
    return NeededChanges(("pytest -q",), "complete", 4, (first,), (other,), (), (), 5, message)


def a_smallest_set() -> SmallestSet:
    """Of the two hunks of a file and a new file, the first hunk is needed."""
    path = _path("src/問候.py")
    first, second = (selection.Change(path, hunk.id) for hunk in proposals().files[path].hunks)
    others = second, selection.Change(_path("docs/new file.md"))
    message = "`pytest -q` needs 1 of 3 changes: it passes with this one, and fails without it. (6 runs)"
    return SmallestSet(("pytest -q",), "minimal", 6, (first,), others, 5, message)


def a_together_result() -> TogetherResult:
    """A check fails with changes of two sessions, another one passes, and one session is open elsewhere."""
    hunk = proposals().files[_path("src/問候.py")].hunks[0]
    sides = (
        SessionChange(SESSION, _path("src/問候.py"), hunk.id, "src/問候.py, line 1", 1),
        SessionChange("0123456789ab", _path("docs/new file.md"), None, "docs/new file.md", 1),
    )
    sessions = CheckedSession(SESSION, "翻譯問候語", 3), CheckedSession("0123456789ab", "Docs 👋", 1)
    message = check_message("pytest -q", "minimal", (), sides, sessions, passes_without_any_one=True)
    checks = (
        CheckedTogether("ruff check", "passes", 1, (), (), "`ruff check` passes with the changes of all sessions."),
        CheckedTogether("pytest -q", "minimal", 9, (), sides, message),
    )
    left_out = (CheckedSession("ba9876543210", "Elsewhere"),)
    text = summary("fails", sessions, left_out, checks, ())
    return TogetherResult("fails", sessions, left_out, (Conflict(sides),), checks, text)


def _path(name: str) -> str:
    return str(FOLDER / name)
