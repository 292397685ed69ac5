"""An agent of another maker works in the box: what it writes is proposed, its plan is proven (docs/agents.md)."""

import asyncio
import json
from pathlib import Path

import pytest

from hosted_agents.world import World, run
from support.client import Client, Json, WireError
from support.sandbox import needs_sandbox

pytestmark = pytest.mark.usefixtures("sandboxed")


@pytest.fixture
def sandboxed() -> None:
    needs_sandbox()


@pytest.fixture
def world(workspace: Path, tmp_path: Path, home: Path) -> World:
    (workspace / "a.txt").write_text("one\n")
    return World(workspace, tmp_path, home)


async def test_what_it_writes_is_proposed_however_it_writes_it(world: World) -> None:
    """With its own tool, with its own shell, and without a word."""
    turn = [
        {"think": "Hm."},
        {"say": "I change it."},
        {"write": ["a.txt", "ONE\n"]},
        {"shell": "echo shell > s.txt; cat a.txt"},
        {"quiet": "echo quiet > q.txt"},
        {"say": " Done."},
    ]
    async with world.client(turn) as client:
        result = await run(client)
        opened = await client.request("agent/sessions/open", {"sessionId": result["sessionId"]})
    assert (result["stopReason"], result["message"]) == ("end_turn", "I change it. Done.")
    files = {Path(file["uri"]).name: file["kind"] for file in opened["edits"]["files"]}
    assert files == {"a.txt": "modify", "s.txt": "create", "q.txt": "create"}
    assert [path.name for path in world.workspace.iterdir()] == ["a.txt"]
    assert (world.workspace / "a.txt").read_text() == "one\n"
    shown = [(event["title"], event["toolKind"]) for event in client.events("tool_started")]
    # what it wrote without a word belongs to the call before if that was collected with it
    assert shown[:2] == [("Write a.txt", "edit"), ("echo shell > s.txt; cat a.txt", "execute")]
    assert shown[2:] in ([], [("Files written apart from its calls", "edit")])
    assert opened["hosted"] == "scripted"


async def test_its_plan_is_the_plan_and_its_ticks_are_proven(world: World) -> None:
    """A step whose check fails stays open. The agent reads that without a prompt of the user, and repairs it."""
    world.settings = {"checks": ["grep -q fixed a.txt"]}
    first = [
        {"plan": [["Repair it", "in_progress"], ["Say so", "pending"]]},
        {"write": ["a.txt", "wrong\n"]},
        {"plan": [["Repair it", "completed"], ["Say so", "in_progress"]]},
        {"say": "Done."},
    ]
    second = [
        {"write": ["a.txt", "fixed\n"]},
        {"plan": [["Repair it", "completed"], ["Say so", "in_progress"]]},
        {"plan": [["Repair it", "completed"], ["Say so", "completed"]]},
        {"plan": [["Repair it", "completed"], ["Say so", "completed"]]},
        {"say": "Repaired."},
    ]
    async with world.client(first, second) as client:
        result = await run(client)
        opened = await client.request("agent/sessions/open", {"sessionId": result["sessionId"]})
    assert [(item["content"], item["status"]) for item in opened["plan"]["items"]] == [
        ("Repair it", "completed"),
        ("Say so", "completed"),
    ]
    assert opened["plan"]["items"][0]["verification"] == "proved"
    assert "`grep -q fixed a.txt`" in world.prompts[1]
    assert "#1 is not completed: make its check pass." in world.prompts[1]
    assert result["message"] == "Repaired."
    titles = [event["title"] for event in client.events("tool_started")]
    assert titles.count("Update the plan") == 4, "the plan that it repeats is no rewrite"
    assert titles.count("Write a.txt") == 2


