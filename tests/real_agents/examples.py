"""How each real agent reaches the stand-in, and its own tools for the worked example."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from real_agents.stand_in import Json, StandIn, Step

KEY = "the-real-key"
PATCH = """*** Begin Patch
*** Update File: a.txt
@@
-one
+ONE
@@
-seven
+SEVEN
*** Add File: new.txt
+new
*** End Patch"""
Shell = Callable[[str], Step]
"""Returns the call that runs a command."""


@dataclass(frozen=True)
class Example:
    """How an agent reaches the stand-in, and its own tools for the worked example."""

    settings: Json
    """Those of the agent; `@URL@` stands for the stand-in's address."""
    edits: Sequence[Step]
    read: Step
    """Reads a.txt."""
    shell: Shell
    begin: Sequence[Step] = ()
    """Write a plan with one step, which is in progress."""
    complete: Sequence[Step] = ()
    """Complete the step."""
    reports_plan: bool = True
    reports_output: bool = True
    """Whether it reports what a command writes."""
    tells_changes: bool = False
    """Whether it tells its model about a changed file before that reads it again."""
    own_tools: str | None = None
    """What precedes the names of Fairlead's tools for its model; None: it takes none."""
    environment: dict[str, str] = field(default_factory=dict[str, str])
    has_relay: bool = False
    """Whether the key stays outside of the box."""
    files: dict[str, str] = field(default_factory=dict[str, str])
    """Those in its state folder, where a sign-in would have written them."""


def by_status(tool: str, make: Any) -> tuple[Sequence[Step], Sequence[Step]]:
    """The calls that begin a step and complete it, of a tool that takes the whole plan."""
    return [(tool, make("in_progress"))], [(tool, make("completed"))]


