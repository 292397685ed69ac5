"""Commands in the real server: what they see, and how their changes are proposed and reviewed (docs/sandbox.md)."""

import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from support.calls import bash, edit
from support.client import EDITOR, Client, Json
from support.sandbox import capability, needs_sandbox

Replay = Callable[..., Json]


@pytest.fixture(autouse=True)
def sandboxed() -> None:
    needs_sandbox()


def proposals(client: Client) -> dict[str, str]:
    edits = client.last("agent/edits") or {"files": []}
    return {file["uri"].rsplit("/ws/", 1)[1]: file["kind"] for file in edits["files"]}


def git(workspace: Path, *arguments: str) -> str:
    author = ("-c", "user.name=x", "-c", "user.email=x@example.com")
    return subprocess.run(
        ["git", *author, *arguments], cwd=workspace, capture_output=True, text=True, check=True
    ).stdout


async def test_tests_run_on_the_edits_before_a_line_is_accepted(workspace: Path, replay: Replay) -> None:
    """The agent runs the program on its own edit without a question; the repository is clean until the accept."""
    (workspace / "sum.py").write_text("def add(a, b):\n    return a - b\n")
    (workspace / "try.py").write_text("from sum import add\nassert add(2, 2) == 4\nprint('passed')\n")
    git(workspace, "init", "-q")
    git(workspace, "add", ".")
    git(workspace, "commit", "-qm", "start")
    fix = [edit("sum.py", "a - b", "a + b"), bash("python3 try.py")]
    settings = replay({"calls": [bash("python3 try.py")]}, {"calls": fix}, {"text": "Done."})
    async with Client(workspace, settings=settings) as client:
        session = (await client.run())["sessionId"]
        first, _, second = client.results()
        assert "AssertionError" in first and "(exit code 1" in first
        assert second.startswith("passed\n") and "(exit code 0" in second
        assert client.all("agent/approve") == []
        assert [event["mode"] for event in client.events("command")] == ["sandboxed", "sandboxed"]
        assert proposals(client) == {"sum.py": "modify"}  # and no cache file of the interpreter
        assert git(workspace, "status", "--porcelain") == ""
        assert sorted(path.name for path in workspace.iterdir()) == [".git", "sum.py", "try.py"]
        await client.request("agent/edits/accept", {"sessionId": session, "target": {"all": True}})
    assert git(workspace, "status", "--porcelain") == " M sum.py\n"


async def test_changes_by_a_command_are_proposed_under_its_step(workspace: Path, replay: Replay) -> None:
    """A formatter, a generator, `git mv`, a deletion, a picture, `chmod`: the files do not change until the accept.

    A command that changes the text of a file does not reset the permissions that an earlier one set.
    """
    (workspace / "style.py").write_text("x=1\n")
    (workspace / "old name.py").write_text("# 問候\n" * 3)
    (workspace / "gone").write_text("x\n")
    (workspace / "run.sh").write_text("ls\n")
    (workspace / ".gitignore").write_text("build/\n")
    git(workspace, "init", "-q")
    git(workspace, "add", ".")
    git(workspace, "commit", "-qm", "start")
    before = {path.name: path.read_bytes() for path in workspace.iterdir() if path.is_file()}
    plan = {"todo": {"items": [{"content": "Format", "status": "in_progress", "activeForm": "Formatting"}]}}
    commands = [
        "sed -i 's/x=1/x = 1/' style.py",
        "mkdir -p gen build && echo 'y = 2' > gen/made.py && echo out > build/out",
        "git mv 'old name.py' 'new name.py'",
        "rm gone && printf '\\211PNG\\0' > logo.png && chmod +x run.sh",
        "cat build/out",
        "sed -i 's/ls/ls -l/' run.sh",
    ]
    settings = replay({"calls": [plan]}, {"calls": [bash(command) for command in commands]}, {"text": "Done."})
    async with Client(workspace, settings=settings) as client:
        session = (await client.run())["sessionId"]
        assert proposals(client) == {
            "style.py": "modify",
            "gen/made.py": "create",
            "old%20name.py": "rename",
            "gone": "delete",
            "logo.png": "create",
            "run.sh": "modify",
        }
        files = client.last("agent/edits")["files"]
        assert all(file["itemIds"] == ["1"] for file in files)
        results = client.results()
        assert "Proposed for review: style.py (+1 -1)" in results[1]
        assert "only later commands see them: build/." in results[2]
        assert not any("only later commands see them" in result for result in results[3:]), "reported once"
        assert results[5].startswith("out\n"), "files that Git ignores stay for the next command"
        assert {path.name: path.read_bytes() for path in workspace.iterdir() if path.is_file()} == before
        if sys.platform != "win32":
            target = {"sessionId": session, "target": {"item": "1"}}
            outcomes = (await client.request("agent/edits/accept", target))["outcomes"]
            assert {outcome["outcome"] for outcome in outcomes} == {"applied"}
    names = sorted(path.name for path in workspace.iterdir())
    assert names == [".git", ".gitignore", "gen", "logo.png", "new name.py", "run.sh", "style.py"]
    assert (workspace / "logo.png").read_bytes() == b"\x89PNG\0"
    assert (workspace / "run.sh").read_text() == "ls -l\n"
    assert (workspace / "run.sh").stat().st_mode & 0o111


