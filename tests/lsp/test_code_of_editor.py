"""The tools `code`, `rename_symbol` and `apply_fix` over the wire, answered by an editor (docs/plan.md L18)."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.client import Client, Json, Refuse

Replay = Callable[..., Json]

ABLE: Json = {"experimental": {"agent": {"editor": True}}}
NAMES = ("definition", "references", "implementation", "hover", "documentSymbols", "workspaceSymbols", "rename")


def span(line: int, start: int, end: int) -> Json:
    return {"start": {"line": line, "character": start}, "end": {"line": line, "character": end}}


def location(path: Path, line: int) -> Json:
    return {"uri": path.as_uri(), "range": span(line, 0, 1)}


def calls(*given: tuple[str, Json]) -> Json:
    return {"calls": [{name: input} for name, input in given]}


def ask(action: str, **input: Any) -> tuple[str, Json]:
    return "code", {"action": action, **input}


def results(client: Client) -> list[str]:
    return [event["text"] for event in client.events("tool_finished")]


async def test_questions_reach_the_editor_as_lsp_requests(workspace: Path, replay: Replay) -> None:
    """The model names a line and a text; the editor gets UTF-16 columns. The model gets the answers as lines of
    files.
    """
    main, util = workspace / "main.py", workspace / "util.py"
    main.write_text("from util import help_\ns = '🚀'; help_(s)\n")
    util.write_text("def help_(x):\n    return x\n")
    symbol = {"name": "help_", "kind": 12, "range": span(0, 0, 9), "selectionRange": span(0, 4, 9)}
    answers: dict[str, Any] = {
        "agent/editor/definition": lambda _: [{"targetUri": util.as_uri(), "targetSelectionRange": span(0, 4, 9)}],
        "agent/editor/references": lambda _: [location(main, 0), location(main, 1), location(util, 0)],
        "agent/editor/implementation": lambda _: None,
        "agent/editor/hover": lambda _: {"contents": {"kind": "markdown", "value": "help_(x) -> x"}},
        "agent/editor/documentSymbols": lambda _: [symbol],
        "agent/editor/workspaceSymbols": lambda _: [{"name": "help_", "kind": 12, "location": location(util, 0)}],
    }
    at = {"path": "main.py", "line": 2, "symbol": "help_"}
    kinds = ("definition", "references", "implementations", "hover")
    turn = calls(*(ask(kind, **at) for kind in kinds), ask("symbols", path="util.py"), ask("find_symbols", query="h"))
    async with Client(workspace, settings=replay(turn, {"text": "."}), capabilities=ABLE, answers=answers) as client:
        await client.run()
        assert results(client) == [
            "util.py:1: def help_(x):",
            "main.py:1: from util import help_\nmain.py:2: s = '🚀'; help_(s)\nutil.py:1: def help_(x):",
            "Nothing found.",
            "help_(x) -> x",
            "1: function help_",
            "util.py:1: function help_",
        ]
        [asked] = client.all("agent/editor/references")
        assert asked["position"] == {"line": 1, "character": 10}
        assert asked["context"] == {"includeDeclaration": True}


async def test_a_rename_of_an_imported_symbol_begins_at_its_declaration(workspace: Path, replay: Replay) -> None:
    """At a use, VS Code's TypeScript would only give the import another name."""
    (workspace / "a.ts").write_text("export const old = 1;\n")
    (workspace / "b.ts").write_text('import { old } from "./a";\nold;\n')
    base = (workspace / "a.ts").as_uri()
    changes = {
        base: [{"range": span(0, 13, 16), "newText": "new"}],
        (workspace / "b.ts").as_uri(): [
            {"range": span(row, at, at + 3), "newText": "new"} for row, at in [(0, 9), (1, 0)]
        ],
    }
    answers: dict[str, Any] = {
        "agent/editor/definition": lambda _: [{"targetUri": base, "targetSelectionRange": span(0, 13, 16)}],
        "agent/editor/rename": lambda params: {"changes": changes} if params["textDocument"]["uri"] == base else None,
    }
    rename = ("rename_symbol", {"path": "b.ts", "line": 2, "symbol": "old", "new_name": "new"})
    settings = replay(calls(rename), {"text": "."})
    async with Client(workspace, settings=settings, capabilities=ABLE, answers=answers) as client:
        await client.run()
        assert results(client) == ["Proposed in 2 files:\na.ts: 1 line\nb.ts: 2 lines"]


