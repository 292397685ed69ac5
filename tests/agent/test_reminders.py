"""When the loop reminds the model of the plan, and how (docs/plan.md L5 to L8)."""

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from agent.turns import DONE, PLAN, Connect, notes, say
from support.fake_api import Call, FakeApi


def is_subsequence(found: Sequence[int], expected: Sequence[int]) -> bool:
    """Whether `found` has the expected states in order and the last one. Others may be missing, because a newer state
    replaced them before they were sent.
    """
    rest = iter(expected)
    return all(each in rest for each in found) and found[-1] == expected[-1]


async def test_l5_l6_l8_the_reminder_follows_the_results_and_repeats(connect: Connect, workspace: Path) -> None:
    """docs/plan.md L5, L6, L8: after three rounds without a rewrite, each round has one reminder, after the results."""
    turns = [say(Call("todo", {"items": PLAN}))]
    turns += [say(Call("search", {"pattern": f"x{n}"})) for n in range(4)]
    turns += [say(Call("todo", {"items": [{"content": " "}]})), say(Call("todo", {"items": PLAN})), DONE]
    with FakeApi(turns=turns) as api:
        async with connect(api) as client:
            await client.run()
            counters = [count for count, _ in groupby(p["roundsSinceUpdate"] for p in client.all("agent/plan"))]
        said = [notes(api, number) for number in range(1, len(turns))]
        # the third round after the plan is the first with a reminder; the failed rewrite does not reset the counter
        assert [len(texts) for texts in said] == [0, 0, 0, 1, 1, 1, 0]
        assert all(texts[0].startswith("<reminder>Update your todos.") for texts in said if texts)
        assert all(texts[0].endswith("</reminder>") for texts in said if texts)
        last = api.requests[4].body["messages"][-1]["content"]
        assert [block["type"] for block in last] == ["tool_result", "text"]
        assert is_subsequence(counters, [0, 1, 2, 3, 4, 0])
        # reminders stay in the conversation, so the cached prefix stays valid
        earlier, later = api.requests[4].body["messages"], api.requests[6].body["messages"]
        assert later[: len(earlier)] == earlier
        assert api.refusals == []


async def test_l5_the_counter_starts_at_zero_in_each_run_and_p11_the_plan_stays(connect: Connect) -> None:
    """docs/plan.md L5 and P11: the next run of the session has the old plan and a new counter."""
    turns = [say(Call("todo", {"items": PLAN})), say(Call("search", {"pattern": "a"})), DONE]
    with FakeApi(turns=[*turns, say(Call("search", {"pattern": "b"})), DONE]) as api:
        async with connect(api) as client:
            first = await client.run()
            await client.run("Go on.", sessionId=first["sessionId"])
            plans = client.all("agent/plan")
        counters = [count for count, _ in groupby(plan["roundsSinceUpdate"] for plan in plans)]
        assert is_subsequence(counters, [0, 1, 0, 1])
        assert [item["content"] for item in plans[-1]["items"]] == ["One", "Two"]
        assert api.refusals == []
