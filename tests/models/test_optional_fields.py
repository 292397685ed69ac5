"""Fields that not every server supports: sent until the server refuses them."""

from dataclasses import replace

import pytest

from fairlead.agent.model import Retrying, ServerClearing, Usage
from fairlead.messages.history import History
from fairlead.messages.parts import Call, Message, Prompt, Result
from models.asking import ANSWER, HELLO, asked, events, failure, opened, reply, shown
from support.fake_api import FakeApi, HttpError


def long_talk(count: int) -> list[Message]:
    """A conversation with `count` commands, each with 4,000 characters of output."""
    history = History()
    history.add_user_message([Prompt("hi")])
    for number in range(count):
        history.add_reply([Call(f"t{number}", "bash", {"command": "ls"})])
        history.add_results([Result(f"t{number}", f"{number} " + "x" * 4000)])
    return list(history.messages)


async def test_fault_24_the_api_clears_old_results() -> None:
    """docs/faults.md 24, docs/plan.md L15: the request has a beta header, and the reply contains the number of cleared
    results.
    """
    clearing = ServerClearing(trigger=5000, min_cleared=1000, keep=3, excluded_tools=("todo",))
    request = replace(asked(*long_talk(8)), clearing=clearing)
    with FakeApi([HELLO, HELLO]) as api:
        async with opened(api) as model:
            assert (await reply(model, request)).cleared_results == 5
            assert (await reply(model, replace(request, clearing=None))).cleared_results == 0
        first, second = api.requests
        assert first.body["context_management"] == {
            "edits": [
                {
                    "type": "clear_tool_uses_20250919",
                    "trigger": {"type": "input_tokens", "value": 5000},
                    "keep": {"type": "tool_uses", "value": 3},
                    "clear_at_least": {"type": "input_tokens", "value": 1000},
                    "exclude_tools": ["todo"],
                }
            ]
        }
        assert first.headers["anthropic-beta"] == "context-management-2025-06-27"
        assert "anthropic-beta" not in second.headers and "context_management" not in second.body
        assert api.refusals == []


async def test_fault_24_a_server_without_context_editing_is_asked_only_once() -> None:
    """docs/faults.md 24: once it has refused, requests no longer contain the field."""
    clearing = ServerClearing(trigger=5000, min_cleared=1000, keep=3, excluded_tools=())
    request = replace(asked(*long_talk(8)), clearing=clearing)
    with FakeApi([HELLO, HELLO], plain=True) as api:
        async with opened(api) as model:
            assert [(await reply(model, request)).cleared_results for _ in range(2)] == [0, 0]
        assert ["context_management" in request.body for request in api.requests][-2:] == [False, False]


REJECTED = HttpError(400, "invalid_request_error", "unsupported parameter")


async def test_a_refusal_that_names_no_field_is_retried_without_optional_fields() -> None:
    """Fields that the server did not accept the first time are not sent again."""
    picky = [lambda body: REJECTED if "thinking" in body else HELLO] * 3
    with FakeApi(picky) as api:
        async with opened(api, effort="low") as model:
            assert [shown(await events(model)) for _ in range(2)] == [ANSWER, ANSWER]
        optional = [
            [name for name in ("cache_control", "thinking", "output_config") if name in r.body] for r in api.requests
        ]
        assert optional == [["cache_control", "thinking", "output_config"], ["cache_control"], ["cache_control"]]


async def test_the_cache_mark_is_the_last_field_to_be_omitted() -> None:
    """Without the cache mark, each request costs much more."""
    picky = [lambda body: REJECTED if "cache_control" in body else HELLO] * 4
    with FakeApi(picky) as api:
        async with opened(api) as model:
            assert [shown(await events(model)) for _ in range(2)] == [ANSWER, ANSWER]
        optional = [[name for name in ("cache_control", "thinking") if name in r.body] for r in api.requests]
        assert optional == [["cache_control", "thinking"], ["cache_control"], [], []]


async def test_a_model_without_effort_keeps_the_other_fields() -> None:
    """The API's error says “effort”, but the field is called `output_config`."""
    refusal = HttpError(400, "invalid_request_error", "This model does not support the effort parameter.")
    with FakeApi([lambda body: refusal if "output_config" in body else HELLO] * 2) as api:
        async with opened(api, effort="low") as model:
            assert shown(await events(model)) == ANSWER
        assert {"cache_control", "thinking"} <= api.requests[-1].body.keys()
        assert len(api.requests) == 2


async def test_a_refusal_for_another_reason_removes_no_field() -> None:
    """After the fields were accepted once, a request that is refused is not even sent a second time."""
    other = HttpError(400, "invalid_request_error", "This workspace is archived")
    with FakeApi([other, other, other, HELLO, other]) as api:
        async with opened(api) as model:
            assert "archived" in (await failure(model)).message
            assert shown(await events(model)) == ANSWER
            assert "archived" in (await failure(model)).message
        assert ["thinking" in request.body for request in api.requests] == [True, False, False, True, True]


async def test_refused_fields_are_not_sent_again() -> None:
    """Caching, thinking and effort are each omitted after one refusal, and no retry is shown."""
    with FakeApi([HELLO, HELLO], plain=True, require_key=False) as api:
        async with opened(api, api_key=None, effort="high") as model:
            first = await events(model)
            assert (shown(first), any(isinstance(event, Retrying) for event in first)) == (ANSWER, False)
            refused = len(api.refusals)
            assert refused == 3
            second = await reply(model)
            assert len(api.refusals) == refused
        assert second.usage == Usage(1, second.usage.input_tokens, 0, 0, second.usage.output_tokens)
        last = api.requests[-1].body
        assert {"cache_control", "thinking", "output_config"}.isdisjoint(last)
        assert last["system"] == "You help."


@pytest.mark.parametrize(
    "message",
    [
        "messages.1.content.0: Invalid `signature` in `thinking` block",
        # two forms of the same error of pydantic, from a server that does not know the block
        "[{'type': 'literal_error', 'loc': ('body', 'messages', 1, 'content', 0, 'type'), 'msg': \"Input should be "
        "'text', 'image', 'tool_use' or 'tool_result'\", 'input': 'thinking'}]",
        "body.messages.1.content.0.type Input should be 'text', 'image', 'tool_use' or 'tool_result' "
        "[type=literal_error, input_value='thinking', input_type=str]",
    ],
)
async def test_a_refusal_of_a_thinking_block_keeps_the_field(message: str) -> None:
    """A refused block of the conversation does not mean that thinking is unsupported."""
    error = HttpError(400, "invalid_request_error", message)
    with FakeApi([error, HELLO]) as api:
        async with opened(api) as model:
            refused = await failure(model)
            assert refused.kind == "no_thinking"
            assert len(api.requests) == 1
            await events(model)
        assert "thinking" in api.requests[-1].body
