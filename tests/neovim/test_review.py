"""A real Neovim with docs/editors/neovim: the effect of accept, reject and undo on files and buffers."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.neovim import Neovim

Start = Callable[..., Neovim]

BEFORE = {
    "modify.py": b"one = 1\ntwo = 2\nthree = 3\n",
    "old.py": b"moved = True\n",
    "gone.py": b"gone = True\n",
}
AFTER = {
    "modify.py": b"one = 1\ntwo = 22\nthree = 3\n",
    "sub/new.py": b"moved = False\n",
    "made.py": b"made = True\n",
}
PLAN = [
    {"content": "Change the files", "status": "in_progress", "activeForm": "Changing the files"},
    {"content": "Check them", "status": "pending", "activeForm": "Checking them"},
]
CALLS: list[dict[str, Any]] = [
    {"todo": {"items": PLAN}},
    {"read_file": {"path": "modify.py"}},
    {"edit_file": {"path": "modify.py", "old_text": "two = 2", "new_text": "two = 22"}},
    {"rename_file": {"path": "old.py", "new_path": "sub/new.py"}},
    {"edit_file": {"path": "sub/new.py", "old_text": "True", "new_text": "False"}},
    {"delete_file": {"path": "gone.py"}},
    {"write_file": {"path": "made.py", "content": "made = True\n"}},
]
TURNS = ({"text": "I change them.", "calls": CALLS}, {"text": "All changed."})


def write(workspace: Path, files: dict[str, bytes]) -> None:
    for name, data in files.items():
        (workspace / name).write_bytes(data)


def on_disk(workspace: Path) -> dict[str, bytes]:
    return {
        path.relative_to(workspace).as_posix(): path.read_bytes()
        for path in workspace.rglob("*")
        if path.is_file() and ".git" not in path.parts
    }


def open_all(editor: Neovim, names: list[str], *, is_open: bool) -> None:
    for name in names if is_open else []:
        editor.open(name)


def test_the_panel_shows_the_plan_the_conversation_and_the_changes(workspace: Path, start: Start) -> None:
    """The notifications arrive in Neovim, and no file changes before a decision."""
    write(workspace, BEFORE)
    editor = start(*TURNS)
    editor.run()
    editor.until_panel("All changed.")
    editor.until_panel("Plan  0/2\n  ▶ Changing the files\n  ○ Check them\n")
    panel = editor.panel()
    assert "  old.py → sub/new.py  +1 -1  renamed" in panel
    assert "Changes to review  4" in panel and "I change them." in panel
    assert on_disk(workspace) == BEFORE


@pytest.mark.parametrize("is_open", [False, True], ids=["closed", "open"])
def test_everything_is_accepted_undone_and_redone(workspace: Path, start: Start, *, is_open: bool) -> None:
    """A new, a changed, a renamed and a deleted file are accepted, undone and redone byte for byte, open or not."""
    write(workspace, BEFORE)
    editor = start(*TURNS)
    open_all(editor, [*BEFORE], is_open=is_open)
    editor.run()
    editor.decide("accept all")
    assert editor.warnings() == []
    assert on_disk(workspace) == AFTER
    if is_open:
        assert editor.buffer("modify.py") == AFTER["modify.py"] and not editor.is_modified("modify.py")
        assert editor.buffer("sub/new.py") == AFTER["sub/new.py"] and not editor.is_modified("sub/new.py")
        assert editor.buffer("gone.py") is None and editor.buffer("old.py") is None
    editor.decide("undo")
    assert editor.warnings() == []
    assert on_disk(workspace) == BEFORE
    editor.decide("redo")
    assert on_disk(workspace) == AFTER


@pytest.mark.parametrize("is_open", [False, True], ids=["closed", "open"])
def test_a_rejection_leaves_everything_as_it_is(workspace: Path, start: Start, *, is_open: bool) -> None:
    """A reject removes the proposals and changes no file, and an undo restores the proposals."""
    write(workspace, BEFORE)
    editor = start(*TURNS)
    open_all(editor, [*BEFORE], is_open=is_open)
    editor.run()
    editor.decide("reject all they are not needed")
    editor.until_panel("Changes to review  0")
    assert on_disk(workspace) == BEFORE
    editor.decide("undo")
    editor.until_panel("Changes to review  4")
    assert on_disk(workspace) == BEFORE


def test_unsaved_text_stays_unsaved(workspace: Path, start: Start) -> None:
    """An accept changes the user's buffer and does not save it."""
    write(workspace, BEFORE)
    editor = start(*TURNS)
    editor.open("modify.py")
    editor.command("normal! Gomine = 4")
    editor.run()
    editor.decide("accept file")
    assert editor.buffer("modify.py") == AFTER["modify.py"] + b"mine = 4\n"
    assert editor.is_modified("modify.py")
    assert on_disk(workspace) == BEFORE


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("modify.py", {"modify.py": AFTER["modify.py"]}),
        ("old.py", {"sub/new.py": AFTER["sub/new.py"], "old.py": None}),
        ("gone.py", {"gone.py": None}),
    ],
    ids=["modify", "rename", "delete"],
)
def test_neovims_own_code_actions_decide_at_the_cursor(
    workspace: Path, start: Start, *, name: str, expected: dict[str, bytes | None]
) -> None:
    """`vim.lsp.buf.code_action` accepts the change at the cursor: changed lines, a rename or a deletion."""
    write(workspace, BEFORE)
    editor = start(*TURNS)
    editor.open(name)
    editor.run()
    editor.until_panel("Changes to review  4")
    editor.command("call cursor(min([2, line('$')]), 1)")
    editor.lua(
        "vim.lsp.buf.code_action({ apply = true, filter = function(action) "
        "return action.command and action.command.command == 'fairlead.server.accept' end })"
    )
    editor.until_panel("Changes to review  3")
    editor.until_answered()
    wanted = {**BEFORE, **expected}
    assert on_disk(workspace) == {file: data for file, data in wanted.items() if data is not None}


