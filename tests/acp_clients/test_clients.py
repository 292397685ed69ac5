"""Real clients do the worked example: `acpx`, and the SDK for TypeScript."""

import json
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cli.command import environment
from fairlead.cli.demo import missing_parts
from support.sandbox import needs_sandbox

EXAMPLE = Path(__file__).parents[2] / "server" / "fairlead" / "example"
PROMPT = "Refactor hello.py"
DENIED = 5
"""The exit code of acpx if it has denied every permission."""
STEPS = ["Read hello.py", "Add type hints", "Add docstrings", "Add a main guard", "Check the result"]


@pytest.fixture
def hello(workspace: Path) -> Path:
    """The script of the example, in the workspace."""
    needs_sandbox()
    shutil.copytree(EXAMPLE / "workspace", workspace, dirs_exist_ok=True)
    return workspace / "hello.py"


@pytest.fixture
def agent(tmp_path: Path) -> list[str]:
    """The command of an agent that plays the example."""
    text = (EXAMPLE / "refactor.replay.yaml").read_text(encoding="utf-8")
    recording = tmp_path / "example.replay.yaml"
    recording.write_text(text.replace("pace: 0.02", "pace: 0"), encoding="utf-8")
    options = ["--replay", str(recording), "--storage", str(tmp_path / "sessions")]
    return [sys.executable, "-m", "fairlead", "acp", *options]


def run(command: list[str], folder: Path, code: int = 0) -> str:
    """The output of a program that ends with this exit code."""
    ended = subprocess.run(
        command, cwd=folder, env=environment(), capture_output=True, text=True, timeout=200, check=False
    )
    assert ended.returncode == code, (ended.stdout[-2000:], ended.stderr[-2000:])
    return ended.stdout


@pytest.mark.parametrize(("answer", "is_written"), [("--approve-all", True), ("--deny-all", False)])
def test_acpx(
    hello: Path, workspace: Path, packages: Path, node: str, agent: list[str], answer: str, *, is_written: bool
) -> None:
    """Every frame of both sides is shown. The file is written only if the client approves, and the turn ends."""
    acpx = [node, str(packages / "acpx" / "dist" / "cli.js")]
    options = ["--agent", shlex.join(agent), "--cwd", str(workspace), answer, "--format", "json"]
    shown = run([*acpx, *options, "exec", PROMPT], workspace, 0 if is_written else DENIED)
    frames: list[dict[str, Any]] = [json.loads(line) for line in shown.splitlines()]
    assert frames[-1]["result"]["stopReason"] == "end_turn"
    updates = [frame["params"]["update"] for frame in frames if frame.get("method") == "session/update"]
    plan = [update["entries"] for update in updates if update["sessionUpdate"] == "plan"][-1]
    assert [entry["content"].split(" (")[0] for entry in plan] == STEPS
    assert "proved by" in plan[1]["content"]
    [question] = [frame for frame in frames if frame.get("method") == "session/request_permission"]
    assert question["params"]["toolCall"]["content"][0]["type"] == "diff"
    assert (missing_parts(hello.read_text()) == []) is is_written


CLIENT = """
import { spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";
import * as acp from "@agentclientprotocol/sdk";

const [folder, ...command] = JSON.parse(process.argv[2]);
const agent = spawn(command[0], command.slice(1), { stdio: ["pipe", "pipe", "inherit"] });
const seen = { updates: [], asked: [] };
const stream = acp.ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout));
await acp
  .client({ name: "test" })
  .onRequest(acp.methods.client.session.requestPermission, ({ params }) => {
    seen.asked.push(params);
    const { optionId } = params.options.find((option) => option.kind === "allow_once");
    return { outcome: { outcome: "selected", optionId } };
  })
  .onNotification(acp.methods.client.session.update, ({ params }) => {
    seen.updates.push(params.update.sessionUpdate);
  })
  .connectWith(stream, async (connection) => {
    const { agent: methods } = acp.methods;
    seen.initialized = await connection.request(methods.initialize, { protocolVersion: 1, clientCapabilities: {} });
    const session = await connection.request(methods.session.new, { cwd: folder, mcpServers: [] });
    const prompt = [{ type: "text", text: "Refactor hello.py" }];
    seen.result = await connection.request(methods.session.prompt, { sessionId: session.sessionId, prompt });
    seen.listed = await connection.request(methods.session.list, {});
  });
console.log(JSON.stringify(seen));
agent.kill();
process.exit(0);
"""


def test_the_sdk_for_typescript(
    hello: Path, workspace: Path, packages: Path, node: str, agent: list[str], tmp_path: Path
) -> None:
    """Its types accept every answer and update."""
    script = tmp_path / "client.mjs"
    (tmp_path / "node_modules").symlink_to(packages)
    script.write_text(CLIENT)
    seen = json.loads(run([node, str(script), json.dumps([str(workspace), *agent])], workspace))
    assert seen["initialized"]["protocolVersion"] == 1
    assert seen["result"] == {"stopReason": "end_turn"}
    assert {"agent_message_chunk", "plan", "tool_call", "tool_call_update"} <= set(seen["updates"])
    assert [each["toolCall"]["kind"] for each in seen["asked"]] == ["edit"]
    assert [each["title"] for each in seen["listed"]["sessions"]] == [PROMPT]
    assert missing_parts(hello.read_text()) == []
