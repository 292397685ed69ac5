"""The goldens of the client's requests and notifications, and of the server's answers.

The client's messages are written here as JSON; the tests read them with the server's own readers.
"""

from collections.abc import Iterator
from typing import Any

from fairlead.agent.errors import Help, ModelError, ModelFailure
from fairlead.agent.events import ContextSent, Location, Text, ToolFinished, ToolStarted
from fairlead.agent.model import Usage
from fairlead.agent.outcome import Outcome
from fairlead.app.model_catalog import EndpointModels
from fairlead.edits.changeset import Changeset
from fairlead.json_reader import to_json
from fairlead.lsp import convert, convert_edits, convert_events
from fairlead.lsp.content import proposal_uri
from fairlead.lsp.convert_checks import check_result, needed_changes, smallest_set
from fairlead.lsp.convert_skills import skills
from fairlead.lsp.convert_together import race_result, together_result, together_state
from fairlead.lsp.convert_tool_servers import offers, prompt_context, tool_servers
from fairlead.messages.images import image_of
from fairlead.models.common.models_list import ListedModel
from fairlead.models.common.presets import ModelFacts
from fairlead.models.common.prices import Price
from fairlead.plan.evidence import Record
from fairlead.plan.verification import support_by_item
from fairlead.sentences import Sentence, phrase
from fairlead.session.conversation import Continued, Ended, Entry, Prompted
from fairlead.session.events import EditsChanged, PlanChanged
from fairlead.session.evidence.spending import Spent
from fairlead.session.model_selection import ModelSelection
from fairlead.session.report.listing import Row
from fairlead.session.review.target import HunkOutcome
from fairlead.session.store.journal import SavingChanged
from fairlead.session.together.standings import Standing
from fairlead.session.together.states import TogetherProgress, TogetherState
from fairlead.skills.agent_file import AgentFile
from fairlead.skills.find import FoundSkills
from fairlead.skills.skill import Skill
from fairlead.tool_servers.offers import ListedPrompt, ListedResource, Offer, PromptArgument
from fairlead.tool_servers.results import Answer
from fairlead.wire import protocol as wire
from fairlead.workspace.file_problem import FileProblem
from protocol.examples import (
    A_CHECK,
    A_USAGE,
    SERVER_STATUSES,
    a_plan,
    a_plan_state,
    a_session_record,
    a_smallest_set,
    a_together_result,
    proposals,
    the_needed_changes,
)
from protocol.golden import CALL, FOLDER, ROOT, SESSION, URI, Golden, Json
from protocol.notifications import FEEDBACK

NO_KEY = "No API key. In a terminal set ANTHROPIC_API_KEY."
A_MODEL = ModelSelection("work", "模型-1", "high")
THE_SESSIONS = (
    Row(SESSION, "翻譯問候語", 1_760_000_060.5, "running", 1, 3, 2, A_MODEL, spent={"2025-10-09": Spent(34_000, 0.12)}),
    Row("0a1b2c3d4e5f", "", 1_760_000_000, "paused", 0, 0, 0, ended="budget"),
    Row("00112233aabb", "Opened in another window", 1_759_990_000, "idle", 2, 3, 1, open_elsewhere=True),
)
A_TRANSCRIPT = (
    Prompted("翻譯問候語 👋", 2),
    ContextSent("Picture: 圖.png", "The user refers to:\n- src/問候.py", ("圖.png",), run_id="run1"),
    ToolStarted("1", "read_file", "read", "Read src/問候.py", {}, (Location("src/問候.py", 3),), run_id="run1"),
    ToolFinished("1", True, "No such file or folder: src/問候.py", run_id="run1"),
    Text("It greets in Chinese now.", run_id="run1"),
    Ended("budget", "The budget is used up.", (phrase("", Sentence("{0} of {1} steps", 1, 2)), phrase("."))),
    Continued("paused"),
)


