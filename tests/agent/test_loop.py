"""The loop's rules (docs/plan.md L1 to L13) in the real server process, against the strict fake Messages API.

Every test ends with `api.refusals == []`: no rule may be kept with a history that the real API would refuse.
"""

import json
from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from support.client import Client
from support.fake_api import BadJson, Call, Cut, FakeApi, MaxTokensCut, Text, Turn

Connect = Callable[..., Client]

PLAN = [{"content": "One", "status": "in_progress"}, {"content": "Two", "status": "pending"}]
DONE = Turn((Text("Done."),))


def say(*blocks: Any, **options: Any) -> Turn:
    return Turn(tuple(blocks), **options)


def results(api: FakeApi, request: int) -> list[dict[str, Any]]:
    """The tool results in the last message of a request."""
    content = api.requests[request].body["messages"][-1]["content"]
    return [block for block in content if block["type"] == "tool_result"]


def notes(api: FakeApi, request: int) -> list[str]:
    """The text blocks in the last message of a request."""
    content = api.requests[request].body["messages"][-1]["content"]
    return [block["text"] for block in content if block["type"] == "text"]


async def test_l1_asks_runs_appends_and_asks_again_until_the_turn_ends(connect: Connect, workspace: Path) -> None:
    """docs/plan.md L1: one user message with all results, then the next request, until the model ends its turn."""
    (workspace / "a.txt").write_text("A\n")
    (workspace / "b.txt").write_text("B\n")
    reads = say(Text("I look."), Call("read_file", {"path": "a.txt"}), Call("read_file", {"path": "b.txt"}))
    with FakeApi(turns=[reads, DONE]) as api:
        async with connect(api) as client:
            result = await client.run("Read both.")
        assert (result["stopReason"], result["message"]) == ("end_turn", "Done.")
        assert [block["content"] for block in results(api, 1)] == ["A\n", "B\n"]
        messages = api.requests[1].body["messages"]
        assert [message["role"] for message in messages] == ["user", "assistant", "user"]
        assert result["usage"]["requests"] == 2
        assert api.refusals == []


async def test_l2_the_published_tools_are_those_of_the_table(connect: Connect) -> None:
    """docs/plan.md L2: each tool with its named parameters; system prompt and tools stay below 8 KB."""
    with FakeApi(turns=[DONE]) as api:
        async with connect(api) as client:
            await client.run()
        body = api.requests[0].body
        tools = {tool["name"]: list(tool["input_schema"]["properties"]) for tool in body["tools"]}
        assert tools["bash"][:3] == ["command", "timeout_seconds", "background"]
        assert tools["read_file"] == ["path", "limit", "offset"]
        assert tools["write_file"] == ["path", "content"]
        assert tools["edit_file"] == ["path", "old_text", "new_text"]
        assert tools["todo"] == ["items", "reason"]
        assert {"search", "list_files"} <= set(tools)
        assert len(json.dumps([body["system"], body["tools"]])) < 8192


async def test_l3_l4_fault_21_a_bad_call_is_an_error_result_and_the_loop_goes_on(connect: Connect) -> None:
    """docs/plan.md L3 and L4, docs/faults.md 21: unknown tool, missing field, wrong type, input that is no object."""
    bad = say(
        Call("fly", {}),
        Call("read_file", {}),
        Call("read_file", {"path": 7}),
        Call("edit_file", {"path": "a", "old_text": ["x"], "new_text": "y"}),
        Call("todo", {"items": [{"content": " "}]}),
    )
    with FakeApi(turns=[bad, BadJson("read_file", '["a"]'), BadJson("bash", '{"command": NaN}'), DONE]) as api:
        async with connect(api) as client:
            result = await client.run()
        assert result["stopReason"] == "end_turn"
        texts = [block["content"] for block in results(api, 1)]
        assert texts[0] == "Unknown tool: fly"
        assert texts[1] == "Error: Wrong input: 'path' is missing."
        assert texts[2] == "Error: Wrong input: 'path' must be a string, not an integer."
        assert texts[3] == "Error: Wrong input: 'old_text' must be a string, not an array."
        assert texts[4] == "Error: Item 1: text required"
        assert all(block["is_error"] for block in results(api, 1) + results(api, 2) + results(api, 3))
        assert "must be a JSON object" in results(api, 2)[0]["content"]
        assert "not valid JSON" in results(api, 3)[0]["content"]
        assert api.refusals == []