UPDATE_PLAN = by_status("update_plan", lambda status: {"plan": [{"step": "Shout", "status": status}]})
TODO_WRITE = by_status(
    "todowrite", lambda status: {"todos": [{"content": "Shout", "status": status, "priority": "high", "id": "1"}]}
)
WRITE_TODOS = by_status("write_todos", lambda status: {"todos": [{"description": "Shout", "status": status}]})
APPLY_PATCH = ("exec_command", {"cmd": f"apply_patch <<'EOF'\n{PATCH}\nEOF"})
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
        own_tools="mcp__fairlead__",
        settings={},
        begin=[
            ("TaskCreate", {"subject": "Shout", "description": "Loudly", "activeForm": "Shouting"}),
            ("TaskUpdate", {"taskId": "1", "status": "in_progress"}),
        ],
        complete=[("TaskUpdate", {"taskId": "1", "status": "completed"})],
        edits=[
            ("Read", {"file_path": "@WS@/a.txt"}),
            ("Edit", {"file_path": "@WS@/a.txt", "old_string": "one", "new_string": "ONE"}),
            ("Edit", {"file_path": "@WS@/a.txt", "old_string": "seven", "new_string": "SEVEN"}),
            ("Write", {"file_path": "@WS@/new.txt", "content": "new\n"}),
        ],
        read=("Read", {"file_path": "@WS@/a.txt"}),
        shell=lambda command: ("Bash", {"command": command, "description": "Run it"}),
        tells_changes=True,
        environment={"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": "@URL@"},
        has_relay=True,
    ),
    "codex-zed": Example(
        own_tools="",
        settings={
            "args": [
                *("-c", 'sandbox_mode="danger-full-access"', "-c", 'approval_policy="untrusted"'),
                *("-c", 'model_provider="standin"', "-c", 'model="gpt-5.1-codex"'),
                "-c",
                'model_providers.standin={name="s",base_url="@URL@/v1",env_key="STAND_IN_KEY",wire_api="responses"}',
            ],
            "env": {"STAND_IN_KEY": KEY},
            "hosts": ["localhost:@PORT@"],
        },
        begin=UPDATE_PLAN[0],
        complete=UPDATE_PLAN[1],
        edits=[APPLY_PATCH],
        read=("exec_command", {"cmd": "cat a.txt"}),
        shell=lambda command: ("exec_command", {"cmd": command}),
    ),
    "codex": Example(
        own_tools="",
        settings={"env": {"STAND_IN_KEY": KEY}, "hosts": ["localhost:@PORT@"]},
        begin=UPDATE_PLAN[0],
        complete=UPDATE_PLAN[1],
        edits=[APPLY_PATCH],
        read=("exec_command", {"cmd": "cat a.txt"}),
        shell=lambda command: ("exec_command", {"cmd": command}),
        files={
            "config.toml": 'model_provider = "standin"\nmodel = "gpt-5.1-codex"\n[model_providers.standin]\n'
            'name = "s"\nbase_url = "@URL@/v1"\nenv_key = "STAND_IN_KEY"\nwire_api = "responses"\n'
        },
    ),
    "opencode": Example(
        own_tools="fairlead_",
        settings={
            "env": {"OPENCODE_CONFIG_CONTENT": json.dumps(OPENCODE), "OPENCODE_DISABLE_MODELS_FETCH": "1"},
            "hosts": ["localhost:@PORT@"],
        },
        begin=TODO_WRITE[0],
        complete=TODO_WRITE[1],
        edits=[
            ("read", {"filePath": "@WS@/a.txt"}),
            ("edit", {"filePath": "@WS@/a.txt", "oldString": "one", "newString": "ONE"}),
            ("edit", {"filePath": "@WS@/a.txt", "oldString": "seven", "newString": "SEVEN"}),
            ("write", {"filePath": "@WS@/new.txt", "content": "new\n"}),
        ],
        read=("read", {"filePath": "@WS@/a.txt"}),
        shell=lambda command: ("bash", {"command": command, "description": "Run it"}),
    ),
    "gemini": Example(
        own_tools="mcp_fairlead_",
        settings={
            # only models of this generation get a tool for plans
            "args": ["--acp", "-m", "gemini-2.5-flash"],
        },
        begin=WRITE_TODOS[0],
        complete=WRITE_TODOS[1],
        reports_plan=False,
        reports_output=False,
        edits=[
            ("read_file", {"file_path": "@WS@/a.txt"}),
            *(
                (
                    "replace",
                    {"file_path": "@WS@/a.txt", "instruction": "Shout", "old_string": word, "new_string": word.upper()},
                )
                for word in ("one", "seven")
            ),
            ("write_file", {"file_path": "@WS@/new.txt", "content": "new\n"}),
        ],
        read=("read_file", {"file_path": "@WS@/a.txt"}),
        shell=lambda command: ("run_shell_command", {"command": command, "description": "Run it"}),
        environment={"GEMINI_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": "@URL@"},
        has_relay=True,
    ),
    "cline": Example(
        settings={
            "env": {"CLINE_API_KEY": KEY, "CLINE_PROVIDER": "openai-compatible"},
            "hosts": ["localhost:@PORT@"],
        },
        reports_plan=False,
        edits=[("apply_patch", {"input": PATCH})],
        read=("read_files", {"files": [{"path": "@WS@/a.txt"}]}),
        shell=lambda command: ("run_commands", {"commands": [command]}),
        files={
            "data/settings/providers.json": json.dumps(
                {
                    "version": 1,
                    "lastUsedProvider": "openai-compatible",
                    "modes": {},
                    "providers": {
                        "openai-compatible": {
                            "settings": {
                                "provider": "openai-compatible",
                                "apiKey": KEY,
                                "model": "stand-in",
                                "baseUrl": "@URL@/v1",
                            },
                            "updatedAt": "2026-11-30T00:00:00.000Z",
                            "tokenSource": "manual",
                        }
                    },
                }
            )
        },
    ),
    "goose": Example(
        own_tools="fairlead__",
        settings={"env": {"GOOSE_PROVIDER": "openai", "GOOSE_MODEL": "gpt-4o"}},
        begin=[("todo__todo_write", {"content": "- [ ] Shout"})],
        complete=[("todo__todo_write", {"content": "- [x] Shout"})],
        edits=[
            ("edit", {"path": "@WS@/a.txt", "before": "one", "after": "ONE"}),
            ("edit", {"path": "@WS@/a.txt", "before": "seven", "after": "SEVEN"}),
            ("write", {"path": "@WS@/new.txt", "content": "new\n"}),
        ],
        read=("shell", {"command": "cat a.txt"}),
        shell=lambda command: ("shell", {"command": command}),
        environment={"OPENAI_API_KEY": KEY, "OPENAI_HOST": "@URL@"},
        has_relay=True,
    ),
}


def filled(value: Any, api: StandIn, workspace: Path) -> Any:
    text = json.dumps(value).replace("@URL@", api.url).replace("@WS@", str(workspace))
    return json.loads(text.replace("@PORT@", api.url.rpartition(":")[2]))


def write_state(name: str, home: Path, api: StandIn, workspace: Path) -> None:
    """Writes what a sign-in would have written into the state folder of an agent."""
    for path, text in filled(EXAMPLES[name].files, api, workspace).items():
        file = home / ".local/share/fairlead/agents/state" / name / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


def settings_of(name: str, api: StandIn, workspace: Path) -> Json:
    """The settings with which an agent reaches the stand-in."""
    given = EXAMPLES[name].settings
    return {"agents": {name: filled(given, api, workspace)}} if given else {}
