"""Checks: a command that must pass before a step is completed (docs/plan.md P17), in a real server and sandbox."""

import asyncio
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lsp.test_verification import RUN, bash, review, status, write_workspace
from support.calls import edit
from support.client import Client, Json
from support.sandbox import needs_sandbox

Replay = Callable[..., Json]
ABLE: Json = {"experimental": {"agent": {"approvals": True, "questions": True}}}


@pytest.fixture(autouse=True)
def sandboxed() -> None:
    needs_sandbox()


def todo(*steps: tuple[str, str], check: str = "") -> Json:
    """A call that writes these steps; the first one has the check."""
    items = [{"content": content, "status": status} for content, status in steps]
    return {"todo": {"items": [{**items[0], **({"check": check} if check else {})}, *items[1:]]}}


BEGIN = (("Edit", "in_progress"), ("Next", "pending"))
TICK = todo(("Edit", "completed"), ("Next", "in_progress"))


def results(client: Client, name: str = "todo") -> list[str]:
    calls = {event["toolCallId"] for event in client.events("tool_started") if event["name"] == name}
    return [event["text"] for event in client.events("tool_finished") if event["toolCallId"] in calls]


def steps(client: Client) -> list[tuple[str, str]]:
    return [(item["status"], item["verification"]) for item in client.last("agent/plan")["items"]]


def runs(client: Client) -> list[tuple[str, int | None, bool]]:
    commands = client.last("agent/plan")["items"][0]["evidence"]["commands"]
    return [(run["command"], run["exitCode"], run["withoutChanges"]) for run in commands]


async def test_p17_a_step_is_completed_only_after_its_check_passes(workspace: Path, replay: Replay) -> None:
    """The model proposes the check and ticks too early; it reads why, changes the file and ticks again. The check fails
    without the change, so it proves the step. A later change by the user makes the proof stale; an accept does not."""
    write_workspace(workspace)
    turns = [
        {"calls": [todo(*BEGIN, check=RUN)]},
        {"calls": [TICK]},
        {"calls": [edit("a.txt", "one", "two")]},
        {"calls": [TICK]},
        {"text": "Done."},
    ]
    async with Client(workspace, settings=replay(*turns)) as client:
        record = (await client.run())["record"]
        _, refused, passed = results(client)
        assert refused.startswith(f"[>] #1: Edit (check: {RUN})\n[ ] #2: Next\n\n(0/2 completed)")
        assert f"The check of #1 failed: `{RUN}` (exit code 1, " in refused
        assert "AssertionError: wrong text" in refused
        assert refused.endswith("#1 is not completed: make its check pass.")
        assert passed.startswith(f"[x] #1: Edit (check: {RUN})\n[>] #2: Next")
        assert passed.endswith("It fails without your changes, so it proves them.")
        assert runs(client) == [(RUN, 1, False), (RUN, 0, False), (RUN, 1, True)]
        assert steps(client) == [("completed", "proved"), ("in_progress", "none")]
        assert record == "1 of 2 steps, 1 file to review, 3 commands (1 failed). Not done: Next."
        await review(client, "accept", target={"all": True})
        assert status(client) == ("proved", [])
        (workspace / "a.txt").write_text("mine\n")
        await client.until(lambda: status(client) == ("stale", ["a.txt"]))


async def test_p17_a_check_of_the_settings_is_for_steps_that_change_files(workspace: Path, replay: Replay) -> None:
    """A step that only reads is not checked. A command that has already passed on the same files is not run again."""
    write_workspace(workspace)
    turns = [
        {
            "calls": [
                todo(("Edit", "in_progress"), ("Read", "pending"), ("Again", "pending")),
                edit("a.txt", "one", "two"),
            ]
        },
        {"calls": [bash(RUN)]},
        {"calls": [todo(("Edit", "completed"), ("Read", "in_progress"), ("Again", "pending"))]},
        {"calls": [{"read_file": {"path": "b.txt"}}]},
        {
            "calls": [
                todo(("Edit", "completed"), ("Read", "completed"), ("Again", "in_progress")),
                edit("b.txt", "one", "x"),
            ]
        },
        {"calls": [todo(("Edit", "completed"), ("Read", "completed"), ("Again", "completed"))]},
        {"text": "Done."},
    ]
    settings = {**replay(*turns), "checks": [RUN]}
    async with Client(workspace, settings=settings) as client:
        await client.run()
        first, second, third = results(client)[1:]
        assert f"The check of #1 holds: `{RUN}` passed, and nothing it depends on has changed since." in first
        assert "check" not in second
        assert f"The check of #3 passed: `{RUN}`" in third
        assert runs(client) == [(RUN, 0, False)]
        assert steps(client) == [("completed", "proved"), ("completed", "looked"), ("completed", "proved")]


