"""Limits that end a run (docs/plan.md L10, L14): repeated calls, budgets, and rounds without progress."""

from pathlib import Path
from typing import Any

import pytest

from agent.turns import DONE, PLAN, Connect, results, say
from fairlead.agent.outcome import REDIRECT
from support.fake_api import Call, Cut, FakeApi, Text


async def test_l10_the_same_call_twice_is_not_run_again(connect: Connect, workspace: Path) -> None:
    """docs/plan.md L10: the second of two equal calls is not run, and its error says why; reading again is allowed."""
    write = Call("write_file", {"path": "a.txt", "content": "same"})
    (workspace / "a.txt").write_text("same")
    read = Call("read_file", {"path": "a.txt"})
    with FakeApi(turns=[say(write), say(write), say(read), say(read), DONE]) as api:
        async with connect(api) as client:
            await client.run()
        assert "nothing was proposed" in results(api, 1)[0]["content"]
        assert "the same call was made just before" in results(api, 2)[0]["content"]
        assert [results(api, n)[0]["content"] for n in (3, 4)] == ["same", "same"]
        assert api.refusals == []


async def test_l10_a_change_in_between_allows_the_same_call(connect: Connect, workspace: Path) -> None:
    """docs/plan.md L10: after a change to a proposal or the plan, the same call is run again: its result may differ."""
    (workspace / "a.txt").write_text("1")
    same = Call("write_file", {"path": "a.txt", "content": "1"})
    plan, other = Call("todo", {"items": PLAN}), Call("write_file", {"path": "b.txt", "content": "2"})
    with FakeApi(turns=[say(same), say(plan), say(same), say(other), say(same), DONE]) as api:
        async with connect(api) as client:
            await client.run()
        texts = [results(api, n)[0]["content"] for n in (1, 3, 5)]
        assert all("nothing was proposed" in text for text in texts)
        assert api.refusals == []


@pytest.mark.parametrize(
    "call", [Call("search", {"pattern": "x"}), Call("fly", {}), Call("bash", {"command": "true"})], ids=lambda c: c.name
)
async def test_l10_fault_23_the_same_call_many_times_ends_the_run(connect: Connect, call: Call) -> None:
    """docs/plan.md L10, docs/faults.md 23: the fifth identical call in a row ends the run, exempt tools included. The
    next prompt works."""
    with FakeApi(turns=[say(call)] * 5) as api:
        async with connect(api, answers={"agent/approve": lambda _: {"option": "allow_once"}}) as client:
            result = await client.run()
            assert result["stopReason"] == "loop"
            assert "same call" in result["message"]
            assert len(api.requests) == 5
            api.push(DONE)
            assert (await client.run("And now?", sessionId=result["sessionId"]))["stopReason"] == "end_turn"
        assert api.refusals == []


async def test_l14_a_token_budget_pauses_the_run(connect: Connect, workspace: Path) -> None:
    """docs/plan.md L14: the message names the limit and the value; the next prompt continues with a new budget."""
    look = [say(Call("search", {"pattern": f"x{n}"}), usage={"input_tokens": 600}) for n in range(3)]
    with FakeApi(turns=look) as api:
        async with connect(api, settings={"budget": {"tokens": 1000}}) as client:

            async def phase() -> str:
                return (await client.request("agent/sessions/list", {}))["sessions"][0]["phase"]

            first = await client.run()
            assert first["stopReason"] == "budget"
            assert "the budget is 1,000 (setting budget.tokens)" in first["message"]
            assert len(api.requests) == 2
            assert await phase() == "paused"
            api.push(DONE)
            assert (await client.run("continue", sessionId=first["sessionId"]))["stopReason"] == "end_turn"
            assert await phase() == "idle"
        assert api.refusals == []


async def test_l14_a_cost_budget_pauses_the_run(connect: Connect) -> None:
    """docs/plan.md L14: the budget is in US dollars, and the price list determines what a run costs."""
    look = [say(Call("search", {"pattern": f"x{n}"}), usage={"input_tokens": 100_000}) for n in range(3)]
    settings = {"model": "claude-sonnet-5-5", "budget": {"costUsd": 0.35}, "contextTokens": 1_000_000}
    with FakeApi(turns=look) as api:
        async with connect(api, settings=settings) as client:
            result = await client.run()
        assert result["stopReason"] == "budget"
        assert "the run cost $0.40, and the budget is $0.35 (setting budget.costUsd)" in result["message"]
        assert api.refusals == []


