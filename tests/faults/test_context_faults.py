"""docs/faults.md 24: a conversation that outgrows the model's window, against the strict fake API."""

import asyncio
import json
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from support.client import EDITOR, Client
from support.fake_api import Answer, Call, FakeApi, HttpError, Text, Thinking, Turn, Wait

Connect = Callable[..., Client]
Json = dict[str, Any]
DONE = Turn((Text("Done."),))
PLAN = [{"content": "Read them all", "status": "in_progress"}, {"content": "Say it", "status": "pending"}]
TOO_LONG = HttpError(400, "invalid_request_error", "prompt is too long: 9999 tokens > 9000 maximum")


def sizes(body: Json) -> dict[str, int]:
    """The usage of a request, roughly as a real model counts it: a token for every four characters."""
    return {"input_tokens": len(json.dumps(body["messages"])) // 4}


def reading(workspace: Path, count: int, thinking: bool = True) -> list[Callable[[Json], Turn]]:
    """Creates files of about 8,000 characters, and returns a turn for each that reads it and reports its `sizes`."""
    thoughts = (Thinking("Hm."),) if thinking else ()
    for number in range(count):
        (workspace / f"{number}.txt").write_text(f"{number}: {'word ' * 1600}\n")

    def turn(number: int) -> Callable[[Json], Turn]:
        return lambda body: Turn((*thoughts, Call("read_file", {"path": f"{number}.txt"})), usage=sizes(body))

    return [turn(number) for number in range(count)]


def sent_messages(api: FakeApi, number: int = -1) -> str:
    return json.dumps(api.requests[number].body["messages"])


@pytest.mark.parametrize("plain", [False, True])
async def test_fault_24_old_results_are_cleared_before_the_limit(
    connect: Connect, workspace: Path, plain: bool
) -> None:
    """docs/faults.md 24: they are cleared together. The task, the plan and the newest results stay complete.

    The API clears old results itself; a `plain` server does not. The conversation continues in the same way.
    """
    plan = Turn((Call("todo", {"items": PLAN}),))
    with FakeApi(turns=[plan, *reading(workspace, 12, not plain), DONE], plain=plain) as api:
        async with connect(api, settings={"contextTokens": 20_000}) as client:
            result = await client.run("Read them all, please.")
            assert result["stopReason"] == "end_turn"
            made = {event["text"].partition(" cleared")[0] for event in client.events("compacted")}
            assert made == {"Old tool results were" if plain else "The model's service"}
            assert max(event["contextTokens"] for event in client.events("usage")) <= 20_000
            assert {event["contextLimit"] for event in client.events("usage")} == {20_000}
        last = sent_messages(api)
        assert plain or api.refusals == []
        assert "[Cleared to save space: read_file 0.txt, 2 lines." in last and "11: word" in last
        assert "Read them all, please." in last and "[>] #1: Read them all" in last
        firsts = [
            json.dumps(request.body["messages"][4]) for request in api.requests if len(request.body["messages"]) > 4
        ]
        assert len(set(firsts)) == 2, "the beginning of the conversation changed more than once"


BOUND = "The block is bound to a different conversation."


def thoughts(api: FakeApi, number: int = -1) -> int:
    """How many thinking blocks a request has."""
    return sent_messages(api, number).count('"type": "thinking"')


async def test_fault_24_thinking_is_removed_after_results_were_cleared(connect: Connect, workspace: Path) -> None:
    """docs/faults.md 24: after results were cleared, the API refuses earlier thinking, so it is removed once."""
    with FakeApi(turns=[*reading(workspace, 12), DONE], binds_thinking=True) as api:
        async with connect(api, settings={"contextTokens": 20_000}) as client:
            assert (await client.run("Read them all, please."))["stopReason"] == "end_turn"
            assert client.events("compacted")
        assert api.refusals and all(BOUND in reason for reason in api.refusals)
        assert "11: word" in sent_messages(api) and thoughts(api) > 0


async def test_fault_24_thinking_is_removed_after_the_rules_changed(connect: Connect, workspace: Path) -> None:
    """docs/faults.md 24: if the user changes AGENTS.md between two prompts, the API refuses earlier thinking once."""
    thinking = Turn((Thinking("Hm."), Text("Done.")))
    with FakeApi(turns=[thinking, thinking, DONE], binds_thinking=True) as api:
        async with connect(api) as client:
            session = (await client.run("One."))["sessionId"]
            (workspace / "AGENTS.md").write_text("Be brief.\n")
            for prompt in ("Two.", "Three."):
                assert (await client.run(prompt, sessionId=session))["stopReason"] == "end_turn"
        assert [thoughts(api, number) for number in range(4)] == [0, 1, 0, 1]
        assert len(api.refusals) == 1


@pytest.mark.parametrize(
    "said",
    [
        "messages.1.content.0: Invalid `signature` in `thinking` block",
        "messages.1.content.0.thinking.signature: Field required",
    ],
)
async def test_fault_24_thinking_of_another_server_is_removed(connect: Connect, said: str) -> None:
    """docs/faults.md 24: if the user switches to a server that cannot read the thinking, the next attempt omits it."""
    thinking = Turn((Thinking("Hm."), Text("Done.")))
    with FakeApi(turns=[thinking, HttpError(400, "invalid_request_error", said), DONE]) as api:
        async with connect(api) as client:
            session = (await client.run("One."))["sessionId"]
            assert (await client.run("Two.", sessionId=session))["stopReason"] == "end_turn"
        assert [thoughts(api, number) for number in range(3)] == [0, 1, 0]


def writing(summary: Turn | HttpError) -> list[Answer]:
    """Turns that write a plan and eight files of 8,000 characters. Requests for a summary get `summary`."""
    writes = (
        Turn((Call("write_file", {"path": f"{number}.md", "content": f"{number} {'text ' * 1600}\n"}),))
        for number in range(8)
    )

    def play(body: Json) -> Turn | HttpError:
        is_summary = "<summarize>" in json.dumps(body["messages"][-1])
        answer = summary if is_summary else next(writes, DONE)
        return replace(answer, usage=sizes(body)) if isinstance(answer, Turn) else answer

    return [Turn((Call("todo", {"items": PLAN}),)), *[play] * 12]


@pytest.mark.parametrize(
    "summary",
    [
        Turn((Text("<think>So far it wrote some files."),), stop_reason="max_tokens"),
        Turn((Text("<think>So far it wrote some files.</think>"),)),
        Turn((Thinking("So far it wrote some files."),)),
        Turn((Text("So far it wrote some files."),)),
    ],
    ids=["cut-off", "only-tagged-thinking", "only-thinking", "text"],
)
async def test_fault_24_a_summary_replaces_the_old_messages(connect: Connect, summary: Turn) -> None:
    """docs/faults.md 24: the model writes a summary if clearing is not enough. The user's words, the plan and the list
    of proposals remain.

    If the model only thinks, its thinking is the summary.
    """
    with FakeApi(turns=writing(summary)) as api:
        async with connect(api, settings={"contextTokens": 10_000}) as client:
            result = await client.run("Write them all, please.")
            assert result["stopReason"] == "end_turn"
            assert any("summary" in event["text"] for event in client.events("compacted"))
            assert "So far it wrote" not in client.text()
        last = sent_messages(api)
        assert api.refusals == []
        for kept in (
            "Write them all, please.",
            "So far it wrote some files.",
            "[>] #1: Read them all",
            "- 0.md: create, +1 -0",
        ):
            assert kept in last


async def test_fault_24_a_conversation_too_long_to_be_summarized_is_removed(connect: Connect) -> None:
    """docs/faults.md 24: the model and the user learn that there is no summary, and what remains."""
    with FakeApi(turns=writing(TOO_LONG)) as api:
        async with connect(api, settings={"contextTokens": 10_000}) as client:
            assert (await client.run("Write them all, please."))["stopReason"] == "end_turn"
            said = " ".join(event["text"] for event in client.events("compacted"))
            assert "was removed, because it was too long to be summarized. Your messages, the plan and" in said
            assert "replaced by a summary" not in said
        last = sent_messages(api)
        assert api.refusals == []
        assert "Write them all, please." in last and "It could not be summarized." in last
        assert "[>] #1: Read them all" in last and "- 0.md: create, +1 -0" in last


async def test_the_output_of_an_ended_command_is_cleared_and_an_answer_of_the_user_is_not(
    connect: Connect, workspace: Path
) -> None:
    """docs/plan.md L15: no second call can restore either result, but the answer stays, as it has the user's words."""
    start = Turn((Call("bash", {"command": "seq -s, 900; exec sleep 1000", "background": True}),))
    kill = Turn((Call("ask_user", {"question": "Which?"}), Call("bash_kill", {"id": "cmd-1"})))
    is_written = threading.Event()
    answers = {
        "agent/approve": lambda params: {"option": "allow_once"},
        "agent/ask": lambda params: {"answer": "blue " * 200 + "or red"},
    }
    able = {"experimental": {"agent": {"approvals": True, "questions": True}}}
    with FakeApi(turns=[start, Wait(kill, is_written, 0), *reading(workspace, 8, False), DONE], plain=True) as api:
        async with connect(
            api, settings={"contextTokens": 12_000}, capabilities={**EDITOR, **able}, answers=answers
        ) as client:
            running = asyncio.ensure_future(client.run())
            await client.until(lambda: "899,900" in "".join(event["text"] for event in client.events("tool_output")))
            is_written.set()
            assert (await running)["stopReason"] == "end_turn"
        assert any("899,900" in sent_messages(api, number) for number in range(len(api.requests)))
        assert "899,900" not in sent_messages(api)
        assert "[Cleared to save space: bash_kill cmd-1, 2 lines." in sent_messages(api)
        assert "blue or red" in sent_messages(api)


async def test_fault_24_a_request_that_is_too_long_is_compacted_once(connect: Connect, workspace: Path) -> None:
    """docs/faults.md 24: an unknown window is learned from the error."""
    turns = [*reading(workspace, 6), TOO_LONG, lambda body: Turn((Text("Done."),), usage=sizes(body))]
    with FakeApi(turns=turns) as api:
        async with connect(api, settings={"model": "some-local-model"}) as client:
            result = await client.run()
            assert (result["stopReason"], len(client.events("compacted"))) == ("end_turn", 1)
            limits = [event["contextLimit"] for event in client.events("usage")]
            assert (limits[0], limits[-1] is None) == (None, False)
        assert "[Cleared to save space" in sent_messages(api)
        assert api.refusals == []


async def test_fault_24_an_answer_that_fills_the_window_continues(connect: Connect, workspace: Path) -> None:
    """docs/faults.md 24: after `model_context_window_exceeded` the history is compacted and the answer continues."""

    def full(body: Json) -> Turn:
        return Turn((Text("I was about to"),), stop_reason="model_context_window_exceeded", usage=sizes(body))

    with FakeApi(turns=[*reading(workspace, 4), full, DONE]) as api:
        async with connect(api, settings={"model": "some-local-model"}) as client:
            result = await client.run()
            assert (result["stopReason"], len(client.events("compacted"))) == ("end_turn", 1)
        assert api.refusals == []


async def test_fault_24_a_history_that_cannot_fit_ends_with_advice(connect: Connect) -> None:
    """docs/faults.md 24: if nothing can be compacted, an error says so, and the session remains usable."""
    with FakeApi(turns=[TOO_LONG, DONE]) as api:
        async with connect(api) as client:
            result = await client.run("Think of this: " + "word " * 8000)
            assert (result["stopReason"], result["error"]["kind"]) == ("error", "context_overflow")
            assert "Start a new task" in result["message"]
            assert (await client.run("Shorter.", sessionId=result["sessionId"]))["stopReason"] == "end_turn"
        assert api.refusals == []


async def test_reading_an_unchanged_file_again_returns_a_note(connect: Connect, workspace: Path) -> None:
    """The note is returned while the file's text is still in the conversation.

    A third call returns the whole text, and so does a call after the file has changed.
    """
    (workspace / "a.txt").write_text("line\n" * 400)
    read = Turn((Call("read_file", {"path": "a.txt"}),))
    edit = Turn((Call("write_file", {"path": "a.txt", "content": "other\n" * 400}),))
    with FakeApi(turns=[read, read, read, edit, read, DONE]) as api:
        async with connect(api) as client:
            await client.run()
        blocks = [m["content"][0] for m in api.requests[-1].body["messages"] if m["role"] == "user"]
        first, second, third, _, changed = [block["content"] for block in blocks[1:]]
        assert first == third == "line\n" * 400
        assert second.startswith("(Unchanged: the same call of read_file returned a.txt before")
        assert changed == "other\n" * 400


async def test_a_file_whose_text_was_cleared_is_sent_again(connect: Connect, workspace: Path) -> None:
    """No note refers to a text that is no longer there."""
    again = Turn((Call("read_file", {"path": "0.txt"}),))
    with FakeApi(turns=[*reading(workspace, 8), again, DONE]) as api:
        async with connect(api, settings={"contextTokens": 12_000}) as client:
            await client.run()
            assert client.events("compacted")
        assert api.requests[-1].body["messages"][-1]["content"][0]["content"].startswith("0: word")
        assert api.refusals == []