GREETING = f"{URI}/src/%E5%95%8F%E5%80%99.py"
A_PROBLEM = {
    "range": {"start": {"line": 3, "character": 2}, "end": {"line": 3, "character": 4}},
    "severity": 1,
    "message": "沒有 “x”",
    "source": "ruff",
}
EDITOR = {
    "activeFile": GREETING,
    "visibleRange": {"start": {"line": 0, "character": 0}, "end": {"line": 39, "character": 1}},
    "selection": {"start": {"line": 2, "character": 4}, "end": {"line": 4, "character": 0}},
    "openFiles": [GREETING, f"{URI}/setup.cfg", "untitled:Untitled-1"],
    "problems": {"errors": 1, "warnings": 2, "files": [{"uri": f"{URI}/setup.cfg", "diagnostics": [A_PROBLEM]}]},
    "git": {"branch": "問候", "changed": 3, "files": [{"uri": f"{URI}/setup.cfg", "state": "modified"}]},
}


def requests() -> Iterator[Golden]:
    yield _asks("sessions.create.params", wire.CREATE_SESSION, {"title": "翻譯問候語"})
    yield _answers("sessions.create.result", wire.CREATE_SESSION, {"sessionId": SESSION})
    a_list = convert.sessions(THE_SESSIONS)
    yield Golden("sessions", wire.SESSIONS, "server-to-client", "params", a_list)
    changed = SavingChanged(SESSION, False, "This session cannot be saved: No space left on device (/x).")
    yield Golden("saving", wire.SAVING, "server-to-client", "params", convert.saving(changed))
    secret: wire.SecretChangedParams = {"key": "a-key", "value": '{"tokens": {}}'}
    yield Golden("toolServers.secretChanged", wire.SECRET_CHANGED, "server-to-client", "params", secret)
    yield _asks("sessions.list.params", wire.LIST_SESSIONS, {})
    yield _answers("sessions.list.result", wire.LIST_SESSIONS, a_list)
    for name, method in (("open", wire.OPEN_SESSION), ("delete", wire.DELETE_SESSION)):
        yield _asks(f"sessions.{name}.params", method, {"sessionId": SESSION})
    whole_session = {
        "sessionId": SESSION,
        "phase": "idle",
        "mode": "agent",
        "agent": "審查",
        "hosted": "mine",
        "model": convert.chosen_model(A_MODEL),
        "plan": convert.plan(SESSION, a_plan_state(7)),
        "edits": convert_edits.edits(SESSION, ROOT, EditsChanged(6, Changeset(), "Accept 問候.py", None)),
        "transcript": convert_events.transcript(SESSION, ROOT, map(Entry, A_TRANSCRIPT)),
    }
    yield _answers("sessions.open.result", wire.OPEN_SESSION, whole_session)
    yield _answers("sessions.delete.result", wire.DELETE_SESSION, None)
    renamed = {"sessionId": SESSION, "title": "問候"}
    yield _asks("sessions.rename.params", wire.RENAME_SESSION, renamed)
    yield _answers("sessions.rename.result", wire.RENAME_SESSION, None)
    rewind = {"sessionId": SESSION, "checkpoint": 2, "scope": "everything"}
    yield _asks("sessions.rewind.params", wire.REWIND_SESSION, rewind)
    kept = HunkOutcome(FOLDER / "src/問候.py", None, "failed", "src/問候.py has changed since.")
    rewound = {"sessionId": SESSION, "prompt": "翻譯問候語 👋", "kept": [convert_edits.outcome(kept)]}
    yield _asks("sessions.adopt.params", wire.ADOPT_SESSIONS, {"former": f"{URI}/%E8%88%8A", "folder": URI})
    yield _answers("sessions.adopt.result", wire.ADOPT_SESSIONS, {"adopted": 2})
    former: wire.FormerFoldersResult = {"folders": [{"uri": f"{URI}/%E8%88%8A", "sessions": 2}]}
    yield _asks("sessions.former.params", wire.FORMER_FOLDERS, {})
    yield _answers("sessions.former.result", wire.FORMER_FOLDERS, former)
    yield _answers("sessions.rewind.result", wire.REWIND_SESSION, rewound)
    yield _asks("steer.params", wire.STEER, {"sessionId": SESSION, "text": "用您好 (say it politely)"})
    yield _asks("steer.params.subagent", wire.STEER, {"sessionId": SESSION, "toolCallId": "toolu_07", "text": "用您好"})
    yield _answers("steer.result", wire.STEER, {"queued": 1})
    yield _asks("runTask.params", wire.RUN_TASK, {"prompt": "翻譯問候語 👋"})
    whole = {
        "prompt": "Greet in Chinese",
        "sessionId": SESSION,
        "mode": "agent",
        "agent": "審查",
        "hosted": "mine",
        "context": [
            {"uri": f"{URI}/src/%E5%95%8F%E5%80%99.py"},
            {"kind": "selection", "uri": f"{URI}/setup.cfg", "range": _range(0, 4)},
            {"kind": "selection", "name": "Untitled-1", "range": _range(0, 1), "text": "你好\n再見\n"},
            {"kind": "selection", "uri": f"{URI}/a.ipynb", "name": "cell 2", "range": _range(0, 0), "text": "圖()\n"},
            {"kind": "problems"},
            {"kind": "changes", "text": "diff --git a/setup.cfg b/setup.cfg\n"},
            {"kind": "terminal", "command": "npm test", "output": "失敗\r\n", "exitCode": 1},
            {"kind": "image", "name": "畫面 1.png", "data": "iVBORw0KGgo="},
            {"kind": "serverPrompt", "server": "筆記", "name": "解釋", "text": "Explain src/問候.py."},
            {"kind": "resource", "server": "筆記", "resource": "note://今天"},
        ],
        "editor": EDITOR,
        "workDoneToken": "run-1",
        "needsPrice": True,
    }
    yield _asks("runTask.params.all", wire.RUN_TASK, whole)
    yield _asks("runTask.params.continue", wire.RUN_TASK, {"continue": "plan", "sessionId": SESSION})
    ended = Outcome("end_turn", "It greets in Chinese now: 你好 👋", A_USAGE)
    failed = Outcome("error", NO_KEY, Usage(), ModelError("auth", NO_KEY))
    record = (phrase("", Sentence("{0} of {1} steps", 2, 3)), phrase(", ", Sentence("1 file")), phrase("."))
    yield _answers("runTask.result", wire.RUN_TASK, convert_events.run_result(SESSION, ended, record))
    yield _answers("runTask.result.error", wire.RUN_TASK, convert_events.run_result(SESSION, failed, ()))
    yield from _skills()
    yield from _subagents()
    yield from _checks()
    ops = [
        {"op": "add", "content": "測試 🚀", "after": "1"},
        {"op": "update", "id": "2", "content": "翻譯", "status": "pending", "held": True},
        {"op": "remove", "id": "3"},
        {"op": "move", "id": "2", "after": None},
        {"op": "restore", "id": "3", "after": "1"},
    ]
    yield _asks("plan.edit.params", wire.PLAN_EDIT, {"sessionId": SESSION, "revision": 1, "ops": ops})
    plan = a_plan().snapshot()
    state = PlanChanged(8, plan, Record(), supports=support_by_item(plan.items, Record(), lambda *_: ()))
    yield _answers("plan.edit.result", wire.PLAN_EDIT, {"plan": convert.plan(SESSION, state)})
    page = {"markdown": "## 翻譯問候語\n\n- [x] Read 問候.py\n"}
    yield _asks("plan.history.params", wire.PLAN_HISTORY, {"sessionId": SESSION})
    yield _answers("plan.history.result", wire.PLAN_HISTORY, page)
    yield _asks("record.params", wire.RECORD, {"sessionId": SESSION})
    yield _answers(
        "record.result",
        wire.RECORD,
        {**page, "summary": "1 of 1 step.", "commitMessage": "Translate\n", "record": to_json(a_session_record())},
    )
    yield _asks("costs.params", wire.COSTS, {})
    yield _answers("costs.result", wire.COSTS, page)
    yield _asks("command.rules.params", wire.COMMAND_RULES, {})
    yield _answers("command.rules.result", wire.COMMAND_RULES, page)
    yield _asks(
        "command.tryRule.params", wire.TRY_RULE, {"rule": "pytest *", "command": "pytest -q", "mode": "sandboxed"}
    )
    tried_rule: wire.TryRuleResult = {"problem": "", "matches": ["pytest", "pytest x"], "misses": ["pytest x > f"]}
    yield _answers("command.tryRule.result", wire.TRY_RULE, tried_rule)
    yield _asks("command.stop.params", wire.STOP_COMMAND, {"sessionId": SESSION, "handle": "cmd-1"})
    yield _answers("command.stop.result", wire.STOP_COMMAND, None)
    yield _asks("cancel.params", wire.CANCEL, {"sessionId": SESSION})
    yield _answers("cancel.result", wire.CANCEL, None)
    key = {"keys": {"openai": "b-key"}, "apiKey": "a-key", "authToken": "a-token", "baseUrl": "http://localhost:11434"}
    yield _asks("credentials.params", wire.CREDENTIALS, key)
    yield _answers("credentials.result", wire.CREDENTIALS, None)
    login = {"server": "議題", "redirectUri": "http://127.0.0.1:33418/callback"}
    yield _asks("toolServers.login.params", wire.LOG_IN, login)
    yield _answers("toolServers.login.result", wire.LOG_IN, None)
    yield _asks("toolServers.secrets.params", wire.SECRETS, {"secrets": {"a-key": '{"tokens": {}}'}})
    yield _answers("toolServers.secrets.result", wire.SECRETS, None)
    yield _asks("warm.params", wire.WARM, {"sessionId": SESSION})
    yield _answers("warm.result", wire.WARM, None)
    yield _asks("models.params", wire.MODELS, {"sessionId": SESSION, "refresh": True, "ask": ["work"]})
    listed = ListedModel("模型-1", "模型 1", ModelFacts(32768, Price(0.5, 0.05, 0.5, 2.0), ("low", "high")), tools=True)
    groups = [
        EndpointModels("work", "公司", True, False, "", "", True, (listed,)),
        EndpointModels("openai", "OpenAI", False, True, "401: no", "No connection.", False, (ListedModel("m", "m"),)),
    ]
    models = {
        "endpoints": list(map(convert.endpoint_models, groups)),
        "chosen": convert.chosen_model(A_MODEL),
        "recent": [convert.chosen_model(ModelSelection("openai", "m"))],
    }
    yield _answers("models.result", wire.MODELS, models)
    choice = {"endpoint": "work", "model": "模型-1", "effort": "high"}
    yield _asks("models.choose.params", wire.CHOOSE_MODEL, {**choice, "sessionId": SESSION})
    yield _answers("models.choose.result", wire.CHOOSE_MODEL, choice)
    yield _asks("models.try.params", wire.TRY_MODEL, choice)
    yield _asks("hosted.params", wire.HOSTED_AGENTS, {"sessionId": SESSION})
    yield _asks("hosted.option.params", wire.SET_AGENT_OPTION, {"sessionId": SESSION, "option": "model", "value": "大"})
    large = {"id": "大", "name": "大", "about": "慢"}
    hosted = {
        "agents": [
            {
                "name": "mine",
                "title": "我的",
                "command": "mine acp",
                "isInstalled": True,
                "packages": [],
                "signIn": ["mine", "login"],
                "signInVariables": {"MINE_HOME": "/home/u/mine"},
            }
        ],
        "chosen": "mine",
        "options": [{"id": "model", "name": "模型", "category": "model", "value": "大", "choices": [large]}],
        "commands": [{"id": "審查", "name": "審查", "about": ""}],
    }
    yield _answers("hosted.result", wire.HOSTED_AGENTS, hosted)
    yield _asks("hosted.install.params", wire.INSTALL_AGENT, {"agent": "mine"})
    yield _answers("hosted.install.result", wire.INSTALL_AGENT, hosted)
    yield _answers("hosted.option.result", wire.SET_AGENT_OPTION, hosted)
    said = "There is no model “模型-1”."
    unknown = convert.error(
        ModelFailure(
            "unknown_model", ((said,),), retryable=False, help=Help(("模型-2",), "openai", "https://a.example/")
        )
    )
    tried: wire.TryResult = {"model": "模型-1", "works": False, "message": said, "error": unknown}
    yield _answers("models.try.result", wire.TRY_MODEL, tried)
    yield from _tool_servers()
    yield _asks("trust.params", wire.TRUST, {"trusted": True})
    yield _asks("edits.inFile.params", wire.CHANGES_IN_FILE, {"uri": f"{URI}/src/%E5%95%8F%E5%80%99.py"})
    change: wire.ChangeInFileWire = {
        "sessionId": SESSION,
        "uri": f"{URI}/src/%E5%95%8F%E5%80%99.py",
        "hunk": "02e3da028f848ad7",
        "line": 1,
        "removed": 1,
        "added": ["print('您好 👋')"],
        "state": "conflict",
        "itemId": "1",
        "number": 1,
        "count": 2,
    }
    yield _answers("edits.inFile.result", wire.CHANGES_IN_FILE, {"version": 7, "changes": [change]})


