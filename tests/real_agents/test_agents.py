"""Real agents of others against stand-ins of their APIs: each does the worked example in the box (docs/agents.md)."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from real_agents.stand_in import Json, StandIn, Step, Work
from support.client import Client

KEY = "the-real-key"
SHELL = "echo shell > s.txt; env | grep -c the-real-key >> s.txt; cat a.txt"
PATCH = "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+ONE\n*** Add File: new.txt\n+new\n*** End Patch"


@dataclass(frozen=True)
class Example:
    """How an agent reaches the stand-in, and its own tools for the worked example."""

    settings: Json
    """Those of the agent; `@URL@` stands for the stand-in's address."""
    plan: Step | None
    edits: Sequence[Step]
    shell: str
    environment: dict[str, str] = field(default_factory=dict[str, str])
    has_relay: bool = False
    """Whether the key stays outside of the box."""
    files: dict[str, str] = field(default_factory=dict[str, str])
    """Those in its state folder, where a sign-in would have written them."""
    command: str = "command"
    """The name of the shell tool's field for the command."""


OPENCODE = {
    "model": "standin/stand-in",
    "small_model": "standin/stand-in",
    "autoupdate": False,
    "share": "disabled",
    "provider": {
        "standin": {
            "npm": "@ai-sdk/openai-compatible",
            "name": "Stand-in",
            "options": {"baseURL": "@URL@/v1", "apiKey": KEY},
            "models": {"stand-in": {"name": "S", "tool_call": True, "limit": {"context": 100000, "output": 8000}}},
        }
    },
}
EXAMPLES = {
    "claude": Example(
        settings={},
        plan=("TaskCreate", {"subject": "Shout", "description": "Loudly", "activeForm": "Shouting"}),
        edits=[
            ("Read", {"file_path": "@WS@/a.txt"}),
            ("Edit", {"file_path": "@WS@/a.txt", "old_string": "one", "new_string": "ONE"}),
            ("Write", {"file_path": "@WS@/new.txt", "content": "new\n"}),
        ],
        shell="Bash",
        environment={"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": "@URL@"},
        has_relay=True,
    ),
    "codex-zed": Example(
        settings={
            "command": "codex-acp",
            "package": ["@zed-industries/codex-acp@0.16.0"],
            "args": [
                *("-c", 'sandbox_mode="danger-full-access"', "-c", 'approval_policy="untrusted"'),
                *("-c", 'model_provider="standin"', "-c", 'model="gpt-5.1-codex"'),
                "-c",
                'model_providers.standin={name="s",base_url="@URL@/v1",env_key="STAND_IN_KEY",wire_api="responses"}',
            ],
            "env": {"STAND_IN_KEY": KEY},
            "hosts": ["localhost:@PORT@"],
        },
        plan=("update_plan", {"plan": [{"step": "Shout", "status": "in_progress"}]}),
        edits=[("exec_command", {"cmd": f"apply_patch <<'EOF'\n{PATCH}\nEOF"})],
        shell="exec_command",
        command="cmd",
    ),
    "codex": Example(
        settings={"env": {"STAND_IN_KEY": KEY}, "hosts": ["localhost:@PORT@"]},
        plan=("update_plan", {"plan": [{"step": "Shout", "status": "in_progress"}]}),
        edits=[("exec_command", {"cmd": f"apply_patch <<'EOF'\n{PATCH}\nEOF"})],
        shell="exec_command",
        command="cmd",
        files={
            "config.toml": 'model_provider = "standin"\nmodel = "gpt-5.1-codex"\n[model_providers.standin]\n'
            'name = "s"\nbase_url = "@URL@/v1"\nenv_key = "STAND_IN_KEY"\nwire_api = "responses"\n'
        },
    ),
    "opencode": Example(
        settings={
            "env": {"OPENCODE_CONFIG_CONTENT": json.dumps(OPENCODE), "OPENCODE_DISABLE_MODELS_FETCH": "1"},
            "hosts": ["localhost:@PORT@"],
        },
        plan=(
            "todowrite",
            {"todos": [{"content": "Shout", "status": "in_progress", "priority": "high", "id": "1"}]},
        ),
        edits=[
            ("read", {"filePath": "@WS@/a.txt"}),
            ("edit", {"filePath": "@WS@/a.txt", "oldString": "one", "newString": "ONE"}),
            ("write", {"filePath": "@WS@/new.txt", "content": "new\n"}),
        ],
        shell="bash",
    ),
    "gemini": Example(
        settings={},
        plan=None,
        edits=[
            ("read_file", {"file_path": "@WS@/a.txt"}),
            ("replace", {"file_path": "@WS@/a.txt", "instruction": "Shout", "old_string": "one", "new_string": "ONE"}),
            ("write_file", {"file_path": "@WS@/new.txt", "content": "new\n"}),
        ],
        shell="run_shell_command",
        environment={"GEMINI_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": "@URL@"},
        has_relay=True,
    ),
    "goose": Example(
        settings={"env": {"GOOSE_PROVIDER": "openai", "GOOSE_MODEL": "gpt-4o"}},
        plan=None,
        edits=[
            ("edit", {"path": "@WS@/a.txt", "before": "one", "after": "ONE"}),
            ("write", {"path": "@WS@/new.txt", "content": "new\n"}),
        ],
        shell="shell",
        environment={"OPENAI_API_KEY": KEY, "OPENAI_HOST": "@URL@"},
        has_relay=True,
    ),
}