async def test_a_step_of_which_it_says_only_that_it_is_done_is_checked(world: World) -> None:
    """docs/faults.md 305: also if it writes with its shell only. It works on the first open step."""
    world.settings = {"checks": ["grep -q fixed a.txt"], "check.agentPrompts": 0}
    turn = [
        {"plan": [["Repair it", "pending"]]},
        {"shell": "echo wrong > a.txt"},
        {"plan": [["Repair it", "completed"]]},
    ]
    async with world.client(turn) as client:
        result = await run(client)
        opened = await client.request("agent/sessions/open", {"sessionId": result["sessionId"]})
    assert [(item["content"], item["status"]) for item in opened["plan"]["items"]] == [("Repair it", "in_progress")]
    assert [Path(each).name for each in opened["plan"]["items"][0]["evidence"]["files"]] == ["a.txt"]


async def test_a_failed_check_does_not_run_again_because_it_repeats_its_plan(world: World) -> None:
    """It runs again after the agent has read that it failed, whether the agent then writes something or not."""
    world.settings = {"checks": ["grep -q fixed a.txt"], "check.agentPrompts": 0}
    begin, complete = ({"plan": [["Repair it", status]]} for status in ("in_progress", "completed"))
    first = [begin, {"write": ["a.txt", "wrong\n"]}, complete, complete]
    async with world.client(first, [complete, complete], [{"write": ["a.txt", "x\n"]}, complete, complete]) as client:
        session_id = (await run(client))["sessionId"]
        for _ in range(2):
            await run(client, "Go on.", sessionId=session_id)
    assert [each["command"] for each in client.events("command")] == ["grep -q fixed a.txt"] * 3


async def test_failed_checks_wait_for_the_next_prompt_if_the_user_wants_that(world: World) -> None:
    world.settings = {"checks": ["false"], "check.agentPrompts": 0}
    turn = [{"plan": [["Do it", "in_progress"]]}, {"write": ["a.txt", "x\n"]}, {"plan": [["Do it", "completed"]]}]
    async with world.client(turn, []) as client:
        session_id = (await run(client))["sessionId"]
        assert len(world.prompts) == 1
        await run(client, "Go on.", sessionId=session_id)
    assert "is not completed: make its check pass" in world.prompts[1]
    assert "\nGo on.\n" in world.prompts[1]


async def test_it_sees_what_the_user_decides(world: World) -> None:
    """The rejected change is gone from its files, the accepted one is on disk, and the next prompt says so."""
    (world.workspace / "b.txt").write_text("two\n")
    first = [{"write": ["a.txt", "ONE\n"]}, {"write": ["b.txt", "TWO\n"]}]
    second = [{"read": "a.txt"}, {"read": "b.txt"}, {"read": "c.txt"}]
    async with world.client(first, second) as client:
        session_id = (await run(client))["sessionId"]
        await client.request("agent/edits/accept", target(client, session_id, "a.txt"))
        await client.request("agent/edits/reject", {**target(client, session_id, "b.txt"), "reason": "No!"})
        (world.workspace / "c.txt").write_text("by the user\n")
        result = await run(client, "Again.", sessionId=session_id)
    assert result["message"] == "<a.txt>ONE\n</a.txt><b.txt>two\n</b.txt><c.txt>by the user\n</c.txt>"
    assert (world.workspace / "a.txt").read_text() == "ONE\n"
    assert "No!" in world.prompts[1]


async def test_a_decision_reaches_its_files_while_it_works(world: World) -> None:
    turn = [{"write": ["a.txt", "ONE\n"]}, {"quiet": "until grep -q one a.txt; do sleep 0.01; done"}, {"read": "a.txt"}]
    async with world.client(turn) as client:
        working = asyncio.create_task(run(client))
        await client.until(lambda: any(each["files"] for each in client.all("agent/edits")))
        session_id = client.events("run_started")[0]["sessionId"]
        await client.request("agent/edits/reject", target(client, session_id, "a.txt"))
        result = await working
    assert result["message"] == "<a.txt>one\n</a.txt>"


