"""The review at the end of a run in a terminal: by file, by hunk, all the rest, none."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cli.command import InTerminal, in_terminal, run_plain
from support.sandbox import needs_sandbox

pytestmark = pytest.mark.skipif(os.name != "posix", reason="pseudoterminals are POSIX")

Record = Callable[..., Path]


def _edit(old: str, new: str) -> dict[str, dict[str, str]]:
    return {"edit_file": {"path": "hello.py", "old_text": old, "new_text": new}}


EDITS = (
    _edit("import sys\n", "import os\nimport sys\n"),
    _edit('"night"', '"夜"'),
    _edit("datetime.now().hour, shout", "12, shout"),
)


def _four_changes(record: Record) -> Path:
    """A recording that proposes three changes to hello.py and one new file."""
    calls = [*EDITS, {"write_file": {"path": "new/文件.py", "content": "x = 1\n"}}]
    return record({"calls": calls}, {"text": "Done."})


@pytest.fixture
def review(hello: Path, record: Record) -> Iterator[InTerminal]:
    """A run that proposes four changes, up to its first question."""
    with in_terminal("run", "a task", "--workspace", hello.parent, "--replay", _four_changes(record)) as terminal:
        terminal.until("Accept hello.py?")
        yield terminal


def test_yes_and_no(review: InTerminal, hello: Path) -> None:
    """`y` changes the file, `n` does not, and the last lines name the changed files."""
    assert review.screen.colors("+import os") == ["green"]
    assert review.screen.colors('-        return "night"') == ["red"]
    assert "new/文件.py  new file" not in review.screen.text  # one after the other
    review.answer("Accept hello.py?", "y")
    review.answer("Accept new/文件.py?", "n")
    assert review.end() == 0
    assert hello.read_text(encoding="utf-8").startswith("import os\nimport sys\n")
    assert not (hello.parent / "new").exists()
    assert "✓ hello.py: applied" in review.screen.lines
    assert "· new/文件.py: rejected" in review.screen.lines
    assert "Changed: hello.py" in review.screen.lines


def test_the_name_of_a_file_is_on_one_line(workspace: Path, record: Record) -> None:
    """A name cannot look like a line of the review. The agent creates no such file, but there may be one. An empty new
    file has a note instead of a diff.
    """
    (workspace / "a\n✓ b.txt: applied").write_text("")
    contents = {"a\n✓ b.txt: applied": "x\n", "empty.txt": ""}
    calls = [{"write_file": {"path": path, "content": content}} for path, content in contents.items()]
    recording = record({"calls": calls}, {"text": "Done."})
    with in_terminal("run", "a task", "--workspace", workspace, "--replay", recording) as terminal:
        terminal.answer(r"Accept a\n✓ b.txt: applied?", "n")
        terminal.answer("Accept empty.txt?", "n")
        assert terminal.end() == 0
        assert "(an empty file)" in terminal.screen.text
    assert not any(line.startswith("✓ b.txt") for line in terminal.screen.lines)


def test_by_hunk(review: InTerminal, hello: Path) -> None:
    """`h` asks about each change, and only the accepted ones are in the file. `q` ends the review, and the last lines
    name the undecided file.
    """
    review.answer("Accept hello.py?", "h")
    review.answer("Accept change 1 of 3?", "y")
    review.answer("Accept change 2 of 3?", "n")
    review.answer("Accept change 3 of 3?", "y")
    review.answer("Accept new/文件.py?", "q")
    assert review.end() == 0
    text = hello.read_text(encoding="utf-8")
    assert text.startswith("import os\n")
    assert '"night"' in text
    assert "12, shout" in text
    assert not (hello.parent / "new").exists()
    assert "Changed: hello.py (2 of 3 changes)" in review.screen.lines
    assert "Not applied: new/文件.py" in review.screen.lines


@pytest.mark.parametrize(
    ("answer", "said", "code"),
    [
        pytest.param(
            "h", "✗ 2 of 4 changes accepted: grep -q os hello.py fails (exit code 1", 3, id="without what it needs"
        ),
        pytest.param("y", "✓ 3 of 4 changes accepted: grep -q os hello.py passes (exit code 0", 0, id="with it"),
    ],
)
def test_p18_accepted_changes_are_checked(hello: Path, record: Record, answer: str, said: str, code: int) -> None:
    """docs/plan.md P18: after a review that accepts only some of the changes, the check runs on these. The exit code is
    3 if it fails.
    """
    needs_sandbox()
    options = ("--workspace", hello.parent, "--check", "grep -q os hello.py")
    with in_terminal("run", "a task", *options, "--replay", _four_changes(record)) as terminal:
        terminal.answer("Accept hello.py?", answer)
        if answer == "h":
            for number, key in enumerate("nyy", 1):
                terminal.answer(f"Accept change {number} of 3?", key)
        terminal.answer("Accept new/文件.py?", "n")
        assert terminal.end() == code
        assert any(line.startswith(said) for line in terminal.screen.lines)


def test_p18_checks_that_are_refused_after_the_review_give_the_reason(
    hello: Path, record: Record, tmp_path: Path
) -> None:
    """docs/plan.md P18: the output says why the checks did not run. If there is no check, nothing is reported."""
    other = tmp_path / "other"
    other.mkdir()
    arguments = ("run", "a task", "--workspace", hello.parent, "--workspace", other)
    edit = {"edit_file": {"path": f"{hello.parent.name}/hello.py", "old_text": '"night"', "new_text": '"x"'}}
    new = {"write_file": {"path": f"{hello.parent.name}/new.py", "content": "x = 1\n"}}
    replay = record({"calls": [edit, new]}, {"text": "Done."})
    for options in ((), ("--check", "true")):
        other.mkdir(exist_ok=True)
        with in_terminal(*arguments, "--replay", replay, *options) as terminal:
            terminal.until("Accept")
            other.rmdir()
            terminal.answer(f"Accept {hello.parent.name}/hello.py?", "y")
            terminal.answer(f"Accept {hello.parent.name}/new.py?", "n")
            assert terminal.end() == (3 if options else 0)
            assert ("The checks did not run: A folder of the workspace" in terminal.screen.text) == bool(options)
        hello.write_text(hello.read_text().replace('"x"', '"night"'))


def test_all_the_rest(review: InTerminal, hello: Path) -> None:
    """`a` accepts the remaining files without asking. An unknown key is ignored, and `?` explains the keys."""
    review.answer("Accept hello.py?", "x?")
    review.until("accept this file and all that follow")
    review.answer("Accept hello.py?", "a")
    assert review.end() == 0
    assert (hello.parent / "new" / "文件.py").read_text() == "x = 1\n"
    assert review.screen.text.count("Accept new") == 0


def test_a_file_that_changes_during_the_review_is_shown_again(review: InTerminal, hello: Path) -> None:
    """A file that changed on disk is shown again with the user's lines, and they are not overwritten silently. The
    review continues with the other files, and the exit code is 1."""
    hello.write_text("# mine\n")
    review.answer("Accept hello.py?", "y")
    review.until("Your version of these lines:")
    review.answer("Accept hello.py?", "y")
    review.answer("Accept new/文件.py?", "y")
    assert review.end() == 1
    assert hello.read_text() == "import os\n# mine\n"  # the new first line touches none of the user's lines
    assert (hello.parent / "new" / "文件.py").exists()
    assert "✗ hello.py: conflict" in review.screen.lines


def test_a_conflict_is_decided_by_hunk(review: InTerminal, hello: Path) -> None:
    """Both sides are shown. `n` keeps the user's lines, `y` takes the proposed ones. Other lines stay."""
    text = hello.read_text(encoding="utf-8").replace('"night"', '"Nacht"').replace("datetime.now().hour", "13")
    hello.write_text(text.replace("def part_of_day", "# mine\ndef part_of_day"), encoding="utf-8")
    review.answer("Accept hello.py?", "h")
    review.answer("Accept change 1 of 3?", "y")
    review.until("Your version of these lines:")
    review.answer("You and the agent changed these lines.", "n")
    review.answer("You and the agent changed these lines.", "y")
    review.answer("Accept new/文件.py?", "n")
    assert review.end() == 0
    result = hello.read_text(encoding="utf-8")
    assert result.startswith("import os\n")
    assert "# mine\ndef part_of_day" in result
    assert '"Nacht"' in result
    assert "12, shout" in result


