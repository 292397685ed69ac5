"""A real Neovim with docs/editors/neovim: the bytes of accepted files, and text that is typed during an accept."""

from collections.abc import Callable
from pathlib import Path

import pytest

from support.calls import edit
from support.neovim import Neovim

Start = Callable[..., Neovim]


@pytest.mark.parametrize("is_open", [False, True], ids=["closed", "open"])
@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"one\r\ntwo\r\nthree\r\n", b"one\r\nTWO\r\nthree\r\n"),
        (b"one\ntwo", b"one\nTWO"),
        (b"\xef\xbb\xbfone\ntwo\n", b"\xef\xbb\xbfone\nTWO\n"),
        ("🙂 ä two\n".encode(), "🙂 ä TWO\n".encode()),
        (b"two\n\n\n", b"TWO\n\n\n"),
    ],
    ids=["CRLF", "no final newline", "byte order mark", "emoji", "empty lines at the end"],
)
def test_an_accept_and_its_undo_keep_every_other_byte(
    workspace: Path, start: Start, *, is_open: bool, before: bytes, after: bytes
) -> None:
    """Line endings, the last line, a byte order mark and wide characters stay as they are."""
    (workspace / "a.txt").write_bytes(before)
    editor = start({"calls": [edit("a.txt", "two", "TWO")]}, {"text": "Done."})
    if is_open:
        editor.command("set nofixendofline")
        editor.open("a.txt")
    editor.run()
    editor.decide("accept all")
    assert (workspace / "a.txt").read_bytes() == after
    editor.decide("undo")
    assert (workspace / "a.txt").read_bytes() == before


def test_new_lines_at_the_end_and_an_emptied_file(workspace: Path, start: Start) -> None:
    """An accept can add lines at the end, remove all lines of a file, and add the first line to an empty file. An undo
    restores the earlier bytes."""
    before = {"end.txt": b"one\n", "emptied.txt": b"one\ntwo\n", "empty.txt": b""}
    after = {"end.txt": b"one\ntwo\n", "emptied.txt": b"", "empty.txt": b"one\n"}
    calls = [{"write_file": {"path": name, "content": data.decode()}} for name, data in after.items()]
    reads = [{"read_file": {"path": name}} for name in before]
    for name, data in before.items():
        (workspace / name).write_bytes(data)
    editor = start({"calls": reads}, {"calls": calls}, {"text": "Done."})
    for name in before:
        editor.open(name)
    editor.run()
    editor.decide("accept all")
    assert {name: (workspace / name).read_bytes() for name in before} == after
    editor.decide("undo")
    assert {name: (workspace / name).read_bytes() for name in before} == before


def test_text_typed_during_an_accept_is_not_lost(workspace: Path, start: Start) -> None:
    """Text that the user types into three files while their deletion, rename and change are accepted stays in the
    buffers."""
    for name in ("gone.txt", "old.txt", "a.txt"):
        (workspace / name).write_text("one\n")
    calls = [
        {"delete_file": {"path": "gone.txt"}},
        {"rename_file": {"path": "old.txt", "new_path": "new.txt"}},
        edit("a.txt", "one", "two"),
    ]
    editor = start({"calls": calls}, {"text": "Done."})
    for name in ("gone.txt", "old.txt", "a.txt"):
        editor.open(name)
    editor.run()
    editor.lua(
        """
        local client = vim.lsp.get_clients({ name = 'fairlead' })[1]
        local original = client.handlers['workspace/applyEdit']
        client.handlers['workspace/applyEdit'] = function(...)
          client.handlers['workspace/applyEdit'] = original
          for _, name in ipairs({ 'gone.txt', 'old.txt', 'a.txt' }) do
            vim.api.nvim_buf_set_lines(vim.fn.bufnr(name .. '$'), 1, 1, true, { 'mine' })
          end
          return original(...)
        end
        """
    )
    editor.decide("accept all")
    assert editor.buffer("gone.txt") == b"one\nmine\n"
    assert editor.buffer("new.txt") == b"one\nmine\n"
    assert editor.buffer("a.txt") == b"two\nmine\n" and editor.is_modified("a.txt")


def test_a_buffer_of_a_file_that_the_agent_creates(workspace: Path, start: Start) -> None:
    """A buffer that was opened before its file existed shows the accepted file."""
    editor = start({"calls": [{"write_file": {"path": "new.txt", "content": "made\n"}}]}, {"text": "Done."})
    editor.open("new.txt")
    editor.run()
    editor.decide("accept all")
    assert (workspace / "new.txt").read_bytes() == b"made\n"
    assert editor.buffer("new.txt") == b"made\n" and not editor.is_modified("new.txt")