async def test_a_stop_ends_all_that_it_started(world: World) -> None:
    """What it has written is proposed. A command that it left behind writes nothing later."""
    turn = [
        {"write": ["a.txt", "ONE\n"]},
        {"daemon": world.process},
        {"write": ["ready.txt", ""]},
        {"wait": "never.txt"},
    ]
    async with world.client(turn, [{"say": "Again."}]) as client:
        working = asyncio.create_task(run(client))
        await client.until(lambda: any(len(each["files"]) == 2 for each in client.all("agent/edits")))
        assert is_running(world.process)
        session_id = client.events("run_started")[0]["sessionId"]
        await client.request("agent/cancel", {"sessionId": session_id})
        result = await working
        assert not is_running(world.process)
        again = await run(client, "Go on.", sessionId=session_id)
        opened = await client.request("agent/sessions/open", {"sessionId": session_id})
    assert result["stopReason"] == "cancelled"
    assert again["message"] == "Again."
    assert {Path(file["uri"]).name for file in opened["edits"]["files"]} == {"a.txt", "ready.txt"}


async def test_it_goes_on_with_its_session_after_a_restart(world: World) -> None:
    """One that can load a session gets no summary; what it replays is not shown again."""
    async with world.client([{"say": "First."}], [{"echo": 1}]) as client:
        session_id = (await run(client))["sessionId"]
    async with world.client() as client:
        result = await run(client, "Second.", sessionId=session_id)
    assert result["message"] == "Second."


async def test_one_that_cannot_load_gets_a_summary(world: World) -> None:
    world.env["NO_LOAD"] = "1"
    async with world.client([{"say": "I did the first."}], [{"echo": 1}]) as client:
        session_id = (await run(client, "Do the first."))["sessionId"]
    async with world.client() as client:
        result = await run(client, "Second.", sessionId=session_id)
    assert "User: Do the first.\n\nAgent: I did the first." in result["message"]
    assert result["message"].endswith("Second.")


async def test_the_users_rules_apply_first(world: World) -> None:
    """A denied command is refused without a question. With approvals, the user is asked for each command."""
    asked: list[str] = []

    def answer(params: Json) -> Json:
        asked.append(params["kind"])
        return {"option": "reject" if params["kind"] == "command" else "allow_once"}

    world.settings = {"bash.deny": ["rm *"], "approvals": "ask"}
    turn = [{"shell": "rm a.txt"}, {"shell": "touch x.txt"}]
    async with world.client(turn, answers={"agent/approve": answer}) as client:
        await run(client)
    assert asked == ["agent", "command"]
    ended = client.events("tool_finished")
    assert [event["isError"] for event in ended] == [True, True]
    output = "".join(event["text"] for event in client.events("tool_output"))
    assert "do not allow this command" in output
    assert "the user did not allow" in output


async def test_without_an_account_it_says_how_to_sign_in(world: World) -> None:
    world.env["NO_ACCOUNT"] = "1"
    async with world.client([]) as client:
        result = await run(client)
    assert result["stopReason"] == "error"
    assert result["error"]["kind"] == "hosted_sign_in"
    assert "Scripted needs a sign-in: Authentication required." in result["message"]
    assert "`fairlead agents login scripted`" in result["message"]


async def test_its_options_are_set_and_kept(world: World) -> None:
    async with world.client([], []) as client:
        session_id = (await run(client))["sessionId"]
        agents = await client.request("agent/hosted", {"sessionId": session_id})
        [option] = agents["options"]
        assert (option["id"], option["value"]) == ("model", "small")
        changed = await client.request(
            "agent/hosted/option", {"sessionId": session_id, "option": "model", "value": "large"}
        )
        assert changed["options"][0]["value"] == "large"
    (world.state / "model").unlink()
    async with world.client() as client:
        await run(client, sessionId=session_id)
        agents = await client.request("agent/hosted", {"sessionId": session_id})
        assert agents["options"][0]["value"] == "large"
        assert agents["chosen"] == "scripted"


