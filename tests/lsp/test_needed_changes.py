"""Which changes a check needs, by leaving out each in turn (docs/plan.md P23), in a real server and sandbox."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from lsp.test_check_requests import INVALID_PARAMS, REFUSED, item, session
from lsp.test_checks import BEGIN, TICK, todo
from lsp.test_verification import review
from support.calls import edit
from support.client import Client, Json
from support.sandbox import needs_sandbox

Replay = Callable[..., Json]
CHECK = "python3 tests/test_calc.py"
CALC = "def twice(n):\n    return n\n\n\n# half of a number\ndef half(n):\n    return n\n"
TEST = "import sys\nsys.path.insert(0, '.')\nfrom calc import {0}\nassert {0}(3) == 6\n"
TWICE = edit("calc.py", "    return n\n\n", "    return n + n\n\n")
COMMENT = edit("calc.py", "# half of a number", "# one half of a number")
NOTES = edit("notes.md", "old", "new")
NEW_TEST = {"write_file": {"path": "tests/test_calc.py", "content": TEST.format("twice")}}


@pytest.fixture(autouse=True)
def sandboxed() -> None:
    needs_sandbox()


def write_workspace(workspace: Path) -> None:
    (workspace / "calc.py").write_text(CALC)
    (workspace / "notes.md").write_text("old\n")


def turns(*calls: Json, check: str = CHECK) -> list[Json]:
    return [{"calls": [todo(*BEGIN, check=check), *calls]}, {"calls": [TICK]}, {"text": "Done."}]


async def find_needed(client: Client, **params: object) -> Json:
    return await client.request("agent/checks/needed", {"sessionId": session(client), **params})


def names(client: Client, changes: list[Json]) -> list[tuple[str, int | None]]:
    """The names of files with the first line of the changes, None for a file as a whole."""
    hunks = {hunk["id"]: hunk["newStart"] for file in client.last("agent/edits")["files"] for hunk in file["hunks"]}
    return [(Path(each["uri"]).name, hunks.get(each["hunk"])) for each in changes]


async def test_p23_each_change_is_left_out_in_turn(workspace: Path, replay: Replay) -> None:
    """The check needs one hunk, passes without the comment, and does not read the notes, which take no run. The test is
    in no list. Only the run with all changes is evidence. The result stays after an accept, and ends with a reject.
    """
    write_workspace(workspace)
    async with Client(workspace, settings=replay(*turns(TWICE, COMMENT, NOTES, NEW_TEST))) as client:
        await client.run()
        before = [(run["exitCode"], run["withTests"]) for run in item(client)["evidence"]["commands"]]
        found = await find_needed(client)
        assert (found["outcome"], found["runs"], found["untried"]) == ("complete", 4, [])
        assert names(client, found["needed"]) == [("calc.py", 2)]
        assert names(client, found["notNeeded"]) == [("calc.py", 5)]
        assert names(client, found["unread"]) == [("notes.md", 1)]
        said = f"`{CHECK}` passes without calc.py, line 5. It does not read notes.md. (4 runs)"
        assert found["message"] == said
        assert client.last("agent/edits")["needed"] == found
        record = (await client.request("agent/record", {"sessionId": session(client)}))["record"]
        assert [each["need"] for each in record["changes"]] == ["needed", "notNeeded", "unread", None, None]
        progress = client.events("needed_progress")
        assert [each["runs"] for each in progress] == [1, 2, 3, 4]
        commands = item(client)["evidence"]["commands"]
        added = [(0, False), (0, False)]
        assert [(run["exitCode"], run["withTests"]) for run in commands] == [*before, *added]
        assert item(client)["verification"] == "proved"
        await review(client, "accept", target={"changes": found["needed"]})
        left = client.last("agent/edits")["needed"]
        assert (left["needed"], left["notNeeded"], left["unread"]) == ([], found["notNeeded"], found["unread"])
        await review(client, "reject", target={"changes": found["notNeeded"]})
        assert client.last("agent/edits")["needed"] is None


async def test_p23_a_check_may_need_every_change_or_none(workspace: Path, replay: Replay) -> None:
    write_workspace(workspace)
    async with Client(workspace, settings=replay(*turns(TWICE, COMMENT, check="true"))) as client:
        await client.run()
        both = "grep -q 'n + n' calc.py && grep -q one calc.py"
        found = await find_needed(client, check=both)
        assert (len(found["needed"]), found["notNeeded"], found["unread"]) == (2, [], [])
        assert found["message"] == f"`{both}` fails without any one of the 2 changes. (4 runs)"
        either = "grep -q 'n + n' calc.py || grep -q one calc.py"
        found = await find_needed(client, check=either)
        assert found["message"] == f"`{either}` passes without calc.py, line 2 or calc.py, line 5. (3 runs)"
        found = await find_needed(client, check="true")
        assert (found["unread"], found["runs"]) == (found["unread"], 1)
        assert found["message"] == "`true` does not read calc.py. (1 run)"
        found = await find_needed(client, check="false")
        assert (found["outcome"], found["needed"]) == ("fails", [])
        assert client.last("agent/edits")["needed"] is None


async def test_p23_what_was_not_tried_is_counted(workspace: Path, replay: Replay) -> None:
    write_workspace(workspace)
    check = "grep -q 'n + n' calc.py"
    settings = {**replay(*turns(TWICE, COMMENT, check=check)), "check": {"searchMaxRuns": 2}}
    async with Client(workspace, settings=settings) as client:
        await client.run()
        found = await find_needed(client)
        assert (found["outcome"], names(client, found["untried"])) == ("limit", [("calc.py", 5)])
        assert found["message"] == "The limit was reached. 1 change was not tried. (2 runs)"
        assert names(client, found["needed"]) == [("calc.py", 2)]


GATED = "if grep -q one calc.py; then true; else while grep -q shut gate; do sleep 0.05; done; false; fi"


async def test_p23_the_search_can_be_stopped_and_ends_when_the_agent_works(workspace: Path, replay: Replay) -> None:
    write_workspace(workspace)
    (workspace / "gate").write_text("shut\n")
    script = [turns(TWICE, COMMENT, check=GATED)[0], {"text": "Done."}, {"text": "Nothing to do."}]
    async with Client(workspace, settings=replay(*script)) as client:
        await client.run()

        async def at_gate(runs: int) -> asyncio.Future[Json]:
            _, answer = client.begin("agent/checks/needed", {"sessionId": session(client)})
            await client.until(lambda: len(client.events("needed_progress")) == runs)
            return answer

        answer = await at_gate(3)
        handle = client.events("needed_progress")[-1]["handle"]
        await client.request("agent/command/stop", {"sessionId": session(client), "handle": handle})
        stopped = await answer
        assert (stopped["outcome"], len(stopped["notNeeded"]), len(stopped["untried"])) == ("stopped", 1, 1)
        assert client.last("agent/edits")["needed"] == stopped
        answer = await at_gate(6)
        await client.run(sessionId=session(client))
        (workspace / "gate").write_text("open\n")
        changed = await answer
        assert (changed["outcome"], changed["needed"], changed["notNeeded"]) == ("changed", [], [])


async def test_p23_requests_that_cannot_run(workspace: Path, replay: Replay) -> None:
    write_workspace(workspace)
    script = [{"text": "Nothing to do."}, {"calls": [todo(*BEGIN), NEW_TEST]}, {"text": "Done."}]
    async with Client(workspace, settings=replay(*script)) as client:
        await client.run()
        ids = {"sessionId": client.last("agent/plan")["sessionId"]}
        for params, code, said in (
            ({"check": 1}, INVALID_PARAMS, "check"),
            ({}, REFUSED, "No check is set."),
            ({"check": "true"}, REFUSED, "Nothing is proposed"),
        ):
            error = await client.error("agent/checks/needed", {**ids, **params})
            assert (error.code, said in error.message) == (code, True)
        await client.run(**ids)
        error = await client.error("agent/checks/needed", {**ids, "check": "true"})
        assert (error.code, "Only tests are proposed." in error.message) == (REFUSED, True)