async def test_l5_l6_l8_the_reminder_comes_behind_the_results_and_repeats(connect: Connect, workspace: Path) -> None:
    """docs/plan.md L5, L6, L8: after three rounds without a rewrite, in each round, once, after the tool results."""
    turns = [say(Call("todo", {"items": PLAN}))]
    turns += [say(Call("search", {"pattern": f"x{n}"})) for n in range(4)]
    turns += [say(Call("todo", {"items": [{"content": " "}]})), say(Call("todo", {"items": PLAN})), DONE]
    with FakeApi(turns=turns) as api:
        async with connect(api) as client:
            await client.run()
            counters = [count for count, _ in groupby(p["roundsSinceUpdate"] for p in client.all("agent/plan"))]
        said = [notes(api, number) for number in range(1, len(turns))]
        # after the plan: rounds 1 and 2 silent, the third and fourth remind, the failed rewrite keeps the count
        assert [len(texts) for texts in said] == [0, 0, 0, 1, 1, 1, 0]
        assert all(texts[0].startswith("<reminder>Update your todos.") for texts in said if texts)
        assert all(texts[0].endswith("</reminder>") for texts in said if texts)
        last = api.requests[4].body["messages"][-1]["content"]
        assert [block["type"] for block in last] == ["tool_result", "text"]
        assert counters == [0, 1, 2, 3, 4, 0]
        # what was sent stays where it is, so that the cached prefix stays valid
        earlier, later = api.requests[4].body["messages"], api.requests[6].body["messages"]
        assert later[: len(earlier)] == earlier
        assert api.refusals == []


async def test_l5_the_counter_starts_at_zero_in_each_run_and_p11_the_plan_stays(connect: Connect) -> None:
    """docs/plan.md L5 and P11: the next task in the session has the old plan, and a fresh counter."""
    turns = [say(Call("todo", {"items": PLAN})), say(Call("search", {"pattern": "a"})), DONE]
    with FakeApi(turns=[*turns, say(Call("search", {"pattern": "b"})), DONE]) as api:
        async with connect(api) as client:
            first = await client.run()
            await client.run("Go on.", sessionId=first["sessionId"])
            plans = client.all("agent/plan")
        assert [count for count, _ in groupby(plan["roundsSinceUpdate"] for plan in plans)] == [0, 1, 0, 1]
        assert [item["content"] for item in plans[-1]["items"]] == ["One", "Two"]
        assert api.refusals == []


async def test_l7_without_a_plan_one_reminder_asks_for_one(connect: Connect) -> None:
    """docs/plan.md L7: asked once, not in every round."""
    with FakeApi(turns=[*[say(Call("search", {"pattern": f"x{n}"})) for n in range(6)], DONE]) as api:
        async with connect(api) as client:
            await client.run()
            assert len(client.events("reminder")) == 1
        said = [notes(api, number) for number in range(1, 7)]
        assert [len(texts) for texts in said] == [0, 0, 1, 0, 0, 0]
        assert said[2][0].startswith("<reminder>No plan yet.")
        assert api.refusals == []


async def test_l9_the_system_prompt_says_who_where_and_how(connect: Connect, workspace: Path) -> None:
    """docs/plan.md L9."""
    with FakeApi(turns=[DONE]) as api:
        async with connect(api) as client:
            await client.run()
        system = json.dumps(api.requests[0].body["system"], ensure_ascii=False)
        for part in (
            str(workspace),
            "todo tool",
            "in_progress before",
            "completed as soon as",
            "prefer tools over prose",
        ):
            assert part in system


async def test_l10_the_same_call_twice_is_not_run_again(connect: Connect, workspace: Path) -> None:
    """docs/plan.md L10: the second of two equal calls gets an explaining error; reading again is allowed."""
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


async def test_l10_a_change_in_between_clears_the_memory(connect: Connect, workspace: Path) -> None:
    """docs/plan.md L10: a file, the plan, or the person's input changed in between, so the call may run again."""
    (workspace / "a.txt").write_text("1")
    search = Call("write_file", {"path": "a.txt", "content": "1"})
    plan, other = Call("todo", {"items": PLAN}), Call("write_file", {"path": "b.txt", "content": "2"})
    with FakeApi(turns=[say(search), say(plan), say(search), say(other), say(search), DONE]) as api:
        async with connect(api) as client:
            await client.run()
        texts = [results(api, n)[0]["content"] for n in (1, 3, 5)]
        assert all("nothing was proposed" in text for text in texts)
        assert api.refusals == []


