"""`agent/runTask` with `continue` (docs/protocol.md): the server writes the prompt."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lsp.restarts import kill
from support.client import Client
from support.fake_api import Call, FakeApi, Text, Turn

Json = dict[str, Any]
Connect = Callable[..., Client]
Replay = Callable[..., Json]

DONE = Turn((Text("Done."),))
LOOK = Turn((Call("read_file", {"path": "a.txt"}),))
CHANGE = Turn((Call("edit_file", {"path": "a.txt", "old_text": "one", "new_text": "two"}),))


def todo(status: str) -> Turn:
    return Turn((Call("todo", {"items": [{"content": "Greet", "status": status, "activeForm": ""}]}),))


async def test_an_approved_plan_is_executed(connect: Connect) -> None:
    """The model reads that the plan is approved. The request is refused if there is no plan, or if all its items are
    completed.
    """
    with FakeApi(turns=[DONE, todo("pending"), DONE, todo("completed"), DONE]) as api:
        async with connect(api) as client:
            session = {"sessionId": (await client.run("What is it?", mode="ask"))["sessionId"]}
            go = {"continue": "plan", **session}
            assert (await client.error("agent/runTask", go)).code == -32803
            await client.run("Greet.", mode="plan", **session)
            assert (await client.request("agent/runTask", go))["stopReason"] == "end_turn"
            assert api.requests[3].body["messages"][-1]["content"][0]["text"] == "The plan is approved. Do it."
            assert (await client.error("agent/runTask", go)).code == -32803
        assert (len(api.requests), api.refusals) == (5, [])


async def test_a_plan_awaits_approval_until_the_work_starts(connect: Connect, storage: Path) -> None:
    """docs/protocol.md, `awaitsApproval`: a question or a restart does not change it, but a run in agent mode makes it
    false. It is true again in a fork from before this run, and after a rewind of everything to before this run.
    """

    async def awaits(client: Client, session: Json) -> bool:
        opened = await client.request("agent/sessions/open", session)
        assert opened["plan"] == client.last("agent/plan")
        return opened["plan"]["awaitsApproval"]

    with FakeApi(turns=[todo("pending"), DONE, DONE, DONE, DONE, DONE]) as api:
        async with connect(api, storage=storage) as client:
            session = {"sessionId": (await client.run("Greet.", mode="plan"))["sessionId"]}
            await client.run("What is it?", mode="ask", **session)
            assert await awaits(client, session)
            await kill(client)
        async with connect(api, storage=storage) as client:
            assert await awaits(client, session)
            await client.run("Work.", **session)
            assert not await awaits(client, session)
            for scope in ("fork", "conversation", "everything"):
                params = {**session, "checkpoint": 2 if scope == "everything" else 3, "scope": scope}
                rewound = {"sessionId": (await client.request("agent/sessions/rewind", params))["sessionId"]}
                # a rewind of only the conversation leaves the plan as the later run left it
                assert await awaits(client, rewound) == (scope != "conversation"), scope
            await client.request("agent/runTask", {"continue": "plan", **session})
            assert not await awaits(client, session)
            await client.run("Plan more.", mode="plan", **session)
            assert not await awaits(client, session), "this run left the plan as it was"
        assert (len(api.requests), api.refusals) == (6, [])


async def test_a_paused_run_continues(connect: Connect) -> None:
    """The model reads that it should continue. The request is refused in a session that never ran."""
    with FakeApi(turns=[todo("pending"), DONE]) as api:
        async with connect(api, settings={"loop": {"maxRounds": 1}}) as client:
            session = await client.request("agent/sessions/create", {"title": "Greet"})
            error = await client.error("agent/runTask", {"continue": "paused", **session})
            assert (error.code, error.message) == (-32803, "This session has no run to continue. Send a prompt.")
            assert (await client.run("Greet.", **session))["stopReason"] == "max_turn_requests"
            await client.request("agent/runTask", {"continue": "paused", **session})
            assert api.requests[1].body["messages"][-1]["content"][0]["text"] == "Continue where you stopped."
        assert (len(api.requests), api.refusals) == (2, [])


@pytest.mark.parametrize(("task", "step"), [({"prompt": "Something else."}, None), ({"continue": "paused"}, "1")])
async def test_p11_only_a_continued_run_works_on_the_step_in_progress(
    workspace: Path, connect: Connect, task: Json, step: str | None
) -> None:
    """docs/plan.md P11: after a new prompt, the edit belongs to no step of the plan: in the tree, in the record, when a
    step is accepted, and in the reminder. The model reads that the step is pending.
    """
    (workspace / "a.txt").write_text("one\n")
    settings = {"loop": {"maxRounds": 2}, "plan": {"reminderInterval": 1}}
    with FakeApi(turns=[todo("in_progress"), LOOK, CHANGE, DONE]) as api:
        async with connect(api, settings=settings) as client:
            session = {"sessionId": (await client.run("Greet."))["sessionId"]}
            await client.request("agent/runTask", {**task, **session})
            texts = [block.get("text", "") for block in api.requests[2].body["messages"][-1]["content"]]
            assert any("#1 is pending" in text for text in texts) == (step is None)
            reminder = api.requests[3].body["messages"][-1]["content"][-1]["text"]
            assert ("In progress: #1" in reminder, "None is in progress" in reminder) == (bool(step), not step)
            plan = client.last("agent/plan")
            assert plan["items"][0]["status"] == ("in_progress" if step else "pending")
            assert bool(plan["items"][0]["evidence"]["files"]) == bool(step)
            record = (await client.request("agent/record", session))["record"]
            assert [change["step"] for change in record["changes"]] == [step]
            accepted = await client.request("agent/edits/accept", {"target": {"item": "1"}, **session})
            assert [each["outcome"] for each in accepted["outcomes"]] == (["applied"] if step else [])
        assert (len(api.requests), api.refusals) == (4, [])


@pytest.mark.parametrize("mode", ["agent", "plan", "ask"])
async def test_a_run_continues_in_its_mode_after_a_restart(
    workspace: Path, connect: Connect, storage: Path, mode: str
) -> None:
    """The server is killed. A run that could only read cannot edit when it continues; a run in agent mode can."""
    (workspace / "a.txt").write_text("one\n")
    with FakeApi(turns=[LOOK, CHANGE, DONE]) as api:
        async with connect(api, storage=storage, settings={"loop": {"maxRounds": 1}}) as client:
            session = {"sessionId": (await client.run("Look.", mode=mode))["sessionId"]}
            await kill(client)
        async with connect(api, storage=storage) as client:
            assert (await client.request("agent/sessions/open", session))["mode"] == mode
            await client.request("agent/runTask", {"continue": "paused", **session})
            edits = (await client.request("agent/sessions/open", session))["edits"]
            assert len(edits["files"]) == (mode == "agent")
        assert (len(api.requests), api.refusals) == (3, [])


async def test_a_rewound_session_continues_in_the_mode_before_the_prompt(workspace: Path, connect: Connect) -> None:
    """The mode is that of the last run before the prompt. This also applies to a fork from before the prompt."""
    (workspace / "a.txt").write_text("one\n")
    with FakeApi(turns=[DONE, DONE, CHANGE, DONE, CHANGE, DONE]) as api:
        async with connect(api) as client:
            session = {"sessionId": (await client.run("What is it?", mode="ask"))["sessionId"]}
            await client.run("Look.", **session)
            for scope in ("fork", "everything"):
                params = {**session, "checkpoint": 2, "scope": scope}
                rewound = {"sessionId": (await client.request("agent/sessions/rewind", params))["sessionId"]}
                await client.request("agent/runTask", {"continue": "paused", **rewound})
                opened = await client.request("agent/sessions/open", rewound)
                assert (opened["mode"], opened["edits"]["files"]) == ("ask", [])
        assert (len(api.requests), api.refusals) == (6, [])


CONTRADICTORY: list[tuple[Json, str]] = [
    ({"continue": "paused", "prompt": "Greet."}, "params.prompt and params.continue cannot be combined"),
    ({"continue": "paused", "sessionId": None}, "params.continue needs params.sessionId"),
    ({"continue": "plan", "mode": "ask"}, "params.continue 'plan' runs the plan"),
    ({"continue": "everything"}, 'params.continue must be paused or plan, not "everything"'),
    ({"prompt": "Greet.", "mode": "careful"}, 'params.mode must be agent, plan or ask, not "careful"'),
    ({}, "params.prompt is missing"),
]


async def test_contradictory_params_are_refused(workspace: Path, replay: Replay) -> None:
    """Missing and unknown params are refused too. The error gives the reason, and the session can still continue."""
    async with Client(workspace, settings=replay({"text": "Done."}, {"text": "And on."})) as client:
        session = {"sessionId": (await client.run("Hello."))["sessionId"]}
        for params, reason in CONTRADICTORY:
            error = await client.error("agent/runTask", {**session, **params})
            assert (error.code, error.message.startswith(reason)) == (-32602, True), error.message
        assert (await client.request("agent/runTask", {"continue": "paused", **session}))["message"] == "And on."