def _tool_servers() -> Iterator[Golden]:
    running, stopped = tool_servers(SESSION, SERVER_STATUSES), tool_servers(None, SERVER_STATUSES[1:])
    called = {
        "sessionId": SESSION,
        "name": "edit_file",
        "input": {"path": "src/問候.py", "old_text": "Hello", "new_text": "你好"},
        "caller": "Claude Code",
        "prompt": "Claude Code works in this session.",
    }
    yield _asks("tools.call.params", wire.CALL_TOOL, called)
    answer: wire.CallToolResult = {
        "toolCallId": CALL,
        "text": "Proposed at line 1 (+1 -1).",
        "isError": False,
        "feedback": FEEDBACK,
    }
    yield _answers("tools.call.result", wire.CALL_TOOL, answer)
    started = {
        "sessionId": SESSION,
        "argv": ["bash", "問候.sh"],
        "terminal": {"kind": "xterm-256color", "columns": 100, "rows": 30},
        "network": True,
        "variables": {"GREETING": "您好"},
        "folders": [{"path": "/usr/share/dict", "isWritable": False}],
    }
    yield _asks("terminal.run.params", wire.RUN_IN_TERMINAL, started)
    ended: wire.TerminalResult = {"exitCode": 0, "notes": ["Ignored by git, so not proposed: build/."]}
    yield _answers("terminal.run.result", wire.RUN_IN_TERMINAL, ended)
    yield _asks("terminal.input.params", wire.TERMINAL_INPUT, {"sessionId": SESSION, "data": "bHMK"})
    yield _answers("terminal.input.result", wire.TERMINAL_INPUT, None)
    yield _asks("terminal.size.params", wire.TERMINAL_SIZE, {"sessionId": SESSION, "columns": 80, "rows": 24})
    yield _asks("toolServers.list.params", wire.TOOL_SERVERS_LIST, {"sessionId": SESSION})
    yield _answers("toolServers.list.result", wire.TOOL_SERVERS_LIST, stopped)
    yield _asks("toolServers.restart.params", wire.TOOL_SERVERS_RESTART, {"sessionId": SESSION, "server": "筆記"})
    yield _answers("toolServers.restart.result", wire.TOOL_SERVERS_RESTART, running)
    prompt = ListedPrompt("解釋", "Explains a file.", (PromptArgument("檔案", True), PromptArgument("style", False)))
    resource = ListedResource("note://今天", "today", "What is on for today.")
    yield _asks("toolServers.offers.params", wire.TOOL_SERVERS_OFFERS, {"sessionId": SESSION})
    yield _answers("toolServers.offers.result", wire.TOOL_SERVERS_OFFERS, offers([Offer("筆記", [prompt], [resource])]))
    chosen = {"sessionId": SESSION, "server": "筆記", "name": "解釋", "arguments": {"檔案": "src/問候.py"}}
    yield _asks("toolServers.prompt.params", wire.SERVER_PROMPT, chosen)
    said = Answer("Explain src/問候.py.\n\n(A picture.)", [image_of("image/png", b"\x89PNG\r\n\x1a\n")], is_error=False)
    yield _answers("toolServers.prompt.result", wire.SERVER_PROMPT, prompt_context("筆記", "解釋", said))