async def test_p17_another_check_of_a_completed_step_runs_without_those_of_the_settings(
    workspace: Path, replay: Replay
) -> None:
    """The next step has begun, so its changes need not pass yet."""
    write_workspace(workspace)
    next_step = todo(("Edit", "completed"), ("Next", "in_progress"), check="true")
    turns = [
        {"calls": [todo(*BEGIN), edit("a.txt", "one", "two")]},
        {"calls": [TICK]},
        {"calls": [edit("a.txt", "two", "half")]},
        {"calls": [next_step]},
        {"text": "Done."},
    ]
    async with Client(workspace, settings={**replay(*turns), "checks": [RUN]}) as client:
        await client.run()
        assert [run["command"] for run in client.last("agent/plan")["items"][0]["evidence"]["commands"]][-1] == "true"
        assert f"The check of #1 passed: `{RUN}`" in results(client)[1]
        assert RUN not in results(client)[2] and "The check of #1 passed: `true`" in results(client)[2]
        assert [status for status, _ in steps(client)] == ["completed", "in_progress"]


async def test_p17_a_check_changes_nothing(workspace: Path, replay: Replay) -> None:
    """All files that a check writes are discarded, even gigabytes. The result tells the model so."""
    write_workspace(workspace)
    turns = [{"calls": [todo(*BEGIN, check="truncate -s 7G made.txt"), TICK]}, {"text": "Done."}]
    async with Client(workspace, settings=replay(*turns)) as client:
        await client.run()
        assert "Its changes were discarded." in results(client)[1]
        assert client.last("agent/edits") is None
        assert not (workspace / "made.txt").exists()


@pytest.mark.parametrize(
    ("check", "said"),
    [
        pytest.param("'", "did not allow", id="cannot be parsed"),
        pytest.param("no-such-program", "exit code 127", id="missing program"),
        pytest.param("truncate -s 9G made.txt", "a file reached the size limit", id="writes more than a box may"),
        pytest.param("rm a.txt", "settings do not allow this command", id="denied"),
        pytest.param("sleep 60 # react-scripts test", "variable `CI=true`. The end", id="never ends"),
        pytest.param(
            "echo Cannot connect to the Docker daemon at unix:///var/run/docker.sock; false",
            "Checks cannot reach Docker's",
            id="needs Docker",
        ),
        pytest.param(
            "echo is not a snap cgroup; false",
            "Checks cannot start programs that were installed as a snap.",
            id="starts a snap",
        ),
        pytest.param(
            "echo PYTEST_CURRENT_TEST is not set; false",  # a variable that is set here
            "The user's environment has PYTEST_CURRENT_TEST, but sandboxed commands do not get it.",
            id="reads a variable",
        ),
    ],
)
async def test_p17_a_check_that_does_not_pass(workspace: Path, replay: Replay, check: str, said: str) -> None:
    """The item stays in progress, and the model reads why, and what checks cannot reach, start or read."""
    write_workspace(workspace)
    turns = [{"calls": [todo(*BEGIN, check=check), TICK]}, {"text": "Done."}]
    settings = {**replay(*turns), "bash": {"deny": ["rm *"], "timeoutSeconds": 1 if "sleep" in check else 60}}
    async with Client(workspace, settings=settings) as client:
        await client.run()
        assert said in results(client)[1]
        assert steps(client)[0] == ("in_progress", "none")


async def test_p17_a_check_that_needs_a_server_is_run_with_bash(workspace: Path, replay: Replay) -> None:
    """The model's tick is refused with a hint to run the check with `bash` and its server, which asks the user. After
    this, the check holds without another run.
    """
    write_workspace(workspace)
    with socket.create_server(("127.0.0.1", 0)) as server:
        service = f"localhost:{server.getsockname()[1]}"
        check = f"exec 3<>/dev/tcp/{service.replace(':', '/')}"
        reached: Json = {"bash": {"command": check, "services": [service]}}
        begin = {"calls": [todo(*BEGIN, check=check), TICK]}
        turns = [begin, {"calls": [reached]}, {"calls": [TICK]}, {"text": "Done."}]
        answers: dict[str, Any] = {"agent/approve": lambda _: {"option": "allow_once"}}
        async with Client(workspace, settings=replay(*turns), capabilities=ABLE, answers=answers) as client:
            await client.run()
            _, refused, passed = results(client)
            assert "run the same command with bash and `network` or `services`" in refused
            assert "The check of #1 holds" in passed
            assert steps(client)[0][0] == "completed"


