"""Real agents of others against stand-ins of their APIs: each does the worked example in the box (docs/agents.md)."""

import json
from pathlib import Path

import pytest

from real_agents.examples import EXAMPLES, KEY, filled, settings_of, write_state
from real_agents.stand_in import Json, StandIn
from support.client import Client

BEFORE = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n"
SHELL = "echo shell > s.txt; env | grep -c the-real-key >> s.txt; cat a.txt"
CHECK = "grep -q repaired new.txt"
FAILED = "not completed: make its check pass"
"""What the agent reads after a check has failed."""


def numbered(text: str) -> str:
    """A text as Claude Code shows it, as it is in JSON."""
    return "\\n".join(f"{number}\\t{line}" for number, line in enumerate(text.splitlines(), 1))


@pytest.mark.parametrize("name", EXAMPLES)
async def test_an_agent_does_the_worked_example_in_the_box(
    name: str, workspace: Path, agents_home: Path, tmp_path: Path
) -> None:
    """The agent reads that a check failed, and repairs it. The user decides by hunk, and the agent sees that.

    The disk is unchanged until the user accepts, and an accept is undone. The key stays outside of the box.
    """
    example = EXAMPLES[name]
    a = workspace / "a.txt"
    a.write_text(BEFORE)
    work = {
        "WORK": [*example.begin, *example.edits, example.shell(SHELL), *example.complete],
        FAILED: [*example.begin[-1:], example.shell("echo repaired > new.txt"), *example.complete],
        "LOOK": [example.read],
    }
    answers = {"agent/approve": lambda _: {"option": "allow_once"}}
    with StandIn(work) as api:
        api.work = filled(work, api, workspace)
        settings = {"checks": [CHECK], **settings_of(name, api, workspace)}
        env = filled(example.environment, api, workspace)
        write_state(name, agents_home, api, workspace)
        client = Client(workspace, settings=settings, env=env, storage=tmp_path / "storage", answers=answers)
        async with client:
            await client.request("agent/hosted/install", {"agent": name}, deadline=600)
            result = await client.request("agent/runTask", {"prompt": "WORK", "hosted": name}, deadline=300)
            session = {"sessionId": result["sessionId"]}

            async def opened() -> Json:
                return await client.request("agent/sessions/open", session)

            async def run_checks() -> list[Json]:
                return (await client.request("agent/checks/run", session))["results"]

            async def decide(decision: str, hunk: int) -> None:
                """Decides on one of the changes of a.txt that are left, by its place."""
                files = {file["uri"]: file for file in (await opened())["edits"]["files"]}
                change = {"uri": a.as_uri(), "hunk": files[a.as_uri()]["hunks"][hunk]["id"]}
                await client.request(f"agent/edits/{decision}", {**session, "target": change})

            assert (result["stopReason"], result["error"]) == ("end_turn", None), result
            if not example.reports_plan:  # then the user runs the check, and says that it failed
                assert (await opened())["plan"]["items"] == []
                assert [each["passed"] for each in (await run_checks())] == [False]
                result = await client.request("agent/runTask", {**session, "prompt": FAILED}, deadline=300)
            assert result["message"].endswith(f"Done: {FAILED}."), result
            assert any(FAILED in asked.prompts[-1] for asked in api.asked if asked.prompts)
            state = await opened()
            if example.reports_plan:
                [item] = state["plan"]["items"]
                assert (item["content"], item["status"], item["verification"]) == ("Shout", "completed", "proved")
            else:
                assert [each["passed"] for each in (await run_checks())] == [True]
            kinds = {Path(file["uri"]).name: file["kind"] for file in state["edits"]["files"]}
            assert kinds == {"a.txt": "modify", "new.txt": "create", "s.txt": "create"}
            assert sorted(path.name for path in workspace.iterdir() if path.name != ".git") == ["a.txt"]
            assert a.read_text() == BEFORE
            if example.has_relay:
                assert {each.key for each in api.asked} == {KEY}

            [shown] = [each for each in client.events("tool_started") if each["input"] == {"command": SHELL}]
            assert shown["toolKind"] == "execute"
            [ended] = [each for each in client.events("tool_finished") if each["toolCallId"] == shown["toolCallId"]]
            assert ("SEVEN" in ended["text"]) == example.reports_output, ended

            await decide("accept", 0)
            assert a.read_text() == BEFORE.replace("one", "ONE")
            await client.request("agent/edits/undo", session)
            assert a.read_text() == BEFORE
            await decide("accept", 0)
            await decide("reject", 0)
            result = await client.request("agent/runTask", {**session, "prompt": "LOOK"}, deadline=300)
            assert result["message"].endswith("Done: LOOK."), result
            last = api.asked[-1]
            assert "rejected in a.txt" in json.dumps(last.body)
            after = BEFORE.replace("one", "ONE")
            if example.tells_changes:
                assert numbered(after) in json.dumps(last.body)
            else:
                assert all(word in last.results[-1] for word in after.split()), last.results
                assert "SEVEN" not in last.results[-1]
            assert a.read_text() == after

            shell = workspace / "s.txt"
            await client.request("agent/edits/accept", {**session, "target": {"uri": shell.as_uri()}})
            written, keys = shell.read_text().splitlines()
            assert written == "shell"
            assert (keys == "0") == example.has_relay, "whether its shell sees the key"


@pytest.mark.parametrize("name", [name for name, example in EXAMPLES.items() if example.own_tools is not None])
async def test_an_agent_attaches_a_check_with_fairleads_tools(
    name: str, workspace: Path, agents_home: Path, tmp_path: Path
) -> None:
    """The step is not completed while its check fails, which the agent reads as the result of its call."""
    example = EXAMPLES[name]

    def plan(status: str) -> tuple[str, Json]:
        return f"{example.own_tools}plan", {"items": [{"content": "Shout", "status": status, "check": CHECK}]}

    steps = [
        plan("in_progress"),
        example.shell("echo wrong > new.txt"),
        plan("completed"),
        example.shell("echo repaired > new.txt"),
        (f"{example.own_tools}run_check", {"command": CHECK}),
        plan("completed"),
    ]
    answers = {"agent/approve": lambda _: {"option": "allow_once"}}
    with StandIn({"WORK": steps}) as api:
        settings, env = settings_of(name, api, workspace), filled(example.environment, api, workspace)
        write_state(name, agents_home, api, workspace)
        client = Client(workspace, settings=settings, env=env, storage=tmp_path / "storage", answers=answers)
        async with client:
            await client.request("agent/hosted/install", {"agent": name}, deadline=600)
            result = await client.request("agent/runTask", {"prompt": "WORK", "hosted": name}, deadline=300)
            opened = await client.request("agent/sessions/open", {"sessionId": result["sessionId"]})
        assert result["message"].endswith("Done: WORK."), result
        results = next(each for each in api.asked if len(each.results) == len(steps)).results
    assert [FAILED in each for each in results] == [False, False, True, False, False, False], results
    assert "The check passed" in results[4]
    [item] = opened["plan"]["items"]
    assert (item["content"], item["check"], item["status"]) == ("Shout", CHECK, "completed")
    assert item["verification"] == "proved"
    assert [path.name for path in workspace.iterdir() if path.name != ".git"] == []
