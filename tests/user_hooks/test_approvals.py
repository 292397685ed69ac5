"""Who must allow hooks, how long that holds, and what the page says: a real server process and real boxes."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.calls import write
from support.client import Client, Json

pytestmark = pytest.mark.usefixtures("box")
ALLOW: dict[str, Any] = {"agent/approve": lambda _: {"option": "allow_once"}}
REJECT: dict[str, Any] = {"agent/approve": lambda _: {"option": "reject"}}
Define = Callable[..., None]
Replay = Callable[..., Json]
RAN = "echo ran >> log.txt"


def has_run(client: Client) -> bool:
    """Whether a hook has proposed something in this process."""
    return any((event["name"], event["toolKind"]) == ("hook", "edit") for event in client.events("tool_started"))


async def run(workspace: Path, storage: Path, replay: Replay, answers: dict[str, Any]) -> tuple[int, bool]:
    """Runs a task in a new process. Returns how many questions there were, and whether a hook has run."""
    settings = replay({"text": "Done."})
    async with Client(workspace, settings=settings, answers=answers, storage=storage) as client:
        await client.run()
        return len(client.all("agent/approve")), has_run(client)


async def test_an_answer_holds_until_the_hook_or_its_script_changes(
    workspace: Path, tmp_path: Path, define: Define, replay: Replay
) -> None:
    """docs/faults.md 250: the command, the event, the matcher or the script; not what the command works on."""
    script = workspace / ".claude/hooks/check.sh"
    script.parent.mkdir(parents=True)
    script.write_text(f"{RAN}\n")
    command = 'sh "$CLAUDE_PROJECT_DIR"/.claude/hooks/check.sh data.txt'
    storage = tmp_path / "storage"
    define(Stop=command)
    assert await run(workspace, storage, replay, ALLOW) == (1, True)
    (workspace / "data.txt").write_text("new")
    assert await run(workspace, storage, replay, REJECT) == (0, True)
    script.write_text(f"{RAN} # changed\n")
    assert await run(workspace, storage, replay, REJECT) == (1, False)
    assert await run(workspace, storage, replay, ALLOW) == (1, True)
    define(Stop=f"{command} more")
    assert await run(workspace, storage, replay, REJECT) == (1, False)
    define(SessionStart=command)
    assert await run(workspace, storage, replay, REJECT) == (1, False)
    define(Stop=command)
    assert await run(workspace, storage, replay, REJECT) == (0, True)


async def test_what_is_proposed_for_a_script_has_no_effect(workspace: Path, define: Define, replay: Replay) -> None:
    """docs/faults.md 251: neither for a guard in a protected folder nor for the definition itself."""
    guard = workspace / ".claude/hooks/guard.sh"
    guard.parent.mkdir(parents=True)
    guard.write_text("echo no >&2; exit 2\n")
    define(PreToolUse=("Bash", "sh .claude/hooks/guard.sh"))
    settings = replay(
        {"calls": [write(".claude/hooks/guard.sh", "exit 0\n"), write(".claude/settings.json", "{}")]},
        {"calls": [{"bash": {"command": "echo x > log.txt"}}]},
        {"text": "Done."},
    )
    async with Client(workspace, settings=settings, answers=ALLOW) as client:
        await client.run()
        assert not has_run(client)
        assert all(file["protected"] for file in client.last("agent/edits")["files"])


@pytest.mark.parametrize("command", ["sh .claude/hooks/guard.sh", "cd .claude/hooks && ./guard.sh", "linked/guard"])
async def test_what_is_proposed_for_a_script_behind_a_link_has_no_effect(
    workspace: Path, define: Define, replay: Replay, command: str
) -> None:
    """docs/faults.md 267: the agent edits the file to which a link leads that the hook names."""
    guard, link = workspace / "scripts/guard", workspace / ".claude/hooks/guard.sh"
    for path in (guard, link):
        path.parent.mkdir(parents=True)
    guard.write_text("#!/bin/sh\necho no >&2; exit 2\n")
    guard.chmod(0o755)
    link.symlink_to("../../scripts/guard")
    (workspace / "linked").symlink_to("scripts")
    define(PreToolUse=("Bash", command))
    settings = replay(
        {"calls": [write("scripts/guard", "#!/bin/sh\nexit 0\n")]},
        {"calls": [{"bash": {"command": "echo x > log.txt"}}]},
        {"text": "Done."},
    )
    async with Client(workspace, settings=settings, answers=ALLOW) as client:
        await client.run()
        assert [Path(file["uri"]).name for file in client.last("agent/edits")["files"]] == ["guard"]


async def test_the_users_own_hooks(workspace: Path, home: Path, tmp_path: Path, replay: Replay) -> None:
    """Those for Fairlead run without a question, those for another program after one. Both may use their scripts."""
    (home / "own.sh").write_text(f"{RAN}\n")
    path = home / ".config/fairlead/hooks.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"hooks": {"Stop": [{"command": f"sh {home}/own.sh"}]}}))
    assert await run(workspace, tmp_path / "storage", replay, REJECT) == (0, True)
    other = home / ".claude/settings.json"
    other.parent.mkdir()
    path.rename(other)
    assert await run(workspace, tmp_path / "storage", replay, REJECT) == (1, False)
    assert await run(workspace, tmp_path / "storage", replay, ALLOW) == (1, True)
    assert await run(workspace, tmp_path / "storage", replay, REJECT) == (0, True)


async def test_a_rejected_hook_does_not_ask_again_in_the_session(
    workspace: Path, define: Define, replay: Replay
) -> None:
    define(Stop=RAN)
    settings = replay({"text": "One."}, {"text": "Two."})
    async with Client(workspace, settings=settings, answers=REJECT) as client:
        session = (await client.run())["sessionId"]
        await client.run(sessionId=session)
        assert len(client.all("agent/approve")) == 1
        [row] = [event for event in client.events("tool_finished") if event["toolCallId"].startswith("hook")]
    assert row["text"] == "It was not run, because you have not allowed it."
    assert row["shown"]["template"] == row["text"]


async def test_an_untrusted_workspace_has_no_hooks(workspace: Path, home: Path, define: Define) -> None:
    """docs/faults.md 238: the page shows the user's own ones."""
    define(Stop=RAN)
    path = home / ".claude/settings.json"
    path.parent.mkdir()
    path.write_text('{"hooks": {"Stop": [{"command": "echo own"}], "Nothing": [{"command": "true"}]}}')
    async with Client(workspace, trusted=False) as client:
        page = (await client.request("agent/hooks/page", {}))["markdown"]
    assert RAN not in page
    assert "## Your own hooks\n\n- **Stop**: `echo own` **Not allowed yet.**" in page
    assert "## Not supported\n\n- `Nothing`: `true` there is no such event." in page