def test_only_the_change_at_the_cursor_is_decided(workspace: Path, start: Start) -> None:
    """`:Fairlead accept` and `:Fairlead reject` leave the other changes of the file pending."""
    lines = [f"line {number}\n" for number in range(1, 31)]
    (workspace / "a.txt").write_text("".join(lines))
    edits = [
        {"edit_file": {"path": "a.txt", "old_text": f"line {number}\n", "new_text": f"LINE {number}\n"}}
        for number in (2, 15, 29)
    ]
    editor = start({"calls": edits}, {"text": "Done."})
    editor.open("a.txt")
    editor.run()
    editor.command("15")
    editor.decide("accept")
    editor.command("2")
    editor.decide("reject")
    lines[14] = "LINE 15\n"
    assert (workspace / "a.txt").read_text() == "".join(lines)
    editor.until_panel("a.txt  +1 -1")
    editor.command("8")
    editor.decide("accept")
    assert "Fairlead: no proposed change at the cursor" in editor.messages()


def test_one_change_is_decided_in_the_diff(workspace: Path, start: Start) -> None:
    """On the right side of the diff, `:Fairlead accept` accepts the change at the cursor; the diff stays open.

    Enter on the file's line in the panel opens the diff. Its windows have the user's options, not the panel's."""
    (workspace / "a.txt").write_text("".join(f"line {number}\n" for number in range(1, 21)))
    calls = [
        {"edit_file": {"path": "a.txt", "old_text": "line 2\n", "new_text": "line 2\nnew\n"}},
        {"edit_file": {"path": "a.txt", "old_text": "line 15\n", "new_text": "LINE 15\n"}},
    ]
    editor = start({"calls": calls}, {"text": "Done."})
    editor.command("set number")
    editor.run()
    editor.until_panel("a.txt  +2 -1")
    editor.command("wincmd l")
    editor.command("call search('a.txt')")
    editor.lua("vim.api.nvim_feedkeys(vim.keycode('<CR>'), 'x', false)")
    numbers = "return vim.tbl_map(function(window) return vim.wo[window].number end, vim.api.nvim_tabpage_list_wins(0))"
    assert editor.lua(numbers) == [True, True]
    editor.command("call search('LINE 15')")
    editor.decide("accept")
    editor.until_panel("a.txt  +1 -0")
    assert (workspace / "a.txt").read_text().splitlines()[14] == "LINE 15"
    assert editor.lua("return #vim.api.nvim_list_tabpages()") == 2
    editor.decide("reject file")
    editor.until("#vim.api.nvim_list_tabpages() == 1")
    assert "new" not in (workspace / "a.txt").read_text()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("line 1\n", "LINE 1\n"),
        ("line 1\nline 2\n", "line 2\n"),
        ("line 1\n", "new\nline 1\n"),
        ("line 8\nline 9\n", "line 9\n"),
    ],
    ids=["line 1 changed", "line 1 removed", "line added above line 1", "line 8 removed"],
)
def test_the_diff_opens_at_the_first_change(workspace: Path, start: Start, *, old: str, new: str) -> None:
    """An accept right after `:Fairlead diff` takes the first change, and leaves the other one pending."""
    text = "".join(f"line {number}\n" for number in range(1, 21))
    (workspace / "a.txt").write_text(text)
    pairs = [(old, new), ("line 15\n", "LINE 15\n")]
    edits = [
        {"edit_file": {"path": "a.txt", "old_text": old_text, "new_text": new_text}} for old_text, new_text in pairs
    ]
    editor = start({"calls": edits}, {"text": "Done."})
    editor.run()
    editor.command("Fairlead diff")
    editor.decide("accept")
    assert editor.warnings() == []
    assert (workspace / "a.txt").read_text() == text.replace(old, new)


def test_a_removed_last_line_is_decided_at_the_line_above(workspace: Path, start: Start) -> None:
    """No line of the proposed text is below the removed one."""
    (workspace / "a.txt").write_text("one\ntwo\nthree\n")
    edits = [
        {"edit_file": {"path": "a.txt", "old_text": "one\n", "new_text": "ONE\n"}},
        {"edit_file": {"path": "a.txt", "old_text": "three\n", "new_text": ""}},
    ]
    editor = start({"calls": edits}, {"text": "Done."})
    editor.run()
    editor.command("Fairlead diff")
    editor.command("normal! G")
    editor.decide("accept")
    assert (workspace / "a.txt").read_text() == "one\ntwo\n"


def test_the_cursor_of_the_panel_stays_on_its_file(workspace: Path, start: Start) -> None:
    """When the plan grows, `a` still accepts the file that the cursor was on."""
    for name in ("a.txt", "b.txt"):
        (workspace / name).write_text("one\n")
    edits = [{"edit_file": {"path": name, "old_text": "one", "new_text": "two"}} for name in ("a.txt", "b.txt")]
    editor = start(
        {"calls": [{"todo": {"items": PLAN[:1]}}, *edits]},
        {"text": "Done."},
        {"calls": [{"todo": {"items": PLAN}}]},
        {"text": "Planned."},
    )
    editor.run()
    editor.until_panel("b.txt  +1 -1")
    editor.command("wincmd l")
    editor.command("call search('b.txt')")
    editor.run()
    editor.until_panel("Check them")
    editor.decide("accept file")
    assert on_disk(workspace) == {"a.txt": b"one\n", "b.txt": b"two\n"}
