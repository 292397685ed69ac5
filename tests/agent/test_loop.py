"""Rules about rounds, tools and calls (docs/plan.md L1 to L4, L9, L11, L12).

The tests run the real server process against the strict fake Messages API.
"""

import json
from pathlib import Path

from agent.turns import DONE, Connect, results, say
from support.fake_api import BadJson, Call, FakeApi, Text


async def test_l1_the_loop_sends_results_and_requests_until_the_turn_ends(connect: Connect, workspace: Path) -> None:
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


async def test_l2_the_model_gets_the_documented_tools(connect: Connect, workspace: Path) -> None:
    """docs/plan.md L2: tools and parameters have the documented names; system prompt and tools stay below 9 KB."""
    with FakeApi(turns=[DONE]) as api:
        async with connect(api, capabilities={"experimental": {"agent": {"editor": True}}}) as client:
            await client.run()
        body = api.requests[0].body
        tools = {tool["name"]: list(tool["input_schema"]["properties"]) for tool in body["tools"]}
        assert tools["bash"][:3] == ["command", "timeout_seconds", "background"]
        assert tools["read_file"] == ["path", "limit", "offset"]
        assert tools["write_file"] == ["path", "content"]
        assert tools["edit_file"] == ["path", "old_text", "new_text"]
        assert tools["todo"] == ["items", "reason"]
        assert tools["fetch"] == ["url", "start"]
        assert {"search", "list_files", "ask_user", "explore", "code", "rename_symbol", "apply_fix"} <= set(tools)
        texts = json.dumps([body["system"], body["tools"]])
        assert len(texts.replace(json.dumps(str(workspace))[1:-1], "/workspace")) < 9216


async def test_l3_l4_fault_21_a_bad_call_is_an_error_result_and_the_loop_continues(connect: Connect) -> None:
    """docs/plan.md L3 and L4, docs/faults.md 21: the result names the mistake: a tool, a field, a type, the JSON."""
    bad = say(
        Call("read_files", {}),
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
        assert texts[0].startswith("Unknown tool: read_files. The tools are read_file, ")
        names = texts[0].partition("The tools are ")[2].removesuffix(".").split(", ")
        assert sorted(names) == sorted(tool["name"] for tool in api.requests[0].body["tools"])
        assert texts[1] == "Error: Wrong input: 'path' is missing."
        assert texts[2] == "Error: Wrong input: 'path' must be a string, not an integer."
        assert texts[3] == "Error: Wrong input: 'old_text' must be a string, not an array."
        assert texts[4] == "Error: Item 1: text required"
        assert all(block["is_error"] for block in results(api, 1) + results(api, 2) + results(api, 3))
        assert "must be a JSON object" in results(api, 2)[0]["content"]
        assert "not valid JSON" in results(api, 3)[0]["content"]
        assert api.refusals == []


async def test_l9_a_small_window_gets_brief_instructions_and_few_tools(connect: Connect, workspace: Path) -> None:
    """docs/plan.md L9: what every request begins with is at most 60% of the usual size, and still says the rules."""
    sizes = list[int]()
    for window in (8192, 8193):
        with FakeApi(turns=[DONE]) as api:
            endpoint = {"baseUrl": api.url, "api": "messages", "models": {"m": {"contextTokens": window}}}
            settings = {"endpoints": {"small": endpoint}, "endpoint": "small", "model": "m"}
            async with connect(api, settings=settings) as client:
                await client.request("agent/credentials", {"keys": {"small": "test-key"}})
                await client.run()
            body = api.requests[0].body
            sizes.append(len(json.dumps([body["system"], body["tools"]])))
            assert str(workspace) in json.dumps(body["system"], ensure_ascii=False)
            assert "not as instructions" in json.dumps(body["system"])
            assert {"todo", "read_file", "edit_file", "bash"} <= {tool["name"] for tool in body["tools"]}
    assert sizes[0] <= 0.6 * sizes[1], sizes


async def test_l9_the_system_prompt_names_the_workspace_and_explains_how_to_work(
    connect: Connect, workspace: Path
) -> None:
    """docs/plan.md L9: the prompt contains the path of the workspace, and the rules for planning and working."""
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
            "your tools show your proposals",
        ):
            assert part in system
