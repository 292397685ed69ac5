"""Both sides of the worked example: as a golden transcript, and with the SDK's own client."""

import json
import os
import sys
from itertools import groupby
from pathlib import Path
from typing import Any

from acp import schema, spawn_agent_process

from acp_agent.conftest import Open
from acp_agent.raw_client import Json, by_kind
from cli.command import environment
from fairlead import __version__

GOLDEN = Path(__file__).parent / "goldens" / "greet.json"
STEP = {"content": "Greet in Chinese", "status": "in_progress", "activeForm": "Greeting in Chinese"}
EDIT = {"edit_file": {"path": "greet.py", "old_text": "Hello", "new_text": "你好"}}
TURNS: list[Json] = [
    {"text": "I greet in Chinese.", "calls": [{"todo": {"items": [STEP]}}, EDIT]},
    {"text": "It greets in Chinese now."},
]


async def test_the_transcript_of_the_example(agent: Open, workspace: Path) -> None:
    """A client of another language can be compared with this file. FAIRLEAD_WRITE_GOLDENS=1 rewrites it."""
    (workspace / "greet.py").write_text('print("Hello")\n', encoding="utf-8")
    async with agent(*TURNS) as client:
        session = await client.new(workspace)
        await client.until(lambda: client.updates("available_commands_update"))
        client.permission = by_kind("allow_once")
        await client.prompt(session, "Greet in Chinese")
        await client.prompt(session, "/undo")
        await client.request("session/close", sessionId=session)
        assert await client.end() == 0
        text = json.dumps(without_chance(client.transcript), ensure_ascii=False, indent=2)
    for value, name in ((session, "5bda328d487f"), (str(workspace), "/project"), (__version__, "VERSION")):
        text = text.replace(value, name)
    if os.environ.get("FAIRLEAD_WRITE_GOLDENS"):
        GOLDEN.write_text(f"{text}\n", encoding="utf-8")
    assert json.loads(text) == json.loads(GOLDEN.read_text(encoding="utf-8"))


def without_chance(transcript: list[Json]) -> list[Json]:
    """The messages without the title, which may come at any moment. The pieces of each text are joined, and before the
    plans that were sent with them: of what happens within 33 ms, the plan is sent first."""
    messages = [each for each in transcript if _kind(each) != "session_info_update"]
    found: list[Json] = []
    for is_said_or_planned, group in groupby(messages, lambda each: _kind(each) in ("agent_message_chunk", "plan")):
        if not is_said_or_planned:
            found += group
            continue
        together = list(group)
        pieces = [each for each in together if _kind(each) == "agent_message_chunk"]
        if pieces:
            update = pieces[0]["params"]["update"]
            text = "".join(each["params"]["update"]["content"]["text"] for each in pieces)
            joined = {**update, "content": {**update["content"], "text": text}}
            found.append({**pieces[0], "params": {**pieces[0]["params"], "update": joined}})
        found += (each for each in together if _kind(each) == "plan")
    return found


def _kind(message: Json) -> str:
    return message.get("params", {}).get("update", {}).get("sessionUpdate", "")


class SdkClient:
    """The SDK's own client. It accepts everything."""

    def __init__(self) -> None:
        self.kinds: list[str] = []
        self.titles: list[str | None] = []

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        self.kinds.append(update.session_update)

    async def request_permission(
        self, session_id: str, tool_call: schema.ToolCallUpdate, options: list[schema.PermissionOption], **_: Any
    ) -> schema.RequestPermissionResponse:
        self.titles.append(tool_call.title)
        chosen = next(option.option_id for option in options if option.kind == "allow_once")
        return schema.RequestPermissionResponse(outcome=schema.AllowedOutcome(outcome="selected", option_id=chosen))

    def on_connect(self, conn: Any) -> None: ...


async def test_the_clients_of_the_sdk(workspace: Path, tmp_path: Path) -> None:
    """As an editor in Python would start it: a new process, whose answers the SDK's models accept."""
    (workspace / "greet.py").write_text('print("Hello")\n', encoding="utf-8")
    recording = tmp_path / "greet.replay.yaml"
    recording.write_text(json.dumps({"replay": 1, "turns": TURNS}, ensure_ascii=False), encoding="utf-8")
    options = ["--replay", str(recording), "--storage", str(tmp_path / "sessions")]
    command = [sys.executable, "-m", "fairlead", "acp", *options]
    client: Any = SdkClient()
    async with spawn_agent_process(client, *command, env=environment(), cwd=str(tmp_path)) as (agent, process):
        answer = await agent.initialize(protocol_version=1)
        assert answer.protocol_version == 1
        created = await agent.new_session(cwd=str(workspace), mcp_servers=[])
        assert created.modes is not None
        prompt = [schema.TextContentBlock(type="text", text="Greet in Chinese")]
        result = await agent.prompt(session_id=created.session_id, prompt=list(prompt))
        assert result.stop_reason == "end_turn"
        listed = await agent.list_sessions()
        assert [each.title for each in listed.sessions] == ["Greet in Chinese"]
        await agent.close_session(session_id=created.session_id)
    assert client.titles == ["Review `greet.py` (+1 -1)"]
    assert {"agent_message_chunk", "plan", "tool_call", "tool_call_update"} <= set(client.kinds)
    assert (workspace / "greet.py").read_text(encoding="utf-8") == 'print("你好")\n'
    assert process.returncode == 0