async def test_l14_a_cost_budget_without_a_price_is_reported_once(connect: Connect) -> None:
    """docs/plan.md L14: for each model whose price is unknown, when a run begins; otherwise nothing is reported."""
    settings = {"model": "local-1", "budget": {"costUsd": 0.35}}
    with FakeApi(turns=[DONE] * 5) as api:
        async with connect(api, settings=settings) as client:

            async def run(**changes: Any) -> list[str]:
                client.notify("workspace/didChangeConfiguration", {"settings": changes})
                await client.run()
                return [message["message"] for message in client.all("window/showMessage")]

            first = await run()
            assert first == [
                "Fairlead: The setting budget.costUsd has no effect, because the price of the model “local-1” is "
                "unknown. Set budget.tokens or budget.minutes instead."
            ]
            assert await run() == first
            assert await run(model="claude-sonnet-5-5") == first
            assert await run(model="local-2", budget={"costUsd": 0}) == first
            assert len(await run(budget={"costUsd": 0.35})) == 2
            price = {"local-3": {"inputPrice": 1, "outputPrice": 2}}
            priced = await run(model="local-3", endpoints={"anthropic": {"models": price}})
            assert len(priced) == 2


async def test_l14_a_cost_budget_counts_with_the_prices_of_the_settings(connect: Connect) -> None:
    """docs/plan.md L14: for a model that Fairlead does not know, the user's prices determine what a run costs."""
    look = [say(Call("search", {"pattern": f"x{n}"}), usage={"input_tokens": 100_000}) for n in range(3)]
    models = {"local-1": {"inputPrice": 2, "outputPrice": 4, "contextTokens": 1_000_000}}
    settings = {"model": "local-1", "budget": {"costUsd": 0.35}, "endpoints": {"anthropic": {"models": models}}}
    with FakeApi(turns=look) as api:
        async with connect(api, settings=settings) as client:
            assert "the run cost $0.40, and the budget is $0.35" in (await client.run())["message"]


async def test_l14_each_run_has_at_least_one_round(connect: Connect) -> None:
    """docs/plan.md L14: each prompt is sent even if the budget is used up at once."""
    look = [say(Call("search", {"pattern": f"x{n}"})) for n in range(2)]
    with FakeApi(turns=[*look, DONE]) as api:
        async with connect(api, settings={"budget": {"minutes": 0.00001}}) as client:
            first = await client.run()
            again = {"sessionId": first["sessionId"]}
            assert first["stopReason"] == "budget" and "setting budget.minutes" in first["message"]
            assert (await client.run("continue", **again))["stopReason"] == "budget"
            assert (await client.run("continue", **again))["stopReason"] == "end_turn"
        assert api.refusals == []


async def test_l14_a_broken_answer_is_not_requested_again_if_the_budget_is_used_up(connect: Connect) -> None:
    """docs/plan.md L14: each attempt costs as much as an answer. Within the budget, the next attempt is made."""
    answer = say(Text("Done."), usage={"input_tokens": 600})
    broken = Cut(answer, after=1)
    with FakeApi(turns=[broken, broken]) as api:
        async with connect(api, settings={"budget": {"tokens": 1000}}) as client:
            first = await client.run()
            assert first["stopReason"] == "budget"
            assert "the budget is 1,000 (setting budget.tokens)" in first["message"]
            assert (len(api.requests), len(client.events("retry"))) == (2, 1)
            api.push(answer)
            assert (await client.run("continue", sessionId=first["sessionId"]))["stopReason"] == "end_turn"
        assert api.refusals == []


async def test_l14_rounds_without_progress_pause_the_run(connect: Connect, workspace: Path) -> None:
    """docs/plan.md L14: repeating two searches in turn is no progress; different searches are."""
    searches = [say(Call("search", {"pattern": f"x{n}"})) for n in range(6)]
    repeated = [say(Call("search", {"pattern": f"x{n % 2}"})) for n in range(6)]
    with FakeApi(turns=[*searches, *repeated]) as api:
        async with connect(api, settings={"loop": {"maxIdleRounds": 4}}) as client:
            result = await client.run()
        assert result["stopReason"] == "loop"
        assert "in 4 rounds, nothing was proposed or learned" in result["message"]
        assert len(api.requests) == 6 + 4
        assert api.refusals == []


async def test_l14_the_same_error_in_five_rounds_pauses_the_run(connect: Connect) -> None:
    """docs/plan.md L14: the run pauses even if the calls that cause the error differ."""
    with FakeApi(turns=[say(Call("fly", {"to": n})) for n in range(9)]) as api:
        async with connect(api) as client:
            result = await client.run()
        assert result["stopReason"] == "loop"
        assert "the same error occurred in 5 rounds in a row: Unknown tool: fly" in result["message"]
        assert result["message"].count("..") == 0 and result["message"].endswith(f". {REDIRECT}")
        assert api.refusals == []
