"""How a run handles answers that are cut off, paused, refused, interrupted or empty (docs/plan.md L13)."""

import asyncio
import json
import threading
from pathlib import Path

import pytest

from agent.turns import DONE, Connect, notes, results, say
from support.fake_api import Call, Cut, FakeApi, MaxTokensCut, Raw, Text, Thinking, Wait

# some local servers end answers with `tool_use` although they contain no call
NO_CALL = say(Text("Everything is done."), stop_reason="tool_use")
NOTHING = say(stop_reason="tool_use")


async def test_l13_fault_15_a_call_cut_by_max_tokens_is_not_run(connect: Connect, workspace: Path) -> None:
    """docs/plan.md L13, docs/faults.md 15: the complete first call is not run either. The model reads why, and the
    run continues.
    """
    cut = say(
        Text("I write."),
        Call("write_file", {"path": "whole.txt", "content": "x"}),
        Call("bash", {"command": "touch made.txt && echo a long command that is cut"}),
    )
    with FakeApi(turns=[MaxTokensCut(cut, json_chars=30), DONE]) as api:
        async with connect(api) as client:
            result = await client.run()
            assert client.last("agent/edits") is None
            assert client.all("agent/approve") == []
        assert result["stopReason"] == "end_turn"
        assert ["cut off by the output limit" in block["content"] for block in results(api, 1)] == [True, True]
        assert list(workspace.iterdir()) == []
        assert api.refusals == []


async def test_l13_the_third_cut_off_answer_in_a_row_ends_the_run(connect: Connect) -> None:
    """docs/plan.md L13: the stop reason says that the work is not finished."""
    cut = MaxTokensCut(say(Call("write_file", {"path": "a", "content": "x" * 50})), json_chars=20)
    with FakeApi(turns=[cut] * 5) as api:
        async with connect(api) as client:
            result = await client.run()
        assert result["stopReason"] == "max_tokens"
        assert len(api.requests) == 3
        assert api.refusals == []


async def test_l13_text_cut_by_max_tokens_is_continued_once(connect: Connect) -> None:
    """docs/plan.md L13: the model is asked to continue, and the run's message contains the whole text."""
    cut = say(Text("It goes on and"), stop_reason="max_tokens")
    with FakeApi(turns=[cut, say(Text(" comes to its end."))]) as api:
        async with connect(api) as client:
            result = await client.run()
        assert (result["stopReason"], result["message"]) == ("end_turn", "It goes on and comes to its end.")
        assert "cut off by a length limit" in notes(api, 1)[0]
        assert api.refusals == []


@pytest.mark.parametrize("reason", ["max_tokens", "model_context_window_exceeded"])
async def test_l13_tagged_thinking_that_was_cut_off_is_continued(connect: Connect, reason: str) -> None:
    """docs/plan.md L13: the model gets its thinking back. The user sees it as thinking, and not in the message."""
    cut = say(Text("<think>\nFirst I add, then"), stop_reason=reason)
    with FakeApi(turns=[cut, say(Text("<think>I multiply.</think>It is 6."))]) as api:
        async with connect(api) as client:
            result = await client.run()
            assert client.text("thinking") == "First I add, thenI multiply."
            assert (result["stopReason"], result["message"], client.text()) == ("end_turn", "It is 6.", "It is 6.")
        answer = api.requests[1].body["messages"][1]
        assert [block["text"] for block in answer["content"]] == ["First I add, then"]
        assert "cut off by a length limit" in notes(api, 1)[0]
        assert api.refusals == []


async def test_l13_the_message_of_a_run_does_not_include_an_earlier_answer(connect: Connect) -> None:
    """docs/plan.md L13: after the user's message, the run's message is only the new answer, even if it is cut off."""
    gate = threading.Event()
    turns = [
        say(Text("It goes on and"), stop_reason="max_tokens"),
        Wait(say(Text(" comes to its end.")), gate, before=4),
        say(Text("With tabs, it goes on and"), stop_reason="max_tokens"),
        say(Text(" ends.")),
    ]
    with FakeApi(turns=turns) as api:
        async with connect(api) as client:
            running = asyncio.ensure_future(client.run())
            session = (await client.event("round_started", round=2))["sessionId"]
            await client.request("agent/steer", {"sessionId": session, "text": "Use tabs."})
            gate.set()
            result = await running
        assert (result["stopReason"], result["message"]) == ("end_turn", "With tabs, it goes on and ends.")
        assert api.refusals == []


async def test_l13_text_cut_by_max_tokens_twice_ends_the_run(connect: Connect) -> None:
    """docs/plan.md L13: the text does not count as finished: the stop reason and the message call it cut off."""
    with FakeApi(turns=[say(Text("It goes on and"), stop_reason="max_tokens")] * 2) as api:
        async with connect(api) as client:
            result = await client.run()
        assert result["stopReason"] == "max_tokens"
        assert "cut off" in result["message"]
        assert api.refusals == []