async def test_fault_94_a_weaker_box_is_named_once(workspace: Path, replay: Replay) -> None:
    """docs/faults.md 94: where root may not mount, the user learns before the first command what commands can read."""
    if os.geteuid() != 0 or shutil.which("setpriv") is None or not capability().enforce_permissions:
        pytest.skip("this is about root, which may mount")
    settings = replay({"calls": [bash("id -u")]}, {"text": "."}, {"calls": [bash("id -u")]}, {"text": "."})
    async with Client(workspace, settings=settings) as strict:
        await strict.run()
        assert strict.all("window/showMessage") == []
        assert "only root may read" not in (await strict.request("agent/command/rules", {}))["markdown"]
    client = Client(workspace, settings=settings)
    client.command = ["setpriv", "--bounding-set=-sys_admin", "--inh-caps=-sys_admin", *client.command]
    async with client:
        for _ in range(2):
            await client.run()
        assert [event["mode"] for event in client.events("command")] == ["sandboxed", "sandboxed"]
        messages = [shown["message"] for shown in client.all("window/showMessage")]
        assert messages == [
            "Fairlead: Commands in the sandbox can read some files that only root may read, because the box that "
            "prevents this could not be created (namespaces: Operation not permitted). "
            "Work as an ordinary user, or let root mount file systems (CAP_SYS_ADMIN)."
        ]
        kinds = [params.get("kind") or method for method, params in client.log if isinstance(params, dict)]
        assert kinds.index("window/showMessage") < kinds.index("command")
        assert messages[0].removeprefix("Fairlead: ") in (await client.request("agent/command/rules", {}))["markdown"]


async def test_fault_36_rules_through_the_tool(workspace: Path, replay: Replay) -> None:
    """docs/faults.md 36, 37: allowed commands run without asking, combined ones ask, and denied ones never run."""
    commands = [
        "ls",
        "ls; touch made",
        "ls $(touch made)",
        "ls | sh",
        "ls > made",
        "git log --output=made",
        "rm -rf /x",
    ]
    calls = [bash(command, unsandboxed=True) for command in commands]
    settings = replay(
        {"calls": calls},
        {"text": "Done."},
        bash={"allow": ["ls *", "git log *"], "deny": ["rm -rf *"]},
        approvals="ask",
    )
    async with Client(
        workspace, settings=settings, answers={"agent/approve": lambda _: {"option": "reject"}}
    ) as client:
        await client.run()
        assert [asked["command"] for asked in client.all("agent/approve")] == commands[1:-1]
        assert "do not allow this command" in client.results()[-1]
    assert list(workspace.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "files"),
    [
        ("for i in $(seq 1500); do echo $i > f$i; done", 1500),
        ("sed -i 's/$/x/' long.txt", 1),
        ("sed -i 'n;s/$/x/' long.txt", 1),
    ],
    ids=["many files", "each line of a long file", "every second line of a long file"],
)
async def test_the_server_answers_while_large_changes_are_proposed(
    workspace: Path, replay: Replay, command: str, files: int
) -> None:
    """Each answer costs the server less than two seconds of CPU time, and all changed files are proposed."""
    (workspace / "long.txt").write_text("".join(f"line {n}\n" for n in range(100_000)))
    async with Client(workspace, settings=replay({"calls": [bash(command)]}, {"text": "Done."})) as client:
        server = psutil.Process(client.process.pid)
        running = asyncio.ensure_future(client.run())
        slowest = 0.0
        while not running.done():
            before = sum(server.cpu_times()[:2])
            await client.request("agent/sessions/list", {})
            slowest = max(slowest, sum(server.cpu_times()[:2]) - before)
            await asyncio.wait([running], timeout=0.02)
        await running
        assert len(proposals(client)) == files
        assert slowest < 2