async def test_p17_a_killed_server_leaves_no_result(workspace: Path, replay: Replay, storage: Path) -> None:
    """If the server is killed while a check runs, the item is still in progress after the restart, and has no evidence
    of a command.
    """
    write_workspace(workspace)
    turns = [{"calls": [todo(*BEGIN, check="echo started; sleep 60"), TICK]}, {"text": "Done."}]
    async with Client(workspace, settings=replay(*turns), storage=storage) as client:
        run = asyncio.ensure_future(client.run())
        await client.event("tool_output")
        client.process.kill()
        await client.process.wait()
        run.cancel()
    async with Client(workspace, storage=storage) as client:
        plan = await client.until(lambda: client.last("agent/plan"))
        assert steps(client)[0] == ("in_progress", "none")
        assert plan["items"][0]["evidence"]["commands"] == []


async def test_p17_one_command_checks_forty_steps_once(workspace: Path, replay: Replay) -> None:
    write_workspace(workspace)
    begun = [{"content": f"Step {number}", "check": "true"} for number in range(40)]
    done = [{**item, "status": "completed"} for item in begun]
    turns = [{"calls": [{"todo": {"items": begun}}, {"todo": {"items": done}}]}, {"text": "Done."}]
    settings = {**replay(*turns), "plan": {"maxItems": 40}}
    async with Client(workspace, settings=settings) as client:
        await client.run()
        assert client.last("agent/plan")["completed"] == 40
        assert len(client.events("command")) == 1


async def test_p17_the_user_stops_a_check(workspace: Path, replay: Replay) -> None:
    """A check that the user stops has no result: the item stays in progress, and the run goes on."""
    write_workspace(workspace)
    turns = [{"calls": [todo(*BEGIN, check="sleep 60"), TICK]}, {"text": "Done."}]
    async with Client(workspace, settings=replay(*turns)) as client:
        run = asyncio.ensure_future(client.run())
        started = await client.event("command")
        stop = {"sessionId": started["sessionId"], "handle": started["handle"]}
        await client.request("agent/command/stop", stop)
        assert (await run)["stopReason"] == "end_turn"
        assert "The check of #1 was stopped, so it has no result: `sleep 60`." in results(client)[1]
        assert steps(client)[0] == ("in_progress", "none")
        assert [run["stopped"] for run in client.last("agent/plan")["items"][0]["evidence"]["commands"]] == [True]


@pytest.mark.parametrize("option", ["allow_once", "reject"])
async def test_p17_a_check_asks_like_a_command(workspace: Path, replay: Replay, option: str) -> None:
    write_workspace(workspace)
    turns = [{"calls": [todo(*BEGIN, check="true"), TICK]}, {"text": "Done."}]
    settings = {**replay(*turns), "approvals": "ask"}
    answers: dict[str, Any] = {"agent/approve": lambda _: {"option": option}}
    async with Client(workspace, settings=settings, capabilities=ABLE, answers=answers) as client:
        await client.run()
        [asked] = client.all("agent/approve")
        assert (asked["command"], asked["reasons"][0]) == ("true", "It is the check of a step.")
        assert steps(client)[0][0] == ("completed" if option == "allow_once" else "in_progress")


async def test_p17_the_user_sets_changes_and_removes_a_check(workspace: Path, replay: Replay) -> None:
    """The model reads the user's check, and its rewrite of the plan does not change the check. The user may tick the
    item even if the check fails.
    """
    write_workspace(workspace)
    again = todo(("Edit", "in_progress"), ("Next", "pending"), check="true")
    turns = [
        {"calls": [todo(*BEGIN), {"ask_user": {"question": "Go on?"}}]},
        {"calls": [again]},
        {"calls": [TICK]},
        {"text": "Done."},
    ]
    client = Client(workspace, settings=replay(*turns), capabilities=ABLE)

    async def change(**op: Any) -> None:
        plan = client.last("agent/plan")
        params = {
            "sessionId": plan["sessionId"],
            "revision": plan["revision"],
            "ops": [{"op": "update", "id": "1", **op}],
        }
        await client.request("agent/plan/edit", params)

    async def answer(_: Json) -> Json:
        await change(check="false")
        return {"answer": "Yes"}

    client.answers["agent/ask"] = answer
    async with client:
        await client.run()
        feedback = "".join(event["text"] for event in client.events("feedback"))
        assert "set the check of #1, which must pass before it is completed: false" in feedback
        assert "(check: false)" in results(client)[1]
        assert "The check of #1 failed: `false`" in results(client)[2]
        assert steps(client)[0] == ("in_progress", "none")
        await change(check="")
        assert client.last("agent/plan")["items"][0]["check"] == ""
        await change(check="false", status="completed")
        assert steps(client)[0] == ("completed", "marked")