async def test_l13_a_paused_turn_continues(connect: Connect) -> None:
    """docs/plan.md L13: `pause_turn` does not end the run."""
    with FakeApi(turns=[say(Text("A moment."), stop_reason="pause_turn"), DONE]) as api:
        async with connect(api) as client:
            result = await client.run()
        assert (result["stopReason"], len(api.requests), api.refusals) == ("end_turn", 2, [])


async def test_l13_a_turn_that_is_paused_twice_pauses_the_run(connect: Connect) -> None:
    """docs/plan.md L13: the message contains the text so far, and the next prompt continues."""
    paused = say(Text("A moment."), stop_reason="pause_turn")
    with FakeApi(turns=[paused, paused, DONE]) as api:
        async with connect(api) as client:
            result = await client.run()
            assert (result["stopReason"], result["error"]) == ("max_turn_requests", None)
            assert result["message"].startswith("A moment.A moment.\n\nPaused: the API paused")
            assert (await client.run("continue", sessionId=result["sessionId"]))["stopReason"] == "end_turn"
        assert api.refusals == []


async def test_l13_an_unknown_stop_reason_is_an_error_that_names_it(connect: Connect) -> None:
    """docs/plan.md L13: the calls of the answer are not run, its text does not count as finished, and the session
    continues.
    """
    odd = say(Text("Hm."), stop_reason="became_bored")
    calling = say(Call("write_file", {"path": "a", "content": "x"}), stop_reason="became_bored")
    with FakeApi(turns=[calling, odd, DONE]) as api:
        async with connect(api) as client:
            result = await client.run()
            assert (result["stopReason"], "became_bored" in result["message"]) == ("error", True)
            assert client.last("agent/edits") is None
            assert (await client.run(sessionId=result["sessionId"]))["stopReason"] == "end_turn"
        assert api.refusals == []


@pytest.mark.parametrize("reason", ["end_turn", "stop_sequence"])
async def test_l13_calls_in_an_ended_turn_are_not_run_and_the_third_such_answer_ends_the_run(
    connect: Connect, reason: str
) -> None:
    """docs/plan.md L13: the stop reason is known, so the error does not call it unknown; the session continues."""
    calling = say(Call("write_file", {"path": "a", "content": "x"}), stop_reason=reason)
    with FakeApi(turns=[calling, calling, calling, DONE]) as api:
        async with connect(api) as client:
            result = await client.run()
            assert (result["stopReason"], result["error"]["retryable"]) == ("error", True)
            assert f"stop reason {reason}, which runs no calls" in result["message"]
            assert "unknown" not in result["message"]
            assert client.last("agent/edits") is None
            assert (await client.run(sessionId=result["sessionId"]))["message"] == "Done."
        assert f"stop reason '{reason}', which runs no calls" in results(api, 1)[0]["content"]
        assert api.refusals == []


async def test_l13_a_refusal_says_what_to_do(connect: Connect) -> None:
    """docs/plan.md L13: the message contains the model's text, the server's explanation and advice. The session
    continues.
    """
    details = {"type": "refusal", "category": "cyber", "explanation": "This may break a rule."}
    with FakeApi(turns=[say(Text("I cannot."), stop_reason="refusal", stop_details=details), DONE]) as api:
        async with connect(api) as client:
            result = await client.run()
            assert result["stopReason"] == "refusal"
            assert result["message"].startswith("I cannot.") and "“Agent: Rewind...”" in result["message"]
            assert "refused to continue (This may break a rule). What it refused" in result["message"]
            assert (await client.run(sessionId=result["sessionId"]))["stopReason"] == "end_turn"
        assert api.refusals == []


async def test_l13_a_refusal_in_the_middle_of_a_call_ends_the_run(connect: Connect, workspace: Path) -> None:
    """docs/plan.md L13: the model is not asked for the call again. Without an explanation, the message quotes none."""
    refused = say(Text("I write."), Call("write_file", {"path": "a.txt", "content": "x"}), stop_reason="refusal")
    with FakeApi(turns=[refused, DONE]) as api:
        async with connect(api) as client:
            result = await client.run()
            assert (result["stopReason"], len(api.requests)) == ("refusal", 1)
            assert "The model refused to continue. What it refused" in result["message"]
            assert client.last("agent/edits") is None
            assert (await client.run(sessionId=result["sessionId"]))["stopReason"] == "end_turn"
        assert api.refusals == []