@pytest.mark.parametrize("key", ["n", "y"])
def test_fault_76_the_review_asks_about_a_file_that_the_user_deleted(review: InTerminal, hello: Path, key: str) -> None:
    """docs/faults.md 76: `n` keeps it deleted, `y` writes the proposed text."""
    hello.unlink()
    review.answer("Accept hello.py?", "y")
    review.until("You deleted this file.")
    review.answer("You and the agent changed hello.py.", key)
    review.answer("Accept new/文件.py?", "n")
    assert review.end() == 0
    assert hello.exists() == (key == "y")
    assert key == "n" or hello.read_text(encoding="utf-8").startswith("import os\n")


def test_a_deleted_file_is_reported_once(hello: Path, record: Record) -> None:
    """A file that was deleted on disk is named once, however many hunks its proposal has."""
    needs_sandbox()
    remove = {"bash": {"command": "rm hello.py", "unsandboxed": True}}
    recording = record({"calls": [*EDITS, remove]}, {"text": "Done."})
    ended = run_plain(
        *("run", "a task", "--workspace", hello.parent, "--replay", recording),
        *("--allow-commands", "--accept", "all"),
    )
    assert (ended.code, hello.exists()) == (1, False)
    assert "Could not be applied: hello.py" in ended.out
    assert "Not applied" not in ended.out


