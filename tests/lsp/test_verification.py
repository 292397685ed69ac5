"""The verification of completed steps (docs/plan.md P16), through the real server, in a real sandbox.

The workspace's test is a program of a few lines, so that no test runner is needed.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from support.calls import bash, edit
from support.client import Client, Json
from support.sandbox import needs_sandbox

Replay = Callable[..., Json]
TEST = """from pathlib import Path

texts = [path.read_text() for path in Path().rglob("*.txt")]
assert Path("a.txt").read_text() == "two\\n", "wrong text"
print("1 passed")
"""
RUN = "python3 test_a.py"


@pytest.fixture(autouse=True)
def sandboxed() -> None:
    needs_sandbox()


def todo(**steps: str) -> Json:
    return {"todo": {"items": [{"content": name, "status": status} for name, status in steps.items()]}}


def write_workspace(workspace: Path) -> None:
    (workspace / "a.txt").write_text("one\n")
    (workspace / "b.txt").write_text("one\n")
    (workspace / "test_a.py").write_text(TEST)


@asynccontextmanager
async def working(workspace: Path, replay: Replay, *calls: Json, **client: Any) -> AsyncIterator[Client]:
    """A client after a run with one step, in which the model made these calls and then completed the step."""
    write_workspace(workspace)
    turns = [{"calls": [todo(Edit="in_progress"), *calls]}, {"calls": [todo(Edit="completed")]}, {"text": "Done."}]
    async with Client(workspace, settings=replay(*turns), **client) as running:
        await running.run()
        yield running


def status(client: Client) -> tuple[str, list[str]]:
    """The step's verification, and the names of the files that have changed since."""
    item = client.last("agent/plan")["items"][0]
    return item["verification"], [uri.rpartition("/")[2] for uri in item["changedSince"]]


async def until(client: Client, expected: tuple[str, list[str]]) -> None:
    await client.until(lambda: status(client) == expected)


async def review(client: Client, decision: str, **target: Any) -> None:
    session = client.last("agent/plan")["sessionId"]
    await client.request(f"agent/edits/{decision}", {"sessionId": session, **target})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("expected", "calls"),
    [
        pytest.param("verified", [edit("a.txt", "one", "two"), bash(RUN)], id="pass"),
        pytest.param("failed", [bash(RUN)], id="fail"),
        pytest.param("failed", [bash(f"{RUN} | tail -5")], id="a pipe hides nothing"),
        pytest.param("unverified", [edit("a.txt", "one", "two"), bash("python3 -c 'pass'")], id="no verification"),
        pytest.param("stale", [edit("a.txt", "one", "two"), bash(RUN), edit("b.txt", "one", "two")], id="edited since"),
        pytest.param("stale", [edit("a.txt", "one", "two"), bash(f"{RUN} && echo x > b.txt")], id="changes a file"),
        pytest.param("looked", [{"read_file": {"path": "a.txt"}}], id="read"),
        pytest.param("noEvidence", [], id="nothing"),
    ],
)
async def test_p16_the_calls_decide_the_state_of_a_completed_step(
    workspace: Path, replay: Replay, expected: str, calls: list[Json]
) -> None:
    async with working(workspace, replay, *calls) as client:
        assert status(client)[0] == expected


async def test_p16_the_model_reads_that_an_exit_code_shows_nothing(workspace: Path, replay: Replay) -> None:
    async with working(workspace, replay, bash(f"{RUN}; echo $?")) as client:
        results = [event["text"] for event in client.events("tool_finished")]
        assert any("The exit code does not show whether `python-tests` passed" in text for text in results)


PASS = (edit("a.txt", "one", "two"), bash(RUN))


async def test_p16_a_change_by_another_program_makes_it_stale(workspace: Path, replay: Replay) -> None:
    """The verification becomes stale even if the program changes a file that nobody has opened: at once if Fairlead
    watches its folder, else in the record. When the file has its old text again, the verification holds again.
    """
    (workspace / "folder").mkdir()
    (workspace / "folder" / "c.txt").write_text("one\n")
    async with working(workspace, replay, *PASS) as client:
        await until(client, ("verified", []))
        (workspace / "b.txt").write_text("by git pull\n")
        await until(client, ("stale", ["b.txt"]))
        (workspace / "b.txt").write_text("one\n")
        await until(client, ("verified", []))
        (workspace / "folder" / "c.txt").write_text("by git pull\n")
        record = await client.request("agent/record", {"sessionId": client.last("agent/plan")["sessionId"]})
        assert record["record"]["steps"][0]["changedSince"] == ["folder/c.txt"]
        assert status(client) == ("stale", ["c.txt"])


@pytest.mark.parametrize("check", ["", RUN])
async def test_p16_a_change_by_another_program_during_the_run(workspace: Path, replay: Replay, check: str) -> None:
    """The step is stale when the run ends. If the command is its check, the check runs again when the model completes
    the step.
    """

    async def change(_: Json) -> Json:
        (workspace / "folder" / "c.txt").write_text("by git pull\n")
        return {"answer": "Yes"}

    def step(status: str) -> Json:
        return {"todo": {"items": [{"content": "Edit", "status": status, "check": check}]}}

    write_workspace(workspace)
    (workspace / "folder").mkdir()
    (workspace / "folder" / "c.txt").write_text("one\n")
    calls = [step("in_progress"), *PASS, {"ask_user": {"question": "Go on?"}}]
    settings = replay({"calls": calls}, {"calls": [step("completed")]}, {"text": "Done."})
    able = {"experimental": {"agent": {"questions": True}}}
    async with Client(workspace, settings=settings, capabilities=able, answers={"agent/ask": change}) as client:
        await client.run()
        *_, completed = client.events("tool_finished")
        assert ("The check of #1 passed" in completed["text"]) == bool(check)
        assert status(client) == (("proved", []) if check else ("stale", ["c.txt"]))


async def test_p16_typing_makes_it_stale(workspace: Path, replay: Replay) -> None:
    """The verification becomes stale even if the document is unsaved and the agent has not read it."""
    async with working(workspace, replay, *PASS) as client:
        client.open(workspace / "b.txt")
        await until(client, ("verified", []))
        client.type(workspace / "b.txt", "typed\n")
        await until(client, ("stale", ["b.txt"]))


async def test_p16_a_verification_still_holds_after_an_accept(workspace: Path, replay: Replay) -> None:
    """The file then has the text that the command saw. After a reject it does not, so the verification is stale."""
    async with working(workspace, replay, *PASS) as client:
        await review(client, "accept", target={"all": True})
        assert (workspace / "a.txt").read_text() == "two\n"
        assert status(client) == ("verified", [])
        await review(client, "undo")
        assert status(client) == ("verified", [])
        await review(client, "reject", target={"all": True})
        assert status(client) == ("stale", ["a.txt"])


async def test_p16_a_restart_reads_the_files_again(workspace: Path, replay: Replay, storage: Path) -> None:
    """The server is killed and started again. The verification still holds, unless a file has changed in between."""
    async with working(workspace, replay, *PASS, storage=storage) as client:
        await until(client, ("verified", []))
        client.process.kill()
        await client.process.wait()
    for text, expected in (("one\n", ("verified", [])), ("two\n", ("stale", ["b.txt"]))):
        (workspace / "b.txt").write_text(text)
        async with Client(workspace, storage=storage) as client:
            await client.until(lambda: client.last("agent/plan") is not None)
            assert status(client) == expected
