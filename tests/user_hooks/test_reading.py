"""What the files of hooks say, and what the hooks themselves say."""

import re
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from fairlead.user_hooks.definition import MAX_SECONDS
from fairlead.user_hooks.events import EVENTS, Event
from fairlead.user_hooks.find import HookFiles
from fairlead.user_hooks.located_json import LocatedObject, line_of, read_located
from fairlead.user_hooks.matcher import check_matcher, matches
from fairlead.user_hooks.read_hooks import MAX_HOOKS, read_hooks
from fairlead.user_hooks.scripts import scripts_of
from fairlead.user_hooks.tool_names import TOOLS, own_input, tool_input, tool_name
from fairlead.user_hooks.verdict import MAX_CHARS, HookOutput, Verdict, combined, verdict_of
from fairlead.workspace.paths import Roots

SHAPES: list[dict[str, Any]] = yaml.safe_load((Path(__file__).parent / "shapes.yaml").read_text())
FILE = Path("/ws/.claude/settings.json")
NAMES = ("hooks", "Stop", "matcher", "command", "type", "timeout", "env", "cwd", "args", "shell", "x")
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda each: st.lists(each) | st.dictionaries(st.sampled_from(NAMES), each),
)


@pytest.mark.skipif(sys.platform == "win32", reason="the commands are those of other systems")
@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape["about"])
def test_files_of_other_projects(shape: dict[str, Any], tmp_path: Path) -> None:
    """docs/faults.md 259: all that Fairlead knows is used, and the rest is reported with its file and line."""
    path = tmp_path / shape["path"]
    path.parent.mkdir(parents=True)
    path.write_text(shape["text"])
    found = HookFiles().find([tmp_path], tmp_path / "home")
    hooks = [[hook.event, hook.matcher, hook.command, hook.seconds] for hook in found.hooks]
    assert hooks == shape["hooks"]
    assert all(hook.folder == tmp_path and hook.file == path and hook.needs_approval for hook in found.hooks)
    for expected, reasons in (
        (shape.get("unsupported", []), [each.reason for each in found.unsupported]),
        (shape.get("warns", []), list(map(str, found.problems))),
    ):
        assert len(reasons) == len(expected), reasons
        for reason, part in zip(reasons, expected, strict=True):
            assert part in reason


def test_the_users_own_files(tmp_path: Path) -> None:
    """Those for Fairlead need no approval, and come first."""
    for name in (".claude/settings.json", ".config/fairlead/hooks.json"):
        path = tmp_path / name
        path.parent.mkdir(parents=True)
        path.write_text('{"hooks": {"Stop": [{"command": "true"}]}}')
    files = HookFiles()
    assert [(hook.file.name, hook.needs_approval) for hook in files.find([], tmp_path).hooks] == [
        ("hooks.json", False),
        ("settings.json", True),
    ]
    (tmp_path / ".claude/settings.json").write_text("{}")
    assert len(files.find([], tmp_path).hooks) == 1


@given(VALUES)
def test_any_json_is_read(value: Any) -> None:
    """docs/faults.md 247: nothing raises, whatever the file contains."""
    read_hooks({"hooks": {"Stop": [value], "PreToolUse": value}}, FILE, None)
    read_hooks(value, FILE, None)


def test_a_file_has_a_limit() -> None:
    found = read_hooks({"hooks": {"Stop": [{"command": "true", "timeout": 10**9}] * 200}}, FILE, None)
    assert len(found.hooks) == MAX_HOOKS
    assert {hook.seconds for hook in found.hooks} == {MAX_SECONDS}


def test_objects_know_their_lines() -> None:
    """Also if a name occurs twice, and with braces in strings."""
    text = '{"a": "}{",\n "b": {"c": 1},\n "b": [\n {"d": "\\"{"}, {\n"e": {}}]}'
    value = read_located(text)
    assert line_of(value) == 1
    assert [line_of(each) for each in value["b"]] == [4, 4]
    assert isinstance(value["b"][1]["e"], LocatedObject)
    assert line_of(value["b"][1]["e"]) == 5
    assert line_of("x", 7) == 7