def _skills() -> Iterator[Golden]:
    yield _asks("skills.list.params", wire.SKILLS_LIST, {"sessionId": SESSION})
    path = FOLDER / ".agents" / "skills" / "translate" / "SKILL.md"
    found = Skill("skill", "translate", "Translates 問候.", path, "Do it.", "<file>")
    reviewer = AgentFile(
        "審查", "Reviews 問候.", FOLDER / ".claude" / "agents" / "審查.md", "Review.", is_for_model=False
    )
    problems = [FileProblem(path, "its name 翻譯 is not that of its folder, which counts", 2)]
    result = skills(FoundSkills([found], [reviewer], problems))
    yield _answers("skills.list.result", wire.SKILLS_LIST, result)
    yield _asks("skills.page.params", wire.SKILLS_PAGE, {})
    yield _answers("skills.page.result", wire.SKILLS_PAGE, {"markdown": "# Skills and commands\n"})
    yield _asks("hooks.page.params", wire.HOOKS_PAGE, {})
    yield _answers("hooks.page.result", wire.HOOKS_PAGE, {"markdown": "# Hooks\n"})


def _subagents() -> Iterator[Golden]:
    call = {"sessionId": SESSION, "toolCallId": "toolu_07"}
    yield _asks("subagents.page.params", wire.SUBAGENT_PAGE, call)
    yield _asks("subagents.stop.params", wire.STOP_SUBAGENT, call)
    yield _answers("subagents.stop.result", wire.STOP_SUBAGENT, None)
    yield _answers("subagents.page.result", wire.SUBAGENT_PAGE, {"markdown": "# 找出問候語\n"})