def filled(value: Any, api: StandIn, workspace: Path) -> Any:
    text = json.dumps(value).replace("@URL@", api.url).replace("@WS@", str(workspace))
    return json.loads(text.replace("@PORT@", api.url.rpartition(":")[2]))


def worked_example(example: Example, api: StandIn, workspace: Path) -> Work:
    """A plan, edits with its own tool, and a file that its own shell writes."""

    def work(tools: Sequence[str]) -> Sequence[Step]:
        wanted = [example.plan, *example.edits, (example.shell, {example.command: SHELL, "description": "Write it"})]
        steps = [filled(step, api, workspace) for step in wanted if step is not None]
        return [(name, given) for name, given in steps if name in tools]

    return work


@pytest.mark.parametrize("name", EXAMPLES)
async def test_an_agent_does_the_worked_example_in_the_box(
    name: str, workspace: Path, agents_home: Path, tmp_path: Path
) -> None:
    """The disk is unchanged until the user accepts, and an accept is undone. The key stays outside of the box."""
    example = EXAMPLES[name]
    (workspace / "a.txt").write_text("one\n")
    answers = {"agent/approve": lambda _: {"option": "allow_once"}}
    with StandIn({}) as api:
        api.work["WORK"] = worked_example(example, api, workspace)
        settings = {"agents": {name: filled(example.settings, api, workspace)}} if example.settings else {}
        env = filled(example.environment, api, workspace)
        client = Client(workspace, settings=settings, env=env, storage=tmp_path / "storage", answers=answers)
        async with client:
            for path, text in filled(example.files, api, workspace).items():
                (agents_home / ".local/share/fairlead/agents/state" / name).mkdir(parents=True)
                (agents_home / ".local/share/fairlead/agents/state" / name / path).write_text(text)
            await client.request("agent/hosted/install", {"agent": name}, deadline=600)
            result = await client.request("agent/runTask", {"prompt": "WORK", "hosted": name}, deadline=300)
            session_id = result["sessionId"]
            opened = await client.request("agent/sessions/open", {"sessionId": session_id})
            assert (result["stopReason"], result["message"].endswith("Done: WORK.")) == ("end_turn", True), result
            kinds = {Path(file["uri"]).name: file["kind"] for file in opened["edits"]["files"]}
            assert kinds == {"a.txt": "modify", "new.txt": "create", "s.txt": "create"}
            assert sorted(path.name for path in workspace.iterdir() if path.name != ".git") == ["a.txt"]
            assert (workspace / "a.txt").read_text() == "one\n"
            if example.has_relay:
                assert {each.key for each in api.asked} == {KEY}
            uri = (workspace / "a.txt").as_uri()
            await client.request("agent/edits/accept", {"sessionId": session_id, "target": {"uri": uri}})
            assert (workspace / "a.txt").read_text() == "ONE\n"
            await client.request("agent/edits/undo", {"sessionId": session_id})
            assert (workspace / "a.txt").read_text() == "one\n"
            uri = (workspace / "s.txt").as_uri()
            await client.request("agent/edits/accept", {"sessionId": session_id, "target": {"uri": uri}})
            assert (workspace / "s.txt").read_text().splitlines()[0] == "shell"
            if example.has_relay:
                assert (workspace / "s.txt").read_text() == "shell\n0\n", "its shell sees the key"