def test_a_deleted_empty_file_is_shown_as_empty(hello: Path, record: Record) -> None:
    (hello.parent / "empty.py").touch()
    recording = record({"calls": [{"delete_file": {"path": "empty.py"}}]}, {"text": "Done."})
    ended = run_plain("run", "a task", "--workspace", hello.parent, "--replay", recording, "--accept", "none")
    assert "empty.py  deleted  +0 -0\n(an empty file)" in ended.out


@pytest.mark.parametrize("stopped", [False, True])
def test_background_commands_end_with_the_run(hello: Path, record: Record, stopped: bool) -> None:
    """What they changed until then is reviewed, also if the user stopped the run. The output says how they ended; while
    they run, they have no tick.
    """
    needs_sandbox()
    server = "echo late > late.$((1)); python3 -m http.server --bind localhost 8000"
    client = "until (: > /dev/tcp/localhost/8000) 2>&-; do sleep 0.1; done; exit 3"
    begin = [{"bash": {"command": command, "background": True}} for command in (server, client)]
    wait = {"bash_output": {"id": "cmd-2", "wait_seconds": 60}}
    recording = record({"calls": begin}, {"calls": [wait]}, {"text": "one two"}, pace=5 if stopped else 0)
    with in_terminal("run", "a task", "--workspace", hello.parent, "--replay", recording, columns=120) as terminal:
        if stopped:
            terminal.until("writing")
            terminal.press("\x03")
            terminal.answer("The run was stopped. Review the changes to 1 file?", "y")
        terminal.answer("Accept late.1?", "y")
        assert terminal.end() == (130 if stopped else 0)
    assert (hello.parent / "late.1").read_text() == "late\n"
    assert f"  · $ {client}  runs in the background, in " in terminal.screen.text
    assert f"  ✗ $ {client}  exit code 3, " in terminal.screen.text
    assert f"  · $ {server}  stopped, " in terminal.screen.text
    assert "1 file to review" in terminal.screen.text  # in the summary


def test_ctrl_c_leaves_the_review_after_all_the_rest_was_accepted(hello: Path, record: Record) -> None:
    """The question about the protected file comes before any change: after Ctrl-C, no file has changed."""
    protected = {"write_file": {"path": ".vscode/tasks.json", "content": "{}\n"}}
    recording = record({"calls": [EDITS[0], protected]}, {"text": "Done."})
    before = hello.read_bytes()
    with in_terminal("run", "a task", "--workspace", hello.parent, "--replay", recording) as terminal:
        terminal.answer("Accept .vscode/tasks.json?", "a")
        terminal.until("This file needs your confirmation:")
        terminal.until("Accept it?")
        terminal.press("\x03")
        assert terminal.end() == 130
    assert hello.read_bytes() == before
    assert list(hello.parent.iterdir()) == [hello]


def test_ctrl_c_leaves_the_review(review: InTerminal, hello: Path) -> None:
    """After Ctrl-C at the first question, nothing has changed, and the exit code is 130."""
    before = hello.read_bytes()
    review.press("\x03")
    assert review.end() == 130
    assert hello.read_bytes() == before
    assert "Nothing was changed." in review.screen.lines