async def test_a_rename_is_proposed_exactly_as_answered(workspace: Path, replay: Replay) -> None:
    """A rename is proposed in all files, and nothing is written. The model reads where else the name occurs.

    A second rename is refused, because the editor does not know the proposed text.
    """
    for name, text in {"notes.md": "The old one.\n", "more.md": "An older one.\n", ".env": "KEY=old\n"}.items():
        (workspace / name).write_text(text)
    files = [workspace / f"{name}.py" for name in "abc"]
    for path in files:
        path.write_bytes(b"old = 1\r\nprint(old)\r\n")
    changes = {
        path.as_uri(): [
            {"range": span(0, 0, 3), "newText": "new"},
            {"range": span(1, 6, 9), "newText": "new"},
        ]
        for path in files
    }
    answers: dict[str, Any] = {"agent/editor/rename": lambda _: {"changes": changes}}
    rename = ("rename_symbol", {"path": "a.py", "line": 1, "symbol": "old", "new_name": "new"})
    again = ("rename_symbol", {"path": "a.py", "line": 1, "symbol": "old", "new_name": "newer"})
    draft = ("write_file", {"path": "draft.txt", "content": "old"})
    turns = [calls(draft, rename), calls(again), {"text": "."}]
    async with Client(workspace, settings=replay(*turns), capabilities=ABLE, answers=answers) as client:
        await client.run()
        _, first, second = results(client)
        assert first == (
            "Proposed in 3 files:\na.py: 2 lines\nb.py: 2 lines\nc.py: 2 lines\n"
            "(old also occurs in 2 other files, which this does not change: draft.txt, notes.md. "
            "Check whether the same thing is meant.)"
        )
        assert "a.py has proposed edits, which the user's editor does not know, so nothing was proposed" in second
        assert [file["additions"] for file in client.last("agent/edits")["files"][1:]] == [2, 2, 2]
        assert {path.read_bytes() for path in files} == {b"old = 1\r\nprint(old)\r\n"}
        [before] = client.last("agent/plan")["outside"]
        assert before["evidence"]["files"][1:] == [path.as_uri() for path in files]
        session = client.last("agent/edits")["sessionId"]
        await client.request("agent/edits/accept", {"sessionId": session, "target": {"all": True}})
        assert {path.read_bytes() for path in files} == {b"new = 1\r\nprint(new)\r\n"}


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        ({"changes": {"file:///etc/hosts": [{"range": span(0, 0, 1), "newText": "x"}]}}, "outside of the workspace"),
        ({"changes": {"SECRET": [{"range": span(0, 0, 1), "newText": "x"}]}}, "looks like a secret"),
        ({"documentChanges": [{"kind": "delete", "uri": 7}]}, "is malformed"),
        (None, "This would change nothing."),
        (Refuse("You cannot rename this."), "You cannot rename this."),
    ],
)
async def test_a_rename_is_all_or_nothing(workspace: Path, replay: Replay, edit: Any, message: str) -> None:
    """If one part cannot be proposed, nothing is proposed."""
    (workspace / "a.py").write_text("old = 1\n")
    (workspace / ".env").write_text("TOKEN=1\n")

    def answer(_: Json) -> Any:
        if isinstance(edit, Refuse):
            raise edit
        if edit is None or "changes" not in edit or not edit["changes"]:
            return edit
        good = {(workspace / "a.py").as_uri(): [{"range": span(0, 0, 3), "newText": "new"}]}
        bad = {uri.replace("SECRET", (workspace / ".env").as_uri()): each for uri, each in edit["changes"].items()}
        return {"changes": {**good, **bad}}

    turn = calls(("rename_symbol", {"path": "a.py", "line": 1, "symbol": "old", "new_name": "new"}))
    settings = replay(turn, {"text": "."})
    async with Client(
        workspace, settings=settings, capabilities=ABLE, answers={"agent/editor/rename": answer}
    ) as client:
        await client.run()
        assert message in results(client)[0]
        assert client.all("agent/edits") == [] or client.last("agent/edits")["files"] == []


async def test_a_fix_is_proposed_by_its_title(workspace: Path, replay: Replay) -> None:
    """`code` lists the titles; a fix that is not offered, and one that only runs a command, are refused."""
    path = workspace / "a.py"
    path.write_text("import os\nimport abc\n")
    edit = {"changes": {path.as_uri(): [{"range": span(0, 0, 9), "newText": "import io"}]}}
    offered = [
        {"title": "Use io", "kind": "quickfix", "edit": edit},
        {"title": "Run it", "kind": "quickfix", "command": {"title": "Run it", "command": "x"}},
        {"title": "Not now", "disabled": {"reason": "no"}},
        {"title": "Plain command", "command": "x"},
    ]
    answers: dict[str, Any] = {"agent/editor/codeActions": lambda _: offered}
    at = {"path": "a.py", "line": 1}
    fixes = [("apply_fix", {**at, "title": title}) for title in ("Use os", "Run it", "Use io")]
    turns = [calls(ask("fixes", **at), *fixes), {"text": "."}]
    async with Client(workspace, settings=replay(*turns), capabilities=ABLE, answers=answers) as client:
        await client.run()
        assert results(client) == [
            "- Use io\n- Run it",
            "Error: There is no fix 'Use os' at line 1. Offered: Use io; Run it.",
            "Error: 'Run it' runs a command of the editor. Make the change with edit_file.",
            "Proposed in 1 file:\na.py: 1 line",
        ]


async def test_50_000_references_are_bounded(workspace: Path, replay: Replay) -> None:
    """Of 50,000 references, the model reads the first 100, and how many more there are."""
    path = workspace / "a.py"
    path.write_text("x\n" * 50_000)
    answers: dict[str, Any] = {"agent/editor/references": lambda _: [location(path, line) for line in range(50_000)]}
    turn = calls(ask("references", path="a.py", line=1, symbol="x"))
    async with Client(workspace, settings=replay(turn, {"text": "."}), capabilities=ABLE, answers=answers) as client:
        await client.run()
        lines = results(client)[0].splitlines()
        assert (len(lines), lines[0]) == (101, "a.py:1: x")
        assert lines[-1] == "(49,900 more in 1 file. Narrow the question, or use search.)"


async def test_the_model_reads_why_a_question_has_no_answer(workspace: Path, replay: Replay) -> None:
    """The result gives the reason: the editor does not know the method, the file does not contain the symbol, or the
    call lacks a field.
    """
    (workspace / "a.py").write_text("x\n")
    look = ask("references", path="a.py", line=1, symbol="x")
    turns = [calls(look, ask("references", path="a.py", symbol="y"), ask("hover", path="a.py")), {"text": "."}]
    async with Client(workspace, settings=replay(*turns), capabilities=ABLE) as client:
        await client.run()
        found = results(client)
        assert "The editor does not answer textDocument/references." in found[0]
        assert "a.py does not contain 'y'" in found[1]
        assert found[2] == "Error: The action hover needs symbol."
