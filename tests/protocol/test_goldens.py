"""A golden file for each message (tests/goldens/), read by the client's tests too.

`FAIRLEAD_WRITE_GOLDENS=1 pytest tests/protocol` writes them again; review the changes before you commit them.
"""

import os
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest

from fairlead.agent import events
from fairlead.edits.selection import Change
from fairlead.gate.request import ApprovalAnswer
from fairlead.json_reader import read
from fairlead.lsp.documents import Documents
from fairlead.lsp.editor import LspEditor
from fairlead.lsp.params import ContentUri, parse_content_uri, read_ops, read_target
from fairlead.lsp.run_params import read_run
from fairlead.plan import PlanOp
from fairlead.session.context.context_item import ContextItem
from fairlead.session.context.surroundings import ChangedFile, GitState, Surroundings
from fairlead.session.review.target import Target
from fairlead.wire import protocol as wire
from fairlead.wire.events import AgentEvent
from fairlead.wire.messages import (
    CLIENT_NOTIFICATIONS,
    CLIENT_REQUESTS,
    SERVER_NOTIFICATIONS,
    SERVER_REQUESTS,
)
from fairlead.workspace.editor import Diagnostic
from protocol.client_requests import TARGETS
from protocol.golden import FOLDER, SESSION, Golden, RecordingClient
from protocol.messages import goldens
from protocol.server_requests import AN_APPROVAL, DECISIONS
from protocol.shapes import misfits

HERE = Path(__file__).parents[1] / "goldens"
WRITE = os.environ.get("FAIRLEAD_WRITE_GOLDENS") == "1"


@pytest.fixture
async def made() -> dict[str, Golden]:
    return {golden.name: golden for golden in await goldens()}


async def test_each_message_equals_its_golden_file(made: dict[str, Golden]) -> None:
    """The code makes exactly the text of each file from the same core values, and there is no other file."""
    if WRITE:
        HERE.mkdir(exist_ok=True)
        for old in HERE.glob("*.json"):
            old.unlink()
        for name, golden in made.items():
            (HERE / f"{name}.json").write_text(golden.text, encoding="utf-8", newline="\n")
    files = {path.stem: path.read_bytes().decode() for path in HERE.glob("*.json")}
    assert sorted(files) == sorted(made)
    assert files == {name: golden.text for name, golden in made.items()}


async def test_each_message_has_exactly_the_fields_of_its_type(made: dict[str, Golden]) -> None:
    """No field is left out because it is empty, and there is no field that the type does not have."""
    assert [bad for golden in made.values() for bad in misfits(golden.value, golden.shape, golden.name)] == []


async def test_there_is_a_message_for_each_part_of_each_method(made: dict[str, Golden]) -> None:
    """The goldens have the params and the result of each request, each notification, and each kind of event."""
    requests = {*CLIENT_REQUESTS, *SERVER_REQUESTS}
    parts = {(method, part) for method in requests for part in ("params", "result")}
    parts |= {(method, "params") for method in (*CLIENT_NOTIFICATIONS, *SERVER_NOTIFICATIONS)}
    assert parts - {(golden.method, golden.part) for golden in made.values()} == set()
    kinds = {golden.value["kind"] for golden in made.values() if golden.method == wire.EVENT}
    assert len(kinds) == len(get_args(AgentEvent)) == len(get_args(events.Event))


async def test_each_param_of_a_client_is_in_a_message(made: dict[str, Golden]) -> None:
    """Each field of a client's request occurs in at least one golden."""
    sent: dict[str, set[str]] = {method: set() for method in CLIENT_REQUESTS}
    for golden in made.values():
        if golden.method in sent and golden.part == "params":
            assert golden.direction == "client-to-server"
            sent[golden.method] |= golden.value.keys()
    assert sent == {method: set(get_type_hints(params)) for method, (params, _) in CLIENT_REQUESTS.items()}


async def test_content_in_other_scripts_is_not_escaped(made: dict[str, Golden]) -> None:
    """Chinese and emoji are plain text. In URIs, characters of other scripts and spaces are percent-encoded."""
    assert made["plan"].value["items"][1]["content"] == "翻譯問候語 👋"
    assert f"{FOLDER.as_uri()}/src/%E5%95%8F%E5%80%99.py" == made["edits"].value["files"][6]["uri"]
    assert made["edits"].value["files"][5]["uri"].endswith("/docs/new%20file.md")
    assert "👋" in made["plan"].text


async def test_columns_count_in_utf_16(made: dict[str, Golden]) -> None:
    """LSP 3.18, `Position`: an emoji in the last line of a text without a final newline counts twice."""
    [edit] = made["applyEdit.params"].value["edit"]["documentChanges"][1]["edits"]
    assert edit["range"]["end"] == {"line": 1, "character": len("👋 Bye") + 1}