async def test_fault_35_protected_files_changed_by_commands_need_approval(workspace: Path, replay: Replay) -> None:
    """docs/faults.md 35: commands cannot write protected files that exist. New protected files are proposed, and
    accept-all leaves them pending.
    """
    (workspace / "AGENTS.md").write_text("rules\n")
    command = "echo mine >> AGENTS.md; mkdir .vscode; echo '{}' > .vscode/settings.json; echo fine > fine"
    settings = replay({"calls": [bash(command)]}, {"text": "Done."})
    async with Client(
        workspace, settings=settings, answers={"agent/approve": lambda _: {"option": "reject"}}
    ) as client:
        session = (await client.run())["sessionId"]
        assert "AGENTS.md: Read-only file system" in client.results()[0]
        assert proposals(client) == {".vscode/settings.json": "create", "fine": "create"}
        await client.request("agent/edits/accept", {"sessionId": session, "target": {"all": True}})
        assert proposals(client) == {".vscode/settings.json": "create"}
    assert (workspace / "fine").read_text() == "fine\n"
    assert not (workspace / ".vscode").exists()


async def test_commands_see_unsaved_text(workspace: Path, replay: Replay) -> None:
    """docs/faults.md 7: a command sees the unsaved text of an open document; its change is proposed on this text."""
    (workspace / "a").write_text("disk\n")
    document = {"uri": (workspace / "a").as_uri(), "languageId": "text", "version": 1, "text": "typed\n"}
    settings = replay({"calls": [bash("cat a; echo more >> a")]}, {"text": "Done."})
    async with Client(workspace, settings=settings) as client:
        client.notify("textDocument/didOpen", {"textDocument": document})
        await client.run()
        assert client.results()[0].startswith("typed\n")
        [file] = client.last("agent/edits")["files"]
        assert (file["additions"], file["deletions"], file["state"]) == (1, 0, "pending")
    assert (workspace / "a").read_text() == "disk\n"


async def test_an_ended_server_leaves_nothing_of_its_layers(workspace: Path, replay: Replay, tmp_path: Path) -> None:
    """The layer's folder is removed when the server ends, or by the next server if it was killed."""
    storage = tmp_path / "storage"
    settings = replay({"calls": [bash("mkdir x; touch x/y")]}, {"text": "Done."})

    def layers() -> list[Path]:
        return [*(storage / "layers").glob("layer-*")]

    async with Client(workspace, settings=settings, storage=storage) as client:
        await client.run()
        assert layers()
    assert not layers()
    async with Client(workspace, settings=settings, storage=storage) as client:
        await client.run()
        client.process.kill()
        await client.process.wait()
    assert layers()
    async with Client(workspace, settings=settings, storage=storage) as client:
        await client.run()
    assert not layers()


async def test_a_session_whose_sandbox_could_not_be_created_can_be_deleted(
    workspace: Path, replay: Replay, tmp_path: Path
) -> None:
    """Deleting such a session removes its journal too. The server ends cleanly even with another such session."""
    storage = tmp_path / "storage"
    turns = [{"calls": [bash("echo ran")]}, {"text": "Done."}] * 2
    async with Client(workspace, settings=replay(*turns), storage=storage) as client:
        await client.request("agent/warm", {})  # answered after the server has tried the sandbox
        (storage / "layers").rmdir()
        sessions = [(await client.run())["sessionId"] for _ in range(2)]
        assert ["could not be created" in text for text in client.results()] == [True, True]
        assert await client.request("agent/sessions/delete", {"sessionId": sessions[0]}) is None
        assert [path.stem for path in (storage / "sessions").glob("*.jsonl")] == sessions[1:]


async def test_commands_run_in_the_sandbox_for_a_client_that_cannot_ask(workspace: Path, replay: Replay) -> None:
    """docs/faults.md 47: sandboxed commands need no approval, so the client need not be able to ask for one."""
    settings = replay({"calls": [bash("echo made > made")]}, {"text": "Done."})
    async with Client(workspace, settings=settings, capabilities={**EDITOR, "experimental": {}}) as client:
        await client.run()
        assert proposals(client) == {"made": "create"}


async def test_a_page_says_how_commands_run_here(workspace: Path, replay: Replay) -> None:
    """The page names the sandbox, says when the user is asked, and shows examples for each rule.

    It names the variables that the user's patterns pass, and those that look like secrets, without their values.
    """
    rules = {"allow": ["npm test *", "find *"], "deny": ["git push *"], "passVariables": ["SHOP_*"]}
    env = {"SHOP_ENV": "test", "SHOP_KEY": "hunter2"}
    async with Client(workspace, settings=replay({"text": "x"}, bash=rules), env=env) as client:
        page = (await client.request("agent/command/rules", {}))["markdown"]
    assert "Commands run in a sandbox (created by " in page
    assert "You are asked before a command uses the network" in page
    assert "| `npm test *` | `npm test`, " in page and "`sudo npm test" in page
    assert "find -delete=f" not in page and "`find x > f`" in page
    assert "\n| `git push *` | `git push x`, `ls && git push x`, `sudo git push x`, `bash -c 'git push x'` |" in page
    assert "`fairlead.bash.passVariables` passes: `SHOP_ENV`." in page
    assert "Not passed, because they look like secrets: `SHOP_KEY`." in page
    assert "hunter2" not in page
