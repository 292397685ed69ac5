"""Skills and commands over the wire, as the model and the user get them: a real server process."""

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.calls import bash
from support.client import Client, Json
from support.fake_api import Call, FakeApi, Request, Text, Turn
from support.sandbox import needs_sandbox

DONE = Turn((Text("Done."),))
PDF = "---\ndescription: Fills PDF forms.\n---\nRun scripts/fill.py on $ARGUMENTS.\n"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The user's home, without skills."""
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


@pytest.fixture
def box() -> None:
    """Skips the test if there is no sandbox."""
    needs_sandbox()


def write(folder: Path, name: str, text: str) -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)


def user_texts(request: Request) -> list[str]:
    blocks = (block for message in request.body["messages"] for block in message["content"])
    return [block["text"] for block in blocks if block["type"] == "text"]


def results(request: Request) -> str:
    blocks = (block for message in request.body["messages"] for block in message["content"])
    return "\n".join(str(block["content"]) for block in blocks if block["type"] == "tool_result")


async def test_the_model_reads_a_skill_that_the_prompt_lists(connect: Callable[..., Client], workspace: Path) -> None:
    """The list ends the system prompt. A skill that only the user may choose is not in it, and not read."""
    write(workspace, ".agents/skills/pdf/SKILL.md", PDF)
    write(workspace, ".agents/skills/pdf/scripts/fill.py", "print('filled')\n")
    write(workspace, ".claude/skills/deploy/SKILL.md", "---\ndisable-model-invocation: true\n---\nDeploy.")
    calls = (Call("skill", {"name": "pdf", "arguments": "a.pdf"}), Call("skill", {"name": "deploy"}))
    with FakeApi([Turn(calls), DONE]) as api:
        async with connect(api) as client:
            await client.run()
    first, second = api.requests
    assert first.system.endswith("begin.\n- pdf: Fills PDF forms.\n</skills>")
    assert "skill" in [tool["name"] for tool in first.body["tools"]]
    text = results(second)
    assert '<skill name="pdf">\nRun scripts/fill.py on a.pdf.\n</skill>' in text.replace("\\n", "\n")
    assert "Its files, in .agents/skills/pdf: scripts/fill.py." in text
    assert "There is no skill 'deploy'. There are: pdf." in text


async def test_without_skills_nothing_changes(connect: Callable[..., Client], workspace: Path) -> None:
    write(workspace, ".claude/commands/fix.md", "Fix it.")
    with FakeApi([DONE]) as api:
        async with connect(api) as client:
            await client.run()
    [request] = api.requests
    assert "<skills>" not in request.system
    assert "skill" not in [tool["name"] for tool in request.body["tools"]]


async def test_the_user_chooses_a_command(connect: Callable[..., Client], workspace: Path) -> None:
    """With a prompt that begins with its name. Any other prompt is a task, also one that begins with a path."""
    write(workspace, ".claude/commands/fix.md", "Fix issue $1.")
    with FakeApi([DONE, DONE]) as api:
        async with connect(api) as client:
            await client.run(prompt="/fix 12")
            await client.run(prompt="/etc/hosts is wrong")
    first, second = api.requests
    assert "The user has chosen these instructions. Follow them.\n" in "\n".join(user_texts(first))
    assert '<skill name="fix">\nFix issue 12.\n</skill>' in "\n".join(user_texts(first))
    assert "<skill" not in "\n".join(user_texts(second))


REVIEWER = "---\ndescription: Reviews.\ntools: Read, Grep\nchecks: [make check]\n---\nReport what matters.\n"


async def test_an_agent_in_a_file_does_a_task(connect: Callable[..., Client], workspace: Path) -> None:
    """It has its instructions and only its tools. A call of another one is refused like that of no tool."""
    write(workspace, ".claude/agents/reviewer.md", REVIEWER)
    write(workspace, "a.txt", "a\n")
    calls = (Call("write_file", {"path": "b.txt", "content": "b"}), Call("read_file", {"path": "a.txt"}))
    with FakeApi([Turn(calls), DONE, DONE]) as api:
        async with connect(api) as client:
            session_id = (await client.run(agent="reviewer"))["sessionId"]
            await client.run(sessionId=session_id)
            opened = await client.request("agent/sessions/open", {"sessionId": session_id})
            assert opened["edits"]["files"] == []
    first, second, third = api.requests
    assert first.system.endswith("Report what matters.\n</agent>")
    assert [tool["name"] for tool in first.body["tools"]] == ["todo", "read_file", "search", "ask_user"]
    assert "Unknown tool: write_file." in results(second)
    assert "<agent" not in third.system
    assert "write_file" in [tool["name"] for tool in third.body["tools"]]


