"""The action `problems` of the tool `code` over the wire: the editor's diagnostics as the model reads them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fairlead.json_reader import WrongValue, read
from fairlead.wire.protocol import DiagnosticsResult
from support.client import Client, Json, Refuse
from support.fake_api import FakeApi, Text, Turn

Replay = Callable[..., Json]

ABLE: Json = {"experimental": {"agent": {"editor": True}}}


def problem(line: int, character: int, severity: int, message: str, source: str | None = None) -> Json:
    at = {"line": line, "character": character}
    return {"range": {"start": at, "end": at}, "severity": severity, "message": message, "source": source}


def answering(*files: tuple[Path, list[Json]]) -> dict[str, Any]:
    found = [{"uri": path.as_uri(), "diagnostics": problems} for path, problems in files]
    return {"agent/editor/diagnostics": lambda _: {"files": found}}


def look(*inputs: Json) -> Json:
    return {"calls": [{"code": {"action": "problems", **given}} for given in inputs]}


def results(client: Client) -> list[str]:
    return [event["text"] for event in client.events("tool_finished")]


async def test_the_model_reads_what_the_editor_shows(workspace: Path, replay: Replay) -> None:
    """One line for each problem in the requested file or folder, the most severe first, with positions counted from 1;
    none from outside the workspace. The calls are evidence of the step.
    """
    first, second = workspace / "a b.py", workspace / "lib" / "問候.py"
    second.parent.mkdir()
    for path in (first, second):
        path.write_text("x\n")
    answers = answering(
        (first, [problem(4, 0, 2, "unused", "ruff"), problem(1, 7, 1, "no such\n  name", "pyright")]),
        (second, [problem(0, 0, 4, "could be shorter")]),
        (workspace.parent / "other.py", [problem(0, 0, 1, "not yours")]),
    )
    plan = {"todo": {"items": [{"content": "Check", "status": "in_progress"}]}}
    turns = [{"calls": [plan]}, look({}, {"path": "lib"}, {"path": "a b.py"}), {"text": "."}]
    async with Client(workspace, settings=replay(*turns), capabilities=ABLE, answers=answers) as client:
        await client.run()
        ours = "a b.py:2:8 error no such name [pyright]\na b.py:5:1 warning unused [ruff]"
        assert results(client)[1:] == [
            f"{ours}\nlib/問候.py:1:1 hint could be shorter",
            "lib/問候.py:1:1 hint could be shorter",
            ours,
        ]
        asked = [params["uri"] for params in client.all("agent/editor/diagnostics")]
        assert asked == [None, None, first.as_uri()]
        [item] = client.last("agent/plan")["items"]
        assert item["evidence"]["looks"] == 3


async def test_a_note_says_that_the_editor_does_not_know_proposed_edits(workspace: Path, replay: Replay) -> None:
    """The note names the files; without proposed edits to the requested files, there is no note. If the editor shows no
    problems, the result says so. Unless the requested file is open, it adds that the editor may check only open files.
    """
    for name in ("a.py", "b.py"):
        (workspace / name).write_text("one\n")
    edit = {"edit_file": {"path": "a.py", "old_text": "one", "new_text": "two"}}
    settings = replay({"calls": [edit]}, look({"path": "a.py"}, {"path": "b.py"}, {}), {"text": "."})
    async with Client(workspace, settings=settings, capabilities=ABLE, answers=answering()) as client:
        client.open(workspace / "b.py")
        await client.run()
        none = "The editor shows no problems there."
        closed = f"{none} It may not check files that are not open."
        edits = "\n(The editor does not know your proposed edits to a.py.)"
        assert results(client)[1:] == [closed + edits, none, closed + edits]


async def test_many_problems_are_bounded(workspace: Path, replay: Replay) -> None:
    """The model reads 50 problems in lines of limited length, and how many more problems there are."""
    path = workspace / "a.py"
    path.write_text("x\n")
    answers = answering((path, [problem(line, 0, 2, "w" * 9000) for line in range(200)]))
    settings = replay(look({}), {"text": "."})
    async with Client(workspace, settings=settings, capabilities=ABLE, answers=answers) as client:
        await client.run()
        lines = results(client)[0].splitlines()
        assert (len(lines), lines[-1]) == (51, "(150 more. Name a file to see only its problems.)")
        assert max(map(len, lines)) < 350


@pytest.mark.parametrize("answer", [Refuse("no"), None, {"files": [{"uri": "file:///a", "diagnostics": [{}]}]}, [1]])
async def test_without_a_valid_answer_the_model_continues(workspace: Path, replay: Replay, answer: Any) -> None:
    """After an error, an empty answer or a malformed one, the model reads that the editor did not answer, and what it
    should do instead.
    """

    def answered(_: Json) -> Any:
        if isinstance(answer, Refuse):
            raise answer
        return answer

    answers = {"agent/editor/diagnostics": answered}
    settings = replay(look({}), look({"path": "gone.py"}, {"path": "../x"}), {"text": "."})
    async with Client(workspace, settings=settings, capabilities=ABLE, answers=answers) as client:
        assert (await client.run())["stopReason"] == "end_turn"
        assert results(client) == [
            "Error: The editor did not answer. Continue without it, or check with a command.",
            "Error: No such file or folder: gone.py",
            "Error: Path escapes workspace: ../x",
        ]


def test_a_number_that_json_cannot_express_is_malformed(workspace: Path) -> None:
    """Python reads 1e999 as infinity."""
    infinite = {**problem(0, 0, 1, "x"), "severity": json.loads("1e999")}
    answer = {"files": [{"uri": workspace.as_uri(), "diagnostics": [infinite]}]}
    with pytest.raises(WrongValue, match="severity must be an integer"):
        read(DiagnosticsResult, answer, "answer")


@pytest.mark.parametrize("able", [True, False])
async def test_the_tools_are_offered_only_if_the_editor_answers(able: bool, connect: Callable[..., Client]) -> None:
    """They are the last tools in the request, so that the positions of the other tools do not change."""
    with FakeApi(turns=[Turn((Text("Done."),))]) as api:
        async with connect(api, capabilities=ABLE if able else {}) as client:
            await client.run()
        names = [tool["name"] for tool in api.requests[0].body["tools"]]
        assert (names[-3:] == ["code", "rename_symbol", "apply_fix"], "code" in names) == (able, able)
