"""docs/plan.md L13: answers that end to have tools run and hold no call, as some local servers send them."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

from support.client import Client
from support.fake_api import FakeApi, Text, Turn, Wait

Connect = Callable[..., Client]

DONE = Turn((Text("Done."),))
EMPTY = Turn((), stop_reason="tool_use")
SAID = Turn((Text("All is done."),), stop_reason="tool_use")


def told(api: FakeApi, request: int) -> str:
    """The last text of a request."""
    content: list[dict[str, Any]] = api.requests[request].body["messages"][-1]["content"]
    return content[-1]["text"]


async def test_l13_text_that_ends_to_have_no_tool_run_ends_the_turn(connect: Connect) -> None:
    """docs/plan.md L13: the text is the run's message, and the next prompt works."""
    with FakeApi(turns=[SAID, DONE]) as api:
        async with connect(api) as client:
            result = await client.run()
            assert (result["stopReason"], result["message"], result["error"]) == ("end_turn", "All is done.", None)
            assert (await client.run(sessionId=result["sessionId"]))["message"] == "Done."
        assert (len(api.requests), api.refusals) == (2, [])


async def test_l13_the_persons_word_is_heard_before_such_an_end(connect: Connect) -> None:
    """docs/plan.md L6, L13: as before any other end of a turn."""
    gate = threading.Event()
    with FakeApi(turns=[Wait(SAID, gate, before=2), DONE]) as api:
        async with connect(api) as client:
            session = (await client.request("agent/sessions/create", {}))["sessionId"]
            running = asyncio.ensure_future(client.run(sessionId=session))
            await client.event("round_started")
            await client.request("agent/steer", {"sessionId": session, "text": "Use tabs."})
            gate.set()
            assert (await running)["message"] == "Done."
        assert "Use tabs." in told(api, 1)
        assert api.refusals == []


async def test_l13_an_answer_of_nothing_is_asked_for_again(connect: Connect) -> None:
    """docs/plan.md L13: once; twice in a row is an error that says what came, and the session goes on."""
    with FakeApi(turns=[EMPTY, DONE, EMPTY, EMPTY, DONE]) as api:
        async with connect(api) as client:
            result = await client.run()
            assert (result["stopReason"], result["message"]) == ("end_turn", "Done.")
            assert "no call in it" in told(api, 1)
            result = await client.run(sessionId=result["sessionId"])
            assert (result["stopReason"], result["error"]["kind"]) == ("error", "network")
            assert result["error"]["retryable"] and "held no call and no text" in result["message"]
            assert (await client.run(sessionId=result["sessionId"]))["stopReason"] == "end_turn"
        assert api.refusals == []