async def test_l13_fault_16_a_stream_that_ends_early_is_requested_again(connect: Connect, workspace: Path) -> None:
    """docs/plan.md L13, docs/faults.md 16: after a clean end before message_stop, no call runs; the retry succeeds."""
    write = say(Text("Now."), Call("write_file", {"path": "a.txt", "content": "x"}))
    events = len(["message_start", "ping", "start", "delta", "stop", "start", "delta", "delta", "stop"])
    with FakeApi(turns=[Cut(write, after=events, how="close"), write, DONE]) as api:
        async with connect(api) as client:
            result = await client.run()
            assert len(client.events("retry")) == 1
            assert client.text() == "Now.Done."
            assert len(client.events("tool_started")) == 1
        assert result["stopReason"] == "end_turn"
        assert api.refusals == []


async def test_l13_text_with_stop_reason_tool_use_and_no_call_ends_the_turn(connect: Connect) -> None:
    """docs/plan.md L13: the text is the run's message, and the next prompt works."""
    with FakeApi(turns=[NO_CALL, DONE]) as api:
        async with connect(api) as client:
            result = await client.run()
            assert (result["stopReason"], result["message"], result["error"]) == (
                "end_turn",
                "Everything is done.",
                None,
            )
            assert (await client.run(sessionId=result["sessionId"]))["message"] == "Done."
        assert (len(api.requests), api.refusals) == (2, [])


async def test_l13_a_user_message_is_delivered_before_an_answer_without_a_call_ends_the_turn(connect: Connect) -> None:
    """docs/plan.md L6, L13: although the stop reason is `tool_use`, the run continues for the message, as usual."""
    gate = threading.Event()
    with FakeApi(turns=[Wait(NO_CALL, gate, before=2), DONE]) as api:
        async with connect(api) as client:
            session = (await client.request("agent/sessions/create", {}))["sessionId"]
            running = asyncio.ensure_future(client.run(sessionId=session))
            await client.event("round_started")
            await client.request("agent/steer", {"sessionId": session, "text": "Use tabs."})
            gate.set()
            assert (await running)["message"] == "Done."
        assert "Use tabs." in notes(api, 1)[-1]
        assert api.refusals == []


async def test_l13_an_empty_answer_is_requested_again(connect: Connect) -> None:
    """docs/plan.md L13: two empty answers in a row end the run with an error that says so. The session continues."""
    with FakeApi(turns=[NOTHING, DONE, NOTHING, NOTHING, DONE]) as api:
        async with connect(api) as client:
            result = await client.run()
            assert (result["stopReason"], result["message"]) == ("end_turn", "Done.")
            assert "it contains no call" in notes(api, 1)[-1]
            result = await client.run(sessionId=result["sessionId"])
            assert (result["stopReason"], result["error"]["kind"]) == ("error", "network")
            assert result["error"]["retryable"] and "contained no call and no text" in result["message"]
            assert (await client.run(sessionId=result["sessionId"]))["stopReason"] == "end_turn"
        assert api.refusals == []


async def test_l13_fault_91_an_answer_without_any_content_is_requested_again(connect: Connect) -> None:
    """docs/plan.md L13, docs/faults.md 91: two empty answers in a row end the run with an error that says so."""
    for nothing in (say(), say(Text(" \n")), say(stop_reason="stop_sequence"), say(Thinking("Hm."))):
        with FakeApi(turns=[nothing, DONE, nothing, nothing, DONE]) as api:
            async with connect(api) as client:
                result = await client.run()
                assert (result["stopReason"], result["message"]) == ("end_turn", "Done.")
                assert "Your answer was empty" in notes(api, 1)[-1]
                result = await client.run(sessionId=result["sessionId"])
                assert (result["stopReason"], result["error"]["kind"]) == ("error", "network")
                assert result["error"]["retryable"] and "The model's answer was empty" in result["message"]
                assert (await client.run(sessionId=result["sessionId"]))["message"] == "Done."
            assert api.refusals == []


async def test_l13_fault_91_an_empty_answer_after_a_cut_off_text_ends_the_turn(connect: Connect) -> None:
    """docs/plan.md L13, docs/faults.md 91: the cut-off text is the run's message."""
    with FakeApi(turns=[say(Text("Everything is done."), stop_reason="max_tokens"), say()]) as api:
        async with connect(api) as client:
            result = await client.run()
        assert (result["stopReason"], result["message"], api.refusals) == ("end_turn", "Everything is done.", [])


async def test_l13_fault_91_an_answer_without_a_stop_reason_is_an_error(connect: Connect) -> None:
    """docs/plan.md L13, docs/faults.md 91: the error names the cause, because the answer may be incomplete."""
    events = [{"type": "message_start", "message": {}}, {"type": "message_stop"}]
    no_stop_reason = Raw(b"".join(b"data: %b\n\n" % json.dumps(event).encode() for event in events))
    with FakeApi(turns=[no_stop_reason, DONE]) as api:
        async with connect(api) as client:
            result = await client.run()
            assert (result["stopReason"], result["error"]["kind"]) == ("error", "network")
            assert "did not say why the answer ended" in result["message"]
            assert (await client.run(sessionId=result["sessionId"]))["message"] == "Done."
        assert api.refusals == []