@pytest.mark.parametrize(
    ("matcher", "name", "expected"),
    [
        ("", "Bash", True),
        ("*", "Bash", True),
        ("Bash", "Bash", True),
        ("Bash", "BashOutput", False),
        ("Bash.*", "BashOutput", True),
        ("Edit|Write", "Write", True),
        ("Edit|Write", "MultiEdit", False),
        ("^(Edit|Write)$", "Edit", True),
        ("mcp__.*__(read|write)_.*", "mcp__files__write_file", True),
        ("[A-Z][a-z]+", "Bash", True),
        ("(?i:bash)", "BASH", True),
        (r"\w+", "todo", True),
    ],
)
def test_matchers_match_whole_names(matcher: str, name: str, expected: bool) -> None:
    check_matcher(matcher)
    assert matches(matcher, name) == expected


@pytest.mark.parametrize(
    "matcher", ["(a+)+", "(a|a)*", "(a?){9}", "((a))+?", ".*.*.*.*.*", "(a)\\1", "(?P<x>a)(?P=x)", "(", "x" * 501]
)
def test_matchers_that_could_take_long_are_refused(matcher: str) -> None:
    """docs/faults.md 243"""
    with pytest.raises(ValueError, match=r"."):
        check_matcher(matcher)


@given(st.text("()[]{}|*+?\\ab1,^$.", max_size=30))
def test_every_matcher_that_is_not_refused_is_a_fast_regular_expression(matcher: str) -> None:
    """docs/faults.md 243: it is compared with the longest name within the test's time."""
    try:
        check_matcher(matcher)
    except ValueError:
        return
    matches(matcher, "ab" * 32)
    if matcher not in ("", "*"):
        re.compile(matcher)


def test_names_of_tools_and_inputs_are_those_of_claude_code() -> None:
    given = {"path": "a.py", "old_text": "1", "new_text": "2"}
    assert tool_name("edit_file", given) == "Edit"
    assert tool_input("edit_file", given, "/ws/".__add__) == {
        "file_path": "/ws/a.py",
        "old_string": "1",
        "new_string": "2",
    }
    assert own_input("edit_file", given, {"new_string": "3", "more": 1}) == {**given, "new_text": "3", "more": 1}
    assert own_input("edit_file", given, ["x"]) == given
    assert tool_name("github__get_issue", {}) == "mcp__github__get_issue"
    found = {"name": "github__get_issue", "input": {"number": 1}}
    assert tool_name("call_tool", found) == "mcp__github__get_issue"
    assert tool_input("call_tool", found, str) == {"number": 1}
    assert own_input("call_tool", found, {"number": 2}) == {**found, "input": {"number": 2}}
    assert (tool_name("delete_file", {}), tool_input("delete_file", {"path": "a"}, str)) == (
        "delete_file",
        {"path": "a"},
    )


@pytest.mark.parametrize("name", TOOLS)
def test_an_input_comes_back_as_it_was(name: str) -> None:
    given = {"path": "a", "command": "b", **dict.fromkeys(TOOLS[name].fields, "c")}
    assert own_input(name, given, tool_input(name, given, str)) == given


def output(text: str = "", code: int | None = 0, errors: str = "") -> HookOutput:
    return HookOutput(code, text, errors, 60)


PRE = '{"hookSpecificOutput": {"permissionDecision": "%s", "permissionDecisionReason": "why"}}'


