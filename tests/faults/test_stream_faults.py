"""docs/faults.md 17 to 20 and 25: streams, stops and keys, with the strict fake API and the real server process."""

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from fairlead.models.common.retry import MAX_ATTEMPTS
from support.client import Client
from support.fake_api import Call, Cut, FakeApi, HttpError, MidStreamError, Text, Turn, Wait, event_names

Connect = Callable[..., Client]
DONE = Turn((Text("Done."),))
OVERLOADED = HttpError(529, "overloaded_error", "Overloaded", {"retry-after": "0"})


async def still_works(client: Client, api: FakeApi, session: str) -> None:
    """Checks the guarantee for every fault: the next prompt works, and the API has refused no request."""
    api.push(Turn((Text("I am here."),)))
    result = await client.run("Still there?", sessionId=session)
    assert (result["stopReason"], result["message"]) == ("end_turn", "I am here.")
    assert api.refusals == []


async def test_fault_17_a_connection_that_breaks_after_some_text(connect: Connect) -> None:
    """docs/faults.md 17: the request is sent again, no text appears twice, and the retry is reported."""
    turn = Turn((Text("One two three four five."),), chunk=4)
    with FakeApi(turns=[Cut(turn, after=6, how="reset"), turn]) as api:
        async with connect(api) as client:
            result = await client.run()
            assert result["message"] == "One two three four five."
            assert client.text() == "One two three four five."
            retry = client.events("retry")[0]
            assert (retry["attempt"], retry["delayMs"] > 0, bool(retry["error"]["message"])) == (1, True, True)
            await still_works(client, api, result["sessionId"])


@pytest.mark.parametrize("block", [Text("x" * 450), Call("write_file", {"path": "a", "content": "x" * 420})])
async def test_fault_17_the_tokens_of_a_broken_answer_count_once(connect: Connect, block: Any) -> None:
    """docs/faults.md 17: each attempt counts with its input and the output that had arrived."""
    turn = Turn((block,), chunk=100, stop_reason="end_turn", usage={"input_tokens": 1000, "output_tokens": 90})
    broken = Cut(turn, after=len(event_names(turn)) - 4)  # without the last piece of the block
    with FakeApi(turns=[broken, Cut(turn, after=1), turn, DONE]) as api:
        async with connect(api) as client:
            await client.run()
            used = client.events("usage")[0]
            assert (used["requests"], used["inputTokens"], used["outputTokens"]) == (1, 3000, 100 + 1 + 90)


async def test_fault_18_always_overloaded_ends_with_a_clear_error(connect: Connect) -> None:
    """docs/faults.md 18: the retries are bounded, and the session is usable afterwards."""
    with FakeApi(turns=[OVERLOADED] * MAX_ATTEMPTS) as api:
        async with connect(api) as client:
            result = await client.run()
            assert result["stopReason"] == "error"
            assert (result["error"]["kind"], result["error"]["retryable"]) == ("overloaded", True)
            assert "overloaded" in result["message"] and f"{MAX_ATTEMPTS} times" in result["message"]
            await still_works(client, api, result["sessionId"])


async def test_fault_19_an_error_event_inside_an_answer_is_retried(connect: Connect) -> None:
    """docs/faults.md 19: after an `event: error` in a response with status 200, no text and no call appears twice."""
    turn = Turn((Text("All of it."), Call("search", {"pattern": "x"})))
    with FakeApi(turns=[MidStreamError(turn, after=4), turn, DONE]) as api:
        async with connect(api) as client:
            result = await client.run()
            assert result["stopReason"] == "end_turn"
            assert client.text() == "All of it.Done."
            assert len(client.events("tool_started")) == 1
            assert api.refusals == []


THREE = Turn(
    (
        Text("Three at once."),
        Call("write_file", {"path": "a.txt", "content": "a"}),
        Call("bash", {"command": "echo started; sleep 300"}),
        Call("write_file", {"path": "b.txt", "content": "b"}),
    )
)


