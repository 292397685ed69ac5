"""A real Neovim with docs/editors/neovim: questions, approvals, stop, diffs, saved sessions.

The last test uses Neovim without that configuration.
"""

import json
from collections.abc import Callable
from pathlib import Path

import psutil

from support.calls import edit
from support.neovim import CONFIGURATION, SERVE, Neovim

Start = Callable[..., Neovim]


def answer(editor: Neovim, choice: str) -> None:
    """Runs `:Fairlead answer` and selects the choice with this title."""
    editor.lua(
        "local wanted = ... "
        "vim.ui.select = function(items, options, done) "
        "  for _, item in ipairs(items) do if options.format_item(item) == wanted then return done(item) end end "
        "end",
        choice,
    )
    editor.command("Fairlead answer")


def test_nothing_runs_before_the_user_allows_it(workspace: Path, start: Start) -> None:
    """An approval appears in the panel with its command and does not block Neovim. Only the allowed command runs."""
    asks = [{"bash": {"command": f"echo {word} >> made.txt", "unsandboxed": True}} for word in ("one", "two")]
    editor = start({"calls": asks}, {"text": "Done."})
    editor.command("Fairlead run Make it")
    editor.until_panel("  echo one >> made.txt")
    assert editor.lua("return vim.api.nvim_get_mode()") == {"mode": "n", "blocking": False}
    answer(editor, "Reject")
    editor.until_panel("  echo two >> made.txt")
    assert not (workspace / "made.txt").exists()
    answer(editor, "Allow once")
    editor.until_message("Fairlead: done")
    assert (workspace / "made.txt").read_text() == "two\n"
    editor.until("not table.concat(vim.fn.getbufline('^fairlead-panel$', 1, '$')):find('Fairlead asks')")


def test_a_question_of_the_agent_is_answered(workspace: Path, start: Start) -> None:
    """The panel shows the selected option and the typed answer."""
    asks = [
        {"ask_user": {"question": "Tabs or spaces?", "options": ["Tabs", "Spaces"]}},
        {"ask_user": {"question": "How many?"}},
    ]
    editor = start({"calls": asks}, {"text": "Done."})
    editor.lua("vim.ui.input = function(options, done) done('four') end")
    editor.command("Fairlead run Indent")
    editor.until_panel("  Tabs or spaces?")
    answer(editor, "Spaces")
    editor.until_panel("  How many?")
    answer(editor, "Another answer")
    editor.until_message("Fairlead: done")
    editor.until_panel("Done.")
    assert [line for line in editor.panel() if line.startswith("> ")] == ["> Spaces", "> four"]


def test_a_run_is_stopped(workspace: Path, start: Start) -> None:
    """`:Fairlead stop` ends a run and withdraws its question."""
    editor = start({"calls": [{"ask_user": {"question": "Go on?"}}]}, {"text": "Done."})
    editor.command("Fairlead run Wait")
    editor.until_panel("  Go on?")
    editor.command("Fairlead stop")
    editor.until_message("cancelled")
    editor.until("not table.concat(vim.fn.getbufline('^fairlead-panel$', 1, '$')):find('Fairlead asks')")


def test_a_proposal_is_shown_and_edited_as_a_diff(workspace: Path, start: Start) -> None:
    """The diff shows the file next to the proposed text. If the user edits that text, accepting includes the edits."""
    (workspace / "a.txt").write_bytes(b"one\r\ntwo\r\n")
    editor = start({"calls": [edit("a.txt", "two", "TWO")]}, {"text": "Done."})
    editor.run()
    editor.command("Fairlead diff")
    count = "#vim.tbl_filter(function(w) return vim.wo[w].diff end, vim.api.nvim_tabpage_list_wins(0))"
    assert editor.lua(f"return {count}") == 2
    assert editor.lua("return vim.api.nvim_buf_get_lines(0, 0, -1, true)") == ["one", "TWO"]
    editor.lua("vim.api.nvim_buf_set_lines(0, 1, 2, true, { 'TWO!', 'three' })")
    editor.command("write")
    editor.until_panel("a.txt  +2 -1")
    assert (workspace / "a.txt").read_bytes() == b"one\r\ntwo\r\n"
    editor.decide("accept file")
    assert (workspace / "a.txt").read_bytes() == b"one\r\nTWO!\r\nthree\r\n"
    editor.until("#vim.api.nvim_list_tabpages() == 1")


def test_a_new_neovim_continues_the_review(workspace: Path, start: Start) -> None:
    """Proposals are saved: after a restart of Neovim, the panel shows them, and they can be accepted."""
    (workspace / "a.txt").write_text("one\n")
    turns = ({"calls": [edit("a.txt", "one", "two")]}, {"text": "Done."})
    first = start(*turns)
    first.run()
    first.close()
    editor = start(*turns)
    editor.command("Fairlead")
    editor.until_panel("a.txt  +1 -1")
    editor.decide("accept all")
    assert (workspace / "a.txt").read_text() == "two\n"