@pytest.mark.parametrize(
    "call", [Call("search", {"pattern": "x"}), Call("fly", {}), Call("bash", {"command": "true"})], ids=lambda c: c.name
)
async def test_l10_fault_23_the_same_call_again_and_again_stops_the_run(connect: Connect, call: Call) -> None:
    """docs/plan.md L10, docs/faults.md 23: twenty times the same call, exempt ones too: stopped, with the reason."""
    with FakeApi(turns=[say(call) for _ in range(20)]) as api:
        async with connect(api, answers={"agent/approve": lambda _: {"option": "allow_once"}}) as client:
            result = await client.run()
            assert result["stopReason"] == "loop"
            assert "same call" in result["message"]
            assert len(api.requests) == 5
            api.push(DONE)
            assert len(client.events("run_finished")) == 1
        assert api.refusals == []


async def test_l10_the_session_goes_on_after_a_loop(connect: Connect) -> None:
    """docs/plan.md L10: the history of a stopped run is valid, so the next prompt works."""
    with FakeApi(
        turns=[say(Call("search", {"pattern": "x"}), Call("search", {"pattern": "y"})) for _ in range(1)]
    ) as api:
        for _ in range(5):
            api.push(say(Call("search", {"pattern": "x"})))
        async with connect(api) as client:
            first = await client.run()
            assert first["stopReason"] == "loop"
            api_turns_left = 6 - len(api.requests)
            assert api_turns_left == 0
            api.push(DONE)
            again = await client.run("And now?", sessionId=first["sessionId"])
            assert again["stopReason"] == "end_turn"
        assert api.refusals == []


async def test_l11_fault_32_a_path_outside_is_refused(connect: Connect, workspace: Path) -> None:
    """docs/plan.md L11, docs/faults.md 32: `../x`, an absolute path, a sibling with its prefix; nothing is made."""
    evil = workspace.with_name("ws-evil")
    evil.mkdir()
    (evil / "f").write_text("secret")
    paths = ["../x", str(evil / "f"), "../ws-evil/f", "a/../../x", "/etc/passwd"]
    turns = [say(*[Call("read_file", {"path": path}) for path in paths])]
    turns += [say(*[Call("write_file", {"path": path, "content": "x"}) for path in paths]), DONE]
    with FakeApi(turns=turns) as api:
        async with connect(api) as client:
            await client.run()
            assert client.last("agent/edits") is None
        for number in (1, 2):
            assert [block["content"] for block in results(api, number)] == [
                f"Error: Path escapes workspace: {path}" for path in paths
            ]
        assert [file.name for file in evil.iterdir()] == ["f"]
        assert api.refusals == []


async def test_l12_an_edit_that_does_not_match_once_helps_and_changes_nothing(
    connect: Connect, workspace: Path
) -> None:
    """docs/plan.md L12: not found shows the nearest lines, found twice says where; never a silent first match."""
    (workspace / "a.py").write_text("x = 1\ny = 2\nx = 1\n")
    edits = [{"old_text": "x = 1", "new_text": "x = 3"}, {"old_text": "y = 22", "new_text": "y = 3"}]
    with FakeApi(turns=[say(*[Call("edit_file", {"path": "a.py", **edit}) for edit in edits]), DONE]) as api:
        async with connect(api) as client:
            await client.run()
            assert client.last("agent/edits") is None
        twice, missing = (block["content"] for block in results(api, 1))
        assert "2 times" in twice and "lines 1, 3" in twice
        assert "not found" in missing and "y = 2" in missing
        assert api.refusals == []


async def test_l13_fault_15_a_call_cut_by_max_tokens_is_not_run(connect: Connect, workspace: Path) -> None:
    """docs/plan.md L13, docs/faults.md 15: a whole first call is not run either; the model is told and goes on."""
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


async def test_l13_an_answer_that_is_cut_again_and_again_ends_the_run(connect: Connect) -> None:
    """docs/plan.md L13: bounded; the stop reason says that it was not finished."""
    cut = MaxTokensCut(say(Call("write_file", {"path": "a", "content": "x" * 50})), json_chars=20)
    with FakeApi(turns=[cut] * 5) as api:
        async with connect(api) as client:
            result = await client.run()
        assert result["stopReason"] == "max_tokens"
        assert len(api.requests) == 3
        assert api.refusals == []