async def test_the_page(workspace: Path, home: Path, define: Define, replay: Replay) -> None:
    """All hooks with their files, and whether they may run."""
    async with Client(workspace) as client:
        empty = (await client.request("agent/hooks/page", {}))["markdown"]
    assert empty.startswith("# Hooks\n\nThere are none. They are read from `.claude/settings.json`,")
    define(Stop=RAN, PreToolUse=("Bash|Edit", "exit 0"))
    define(".fairlead/hooks.json", Stop={"command": "true", "timeout": -1})
    path = home / ".config/fairlead/hooks.json"
    path.parent.mkdir(parents=True)
    path.write_text('{"hooks": {"SubagentStop": [{"command": "true"}]}}')
    settings = replay({"text": "Done."})
    answers = {"agent/approve": lambda params: {"option": "allow_once" if params["command"] == RAN else "reject"}}
    async with Client(workspace, settings=settings, answers=answers) as client:
        await client.run()
        page = (await client.request("agent/hooks/page", {}))["markdown"]
    assert f"- **Stop**: `{RAN}` You have allowed it. (`.claude/settings.json`, line 7)" in page
    assert "- **PreToolUse** for `Bash|Edit`: `exit 0` **Not allowed yet.** You are asked when it is to run." in page
    assert "- **SubagentStop**: `true` It is your own, so it runs without asking." in page
    assert "(`~/.config/fairlead/hooks.json`, line 1)" in page
    assert "## Problems\n\n- `.fairlead/hooks.json`, line 7: timeout must be a positive number" in page


async def test_without_a_sandbox_hooks_ask_as_commands_do(workspace: Path, define: Define, replay: Replay) -> None:
    """Here because the home is in the workspace, whose own hooks ask too. They run on the user's files."""
    (workspace / "home/.config/fairlead").mkdir(parents=True)
    (workspace / "home/.config/fairlead/hooks.json").write_text('{"hooks": {"SessionStart": [{"command": "true"}]}}')
    define(Stop=RAN)
    settings = replay({"text": "Done."})
    async with Client(workspace, settings=settings, answers=ALLOW, env={"HOME": str(workspace / "home")}) as client:
        await client.run()
        kinds = [(asked["kind"], asked["mode"]) for asked in client.all("agent/approve")]
    assert kinds == [("hook", "workspace"), ("command", "workspace")] * 2
    assert (workspace / "log.txt").read_text() == "ran\n"


async def test_rules_that_deny_commands_also_deny_hooks(workspace: Path, define: Define, replay: Replay) -> None:
    """docs/faults.md 256: although the user has allowed the hook. Another one runs."""
    define(SessionStart=RAN, Stop="touch denied")
    settings = replay({"text": "Done."}, bash={"deny": ["touch *"]})
    async with Client(workspace, settings=settings, answers=ALLOW) as client:
        await client.run()
        assert [Path(file["uri"]).name for file in client.last("agent/edits")["files"]] == ["log.txt"]
        [text] = [event["text"] for event in client.events("tool_finished") if event["isError"]]
    assert text.endswith("Your deny rule blocks it: touch *")