async def test_a_paused_run_continues_with_its_agent(connect: Callable[..., Client], workspace: Path) -> None:
    write(workspace, ".claude/agents/reviewer.md", REVIEWER)
    with FakeApi([Turn((Call("list_files", {}),)), DONE]) as api:
        async with connect(api, settings={"loop": {"maxRounds": 1}}) as client:
            paused = await client.run(agent="reviewer")
            assert paused["stopReason"] == "max_turn_requests"
            await client.request("agent/runTask", {"sessionId": paused["sessionId"], "continue": "paused"})
            opened = await client.request("agent/sessions/open", {"sessionId": paused["sessionId"]})
            assert (opened["mode"], opened["agent"]) == ("agent", "reviewer")
    assert all(request.system.endswith("</agent>") for request in api.requests)


async def test_a_task_for_no_agent_is_refused(connect: Callable[..., Client], workspace: Path) -> None:
    write(workspace, ".claude/agents/reviewer.md", REVIEWER)
    write(workspace, ".claude/agents/hidden.md", "---\nuser-invocable: false\n---\nHide.")
    with FakeApi([]) as api:
        async with connect(api) as client:
            for name in ("hidden", "gone"):
                error = await client.error("agent/runTask", {"prompt": "Go.", "agent": name})
                assert error.message == f"There is no agent “{name}”. There are: reviewer."


async def test_skills_are_listed(workspace: Path, home: Path) -> None:
    """docs/faults.md 219: with what is wrong with their files. Those of an untrusted workspace are left out."""
    write(workspace, ".agents/skills/pdf/SKILL.md", PDF)
    write(home, ".claude/skills/own/SKILL.md", "Do it.")
    env = {"HOME": str(home), "USERPROFILE": str(home)}
    async with Client(workspace, env=env) as client:
        listed = await client.request("agent/skills/list", {})
        assert [(each["name"], each["isFromWorkspace"]) for each in listed["skills"]] == [("own", False), ("pdf", True)]
        [pdf] = [each for each in listed["skills"] if each["name"] == "pdf"]
        assert pdf["description"] == "Fills PDF forms."
        assert pdf["uri"] == (workspace / ".agents/skills/pdf/SKILL.md").as_uri()
        [problem] = listed["problems"]
        own = (home / ".claude/skills/own/SKILL.md").as_uri()
        text = "it has no description, so its first line counts as one"
        assert problem == {"uri": own, "line": None, "message": text, "isLeftOut": False}
        session = await client.request("agent/sessions/create", {})
        assert await client.request("agent/skills/list", session) == listed
        page = (await client.request("agent/skills/page", {}))["markdown"]
        assert "## Skills of this workspace\n\n- `/pdf`: Fills PDF forms. (`.agents/skills/pdf/SKILL.md`)\n" in page
        assert "- `~/.claude/skills/own/SKILL.md`: it has no description" in page
        assert page.index("## Your own skills") < page.index("## Problems") < page.index("it has no description")
    async with Client(workspace, env=env, trusted=False) as client:
        listed = await client.request("agent/skills/list", {})
        assert [each["name"] for each in listed["skills"]] == ["own"]


@pytest.mark.usefixtures("box")
async def test_a_script_of_the_users_own_skill_runs_in_the_box(
    workspace: Path, home: Path, replay: Callable[..., Json]
) -> None:
    """docs/faults.md 220: the rest of the home stays hidden, and the skill cannot be changed."""
    write(home, ".claude/skills/own/SKILL.md", "Run it.")
    write(home, ".claude/skills/own/run.sh", "echo from-the-skill\n")
    write(home, ".claude/secret", "token-1")
    folder = home / ".claude/skills/own"
    script, secret = shlex.quote(str(folder / "run.sh")), shlex.quote(str(home / ".claude/secret"))
    calls: Any = [bash(f"sh {script}; cat {secret}; echo x > {script}")]
    settings = replay({"calls": calls}, {"text": "Done."})
    async with Client(workspace, settings=settings, env={"HOME": str(home)}) as client:
        await client.run()
        [text] = [event["text"] for event in client.events("tool_finished")]
    assert "from-the-skill" in text
    assert "token-1" not in text
    assert (folder / "run.sh").read_text() == "echo from-the-skill\n"


async def test_the_users_own_rules_come_first(workspace: Path, home: Path, replay: Callable[..., Json]) -> None:
    write(home, ".agents/AGENTS.md", "Use tabs.")
    write(workspace, "AGENTS.md", "Use blanks.")
    async with Client(workspace, settings=replay({"text": "Done."}), env={"HOME": str(home)}) as client:
        await client.run()
        [event] = client.events("rules")
    assert [file["uri"] for file in event["files"]] == [
        (home / ".agents/AGENTS.md").as_uri(),
        (workspace / "AGENTS.md").as_uri(),
    ]
