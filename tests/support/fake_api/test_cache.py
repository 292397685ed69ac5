"""How the fake Messages API counts a cached prompt."""

from __future__ import annotations

import json

import pytest

from . import FakeApi, Text, Turn
from .wire import Json, ask, assistant, result, send, talk, text, tool, use, user

MARK = {"type": "ephemeral"}


def usages(*bodies: Json, caching: bool = True) -> list[tuple[int, int, int]]:
    """Sends the bodies in order. Returns the tokens of each: (read from the cache, written to it, uncached)."""
    with FakeApi([Turn((Text("x"),))] * len(bodies), caching=caching) as api:
        counts = [json.loads(send(api.url, body)[1])["usage"] for body in bodies]
        assert api.refusals == []
    read, created = "cache_read_input_tokens", "cache_creation_input_tokens"
    return [(count[read], count[created], count["input_tokens"]) for count in counts]


def test_a_growing_conversation_is_read_from_the_cache() -> None:
    """With the automatic mark each request reads the whole previous one and writes the new part."""
    history = [user("a" * 4000)]
    first = talk(*history, tools=[tool()], system="s" * 4000, cache_control=MARK)
    second = {**first, "messages": [*history, assistant("b" * 400), user("c" * 400)]}
    (read0, created0, rest0), (read1, created1, rest1) = usages(first, second)
    assert (read0, rest0, rest1) == (0, 0, 0)
    assert created0 > 2000
    assert read1 == created0
    assert 200 < created1 < 250


def test_without_marks_or_without_caching_nothing_is_cached() -> None:
    """Without marks, or if the server does not cache, all input tokens count as uncached."""
    body = ask(system="s" * 4000)
    for read, created, rest in [*usages(body, body), *usages({**body, "cache_control": MARK}, caching=False)]:
        assert (read, created) == (0, 0)
        assert rest > 1000


@pytest.mark.parametrize(
    ("change", "still_cached"),
    [
        ({"messages": [user("other")]}, "tools and system"),
        ({"thinking": {"type": "adaptive"}}, "tools and system"),
        ({"system": [text("other", cache_control=MARK)]}, "tools"),
        ({"tools": [tool(description="other", cache_control=MARK)]}, "nothing"),
        ({"model": "claude-haiku-5-5"}, "nothing"),
        ({"system": [text("s" * 400)]}, "all"),
    ],
    ids=lambda value: value if isinstance(value, str) else next(iter(value)),
)
def test_a_change_invalidates_the_rest_of_the_cached_prompt(change: Json, still_cached: str) -> None:
    """Parts before the change that end at a mark are still read; removing a mark loses nothing."""
    tools = {"tools": [tool(description="d" * 400, cache_control=MARK)]}
    system = {"system": [text("s" * 400, cache_control=MARK)]}
    body = ask(**tools, **system, cache_control=MARK)
    written = {
        "nothing": 0,
        "tools": usages(ask(**tools))[0][1],
        "tools and system": usages(ask(**tools, **system))[0][1],
        "all": usages(body)[0][1],
    }
    assert usages(body, {**body, **change})[1][0] == written[still_cached]


def test_a_hit_needs_the_same_bytes_in_the_same_order() -> None:
    """The same keys in a different order make a different prompt."""
    body = ask(tools=[tool()], cache_control=MARK)
    reordered = {**body, "tools": [dict(reversed(tool().items()))]}
    assert usages(body, reordered)[1][0] == 0


@pytest.mark.parametrize(("new", "found"), [(19, True), (20, False)])
def test_a_mark_looks_back_over_20_blocks(new: int, found: bool) -> None:
    """The 20 blocks include the mark's own. After a longer round nothing is read, as with the real API."""
    first = talk(user("a" * 4000), cache_control=MARK)
    second = {**first, "messages": [*first["messages"], user(*["more"] * new)]}
    assert (usages(first, second)[1][0] > 0) == found


def test_parallel_calls_count_as_one_block_when_a_mark_looks_back() -> None:
    """30 calls and their 30 results count as two blocks."""
    first = talk(user("a" * 4000), cache_control=MARK)
    ids = [f"p{number}" for number in range(30)]
    round_of_30 = [assistant(*map(use, ids)), user(*map(result, ids))]
    second = {**first, "messages": [*first["messages"], *round_of_30]}
    assert usages(first, second)[1][0] > 0