async def test_fault_20_cancel_during_an_approval(connect: Connect) -> None:
    """docs/faults.md 20: the question is withdrawn, each call has one result, the next prompt works."""
    never = asyncio.Event()
    with FakeApi(turns=[THREE]) as api:
        async with connect(
            api, settings={"approvals": "ask"}, answers={"agent/approve": lambda _: never.wait()}
        ) as client:
            _, answer = client.begin("agent/runTask", {"prompt": "go"})
            await client.until(lambda: client.last("agent/approve"))
            session = client.events()[0]["sessionId"]
            await client.request("agent/cancel", {"sessionId": session})
            assert (await answer)["stopReason"] == "cancelled"
            await client.until(lambda: client.last("$/cancelRequest"))
            await still_works(client, api, session)
        sent = [block for block in api.requests[-1].body["messages"][2]["content"] if block["type"] == "tool_result"]
        assert [("Proposed" in b["content"], "Cancelled" in b["content"], "Not run" in b["content"]) for b in sent] == [
            (True, False, False),
            (False, True, False),
            (False, False, True),
        ]


async def test_fault_20_cancel_during_a_command(connect: Connect, workspace: Path) -> None:
    """docs/faults.md 20: a started command is killed with its children, and the result says how far it got.

    The next command runs, and no process is left.
    """
    allow = {"agent/approve": lambda _: {"option": "allow_once"}}
    with FakeApi(turns=[THREE]) as api:
        async with connect(api, answers=allow) as client:
            number, answer = client.begin("agent/runTask", {"prompt": "go"})
            await client.event("tool_output", text="started\n")
            session = client.events()[0]["sessionId"]
            client.notify("$/cancelRequest", {"id": number})
            assert (await answer)["stopReason"] == "cancelled"
            api.push(Turn((Call("bash", {"command": "echo again"}),)))
            api.push(DONE)
            await client.run("Again.", sessionId=session)
            children = psutil.Process(client.process.pid).children(recursive=True)
            assert [child.name() for child in children] == []
            await still_works(client, api, session)
        bash = api.requests[-1].body["messages"][2]["content"][1]["content"]
        assert "Cancelled: killed after " in bash and bash.endswith(" Output so far:\nstarted")


async def test_fault_20_cancel_at_every_event_of_a_stream(connect: Connect) -> None:
    """docs/faults.md 20: no call runs, wherever the stream is cancelled, and the next prompt in the session works."""
    with FakeApi() as api:
        async with connect(api) as client:
            for before in range(len(event_names(THREE))):
                hold = threading.Event()
                api.push(Wait(THREE, hold, before))
                session = (await client.request("agent/sessions/create", {}))["sessionId"]
                asked = len(api.requests)
                _, answer = client.begin("agent/runTask", {"prompt": "go", "sessionId": session})
                await asyncio.to_thread(api.wait_for_requests, asked + 1)
                await client.request("agent/cancel", {"sessionId": session})
                assert (await answer)["stopReason"] == "cancelled"
                hold.set()
                await still_works(client, api, session)
            assert client.last("agent/edits") is None


async def test_fault_20_the_tokens_of_a_stopped_answer_are_counted(connect: Connect) -> None:
    """docs/faults.md 20: an event and the result contain them, because the API charges for them."""
    turn = Turn((Text("y" * 400),), chunk=100, usage={"input_tokens": 1000, "output_tokens": 90})
    with FakeApi(turns=[Wait(turn, threading.Event(), len(event_names(turn)) - 3)]) as api:
        async with connect(api) as client:
            _, answer = client.begin("agent/runTask", {"prompt": "go"})
            await client.until(lambda: client.text() == "y" * 400)
            session = client.events()[0]["sessionId"]
            await client.request("agent/cancel", {"sessionId": session})
            used = (await answer)["usage"]
            (event,) = client.events("usage")
            assert {name: event[name] for name in used} == used
            assert client.events()[-1]["kind"] == "run_finished"
            assert (used["requests"], used["inputTokens"], used["outputTokens"]) == (0, 1000, 100)
            assert used["costUsd"] > 0
            await still_works(client, api, session)