def _checks() -> Iterator[Golden]:
    yield _asks("checks.run.params.base", wire.RUN_CHECKS, {"sessionId": SESSION, "check": "pytest -q", "base": True})
    yield _asks("checks.run.params.target", wire.RUN_CHECKS, {"sessionId": SESSION, "target": {"item": "2"}})
    results = {"results": [check_result(A_CHECK)]}
    yield _answers("checks.run.result", wire.RUN_CHECKS, results)
    yield _asks("checks.minimize.params", wire.MINIMIZE_CHECKS, {"sessionId": SESSION, "check": "pytest -q"})
    yield _answers("checks.minimize.result", wire.MINIMIZE_CHECKS, smallest_set(a_smallest_set()))
    yield _asks("checks.needed.params", wire.NEEDED_CHANGES, {"sessionId": SESSION, "check": "pytest -q"})
    yield _answers("checks.needed.result", wire.NEEDED_CHANGES, needed_changes(the_needed_changes()))
    yield _asks("checks.together.params", wire.CHECK_TOGETHER, {})
    found = a_together_result()
    yield _answers("checks.together.result", wire.CHECK_TOGETHER, together_result(found))
    for name, state in (
        ("running", TogetherState(TogetherProgress("pytest -q", 1, 2, 3, 40))),
        ("", TogetherState(result=found)),
    ):
        golden = ".".join(filter(None, ("together", name)))
        yield Golden(golden, wire.TOGETHER, "server-to-client", "params", together_state(state))
    yield _asks("race.rank.params", wire.RANK_RACE, {"sessionIds": [SESSION, "0123456789ab"]})
    standings = (
        Standing(SESSION, "翻譯問候語", "proved", "All checks pass.", 0, 1, 3, 14, 0.0421, 51_000),
        Standing("0123456789ab", "Docs 👋", "failed", "It proposes no changes.", 2, None, 0, 0, None, 0),
    )
    yield _answers("race.rank.result", wire.RANK_RACE, race_result(standings))
    yield _asks("checks.suggest.params", wire.SUGGEST_CHECKS, {})
    suggested = {"suggestions": [{"command": "npm test", "source": "package.json"}]}
    yield _answers("checks.suggest.result", wire.SUGGEST_CHECKS, suggested)


