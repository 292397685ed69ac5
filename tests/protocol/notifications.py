"""The goldens of the server's notifications: states, the events of a run, its progress."""

from collections.abc import Iterator
from dataclasses import replace

from fairlead.agent import events
from fairlead.agent.errors import Help, ModelFailure
from fairlead.agent.tool import Location
from fairlead.edits.changeset import Changeset
from fairlead.edits.selection import only
from fairlead.lsp.convert_checks import CheckEvent
from fairlead.lsp.progress import Progress
from fairlead.lsp.publish import Notifier
from fairlead.plan import TodoManager
from fairlead.plan.evidence import CommandRun, Record
from fairlead.plan.manager import PlanReminder
from fairlead.sentences import Sentence
from fairlead.session.events import EditsChanged, PlanChanged, SessionEvent, ToolServersChanged
from fairlead.session.evidence.recorder import Inferred
from fairlead.session.review.weakened import Weakened
from protocol.examples import (
    A_CHECK,
    A_PLAN_UPDATE,
    A_USAGE,
    SERVER_STATUSES,
    a_plan_state,
    a_smallest_set,
    proposals,
    the_needed_changes,
)
from protocol.golden import CALL, FOLDER, ROOT, SESSION, Golden, RecordingClient

REMINDER = PlanReminder("Update your todos. In progress: #2: 翻譯問候語 👋.", " Rewrite the plan.")
FEEDBACK = "<review>\nThe user reviewed your proposed edits:\n- accepted: src/問候.py\n</review>"


def states() -> Iterator[Golden]:
    changes = proposals()
    yield _published("plan", a_plan_state(7))
    inferred = (Inferred("look", "Look around"), Inferred("edit", "Edit src/問候.py"))
    empty = PlanChanged(1, TodoManager().snapshot(), Record(), inferred)
    yield _published("plan.empty", empty)
    yield _published("edits", EditsChanged(5, changes, None, None))
    first_hunk = next(iter(changes)).hunks[0].id
    reasons: Weakened = {next(iter(changes)).path: {first_hunk: (Sentence("{0} is skipped.", "test_問候"),)}}
    yield _published("edits.weakened", EditsChanged(5, changes, None, None, weakened=reasons))
    found = a_smallest_set()
    two = only(changes, [*found.needed, *found.not_needed])
    yield _published("edits.smallest", EditsChanged(5, two, None, None, smallest=found))
    yield _published("edits.needed", EditsChanged(5, two, None, None, needed=the_needed_changes()))
    empty_edits = EditsChanged(6, Changeset(), "Accept 3 files", "Reject b.py", checked=A_CHECK)
    yield _published("edits.empty", empty_edits)
    yield _published("toolServers", ToolServersChanged(SERVER_STATUSES))
    yield _difference("plan.changed", a_plan_state(7, changed=False), a_plan_state(8))
    first = EditsChanged(5, only(changes, found.needed), None, None)
    yield _difference("edits.changed", first, EditsChanged(6, two, None, "Reject b.py"))


def run_events() -> Iterator[Golden]:
    """The goldens of the events of a run, one of each kind."""
    started = events.ToolStarted(
        CALL,
        "edit_file",
        "edit",
        "Edit src/問候.py",
        {"path": "src/問候.py", "old_text": "Hello", "new_text": "你好"},
        (Location("src/問候.py"), Location("docs/new file.md", 3)),
    )
    for event in (
        events.RunStarted("claude-sonnet-5-5", 2),
        events.RulesFound(
            (events.RulesSource(FOLDER / "AGENTS.md", False), events.RulesSource(FOLDER / "src/AGENTS.md", True))
        ),
        events.ContextSent("src/問候.py; Git branch: main", "<context>\nGit branch: main\n</context>", ("圖.png",)),
        events.RoundStarted(1),
        events.Thinking("先看檔案。"),
        events.Text("I read the file first: 你好 👋"),
        started,
        events.StepBegan("2", "翻譯問候語 👋"),
        events.CommandStarted(CALL, "2", "npm run dev", str(FOLDER), "sandboxed", False, ("localhost:5432",), "cmd-1"),
        events.ToolOutput(CALL, "\x1b[1mcollected 3 items\x1b[0m\n"),
        events.CommandEnded("cmd-1", CommandRun(CALL, "npm run dev", None, 62.04, True), "stopped"),
        A_CHECK,
        events.CheckSearch("check-2", ("pytest -q",), 5, 27, 12, 6),
        a_smallest_set(),
        events.NeededProgress("check-3", ("pytest -q",), 3, 6),
        the_needed_changes(),
        events.ToolFinished(CALL, False, "[>] #2: 翻譯問候語 👋", (), A_PLAN_UPDATE),
        events.ReminderSent(REMINDER.about, REMINDER.text),
        events.Steered("用您好 (say it politely)"),
        events.FeedbackSent("review", FEEDBACK),
        events.Retry(1, 0.5, ModelFailure("overloaded", (("", "The model is overloaded."),), True, Help())),
        events.UsageReported(A_USAGE, 0.0042, 9810, 200_000),
        events.Compacted("Old tool results were cleared from the conversation (about 80,000 tokens)."),
        events.RunFinished("end_turn"),
    ):
        is_of_user = isinstance(event, CheckEvent)
        golden = _published("event", event if is_of_user else replace(event, run_id="run1"))
        yield Golden(f"event.{golden.value['kind']}", golden.method, golden.direction, golden.part, golden.value)


def _published(name: str, event: SessionEvent) -> Golden:
    client = RecordingClient()
    notifier = Notifier(SESSION, lambda: ROOT, client.protocol, lambda: "task-1")
    notifier([event])
    [(method, params)] = client.sent
    return Golden(name, method, "server-to-client", "params", params)


def _difference(name: str, before: SessionEvent, after: SessionEvent) -> Golden:
    client = RecordingClient()
    notifier = Notifier(SESSION, lambda: ROOT, client.protocol, lambda: None, incremental=True)
    notifier([before])
    notifier([after])
    [_, (method, params)] = client.sent
    return Golden(name, method, "server-to-client", "params", params)


def progress() -> Iterator[Golden]:
    client = RecordingClient()
    run_progress = Progress(client.protocol)
    run_progress.begin_run(SESSION, "run-1", can_create=False)
    for event in (
        events.RunStarted("replay (greet.replay.yaml)", 1, "greet.replay.yaml"),
        a_plan_state(7),
        events.RunFinished("cancelled"),
    ):
        run_progress.on_event(SESSION, event)
    for method, params in client.sent:
        yield Golden(f"progress.{params['value']['kind']}", method, "server-to-client", "params", params)
