"""The output in a terminal during a run."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cli.command import in_terminal

pytestmark = pytest.mark.skipif(os.name != "posix", reason="pseudoterminals are POSIX")

Record = Callable[..., Path]
STEPS = [
    {"content": "读取文件", "status": "completed"},
    {"content": "Add hints", "status": "in_progress", "activeForm": "Adding hints"},
    {"content": "Check", "status": "pending"},
]


def task(workspace: Path, replay: Path, *more: object) -> list[object]:
    return ["run", "分析所有文件", "--workspace", workspace, "--replay", replay, *more]


def plan(*items: dict[str, Any]) -> dict[str, Any]:
    return {"calls": [{"todo": {"items": list(items)}}]}


def test_the_plan_in_color(workspace: Path, record: Record) -> None:
    """docs/plan.md P10: pending yellow, in progress cyan with its active form, completed green, during the run and at
    its end.
    """
    replay = record(plan(*STEPS), {"text": "one two"}, pace=5)
    with in_terminal(*task(workspace, replay)) as terminal:
        terminal.until("(1/3 completed)")
        visible = "\n".join(terminal.screen.visible())
        assert "[x] #1: 读取文件" in visible
        assert "[>] #2: Add hints (Adding hints)" in visible
        assert set(terminal.screen.colors("[x] #1")) == {"green"}
        assert set(terminal.screen.colors("[>] #2")) == {"cyan"}
        assert set(terminal.screen.colors("[ ] #3")) == {"yellow"}
        terminal.press("\x03")
        assert terminal.end() == 130
        assert terminal.screen.text.count("[ ] #3: Check") == 1  # only at the end, not in the status area
        assert terminal.screen.colors("[ ] #3") == ["yellow"]


def test_no_color(workspace: Path, record: Record) -> None:
    """NO_COLOR turns colors off."""
    with in_terminal(*task(workspace, record(plan(*STEPS), {"text": "Done."})), NO_COLOR="1") as terminal:
        assert terminal.end() == 0
        assert "[>] #2: Add hints (Adding hints)" in terminal.screen.text
        assert not terminal.screen.colored


def test_wide_characters(workspace: Path, record: Record) -> None:
    """Chinese, Japanese and emoji text stays within the columns. The terminal wraps no line, no word is lost, and a
    line without blanks is filled.
    """
    text = "我先列出所有文件，然后逐个分析目录下的模块，找出可能的性能问题。日本語のテキストも同じです。👍 fine 完了"
    long_plan = [{"content": f"步骤 {n}：" + "很长的说明" * 9, "status": "pending"} for n in range(3)]
    replay = record({"text": text, **plan(*long_plan)}, {"thinking": text, "text": text})
    with in_terminal(*task(workspace, replay), columns=41) as terminal:
        assert terminal.end() == 0
        assert terminal.screen.wrapped == []
        joined = "".join(terminal.screen.lines).replace(" ", "")
        assert joined.count(text.replace(" ", "")) == 3
        first = next(line for line in terminal.screen.lines if line.startswith("我先"))
        assert len(first) == 20  # of 41 columns


@pytest.mark.parametrize("rows", [6, 12])
def test_a_plan_longer_than_the_screen(workspace: Path, record: Record, rows: int) -> None:
    """The plan never fills a small screen: the item in progress is shown, the others are counted, and the status area
    leaves no traces.
    """
    items = [{"content": f"Step {n}", "status": "completed" if n < 10 else "pending"} for n in range(1, 21)]
    items[9]["status"] = "in_progress"
    output = "\n".join(f"line {n}" for n in range(30))
    replay = record(plan(*items), {"text": output}, {"text": "never"}, pace=0.05)
    with in_terminal(*task(workspace, replay), rows=rows, columns=60) as terminal:
        terminal.until("line 20")
        wanted = {"[>] #10: Step 10", "(9/20 completed)", *(["more below"] if rows == 12 else [])}
        # while it is redrawn, part of the status area may be missing
        terminal.until_true(lambda: all(text in "\n".join(terminal.screen.visible()) for text in wanted), str(wanted))
        assert terminal.end() == 0
        lines = terminal.screen.lines
        assert [line for line in lines if line.startswith("line ")] == output.split("\n")
        assert sum("[>] #10: Step 10" in line for line in lines) == 2  # when it began, and at the end
        assert not any("more below" in line for line in lines)


def test_a_tool_call_is_one_line(hello: Path, record: Record) -> None:
    """A call is one line with its outcome. A failed one has the first line of its error in red."""
    wrong = {"edit_file": {"path": "hello.py", "old_text": "def nothing():", "new_text": ""}}
    with in_terminal(
        *task(hello.parent, record({"calls": [{"read_file": {"path": "hello.py"}}, wrong]}, {"text": "."}))
    ) as t:
        assert t.end() == 0
        assert "  ✓ Read hello.py" in t.screen.lines
        assert any(line.startswith("  ✗ Edit hello.py  Error: old_text not found") for line in t.screen.lines)
        assert t.screen.colors("✗ Edit") == t.screen.colors("Error: old_text") == ["red"]


def test_a_commands_output(workspace: Path, record: Record) -> None:
    """The question shows the whole command, folder and reasons. The output is indented and shortened, and its escape
    sequences have no effect.
    """
    command = "for i in $(seq 1 60); do echo line $i; done; printf '\\033[2J\\033[31mred\\033[0m'"
    replay = record({"calls": [{"bash": {"command": command, "unsandboxed": True}}]}, {"text": "Done."})
    with in_terminal(*task(workspace, replay), columns=len(str(workspace)) + 100) as terminal:
        terminal.answer("  Run it?", "?")
        terminal.until("do not run it; you can give the agent a reason")
        terminal.answer("  Run it?", "y")
        assert terminal.end() == 0
        lines = terminal.screen.lines
        assert f"    {command}" in lines
        assert f"    in {workspace}" in lines
        assert "    · It runs outside the sandbox, with your permissions." in lines
        assert "      line 1" in lines
        assert "      line 30" not in lines
        assert "      line 60" in lines
        assert "      red" in lines
        assert any("lines not shown" in line for line in lines)


def test_the_outcome_of_a_long_command_is_shown(workspace: Path, record: Record) -> None:
    """The command is cropped, not its exit code."""
    command = f"test -e '{'很长的名字' * 20}'"
    replay = record({"calls": [{"bash": {"command": command}}]}, {"text": "Done."})
    with in_terminal(*task(workspace, replay, "--allow-commands"), columns=80) as terminal:
        assert terminal.end() == 0
        row = next(line for line in terminal.screen.lines if "✗ $ test -e '很长的名字" in line)
        assert "…  exit code 1, " in row
        assert terminal.screen.wrapped == []


def test_a_command_is_refused_with_a_reason(workspace: Path, record: Record) -> None:
    """`n` does not run the command, and the model reads the reason. Keys typed before the question are ignored."""
    replay = record({"calls": [{"bash": {"command": "touch made", "unsandboxed": True}}]}, {"text": "Done."})
    with in_terminal(*task(workspace, replay)) as terminal:
        terminal.press("yyy")
        terminal.answer("  Run it?", "n")
        terminal.answer("  Why not?", "too 危x\x7f险\r")
        assert terminal.end() == 0
        assert "Rejected: too 危险" in " ".join(terminal.screen.text.split())
        assert not (workspace / "made").exists()
