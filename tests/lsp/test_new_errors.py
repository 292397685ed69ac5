"""A real language server that the client does not know about: questions, and errors in proposed text (L18, P20)."""

import asyncio
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from support.client import Client, Json
from support.fake_api import Call, FakeApi, Text, Turn, Wait

pytestmark = pytest.mark.slow

PROGRAMS = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
PATIENT: Json = {"languageServers": {}, "check": {"newErrorsSeconds": 600}}
"""Settings that use the language servers on PATH, and wait long enough for errors on a slow machine."""
FILES = {
    "shapes.py": "def area(width: int, height: int) -> int:\n    return width * height\n",
    "old.py": "from shapes import area\n\nbroken: str = area(1, 2)\n",
    "main.py": "from shapes import area\n\nprint(area(2, 3))\n",
}


@pytest.fixture
def project(workspace: Path) -> Path:
    for name, text in FILES.items():
        (workspace / name).write_text(text)
    return workspace


def edit(name: str, old: str, new: str) -> Call:
    return Call("edit_file", {"path": name, "old_text": old, "new_text": new})


def step(status: str) -> Call:
    return Call("todo", {"items": [{"content": "Return text", "status": status}]})


def texts_of(body: Any) -> list[str]:
    """The texts of the last message, without the tool results."""
    return [block["text"] for block in body["messages"][-1]["content"] if block["type"] == "text"]


def new_errors(body: Any) -> list[str]:
    """The lines about new errors in the last message."""
    found = [text for text in texts_of(body) if text.startswith("<new_errors>")]
    return [line for text in found for line in text.splitlines()[1:-2]]


async def test_the_model_reads_what_its_step_broke_before_anything_is_accepted(
    project: Path, connect: Callable[..., Client]
) -> None:
    """L18, P20: the model reads only the new error, when it completes the step. The user sees the error on the file and
    the step. Neither the fix nor the old error in `old.py` is reported."""
    with FakeApi() as api:
        api.push(Turn((step("in_progress"), edit("shapes.py", "width * height", "str(width * height)"))))
        api.push(Turn((edit("old.py", "\nbroken", "\n\nbroken"), step("completed"))))
        seen = threading.Event()
        api.push(Wait(Turn((edit("shapes.py", "str(width * height)", "height * width"),)), seen, 0))
        api.push(Turn((Text("Done."),)))
        connected = connect(api, settings=PATIENT)
        connected.env["PATH"] = PROGRAMS
        async with connected as client:
            running = asyncio.ensure_future(client.run("Return text"))
            await client.until(
                lambda: any(file["problems"] for edits in client.all("agent/edits") for file in edits["files"])
            )
            seen.set()
            assert (await running)["stopReason"] == "end_turn"
            first, second, third, fourth = [request.body for request in api.requests]
            assert (new_errors(first), new_errors(second), new_errors(fourth)) == ([], [], [])
            head, line = new_errors(third)
            assert head == "Your proposed edits cause 1 new error in 1 file, which the files do not have without them:"
            assert line.startswith('shapes.py:2:12 Type "str" is not assignable to return type "int"')
            shown = [edits for edits in client.all("agent/edits") if any(file["problems"] for file in edits["files"])]
            [problem] = shown[0]["files"][0]["problems"]
            assert problem["range"] == {"start": {"line": 1, "character": 11}, "end": {"line": 1, "character": 30}}
            plans = [plan["items"][0]["newErrors"] for plan in client.all("agent/plan") if plan["items"]]
            assert (max(plans), plans[-1]) == (1, 0)
            assert {file["uri"]: file["problems"] for file in client.last("agent/edits")["files"]} == {
                (project / name).as_uri(): [] for name in ("shapes.py", "old.py")
            }
    assert {name: (project / name).read_text() for name in FILES} == FILES


async def test_errors_at_the_end_of_a_turn_prolong_the_run(project: Path, connect: Callable[..., Client]) -> None:
    """L18: the errors prolong a run only once, because the model may decide to leave them. A file that is only proposed
    can be imported.
    """
    new = {"path": "new.py", "content": "from shapes import area\n\nwrong: str = area(1, 2)\n"}
    user = {"path": "main.py", "content": "from new import wrong\n\nprint(wrong.upper())\n"}
    with FakeApi() as api:
        api.push(Turn((Call("write_file", new), Call("write_file", user))))
        api.push(Turn((Text("Done."),)))
        api.push(Turn((Text("It can stay."),)))
        connected = connect(api, settings=PATIENT)
        connected.env["PATH"] = PROGRAMS
        async with connected as client:
            result = await client.run("Make it")
            assert result["message"] == "It can stay."
            assert [new_errors(request.body)[1:] for request in api.requests][:2] == [[], []]
            [line] = new_errors(api.requests[2].body)[1:]
            assert line.startswith('new.py:3:14 Type "int" is not assignable to declared type "str"')


async def test_references_are_found_and_renames_use_the_proposed_text(
    project: Path, connect: Callable[..., Client]
) -> None:
    """L18: references are found in files that are not open, and a rename includes a use that is only proposed."""
    at = {"path": "shapes.py", "line": 1, "symbol": "area"}
    with FakeApi() as api:
        api.push(Turn((Call("code", {"action": "references", **at}),)))
        square = "def square(side: int) -> int:\n    return area(side, side)\n\n\ndef area"
        api.push(Turn((edit("shapes.py", "def area", square),)))
        api.push(Turn((Call("rename_symbol", {**at, "line": 5, "new_name": "size"}),)))
        api.push(Turn((Text("Done."),)))
        connected = connect(api, settings=PATIENT)
        connected.env["PATH"] = PROGRAMS
        async with connected as client:
            await client.run("Rename")
            found = [event["text"] for event in client.events("tool_finished")]
            assert sorted(line.split(":")[0] for line in found[0].splitlines()) == [
                *["main.py"] * 2, *["old.py"] * 2, "shapes.py"
            ]  # fmt: skip
            assert found[2].splitlines()[0] == "Proposed in 3 files:"
            proposed = client.last("agent/edits")["files"]
            assert {Path(file["uri"]).name: file["additions"] for file in proposed} == {
                "shapes.py": 5,
                "old.py": 2,
                "main.py": 2,
            }


async def test_a_run_that_changes_no_code_starts_no_server(project: Path, connect: Callable[..., Client]) -> None:
    """L18: neither a proposed text file nor reading a Python file starts a language server."""
    with FakeApi() as api:
        notes: Json = {"path": "notes.txt", "content": "Nothing.\n"}
        api.push(Turn((Call("write_file", notes), Call("read_file", {"path": "main.py"}))))
        api.push(Turn((Text("Done."),)))
        connected = connect(api, settings=PATIENT)
        connected.env["PATH"] = PROGRAMS
        async with connected as client:
            await client.run("Write notes")
            running = [process.name() for process in psutil.Process(client.process.pid).children(recursive=True)]
            assert running == []
