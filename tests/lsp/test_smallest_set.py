"""The smallest set of changes with which a check passes (docs/plan.md P19), in a real server and sandbox."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from lsp.test_check_requests import REFUSED, item, session
from lsp.test_checks import BEGIN, TICK, todo
from lsp.test_verification import bash, review
from support.calls import edit
from support.client import Client, Json, WireError
from support.other_program import replace_text
from support.sandbox import needs_sandbox

pytestmark = pytest.mark.slow

Replay = Callable[..., Json]
NEEDED = (2, 5, 11)


@pytest.fixture(autouse=True)
def sandboxed() -> None:
    needs_sandbox()


def write_module(workspace: Path) -> None:
    """Writes 12 values far from each other. They are in modules, to test that Python's bytecode cache does not give the
    check an old value.
    """
    parts = [f"# {number}\nv{number} = 1\n\n" for number in range(12)]
    (workspace / "values.py").write_text("".join(parts[:6]))
    (workspace / "more.py").write_text("".join(parts[6:]))


def change_all() -> list[Json]:
    return [edit("values.py" if n < 6 else "more.py", f"v{n} = 1\n", f"v{n} = 2\n") for n in range(12)]


def check_of(*needed: int) -> str:
    """A command that passes if these values have changed."""
    values = " == ".join(f"v{number}" for number in needed)
    return f"python3 -c 'from values import *; from more import *; assert {values} == 2'"


def turns(check: str, *calls: Json) -> list[Json]:
    return [{"calls": [todo(*BEGIN, check=check), *(calls or change_all())]}, {"text": "Done."}]


async def minimize(client: Client, **params: object) -> Json:
    return await client.request("agent/checks/minimize", {"sessionId": session(client), **params})


def numbers(client: Client, changes: list[Json]) -> list[int]:
    """The numbers of the changes, by the line that they change."""
    hunks = {(file["uri"], hunk["id"]): hunk for file in client.last("agent/edits")["files"] for hunk in file["hunks"]}
    found: list[int] = []
    for change in changes:
        line = hunks[change["uri"], change["hunk"]]["newStart"]
        found.append((line - 2) // 3 + (6 if change["uri"].endswith("more.py") else 0))
    return found


async def test_p19_three_of_twelve_changes_are_found(workspace: Path, replay: Replay) -> None:
    """The search needs at most two runs per change. The runs with all changes and with none are evidence for the step.
    The bytecode that the agent's own run of the check left is not used. The result stays after decisions, without the
    decided changes; an edit of a file ends it.
    """
    write_module(workspace)
    check = check_of(*NEEDED)
    async with Client(workspace, settings=replay(*turns(check, *change_all(), bash(check)))) as client:
        await client.run()
        found = await minimize(client)
        assert found["outcome"] == "minimal"
        assert found["runs"] <= 24
        assert numbers(client, found["needed"]) == list(NEEDED)
        assert numbers(client, found["notNeeded"]) == [n for n in range(12) if n not in NEEDED]
        assert found["message"].startswith(f"`{check_of(*NEEDED)}` needs 3 of 12 changes: it passes with these, and ")
        assert client.last("agent/edits")["smallest"] == found
        progress = client.events("check_search")
        assert [each["runs"] for each in progress] == list(range(1, found["runs"] + 1))
        assert (progress[0]["changes"], progress[0]["left"], progress[-1]["left"]) == (12, 12, 3)
        commands = client.last("agent/plan")["items"][0]["evidence"]["commands"]
        runs = [(run["exitCode"], run["withoutChanges"]) for run in commands]
        assert runs == [(0, False), (0, False), (1, True)]
        await review(client, "accept", target={"changes": found["needed"]})
        left = client.last("agent/edits")["smallest"]
        assert (left["needed"], left["notNeeded"]) == ([], found["notNeeded"])
        await review(client, "reject", target={"changes": found["notNeeded"][:2]})
        assert client.last("agent/edits")["smallest"]["notNeeded"] == found["notNeeded"][2:]
        (workspace / "more.py").write_text("# mine\n" + (workspace / "more.py").read_text())
        await client.until(lambda: client.last("agent/edits")["smallest"] is None)


async def test_p19_changes_that_build_on_each_other_stay_together(workspace: Path, replay: Replay) -> None:
    """A new module and the line that imports it are needed together; a renamed and a deleted file are not."""
    for name in ("main.py", "old.py", "gone.py"):
        (workspace / name).write_text("print(1)\n")
    calls = [
        {"write_file": {"path": "helper.py", "content": "value = 2\n"}},
        {"rename_file": {"path": "old.py", "new_path": "new.py"}},
        edit("main.py", "print(1)", "import helper\nprint(helper.value)"),
        {"delete_file": {"path": "gone.py"}},
    ]
    async with Client(workspace, settings=replay(*turns("python3 main.py | grep -q 2", *calls))) as client:
        await client.run()
        found = await minimize(client)
        names = [(Path(each["uri"]).name, each["hunk"] is None) for each in found["needed"]]
        assert (found["outcome"], names) == ("minimal", [("helper.py", True), ("main.py", False)])
        await review(client, "accept", target={"changes": found["needed"]})
        assert (workspace / "helper.py").exists() and "helper" in (workspace / "main.py").read_text()


@pytest.mark.parametrize(
    ("check", "outcome", "runs", "said"),
    [
        pytest.param("false", "fails", 1, "there is no set that passes. (1 run)", id="none"),
        pytest.param("true", "minimal", 2, "`true` passes without any of the changes. (2 runs)", id="empty"),
        pytest.param(
            "grep -q two a.txt && grep -q two b.txt", "minimal", 4, "b.txt` needs both changes. (4 runs)", id="all"
        ),
    ],
)
async def test_p19_no_change_or_every_change_may_be_needed(
    workspace: Path, replay: Replay, check: str, outcome: str, runs: int, said: str
) -> None:
    for name in ("a.txt", "b.txt"):
        (workspace / name).write_text("one\n")
    calls = [edit("a.txt", "one", "two"), edit("b.txt", "one", "two")]
    async with Client(workspace, settings=replay(*turns(check, *calls))) as client:
        await client.run()
        found = await minimize(client)
        assert (found["outcome"], found["runs"]) == (outcome, runs)
        assert found["message"].endswith(said)
        shown = client.last("agent/edits")["smallest"]
        assert shown == (None if outcome == "fails" else found)


GATED = "if grep -q x a.txt; then grep -q yes gate; else while grep -q yes gate; do sleep 0.05; done; false; fi"


def write_gate(workspace: Path) -> Path:
    """Writes the files of the check GATED, whose second run, without any change, waits while the gate says "yes"."""
    (workspace / "a.txt").write_text("".join(f"{number}\n" for number in range(20)))
    gate = workspace / "gate"
    gate.write_text("yes\n")
    return gate


GATED_TURNS = turns(GATED, edit("a.txt", "\n3\n", "\nx\n"), edit("a.txt", "\n16\n", "\ny\n"))


async def search_to_gate(client: Client) -> tuple[int, asyncio.Future[Json]]:
    """Begins a search and waits until it is at the gate. Returns the id and the future answer of the request."""
    await client.run()
    search = client.begin("agent/checks/minimize", {"sessionId": session(client)})
    await client.until(lambda: len(client.events("check_search")) == 2)
    return search


async def test_p19_a_flaky_check_proves_nothing(workspace: Path, replay: Replay) -> None:
    """The last run repeats an earlier one with the same changes. The earlier run passed and the last one fails, so
    there is no result.
    """
    gate = write_gate(workspace)
    async with Client(workspace, settings=replay(*GATED_TURNS)) as client:
        _, answer = await search_to_gate(client)
        gate.write_text("no\n")
        found = await answer
        assert (found["outcome"], found["needed"]) == ("flaky", [])
        assert "A flaky check proves nothing." in found["message"]
        assert client.last("agent/edits")["smallest"] is None


async def test_p19_a_search_that_finds_nothing_ends_an_earlier_result(workspace: Path, replay: Replay) -> None:
    """docs/plan.md P19: here, the second search finds nothing, because the check depends on a file that the session
    does not know, and that changes between the searches.
    """
    gate = write_gate(workspace)
    changes = edit("a.txt", "\n3\n", "\nx\n"), edit("a.txt", "\n16\n", "\ny\n")
    async with Client(workspace, settings=replay(*turns("grep -q x a.txt && grep -q yes gate", *changes))) as client:
        await client.run()
        assert (await minimize(client))["outcome"] == "minimal"
        assert client.last("agent/edits")["smallest"] is not None
        gate.write_text("no\n")
        assert (await minimize(client))["outcome"] == "fails"
        assert client.last("agent/edits")["smallest"] is None


async def test_p19_the_last_run_of_a_search_is_the_one_that_counts(workspace: Path, replay: Replay) -> None:
    """The check passed at first, and failed on the same files at the end. So the record has the failure, and the step
    is not completed without another run, which fails too.
    """
    gate = write_gate(workspace)
    async with Client(workspace, settings=replay(*GATED_TURNS, {"calls": [TICK]}, {"text": "Done."})) as client:
        _, answer = await search_to_gate(client)
        gate.write_text("no\n")
        await answer
        record = (await client.request("agent/record", {"sessionId": session(client)}))["record"]
        assert [(each["command"], each["exitCode"]) for each in record["verifications"]] == [(GATED, 1)]
        await client.run(sessionId=session(client))
        assert item(client)["status"] == "in_progress"


async def test_p19_a_search_can_be_stopped(workspace: Path, replay: Replay) -> None:
    """The client stops a search through its handle, or by cancelling the request. Then another search can begin."""
    gate = write_gate(workspace)
    async with Client(workspace, settings=replay(*GATED_TURNS)) as client:
        _, answer = await search_to_gate(client)
        [handle] = {each["handle"] for each in client.events("check_search")}
        await client.request("agent/command/stop", {"sessionId": session(client), "handle": handle})
        found = await answer
        assert (found["outcome"], found["needed"], found["notNeeded"]) == ("stopped", [], [])
        assert found["message"] == "The search was stopped, and no smaller set was found. (2 runs)"
        number, answer = client.begin("agent/checks/minimize", {"sessionId": session(client)})
        await client.until(lambda: len(client.events("check_search")) == 4)
        client.notify("$/cancelRequest", {"id": number})
        with pytest.raises(WireError):
            await answer
        assert [each["outcome"] for each in client.events("smallest_set")] == ["stopped", "stopped"]
        gate.write_text("no\n")
        assert (await minimize(client, check="true"))["outcome"] == "minimal"


async def test_p19_typing_in_a_file_with_a_proposal_ends_the_search(workspace: Path, replay: Replay) -> None:
    """Otherwise, the sets of changes that the search tries would mix two versions of the file."""
    gate = write_gate(workspace)
    async with Client(workspace, settings=replay(*GATED_TURNS)) as client:
        _, answer = await search_to_gate(client)
        before = client.last("agent/edits")["version"]
        client.open(workspace / "a.txt")
        client.type(workspace / "a.txt", (workspace / "a.txt").read_text() + "mine\n")
        await client.until(lambda: client.last("agent/edits")["version"] > before)
        gate.write_text("no\n")
        found = await answer
        assert (found["outcome"], found["needed"], found["notNeeded"]) == ("changed", [], [])
        assert "Search again." in found["message"]


async def test_p19_a_search_has_limits(workspace: Path, replay: Replay) -> None:
    """The smallest set so far is the result, and it is not called minimal. A new search follows the new settings."""
    write_module(workspace)
    settings = {**replay(*turns(check_of(2))), "check": {"searchMaxRuns": 5}}
    async with Client(workspace, settings=settings) as client:
        await client.run()
        for runs, left in ((5, 3), (1, 0)):
            found = await minimize(client)
            assert (found["outcome"], found["runs"], len(found["needed"])) == ("limit", runs, left)
            assert "Not all sets could be tried" in found["message"]
            assert "minimal" not in found["message"]
            limit = {"check": {"searchMaxMinutes": 0.00001}}
            client.notify("workspace/didChangeConfiguration", {"settings": limit})


async def test_p19_hunks_of_one_conflict_are_one_change(workspace: Path, replay: Replay) -> None:
    """The agent changed two lines, and then the user changed all. The agent's changes are needed together or not at
    all.
    """
    file = workspace / "a.txt"
    file.write_text("1\n2\n3\n4\n5\n")
    calls = [edit("a.txt", "2\n", "two\n"), edit("a.txt", "4\n", "four\n")]
    async with Client(workspace, settings=replay(*turns("grep -q two a.txt", *calls))) as client:
        await client.run()
        replace_text(file, "a\nb\nc\nd\ne\n")
        await client.until(lambda: client.last("agent/edits")["files"][0]["state"] == "conflict")
        found = await minimize(client)
        assert (found["outcome"], len(found["needed"]), found["notNeeded"]) == ("minimal", 2, [])


async def test_p19_a_check_that_is_denied_is_refused(workspace: Path, replay: Replay) -> None:
    write_module(workspace)
    settings = {**replay(*turns("false")), "bash": {"deny": ["rm *"]}}
    async with Client(workspace, settings=settings) as client:
        await client.run()
        error = await client.error("agent/checks/minimize", {"sessionId": session(client), "check": "rm values.py"})
        denied = "Not run: the user's settings do not allow this command. Your deny rule blocks it: rm *"
        assert (error.code, error.message) == (REFUSED, denied)


async def test_p19_no_search_begins_while_the_agent_works(workspace: Path, replay: Replay) -> None:
    """The agent's next change would end the search."""
    gate = write_gate(workspace)
    waiting = bash("echo started; while grep -q yes gate; do sleep 0.05; done")
    async with Client(workspace, settings=replay(*GATED_TURNS, {"calls": [waiting]}, {"text": "."})) as client:
        _, answer = await search_to_gate(client)
        run = asyncio.ensure_future(client.run(sessionId=session(client)))
        await client.until(lambda: len(client.events("run_started")) == 2)
        error = await client.error("agent/checks/minimize", {"sessionId": session(client)})
        assert (error.code, "The agent is working." in error.message) == (REFUSED, True)
        gate.write_text("no\n")
        assert (await answer)["outcome"] == "changed"
        await run