def test_a_server_that_died_is_started_again(workspace: Path, start: Start) -> None:
    """A message reports that the server ended. The next command starts it again, with the undecided changes."""
    (workspace / "a.txt").write_text("one\n")
    editor = start({"calls": [edit("a.txt", "one", "two")]}, {"text": "Done."})
    editor.run()
    [server] = psutil.Process(editor.pid).children()
    server.kill()
    editor.until_message("the server ended")
    editor.until_panel("No session yet")
    editor.command("Fairlead")
    editor.until_panel("a.txt  +1 -1")
    editor.decide("accept all")
    assert (workspace / "a.txt").read_text() == "two\n"


def test_the_next_task_after_new_begins_a_new_session(workspace: Path, start: Start) -> None:
    """`:Fairlead new` takes effect even if the earlier session sends a notification before the next task."""
    (workspace / "a.txt").write_text("one\n")
    editor = start({"calls": [edit("a.txt", "one", "two")]}, {"text": "Done."})
    editor.run()
    editor.command("Fairlead new")
    editor.until_panel("No session yet")
    (workspace / "a.txt").write_text("zero\none\n")
    editor.lua("_G.heard = 0")
    editor.lua(
        "local client = vim.lsp.get_clients()[1] local original = client.handlers['agent/edits'] "
        "client.handlers['agent/edits'] = function(...) _G.heard = _G.heard + 1 return original(...) end"
    )
    editor.until("_G.heard > 0")
    editor.run()
    editor.until_panel("a.txt  +1 -1")
    assert editor.lua("return vim.tbl_count(require('fairlead.state').sessions)") == 2


def test_an_old_neovim_says_which_version_is_needed(start: Start) -> None:
    """`setup` warns, and the rest of the user's `init.lua` still runs."""
    editor = start(configured=False)
    editor.lua(
        "vim.fn.has, vim.lsp.config = function() return 0 end, nil "
        "vim.opt.runtimepath:append(...) require('fairlead').setup({})",
        str(CONFIGURATION),
    )
    [warning] = editor.warnings()
    assert warning.startswith("Fairlead needs Neovim 0.11 or newer")
    assert editor.lua("return require('fairlead').status()") == ""


def test_neovim_works_without_the_configuration(workspace: Path, start: Start, tmp_path: Path) -> None:
    """With only `vim.lsp.start`, handlers and commands, a task runs, its plan arrives and its changes are accepted."""
    (workspace / "a.txt").write_text("one\n")
    (workspace / "b.txt").write_text("b\n")
    plan = {"todo": {"items": [{"content": "Do it", "status": "in_progress", "activeForm": "Doing it"}]}}
    calls = [plan, edit("a.txt", "one", "two"), {"rename_file": {"path": "b.txt", "new_path": "c.txt"}}]
    editor = start({"calls": calls}, {"text": "Done."}, configured=False)
    editor.open("a.txt")
    editor.command("badd b.txt | call bufload('b.txt')")
    editor.lua(
        """
        local options = vim.json.decode(...)
        vim.lsp.handlers['agent/plan'] = function(_, plan) _G.plan = plan end
        vim.lsp.handlers['agent/edits'] = function(_, edits) _G.edits = edits end
        vim.lsp.handlers['window/showMessage'] = function(_, params) table.insert(_G.shown, params.message) end
        options.init_options.settings.bash = {}  -- Neovim sends [], which the server must accept as an empty object
        local id = vim.lsp.start(options)
        vim.lsp.buf_attach_client(vim.fn.bufnr('b.txt'), id)
        _G.execute = function(name, argument)
          local client = vim.lsp.get_client_by_id(id)
          client:exec_cmd({ title = '', command = 'fairlead.server.' .. name, arguments = { argument } })
        end
        """,
        json.dumps(
            {
                "name": "fairlead",
                "cmd": SERVE,
                "root_dir": str(workspace),
                "init_options": {"settings": {"replay": str(tmp_path / "script.replay.yaml")}},
            }
        ),
    )
    editor.until("#vim.lsp.get_clients() == 1")
    editor.lua("_G.execute('runTask', { prompt = 'Do it.' })")
    editor.until_message("Done.")
    assert [message for message in editor.messages() if "settings" in message] == []
    assert editor.lua("return _G.plan.items[1].activeForm") == "Doing it"
    editor.lua("_G.execute('accept', { sessionId = _G.edits.sessionId, target = { all = true } })")
    editor.until("#_G.edits.files == 0")
    editor.until_answered()
    assert editor.buffer("a.txt") == b"two\n"
    assert (workspace / "c.txt").read_text() == "b\n" and not (workspace / "b.txt").exists()
    editor.command("silent wall")
    assert (workspace / "a.txt").read_text() == "two\n"
