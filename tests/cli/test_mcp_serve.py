"""`fairlead mcp serve`: a real process and the SDK's own client, in both revisions of the protocol."""

import asyncio
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import pytest
from mcp import Client, StdioServerParameters
from mcp_types import ElicitResult, Implementation

from cli.command import DEADLINE, environment, run_plain
from support.client import Client as Editor
from support.sandbox import needs_sandbox

Mode = Literal["legacy", "2026-07-28"]
MODES: tuple[Mode, ...] = ("legacy", "2026-07-28")
STEP = {"content": "Write two", "check": "grep -q two a.txt"}


@pytest.fixture
def box() -> None:
    """Skips the test if there is no sandbox."""
    needs_sandbox()


class Agent:
    """Another agent, which calls Fairlead's tools."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.asked: list[str] = []

    async def call(self, name: str, **given: Any) -> str:
        """The text of the result. Fails if it is an error."""
        result = await self.client.call_tool(name, given)
        assert not result.is_error, result
        return _text(result)

    async def error(self, name: str, **given: Any) -> str:
        """The text of a result that is an error."""
        result = await self.client.call_tool(name, given)
        assert result.is_error, result
        return _text(result)


def _text(result: Any) -> str:
    [part] = result.content
    return part.text


@asynccontextmanager
async def agent(
    workspace: Path, mode: Mode = "legacy", *options: str, decisions: Sequence[str] | None = None
) -> AsyncIterator[Agent]:
    """Another agent with its Fairlead.

    Args:
        decisions: how its user answers questions, in order; None: it cannot ask.
    """
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "fairlead", "mcp", "serve", "--workspace", str(workspace), *options],
        env=environment(),
        cwd=workspace,
    )
    answers, asked = list(decisions or ()), list[str]()

    async def elicit(context: Any, params: Any) -> ElicitResult:
        asked.append(params.message)
        return ElicitResult(action="accept", content={"decision": answers.pop(0)})

    info = Implementation(name="helper", title="Helper", version="1")
    async with (
        asyncio.timeout(DEADLINE),
        Client(server, mode=mode, client_info=info, elicitation_callback=elicit if answers else None) as client,
    ):
        found = Agent(client)
        found.asked = asked
        yield found


async def reviewed(workspace: Path, accept: str) -> str:
    """The output of a review in another process, as soon as it can open the session, within DEADLINE seconds."""
    review = ("review", "--workspace", workspace, "--accept", accept)
    async with asyncio.timeout(DEADLINE):
        while (ended := await asyncio.to_thread(run_plain, *review)).code != 0:
            assert "open in another" in ended.out, ended
    return ended.out


@pytest.mark.usefixtures("box")
@pytest.mark.parametrize("mode", MODES)
async def test_another_agent_proposes_and_checks(workspace: Path, mode: Mode) -> None:
    """The disk stays as it is, what is proposed is read back and checked, and the plan ticks only if its check passes.

    Another process accepts the proposals while the agent is still there, and the agent learns of it.
    """
    (workspace / "a.txt").write_text("one\n")
    (workspace / ".mcp.json").write_text(
        '{"mcpServers": {"fairlead": {"command": "fairlead", "args": ["mcp", "serve"]}}}'
    )
    async with agent(workspace, mode, decisions=["Reject"]) as helper:
        assert helper.client.protocol_version == ("2025-11-25" if mode == "legacy" else mode)
        assert "No proposal is undecided" in await helper.call("pending")
        await helper.call("plan", items=[{**STEP, "status": "in_progress"}])
        assert "is not completed" in await helper.call("plan", items=[{**STEP, "status": "completed"}])
        proposed = await helper.call("propose_edit", path="a.txt", old_text="one", new_text="two")
        assert "Nothing is written yet" in proposed
        assert "review --session" in proposed
        await helper.call("propose_edit", path="new/b.txt", new_text="new\n")
        assert (await helper.call("read_proposed", path="a.txt")).startswith("two")
        assert "passed" in await helper.call("run_check")
        assert "exit code 3" in await helper.call("run_check", command="exit 3")
        assert "(1/1 completed)" in await helper.call("plan", items=[{**STEP, "status": "completed"}])
        pending = await helper.call("pending")
        assert "a.txt (modify)\n@@ -1,1 +1,1 @@\n-one\n+two" in pending
        assert "new/b.txt (create)" in pending
        assert (workspace / "a.txt").read_text() == "one\n"
        assert not (workspace / "new").exists()
        assert "Changed: a.txt" in await reviewed(workspace, "all")
        assert (workspace / "a.txt").read_text() == "two\n"
        assert (workspace / "new" / "b.txt").read_text() == "new\n"
        deleted = await helper.call("propose_edit", path="a.txt", delete=True)
        assert "accepted: a.txt" in deleted
        assert helper.asked == []  # no server of the workspace starts, as for a task


async def test_the_tools_say_what_they_do(workspace: Path) -> None:
    """Each has a title and honest annotations; the list is small, as it is a part of every request of the agent."""
    async with agent(workspace) as helper:
        tools = (await helper.client.list_tools()).tools
        assert [tool.name for tool in tools] == ["propose_edit", "read_proposed", "run_check", "plan", "pending"]
        reads = [tool.name for tool in tools if tool.annotations is not None and tool.annotations.read_only_hint]
        assert reads == ["read_proposed", "pending"]
        assert sum(len(tool.model_dump_json(exclude_none=True)) for tool in tools) < 4000
        assert "propose_edit" in (helper.client.instructions or "")


@pytest.mark.parametrize("mode", MODES)
async def test_wrong_calls_have_errors_as_results(workspace: Path, mode: Mode) -> None:
    """Unknown tools, paths outside, wrong and huge arguments. The next call works."""
    async with agent(workspace, mode) as helper:
        assert "There is no tool nothing" in await helper.error("nothing")
        assert "escapes workspace" in await helper.error("read_proposed", path="../../etc/passwd")
        assert "escapes workspace" in await helper.error("propose_edit", path="/etc/passwd", new_text="x")
        assert "new_text alone" in await helper.error("propose_edit", path="a.txt")
        assert "new_text alone" in await helper.error("propose_edit", path="a.txt", delete=True, new_text="x")
        assert "path" in await helper.error("propose_edit", path=7, new_text="x")
        assert "invalid status" in await helper.error("plan", items=[{"content": "x", "status": "done"}])
        assert "limit is" in await helper.error("run_check", command="x" * 1_000_000)
        assert "Not a usable path" in await helper.error("read_proposed", path="x" * 1000)
        await helper.call("propose_edit", path="big.txt", new_text="x\n" * 50_000)
        assert not (workspace / "big.txt").exists()
        assert "too long to show" in await helper.call("pending")


@pytest.mark.parametrize("mode", MODES)
async def test_the_gate_asks_through_the_other_agent(workspace: Path, mode: Mode) -> None:
    """Its user sees the file and the reasons, and decides each time. Nobody else can allow it."""
    (workspace / ".env").write_text("KEY=hidden\n")
    async with agent(workspace, mode, decisions=["Reject", "Allow once"]) as helper:
        refused = await helper.error("read_proposed", path=".env")
        assert "hidden" not in refused
        assert ".env" in helper.asked[0]
        assert "looks like a secret" in helper.asked[0]
        assert "KEY=hidden" in await helper.call("read_proposed", path=".env")
        assert len(helper.asked) == 2


@pytest.mark.parametrize("mode", MODES)
async def test_an_agent_that_cannot_ask_is_refused(workspace: Path, mode: Mode) -> None:
    """The text says what the user can do instead."""
    (workspace / ".env").write_text("KEY=hidden\n")
    async with agent(workspace, mode) as helper:
        refused = await helper.error("read_proposed", path=".env")
        assert "cannot ask the user" in refused
        assert "hidden" not in refused


async def test_a_saved_session_is_continued(workspace: Path, tmp_path: Path) -> None:
    """An editor with the same folder of sessions shows what the agent did, and the agent continues there."""
    storage = tmp_path / "sessions"
    async with agent(workspace, "legacy", "--storage", str(storage)) as helper:
        await helper.call("propose_edit", path="a.txt", new_text="one\n")
    async with Editor(workspace, storage=storage) as editor:
        [row] = (await editor.request("agent/sessions/list", {}))["sessions"]
        assert (row["title"], row["pendingFiles"]) == ("Helper works in this session over MCP.", 1)
        opened = await editor.request("agent/sessions/open", {"sessionId": row["sessionId"]})
        shown = [(each["kind"], each.get("title")) for each in opened["transcript"] if each["kind"] == "tool_started"]
        assert shown == [("tool_started", "Write a.txt")]
    options = ["--storage", str(storage), "--session", row["sessionId"]]
    async with agent(workspace, "legacy", *options) as helper:
        assert "a.txt (create)" in await helper.call("pending")
        await helper.call("propose_edit", path="a.txt", old_text="one", new_text="two")
    async with Editor(workspace, storage=storage) as editor:
        assert len((await editor.request("agent/sessions/list", {}))["sessions"]) == 1


def test_a_session_that_does_not_exist_is_an_error(workspace: Path) -> None:
    """Standard output stays empty, because it belongs to the protocol."""
    ended = run_plain("mcp", "serve", "--workspace", workspace, "--session", "0123456789ab")
    assert (ended.code, ended.out, "Unknown session" in ended.err) == (1, "", True)