async def test_fault_20_runs_are_stopped_and_restarted_at_once(connect: Connect) -> None:
    """docs/faults.md 20: each of three tasks is answered in order, the stopped ones as stopped."""
    with FakeApi(turns=[Wait(THREE, threading.Event(), 3)]) as api:
        async with connect(api) as client:
            session = (await client.request("agent/sessions/create", {}))["sessionId"]
            one, first = client.begin("agent/runTask", {"prompt": "one", "sessionId": session})
            await asyncio.to_thread(api.wait_for_requests, 1)
            api.push(DONE)
            client.notify("$/cancelRequest", {"id": one})
            two, second = client.begin("agent/runTask", {"prompt": "two", "sessionId": session})
            client.notify("$/cancelRequest", {"id": two})
            client.notify("$/cancelRequest", {"id": two})
            _, third = client.begin("agent/runTask", {"prompt": "three", "sessionId": session})
            reasons = [(await answer)["stopReason"] for answer in (first, second, third)]
            assert reasons == ["cancelled", "cancelled", "end_turn"]
            assert [event["stopReason"] for event in client.events("run_finished")] == reasons
            assert api.refusals == []


async def test_fault_25_no_key(workspace: Path) -> None:
    """docs/faults.md 25: one clear message that says what to do; the same session works once there is a key."""
    async with Client(workspace, settings={"endpoint": "anthropic"}) as client:
        result = await client.run()
        assert result["stopReason"] == "error"
        assert (result["error"]["kind"], result["error"]["retryable"]) == ("auth", False)
        for way in ("Agent: Set API Key", "ANTHROPIC_API_KEY", "--base-url"):
            assert way in result["error"]["message"]
        with FakeApi(turns=[]) as api:
            await client.request("agent/credentials", {"apiKey": "test-key", "baseUrl": api.url})
            await still_works(client, api, result["sessionId"])


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost"])
async def test_a_server_on_this_machine_is_asked_without_a_proxy(workspace: Path, name: str) -> None:
    """A proxy could not reach such a server, and many users do not set NO_PROXY."""
    with FakeApi(turns=[DONE]) as api:
        url = api.url.replace("127.0.0.1", name)
        async with Client(workspace, env={**through("http://127.0.0.1:9"), "ANTHROPIC_BASE_URL": url}) as client:
            assert (await client.run())["message"] == "Done."


async def test_another_server_is_asked_through_the_proxy(workspace: Path) -> None:
    """The proxy of the environment gets the request; here it answers 404."""
    with FakeApi(turns=[DONE]) as proxy:
        env = {**through(proxy.url), "ANTHROPIC_BASE_URL": "http://model.example.com"}
        async with Client(workspace, env=env) as client:
            result = await client.run()
    assert result["stopReason"] == "error"
    assert "404" in result["message"]


def through(proxy: str) -> dict[str, str]:
    """The environment of a user with this proxy and no exceptions."""
    return {"ANTHROPIC_API_KEY": "test-key", "HTTP_PROXY": proxy, "http_proxy": proxy, "NO_PROXY": "", "no_proxy": ""}


async def test_a_lone_surrogate_in_the_prompt_is_harmless(connect: Connect) -> None:
    """Bad input: the surrogate becomes a replacement character, and the request is valid."""
    with FakeApi(turns=[DONE]) as api:
        async with connect(api) as client:
            assert (await client.run("half \ud83d and whole 🚀"))["stopReason"] == "end_turn"
        assert api.requests[0].body["messages"][0]["content"][0]["text"] == "half \ufffd and whole 🚀"
        assert api.refusals == []
