"""What the fake Messages API refuses and accepts, over raw HTTP."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from . import FakeApi, Text, Turn
from . import rules as request_rules
from .ask import Ask
from .cache import PromptCache
from .rule_cases import ACCEPTED, NO_JSON, PLAIN, REFUSED, THOUGHT_TURN, TWICE_TURN, Case
from .wire import HEADERS, Json, ask, send, talk, tool, user


@pytest.fixture(scope="module")
def strict() -> Iterator[FakeApi]:
    """A server that has sent thinking, and whose script then ends."""
    with FakeApi([THOUGHT_TURN, TWICE_TURN]) as api:
        assert [send(api.url, ask())[0] for _ in range(2)] == [200, 200]
        yield api


def refused(api: FakeApi, case: Case) -> str:
    """The reason that the server gives for the 400; it is also the last of its `refusals`."""
    status, answer = send(api.url, case.body, case.headers)
    error = json.loads(answer)
    assert (status, error["type"], error["error"]["type"]) == (400, "error", "invalid_request_error")
    assert api.refusals[-1] == error["error"]["message"]
    return error["error"]["message"]


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.rule.__name__)
def test_refused(strict: FakeApi, case: Case) -> None:
    """Each request breaks one rule, and the server names it as the API does."""
    assert refused(strict, case).startswith(case.reason)


@pytest.mark.parametrize("body", ACCEPTED.values(), ids=ACCEPTED)
def test_accepted(strict: FakeApi, body: Json) -> None:
    """Valid requests are accepted."""
    strict.push(Turn((Text("Fine."),)))
    assert send(strict.url, body)[0] == 200


def test_a_beta_field_needs_its_header(strict: FakeApi) -> None:
    """The field that is refused in `REFUSED` is accepted with the header that names the beta."""
    strict.push(Turn((Text("Fine."),)))
    beta = {**HEADERS, "anthropic-beta": "context-management-2025-06-27"}
    assert send(strict.url, ask(context_management={"edits": []}), beta)[0] == 200


@settings(deadline=None)
@given(st.data())
def test_no_body_makes_a_rule_raise(data: st.DataObject) -> None:
    """Whatever replaces a value of a valid or refused body, the rules return a reason or None."""
    body = copy.deepcopy(data.draw(st.sampled_from([*ACCEPTED.values(), *TABLE_BODIES])))
    place: Any = body
    while True:
        key = data.draw(st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place))))
        if not isinstance(place[key], dict | list) or not place[key] or data.draw(st.booleans()):
            break
        place = place[key]
    place[key] = data.draw(ANY_JSON)
    reason = request_rules.refusal(Ask(HEADERS, body), request_rules.rules(plain=True, alternate=True))
    assert reason is None or isinstance(reason, str)
    if reason is None:
        PromptCache(enabled=True).usage(body)


ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["type", "text"]), inner),
    max_leaves=3,
)
TABLE_BODIES = [case.body for case in REFUSED if isinstance(case.body, dict)]


def test_every_rule_has_a_case() -> None:
    """Each rule refuses at least one request in `rule_cases.py`."""
    assert {case.rule for case in REFUSED} == set(request_rules.RULES)
    assert {case.rule for case in PLAIN} == set(request_rules.PLAIN_RULES)


@pytest.mark.parametrize(("raw", "reason"), NO_JSON)
def test_a_body_that_is_not_json_is_refused(strict: FakeApi, raw: bytes, reason: str) -> None:
    """Invalid JSON, invalid UTF-8 and lone surrogates are refused. The request is recorded anyway."""
    message = refused(strict, Case(request_rules.known_fields, "", raw))
    assert message.startswith(f"The request body is not valid JSON: {reason}")
    assert (strict.requests[-1].raw, strict.requests[-1].body) == (raw, {})


def test_a_body_that_is_not_an_object_is_refused(strict: FakeApi) -> None:
    """The reason differs from the one for invalid JSON."""
    assert refused(strict, Case(request_rules.known_fields, "", b"[]")) == "Input should be a valid dictionary"


@pytest.mark.parametrize("case", PLAIN, ids=lambda case: case.rule.__name__)
def test_a_plain_server_refuses_unknown_fields(case: Case) -> None:
    """`plain=True`: newer fields, roles and types of blocks are refused, and the reason says where they are."""
    with FakeApi([THOUGHT_TURN], plain=True) as api:
        send(api.url, ask())
        assert refused(api, case).startswith(case.reason)


@pytest.mark.parametrize("stream", [True, False])
def test_a_plain_server_counts_without_a_cache(stream: bool) -> None:
    """Its usage contains only input_tokens and output_tokens."""
    with FakeApi([THOUGHT_TURN], plain=True) as api:
        answer = send(api.url, ask(stream=stream, system="s", tools=[tool()]))[1]
        assert b"input_tokens" in answer
        assert b"cache" not in answer


def test_alternate_refuses_two_messages_of_one_role_in_a_row() -> None:
    """The real API merges them, but some other servers do not."""
    (rule,) = request_rules.ALTERNATE_RULES
    reason = 'messages: roles must alternate between "user" and "assistant", but found multiple "user" roles'
    with FakeApi([THOUGHT_TURN], alternate=True) as api:
        assert refused(api, Case(rule, reason, talk(user("a"), user("b")))).startswith(reason)
        assert send(api.url, ask())[0] == 200