def _range(first: int, last: int) -> Json:
    return {"start": {"line": first, "character": 0}, "end": {"line": last, "character": 2}}


TARGETS: dict[str, Json] = {
    "all": {"all": True},
    "file": {"uri": f"{URI}/src/%E5%95%8F%E5%80%99.py"},
    "hunk": {"uri": f"{URI}/setup.cfg", "hunk": "02e3da028f848ad7"},
    "changes": {
        "changes": [
            {"uri": f"{URI}/setup.cfg", "hunk": "02e3da028f848ad7"},
            {"uri": f"{URI}/docs/new%20file.md", "hunk": None},
        ]
    },
    "item": {"item": "2"},
    "weakened": {"weakenedTests": True},
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
        HunkOutcome(FOLDER / "src/問候.py", hunk, "applied"),
        HunkOutcome(FOLDER / "setup.cfg", "02e3da028f848ad7", "conflict", "You changed these lines."),
        HunkOutcome(FOLDER / "docs/new file.md", None, "failed", "This editor cannot create files."),
    ]
    yield _review("edits.accept.result", wire.ACCEPT, accepted, changes)
    yield _review(
        "edits.reject.result", wire.REJECT, [HunkOutcome(FOLDER / "src/問候.py", hunk, "rejected")], Changeset()
    )
    text = {"sessionId": SESSION, "uri": TARGETS["file"]["uri"], "text": "# 問候\n", "version": 5}
    yield _asks("edits.amend.params", wire.AMEND, text)
    after = convert_edits.edits(SESSION, ROOT, EditsChanged(6, changes, "Change 問候.py", None))
    yield _answers("edits.amend.result", wire.AMEND, {"edits": after})
    for name, method in (("undo", wire.UNDO), ("redo", wire.REDO)):
        item = {"item": "2"} if name == "undo" else {}
        yield _asks(f"edits.{name}.params", method, {"sessionId": SESSION, **item})
        yield _review(f"edits.{name}.result", method, [HunkOutcome(FOLDER / "src/問候.py", None, "applied")], changes)


def _review(name: str, method: str, outcomes: list[HunkOutcome], changes: Changeset) -> Golden:
    converted = [convert_edits.outcome(outcome) for outcome in outcomes]
    state = EditsChanged(6, changes, "Accept 問候.py", None)
    result = {"outcomes": converted, "edits": convert_edits.edits(SESSION, ROOT, state)}
    return _answers(name, method, result)


def _asks(name: str, method: str, params: Json) -> Golden:
    return Golden(name, method, "client-to-server", "params", params)


def _answers(name: str, method: str, result: Any) -> Golden:
    return Golden(name, method, "server-to-client", "result", result)


def content() -> Iterator[Golden]:
    method = "workspace/textDocumentContent"
    for side, scheme in (("base", wire.BASE_SCHEME), ("proposed", wire.PROPOSED_SCHEME)):
        yield _asks(f"content.params.{side}", method, {"uri": proposal_uri(scheme, SESSION, FOLDER / "src/問候.py")})
    item = f"{proposal_uri(wire.PROPOSED_SCHEME, SESSION, FOLDER / 'src/問候.py')}?item=2"
    yield _asks("content.params.item", method, {"uri": item})
    yield _answers("content.result", method, {"text": 'print("你好")\n'})