async def test_l13_text_cut_by_max_tokens_goes_on_once(connect: Connect) -> None:
    """docs/plan.md L13: it is asked to go on where it stopped, and the run's message is the whole of it."""
    cut = say(Text("It goes on and"), stop_reason="max_tokens")
    with FakeApi(turns=[cut, say(Text(" comes to its end."))]) as api:
        async with connect(api) as client:
            result = await client.run()
        assert (result["stopReason"], result["message"]) == ("end_turn", "It goes on and comes to its end.")
        assert "cut off by the output limit" in notes(api, 1)[0]
        assert api.refusals == []


async def test_l13_text_cut_by_max_tokens_is_not_finished_work(connect: Connect) -> None:
    """docs/plan.md L13: cut a second time, the run ends and says why."""
    with FakeApi(turns=[say(Text("It goes on and"), stop_reason="max_tokens")] * 2) as api:
        async with connect(api) as client:
            result = await client.run()
        assert result["stopReason"] == "max_tokens"
        assert "cut off" in result["message"]
        assert api.refusals == []


async def test_l13_a_turn_that_pauses_goes_on(connect: Connect) -> None:
    """docs/plan.md L13: `pause_turn` is no end."""
    with FakeApi(turns=[say(Text("A moment."), stop_reason="pause_turn"), DONE]) as api:
        async with connect(api) as client:
            result = await client.run()
        assert (result["stopReason"], len(api.requests), api.refusals) == ("end_turn", 2, [])


async def test_l13_a_turn_that_pauses_again_and_again_pauses_the_run(connect: Connect) -> None:
    """docs/plan.md L13: what was said stands in the message, and a further prompt goes on."""
    paused = say(Text("A moment."), stop_reason="pause_turn")
    with FakeApi(turns=[paused, paused, DONE]) as api:
        async with connect(api) as client:
            result = await client.run()
            assert (result["stopReason"], result["error"]) == ("max_turn_requests", None)
            assert result["message"].startswith("A moment.A moment.\n\nPaused: the API itself paused")
            assert (await client.run("continue", sessionId=result["sessionId"]))["stopReason"] == "end_turn"
        assert api.refusals == []


async def test_l13_a_stop_reason_of_the_future_is_an_error_that_names_it(connect: Connect) -> None:
    """docs/plan.md L13: its calls are not run, its text is no finished work, and the session goes on."""
    odd = say(Text("Hm."), stop_reason="became_bored")
    calling = say(Call("write_file", {"path": "a", "content": "x"}), stop_reason="became_bored")
    with FakeApi(turns=[calling, odd, DONE]) as api:
        async with connect(api) as client:
            result = await client.run()
            assert (result["stopReason"], "became_bored" in result["message"]) == ("error", True)
            assert client.last("agent/edits") is None
            assert (await client.run(sessionId=result["sessionId"]))["stopReason"] == "end_turn"
        assert api.refusals == []


async def test_l13_a_refusal_says_what_to_do(connect: Connect) -> None:
    """docs/plan.md L13: the model's words and what helps; the session goes on."""
    with FakeApi(turns=[say(Text("I cannot."), stop_reason="refusal"), DONE]) as api:
        async with connect(api) as client:
            result = await client.run()
            assert result["stopReason"] == "refusal"
            assert result["message"].startswith("I cannot.") and "other words" in result["message"]
            assert (await client.run(sessionId=result["sessionId"]))["stopReason"] == "end_turn"
        assert api.refusals == []


async def test_l14_a_budget_of_tokens_pauses_the_run(connect: Connect, workspace: Path) -> None:
    """docs/plan.md L14: which bound and by how much; the next prompt goes on with a fresh budget."""
    look = [say(Call("search", {"pattern": f"x{n}"}), usage={"input_tokens": 600}) for n in range(3)]
    with FakeApi(turns=look) as api:
        async with connect(api, settings={"budget": {"tokens": 1000}}) as client:

            async def state() -> str:
                return (await client.request("agent/sessions/list", {}))["sessions"][0]["state"]

            first = await client.run()
            assert first["stopReason"] == "budget"
            assert "the budget is 1,000 (setting budget.tokens)" in first["message"]
            assert len(api.requests) == 2
            assert await state() == "paused"
            api.push(DONE)
            assert (await client.run("continue", sessionId=first["sessionId"]))["stopReason"] == "end_turn"
            assert await state() == "idle"
        assert api.refusals == []