@pytest.mark.parametrize(
    ("event", "ended", "expected"),
    [
        ("PreToolUse", output(), Verdict()),
        ("PreToolUse", output("text"), Verdict()),
        ("PreToolUse", output(code=2, errors="no\n"), Verdict("deny", "no")),
        ("PreToolUse", output("from stdout", 2), Verdict("deny", "from stdout")),
        ("PreToolUse", output(code=2), Verdict("deny", "It gave no reason.")),
        ("SessionStart", output(code=2, errors="no"), Verdict(warnings=("It failed (exit code 2): no",))),
        ("Stop", output(code=1, errors="oh\nno"), Verdict(warnings=("It failed (exit code 1): oh no",))),
        ("Stop", output(code=1), Verdict(warnings=("It failed (exit code 1).",))),
        ("Stop", output(code=None), Verdict(warnings=("It was stopped after 60 s, its time limit.",))),
        ("SessionStart", output(" hello \n"), Verdict(context="hello")),
        ("UserPromptSubmit", output("[1]"), Verdict(context="[1]")),
        ("PreToolUse", output(PRE % "deny"), Verdict("deny", "why")),
        ("PreToolUse", output(PRE % "ask"), Verdict("ask", "why")),
        ("PreToolUse", output(PRE % "allow"), Verdict("allow", "why")),
        ("PreToolUse", output(PRE % "defer"), Verdict()),
        ("PostToolUse", output(PRE % "deny"), Verdict()),
        ("PostToolUse", output('{"decision": "block", "reason": "r"}'), Verdict("deny", "r")),
        ("PreToolUse", output('{"decision": "block", "reason": "r"}'), Verdict("deny", "r")),
        ("PreToolUse", output('{"decision": "approve"}'), Verdict()),
        ("AfterAccept", output('{"decision": "block", "reason": "r"}'), Verdict()),
        ("Stop", output('{"continue": false, "stopReason": "s"}'), Verdict(ends_run=True, stop_reason="s")),
        ("Stop", output('{"continue": true, "systemMessage": "m"}'), Verdict(message="m")),
        ("Stop", output('{"hookSpecificOutput": {"updatedInput": {"a": 1}}}'), Verdict()),
        (
            "PreToolUse",
            output('{"hookSpecificOutput": {"updatedInput": {"a": 1}, "additionalContext": "c"}}'),
            Verdict(context="c", updated_input={"a": 1}),
        ),
        (
            "Stop",
            output('{"reason": 1, "decision": "block"}'),
            Verdict(
                "deny",
                "It gave no reason.",
                warnings=("Its field reason has another form than expected, and is ignored.",),
            ),
        ),
    ],
)
def test_what_a_hook_says(event: Event, ended: HookOutput, expected: Verdict) -> None:
    """docs/hooks.md, Input and output"""
    assert verdict_of(event, ended) == expected


def test_texts_have_a_limit() -> None:
    text = verdict_of("SessionStart", output("x" * 20_000)).context
    assert len(text) < MAX_CHARS + 100
    assert text.endswith("[... 10,000 characters left out]")


@given(st.sampled_from(list(EVENTS)), st.text(), st.text(), st.none() | st.integers(0, 255))
def test_any_output_is_read(event: Event, text: str, errors: str, code: int | None) -> None:
    """docs/faults.md 246: nothing raises."""
    verdict_of(event, HookOutput(code, text, errors, 1))
    verdict_of(event, HookOutput(0, "{" + text, errors, 1))


def test_of_several_hooks_the_strictest_decision_counts() -> None:
    deny, ask, allow = Verdict("deny", "d"), Verdict("ask", "a"), Verdict("allow", "y", updated_input={"x": 1})
    assert combined([allow, ask, deny]) == Verdict("deny", "d", updated_input={"x": 1})
    assert combined([allow, ask, Verdict()]).decision == "ask"
    assert combined([allow, Verdict()]).decision == "allow"
    assert combined([Verdict("deny", "1", "c"), Verdict("deny", "2", "c")]) == Verdict("deny", "1\n2", "c")
    assert combined([]) == Verdict()


def test_scripts_belong_to_a_definition(tmp_path: Path) -> None:
    """Protected ones, those that look like scripts, and those outside of the workspace; not the tests that it runs."""
    workspace, home = tmp_path / "ws", tmp_path / "home"
    names = {
        ".claude/hooks/check.py": "1",
        "scripts/format": "#!/bin/sh\n",
        "lint.sh": "1",
        "tests/test_a.py": "1",
        "package.json": "{}",
    }
    for name, text in names.items():
        (workspace / name).parent.mkdir(parents=True, exist_ok=True)
        (workspace / name).write_text(text)
    (home / "bin").mkdir(parents=True)
    (home / "bin/own.py").write_text("1")

    def scripts(command: str, *, is_own: bool = False) -> tuple[list[str], list[str]]:
        folder = None if is_own else workspace
        [hook] = read_hooks({"hooks": {"Stop": [{"command": command}]}}, FILE, folder).hooks
        found = scripts_of(hook, Roots.of(workspace), workspace, home)
        return [Path(path).name for path, _ in found.identity], [path.name for path in found.outside]

    assert scripts('python3 "$CLAUDE_PROJECT_DIR"/.claude/hooks/check.py') == (["check.py"], [])
    assert scripts("${FAIRLEAD_PROJECT_DIR}/scripts/format a.py && sh lint.sh") == (["format", "lint.sh"], [])
    assert scripts("npm test && pytest tests/test_a.py") == ([], [])
    assert scripts("python3 ~/bin/own.py", is_own=True) == (["own.py"], ["own.py"])
    assert scripts("python3 $HOME/bin/own.py") == (["own.py"], [])
    assert scripts('x=$(date); "$x"') == ([], [])
