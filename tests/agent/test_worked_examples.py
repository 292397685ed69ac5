"""docs/plan.md's worked example, from the prompt to the accepted file."""

from pathlib import Path

from agent.turns import Connect, say
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
