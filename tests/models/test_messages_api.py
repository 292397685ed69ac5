"""The Messages API through the SDK and a socket, against a server that refuses what the API refuses."""

import json
from itertools import pairwise

from fairlead.agent.model import Reply, Request, ThinkingDelta, Usage
from fairlead.messages.history import History
from fairlead.messages.parts import Note, Prompt, Result
from fairlead.models.anthropic.encode import encode_message
from models.asking import HELLO, MODEL, TOOLS, asked, events, opened, reply, shown
from support.fake_api import BadJson, Call, FakeApi, Text, Thinking, Turn
from support.messages import assistant, user


async def test_an_answer_streams_and_ends_with_the_reply() -> None:
    """Deltas of thinking and of text arrive separately, then exactly one reply with calls, content and usage."""
    turn = Turn((Thinking("First this. 日本"), Text("I look."), Call("bash", {"command": "ls '日本'\n"})), chunk=4)
    with FakeApi([turn]) as api:
        async with opened(api) as model:
            seen = await events(model)
        last = seen[-1]
        assert isinstance(last, Reply)
        assert not any(isinstance(event, Reply) for event in seen[:-1])
        assert shown(seen) == "I look."
        assert "".join(event.text for event in seen if isinstance(event, ThinkingDelta)) == "First this. 日本"
        (call,) = last.calls
        assert (call.name, call.input, call.problem) == ("bash", {"command": "ls '日本'\n"}, None)
        assert [type(part).__name__ for part in last.parts] == ["Thinking", "Text", "Call"]
        assert (last.stop, last.text, last.usage.requests) == ("calls", "I look.", 1)
        assert last.usage.input_tokens > 0
        assert last.usage.output_tokens > 0
        assert api.refusals == []


async def test_a_request_has_the_expected_fields_and_headers() -> None:
    """One streamed request contains the tools, a cache mark for the system prompt, an automatic one, and the key."""
    with FakeApi([HELLO]) as api:
        async with opened(api, effort="low") as model:
            await events(model)
        (request,) = api.requests
        assert {key: value for key, value in request.body.items() if key not in ("messages", "tools")} == {
            "model": MODEL,
            "max_tokens": 1000,
            "stream": True,
            "cache_control": {"type": "ephemeral"},
            "thinking": {"type": "adaptive", "display": "summarized"},
            "output_config": {"effort": "low"},
            "system": [{"type": "text", "text": "You help.", "cache_control": {"type": "ephemeral"}}],
        }
        assert request.body["tools"] == [
            {"name": "bash", "description": "Runs a command.", "input_schema": TOOLS[0].input_schema}
        ]
        assert request.raw.count(b"cache_control") == 2
        assert request.headers["authorization"] == "Bearer test-key"
        assert request.headers["content-type"] == "application/json"


async def test_thinking_is_sent_back_unchanged() -> None:
    """The API refuses thinking that was changed, omitted or moved, even if it is between calls or has no text."""
    turns = [
        Turn((Thinking("One. 日本 "), Call("bash", {"n": "a"}), Thinking("Two."), Call("bash", {"n": "b"}))),
        Turn((Thinking(""), Text("So."), Call("bash", {"command": "c"}))),
        HELLO,
    ]
    history = History()
    history.add_user_message([Prompt("hi")])
    with FakeApi(turns) as api:
        async with opened(api, model="claude-sonnet-5-5") as model:
            for _ in turns:
                answer = await reply(model, asked(*history.messages))
                history.add_reply(answer.parts)
                if answer.calls:
                    history.add_results([Result(call.id, "ok") for call in answer.calls])
        assert api.refusals == []
        assert [m["content"] for m in api.requests[-1].body["messages"] if m["role"] == "assistant"] == [
            encode_message(m)["content"] for m in history.messages[:-1] if m.role == "assistant"
        ]


async def test_a_call_with_a_problem_can_be_sent_back() -> None:
    """docs/faults.md 15, 21: whatever the problem is, the API accepts the next request."""
    bad = ['{"command": "rm', '{"n": 1e999}', '{"s": "\\ud800"}', '["x"]', "[" * 5000, '{"n": NaN}']
    history = History()
    history.add_user_message([Prompt("hi")])
    with FakeApi([BadJson("bash", text) for text in bad] + [HELLO]) as api:
        async with opened(api) as model:
            for _ in bad:
                answer = await reply(model, asked(*history.messages))
                assert answer.calls[0].problem
                history.add_reply(answer.parts)
                history.add_results([Result(answer.calls[0].id, answer.calls[0].problem, is_error=True)])
            await reply(model, asked(*history.messages))
        assert api.refusals == []


async def test_the_next_conversation_reads_the_tools_and_the_system_prompt_from_the_cache() -> None:
    """Another session sends the same tools and system prompt, and another task."""
    requests = [Request("You help. " * 100, TOOLS, [user(task)]) for task in ("Do it.", "Do that.")]
    with FakeApi([HELLO, HELLO], caching=True) as api:
        async with opened(api) as model:
            first, second = [(await reply(model, request)).usage for request in requests]
        assert api.refusals == []
    assert first.cache_read_tokens == 0
    assert second.cache_read_tokens > 0.9 * first.cache_write_tokens


async def test_twenty_rounds_come_from_the_cache_and_each_message_is_encoded_once() -> None:
    """Bytes that were sent never change, so each request reads from the cache everything that the one before wrote."""
    rounds = 20
    turns = [Turn((Thinking(f"{n}?"), Text(f"Round {n} 日本"), Call("bash", {"é": "🚀"}))) for n in range(rounds)]
    history = History()
    history.add_user_message([Prompt("Do it. " * 100)])
    total = Usage()
    sent_before = 0
    with FakeApi([*turns, HELLO], caching=True) as api:
        async with opened(api) as model:
            for number in range(rounds + 1):
                answer = await reply(model, asked(*history.messages))
                used = answer.usage
                assert used.cache_read_tokens >= sent_before - 1
                sent_before = used.cache_read_tokens + used.cache_write_tokens
                total += used
                history.add_reply(answer.parts)
                if answer.calls:
                    notes = [Note("reminder", "Update your todos.")] if number % 3 == 2 else []
                    history.add_results([Result(call.id, "output " * 30) for call in answer.calls])
                    history.add_to_user_message(notes)
        bodies = [request.raw for request in api.requests]
        assert api.refusals == []
    assert all(later.startswith(body[: -len(b"]}")]) for body, later in pairwise(bodies))
    assert all(json.loads(body)["cache_control"] == {"type": "ephemeral"} for body in bodies)
    assert all(body.count(b"cache_control") == 2 for body in bodies)
    everything = total.input_tokens + total.cache_read_tokens + total.cache_write_tokens
    assert total.requests == rounds + 1
    assert total.cache_read_tokens / everything > 0.85
    assert total.input_tokens == 0


async def test_another_conversation_is_encoded_again() -> None:
    """Encoded messages of one conversation are never sent in another one, even if that is shorter."""
    first, other = [user("one")], [user("one")]
    longer = [*first, assistant("x"), user("y")]
    with FakeApi([HELLO] * 4) as api:
        async with opened(api) as model:
            for messages in (longer, first, other, longer):
                await reply(model, asked(*messages))
        assert [request.body["messages"] for request in api.requests] == [
            list(map(encode_message, messages)) for messages in (longer, first, other, longer)
        ]