async def test_the_server_reads_what_a_client_sends(made: dict[str, Golden]) -> None:
    """The server's readers return what the goldens of a client's params contain."""
    folder = FOLDER if os.name == "posix" else Path("/project")

    def sent(name: str) -> Any:
        return read(made[name].shape, made[name].value, "params")

    targets: dict[str, Target] = {
        "all": Target(),
        "file": Target((Change(str(folder / "src/問候.py")),)),
        "hunk": Target((Change(str(folder / "setup.cfg"), "02e3da028f848ad7"),)),
        "changes": Target(
            (Change(str(folder / "setup.cfg"), "02e3da028f848ad7"), Change(str(folder / "docs/new file.md"))),
            is_selection=True,
        ),
        "item": Target(item_id="2"),
        "weakened": Target(weakened_tests=True),
    }
    assert {name: read_target(sent(f"edits.accept.params.{name}")["target"]) for name in TARGETS} == targets
    assert sent("edits.accept.params.all")["version"] == 5
    assert read_ops(sent("plan.edit.params")["ops"]) == [
        PlanOp("add", content="測試 🚀", after="1"),
        PlanOp("update", "2", content="翻譯", status="pending", held=True),
        PlanOp("remove", "3"),
        PlanOp("move", "2", after=None),
        PlanOp("restore", "3", after="1"),
    ]
    task = read_run(sent("runTask.params.all")).task
    assert task.mode == "agent"
    assert task.context == [
        ContextItem(folder / "src/問候.py"),
        ContextItem(folder / "setup.cfg", 1, 5, "selection"),
        ContextItem(None, 1, 2, "selection", text="你好\n再見\n", name="Untitled-1"),
        ContextItem(folder / "a.ipynb", 1, 1, "selection", text="圖()\n", name="cell 2"),
        ContextItem(kind="problems"),
        ContextItem(kind="changes", text="diff --git a/setup.cfg b/setup.cfg\n"),
        ContextItem(kind="terminal", text="失敗\r\n", name="npm test", exit_code=1),
        ContextItem(kind="image", name="畫面 1.png", data=b"\x89PNG\r\n\x1a\n"),
        ContextItem(kind="serverPrompt", server="筆記", name="解釋", text="Explain src/問候.py."),
        ContextItem(kind="resource", server="筆記", name="note://今天"),
    ]
    problem = Diagnostic(folder / "setup.cfg", 4, 3, "error", "沒有 “x”", "ruff")
    assert task.surroundings == Surroundings(
        active=folder / "src/問候.py",
        visible=(1, 40),
        selected=(3, 4),
        tabs=(folder / "src/問候.py", folder / "setup.cfg"),
        errors=1,
        warnings=2,
        worst=(problem,),
        git=GitState("問候", 3, (ChangedFile(folder / "setup.cfg", "modified"),)),
    )
    continued = read_run(sent("runTask.params.continue"))
    assert (continued.task.continues, continued.session_id) == ("plan", SESSION)
    for side, scheme in (("base", wire.BASE_SCHEME), ("proposed", wire.PROPOSED_SCHEME)):
        uri = made[f"content.params.{side}"].value["uri"]
        assert parse_content_uri(uri) == ContentUri(scheme, SESSION, FOLDER / "src/問候.py", None)
    of_a_step = parse_content_uri(made["content.params.item"].value["uri"])
    assert of_a_step == ContentUri(wire.PROPOSED_SCHEME, SESSION, FOLDER / "src/問候.py", "2")


@pytest.mark.parametrize(
    ("result", "decision"),
    [
        (DECISIONS["allow_once"], ApprovalAnswer("allow_once")),
        (DECISIONS["allow_session"], ApprovalAnswer("allow_session")),
        (DECISIONS["reject"], ApprovalAnswer("reject", "現在不行 (not now)")),
        (None, ApprovalAnswer("reject")),
        ({"option": "always"}, ApprovalAnswer("reject")),
    ],
)
async def test_the_server_reads_a_decision(result: Any, decision: ApprovalAnswer) -> None:
    """docs/protocol.md: `null` and an unknown option mean reject."""
    editor = LspEditor(RecordingClient(result).protocol, Documents())
    editor.capabilities.approvals = True
    assert await editor.approve(AN_APPROVAL) == decision


@pytest.mark.parametrize("title", [wire.ALLOW_ONCE, wire.ALLOW_SESSION, wire.REJECT_COMMAND, "Cancel", None])
async def test_the_server_reads_a_plain_clients_decision(title: str | None) -> None:
    """docs/protocol.md: the two actions that allow the command are read as such; anything else means reject."""
    options = {wire.ALLOW_ONCE: "allow_once", wire.ALLOW_SESSION: "allow_session"}
    editor = LspEditor(RecordingClient({"title": title} if title else None).protocol, Documents())
    assert (await editor.approve(AN_APPROVAL)).option == options.get(title or "", "reject")


def test_a_misfit_is_found() -> None:
    """The check itself finds a missing field, an extra one, a wrong type and a wrong word."""
    assert misfits({"uri": "a", "line": None}, wire.LocationWire) == []
    assert misfits({"uri": "a"}, wire.LocationWire) == [".line is missing"]
    assert misfits({"uri": "a", "line": 1, "x": 1}, wire.LocationWire) == [".x is not in LocationWire"]
    assert len(misfits({"uri": 1, "line": True}, wire.LocationWire)) == 2
    assert misfits({"option": "always"}, wire.ApproveResult) == [".option: 'always'"]