async def test_an_unknown_agent_is_an_error(world: World) -> None:
    async with world.client([]) as client:
        with pytest.raises(WireError, match=r"There is no agent “nobody”\. There are: claude, codex, "):
            await client.request("agent/runTask", {"prompt": "x", "hosted": "nobody"})


def is_running(name: str) -> bool:
    """Whether a process on this machine has this name."""
    names = (path.read_bytes().split(b"\0")[0] for path in Path("/proc").glob("[0-9]*/cmdline"))
    return name.encode() in names


def target(client: Client, session_id: str, name: str) -> Json:
    assert client.workspace is not None
    return {"sessionId": session_id, "target": {"uri": (client.workspace / name).as_uri()}}


async def test_a_hook_that_refuses_the_prompt_keeps_it_from_the_agent(world: World) -> None:
    hook = {"hooks": [{"command": "echo 'Not today.' >&2; exit 2"}]}
    (world.workspace / ".fairlead").mkdir()
    (world.workspace / ".fairlead/hooks.json").write_text(json.dumps({"hooks": {"UserPromptSubmit": [hook]}}))
    async with world.client([{"say": "Hello."}]) as client:
        result = await run(client)
    assert (result["stopReason"], "Not today." in result["message"]) == ("hook", True)
    assert not world.state.exists()


@pytest.mark.parametrize("mode", ["plan", "ask"])
async def test_in_other_modes_it_may_only_look_around(mode: str, world: World) -> None:
    """What it asks for is refused. What it does without asking is proposed all the same: nothing is lost."""
    async with world.client([{"shell": "touch x.txt"}, {"write": ["y.txt", "y\n"]}]) as client:
        result = await run(client, mode=mode)
        opened = await client.request("agent/sessions/open", {"sessionId": result["sessionId"]})
    assert [Path(file["uri"]).name for file in opened["edits"]["files"]] == ["y.txt"]
    output = "".join(event["text"] for event in client.events("tool_output"))
    assert output.startswith("Not run, because you asked only for")


@pytest.mark.parametrize(
    ("budget", "why"),
    [
        ({"budget.costUsd": 0.5}, "the run cost $0.75, and the budget is $0.50"),
        ({"budget.minutes": 0.001}, "the run took 0."),
    ],
)
async def test_the_budget_ends_its_turn(budget: Json, why: str, world: World) -> None:
    """What it has written is proposed, and nothing of it goes on."""
    world.settings = budget
    used = {"sessionUpdate": "usage_update", "used": 10, "size": 100, "cost": {"amount": 0.75, "currency": "USD"}}
    turn = [{"write": ["a.txt", "ONE\n"]}, {"frame": used}, {"daemon": world.process}, {"wait": "never.txt"}]
    async with world.client(turn) as client:
        result = await run(client)
        opened = await client.request("agent/sessions/open", {"sessionId": result["sessionId"]})
    assert (result["stopReason"], why in result["message"]) == ("budget", True), result["message"]
    assert len(opened["edits"]["files"]) == 1
    assert not is_running(world.process)


async def test_it_is_reminded_of_a_plan_that_does_not_change(world: World) -> None:
    """docs/plan.md L6: with the next prompt, once, and not after a plan."""
    writes = [{"write": [f"{name}.txt", "x\n"]} for name in "abc"]
    step = [["Change it", "in_progress"]]
    async with world.client([{"plan": step}, *writes], [{"plan": step}], writes, [], []) as client:
        session_id = (await run(client))["sessionId"]
        for _ in range(4):
            await run(client, "Go on.", sessionId=session_id)
        reminders = client.events("reminder")
    reminder = "Your plan did not change during your last 3 calls. The first open step: #1: Change it."
    assert [reminder in prompt for prompt in world.prompts] == [False, True, False, True, False]
    assert [each["about"] for each in reminders] == [reminder] * 2