async def test_l14_a_budget_of_cost_pauses_the_run(connect: Connect) -> None:
    """docs/plan.md L14: in US dollars, as the price list has them."""
    look = [say(Call("search", {"pattern": f"x{n}"}), usage={"input_tokens": 100_000}) for n in range(3)]
    settings = {"model": "claude-sonnet-5-5", "budget": {"costUsd": 0.35}, "contextTokens": 1_000_000}
    with FakeApi(turns=look) as api:
        async with connect(api, settings=settings) as client:
            result = await client.run()
        assert result["stopReason"] == "budget"
        assert "it has cost $0.40, and the budget is $0.35 (setting budget.costUsd)" in result["message"]


async def test_l14_each_run_gets_somewhere(connect: Connect) -> None:
    """docs/plan.md L14: a budget that is used up at once still lets each prompt make a round."""
    look = [say(Call("search", {"pattern": f"x{n}"})) for n in range(2)]
    with FakeApi(turns=[*look, DONE]) as api:
        async with connect(api, settings={"budget": {"minutes": 0.00001}}) as client:
            first = await client.run()
            again = {"sessionId": first["sessionId"]}
            assert first["stopReason"] == "budget" and "setting budget.minutes" in first["message"]
            assert (await client.run("continue", **again))["stopReason"] == "budget"
            assert (await client.run("continue", **again))["stopReason"] == "end_turn"
        assert api.refusals == []


async def test_l14_rounds_that_lead_nowhere_pause_the_run(connect: Connect, workspace: Path) -> None:
    """docs/plan.md L14: the same looks in turn, again and again; other looks are no reason to stop."""
    searches = [say(Call("search", {"pattern": f"x{n}"})) for n in range(6)]
    in_turn = [say(Call("search", {"pattern": f"x{n % 2}"})) for n in range(6)]
    with FakeApi(turns=[*searches, *in_turn]) as api:
        async with connect(api, settings={"loop": {"maxIdleRounds": 4}}) as client:
            result = await client.run()
        assert result["stopReason"] == "loop"
        assert "for 4 rounds nothing was proposed or found out" in result["message"]
        assert len(api.requests) == 6 + 4
        assert api.refusals == []


async def test_l14_the_same_error_again_and_again_pauses_the_run(connect: Connect) -> None:
    """docs/plan.md L14: also where each call is another one."""
    with FakeApi(turns=[say(Call("fly", {"to": n})) for n in range(9)]) as api:
        async with connect(api) as client:
            result = await client.run()
        assert result["stopReason"] == "loop"
        assert "the same error came 5 rounds in a row: Unknown tool: fly" in result["message"]
        assert api.refusals == []


async def test_l13_fault_16_a_stream_that_ends_early_is_asked_for_again(connect: Connect, workspace: Path) -> None:
    """docs/plan.md L13, docs/faults.md 16: a clean end before message_stop runs nothing; the retry recovers."""
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


async def test_the_worked_example_of_a_refactoring(connect: Connect, workspace: Path) -> None:
    """The plan's worked example: five items, a reminder after three silent rounds, all completed at the end."""
    (workspace / "hello.py").write_text('def greet(name):\n    return "Hello, " + name\n\nprint(greet("world"))\n')
    steps = ["Read hello.py", "Add type hints", "Add docstrings", "Add a main guard", "Check the result"]

    def plan(done: int) -> Call:
        marks = ["completed"] * done + ["in_progress"] + ["pending"] * len(steps)
        return Call("todo", {"items": [{"content": s, "status": m} for s, m in zip(steps, marks, strict=False)]})

    def edit(old: str, new: str) -> Call:
        return Call("edit_file", {"path": "hello.py", "old_text": old, "new_text": new})

    turns = [
        say(plan(0)),
        say(Call("read_file", {"path": "hello.py"})),
        say(edit("def greet(name):", "def greet(name: str) -> str:")),
        say(edit('    return "Hello', '    """Return a greeting."""\n    return "Hello')),
        say(plan(3)),
        say(edit('print(greet("world"))', 'if __name__ == "__main__":\n    print(greet("world"))')),
        say(plan(5)),
        say(Text("All five steps are done.")),
    ]
    with FakeApi(turns=turns) as api:
        async with connect(api) as client:
            await client.run("Refactor hello.py: add type hints, docstrings, and a main guard")
            last = client.last("agent/plan")
            assert (last["completed"], last["total"]) == (5, 5)
            assert [event["text"][:28] for event in client.events("reminder")] == ["<reminder>Update your todos."]
            session = last["sessionId"]
            await client.request("agent/edits/accept", {"sessionId": session, "target": {"all": True}})
        assert (workspace / "hello.py").read_text() == (
            'def greet(name: str) -> str:\n    """Return a greeting."""\n    return "Hello, " + name\n\n'
            'if __name__ == "__main__":\n    print(greet("world"))\n'
        )
        assert api.refusals == []


