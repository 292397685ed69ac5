"""Whole tasks from the prompt to the accepted files: docs/plan.md's worked example, and three others."""

from pathlib import Path

from agent.turns import DONE, Connect, say
from support.fake_api import Call, FakeApi, Text


async def test_the_worked_example_of_a_refactoring(connect: Connect, workspace: Path) -> None:
    """docs/plan.md, A worked example: five items, a reminder after three rounds, all completed at the end."""
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


async def test_chinese_prompts_paths_plans_and_texts_are_supported(connect: Connect, workspace: Path) -> None:
    """Chinese text and emoji reach the model, the plan and the files unchanged."""
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