async def test_the_worked_example_of_a_new_package(connect: Connect, workspace: Path) -> None:
    """Create a Python package with __init__.py, utils.py, and tests/test_utils.py."""
    files = {"__init__.py": "", "utils.py": "def one():\n    return 1\n", "tests/test_utils.py": "assert True\n"}
    writes = [Call("write_file", {"path": f"pkg/{name}", "content": text}) for name, text in files.items()]
    with FakeApi(turns=[say(Call("todo", {"items": PLAN}), *writes), DONE]) as api:
        async with connect(api) as client:
            result = await client.run("Create a Python package with __init__.py, utils.py, and tests/test_utils.py")
            assert not (workspace / "pkg").exists()
            target = {"sessionId": result["sessionId"], "target": {"all": True}}
            review = await client.request("agent/edits/accept", target)
        assert [outcome["outcome"] for outcome in review["outcomes"]] == ["applied"] * 3
        assert {str(p.relative_to(workspace / "pkg")): p.read_text() for p in workspace.rglob("*.py")} == files
        assert api.refusals == []


async def test_chinese_prompts_paths_plans_and_texts_are_ordinary(connect: Connect, workspace: Path) -> None:
    """docs/plan.md, last paragraph: 分析 src/core 目录下的所有文件,找出可能的性能问题,写一份报告."""
    prompt = "分析 src/core 目录下的所有文件,找出可能的性能问题,写一份报告 🚀"
    (workspace / "src" / "核心").mkdir(parents=True)
    (workspace / "src" / "核心" / "模块.py").write_text("值 = 1  # 🚀\n", encoding="utf-8")
    plan = Call("todo", {"items": [{"content": "阅读文件 📖", "status": "in_progress", "activeForm": "正在阅读"}]})
    edit = Call("edit_file", {"path": "src/核心/模块.py", "old_text": "值 = 1  # 🚀", "new_text": "值 = 2  # 🚀é"})
    with FakeApi(
        turns=[say(plan), say(edit, Call("write_file", {"path": "报告.md", "content": "# 报告\n"})), DONE]
    ) as api:
        async with connect(api) as client:
            result = await client.run(prompt)
            assert client.last("agent/plan")["items"][0]["content"] == "阅读文件 📖"
            await client.request("agent/edits/accept", {"sessionId": result["sessionId"], "target": {"all": True}})
        assert api.requests[0].body["messages"][0]["content"][0]["text"] == prompt
        assert (workspace / "src" / "核心" / "模块.py").read_text(encoding="utf-8") == "值 = 2  # 🚀é\n"
        assert (workspace / "报告.md").read_text(encoding="utf-8") == "# 报告\n"
        assert api.refusals == []


async def test_the_worked_example_of_a_review_of_style(connect: Connect, workspace: Path) -> None:
    """Review all Python files and fix any style issues: looks around, reads each, edits those that need it."""
    sources = {"a.py": "import os, sys\nprint( os.name,sys.path )\n", "lib/b.py": "def f():\n    return 1\n"}
    for name, text in sources.items():
        (workspace / name).parent.mkdir(exist_ok=True)
        (workspace / name).write_text(text)
    (workspace / "notes.md").write_text("not Python\n")
    fixes = [("import os, sys", "import os\nimport sys"), ("print( os.name,sys.path )", "print(os.name, sys.path)")]
    turns = [
        say(Call("todo", {"items": PLAN}), Call("list_files", {"glob": "*.py"})),
        say(*[Call("read_file", {"path": name}) for name in sources]),
        say(*[Call("edit_file", {"path": "a.py", "old_text": old, "new_text": new}) for old, new in fixes]),
        say(Text("Two issues in a.py; lib/b.py is fine.")),
    ]
    with FakeApi(turns=turns) as api:
        async with connect(api) as client:
            result = await client.run("Review all Python files and fix any style issues")
            files = client.last("agent/edits")["files"]
            assert [file["uri"].rsplit("/", 1)[-1] for file in files] == ["a.py"]
            target = {"sessionId": result["sessionId"], "target": {"all": True}}
            await client.request("agent/edits/accept", target)
        assert results(api, 1)[1]["content"] == "a.py\nlib/b.py"
        assert (workspace / "a.py").read_text() == "import os\nimport sys\nprint(os.name, sys.path)\n"
        assert (workspace / "lib" / "b.py").read_text() == sources["lib/b.py"]
        assert api.refusals == []
