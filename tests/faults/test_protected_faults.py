"""docs/faults.md 34, 35 and 42 through the server process: protected files, secrets, links, a hostile repository."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.client import NOTHING, Client, Json

Replay = Callable[..., dict[str, Any]]

NAMES = [".vscode/settings.json", ".GitHub/Workflows/ci.yml", "sub/AGENTS.md", "a.code-workspace"]


def write(path: str, content: str = "new\n") -> dict[str, Any]:
    return {"write_file": {"path": path, "content": content}}


class Asked:
    """A user who answers each question with the next option, and repeats the last one."""

    def __init__(self, *options: str) -> None:
        self.options = list(options)
        self.params: list[Json] = []

    def __call__(self, params: Json) -> Json:
        self.params.append(params)
        return {"option": self.options.pop(0) if len(self.options) > 1 else self.options[0]}

    @property
    def names(self) -> list[str]:
        return [Path(params["uri"]).name for params in self.params]


async def decide(client: Client, session: str, how: str = "accept", **target: Any) -> dict[str, tuple[str, str]]:
    """The result of a decision, by file: outcome and message."""
    review = await client.request(f"agent/edits/{how}", {"sessionId": session, "target": target or {"all": True}})
    return {Path(one["uri"]).name: (one["outcome"], one["message"]) for one in review["outcomes"]}


@pytest.mark.parametrize("there", [True, False])
async def test_fault_35_accept_all_asks_for_each_protected_file(workspace: Path, replay: Replay, there: bool) -> None:
    """docs/faults.md 35: there is one question for each file, new or not. Any answer but a yes leaves it pending."""
    for name in NAMES if there else ():
        (workspace / name).parent.mkdir(parents=True, exist_ok=True)
        (workspace / name).write_text("old\n")
    calls = [write(name) for name in (*NAMES, "plain.txt")]
    asked = Asked("allow_once", "reject", "nonsense", "reject")
    settings = replay({"calls": calls}, {"text": "."})
    async with Client(workspace, settings=settings, answers={"agent/approve": asked}) as client:
        session = (await client.run())["sessionId"]
        files = {Path(file["uri"]).name: file for file in client.last("agent/edits")["files"]}
        assert [file["protected"] for file in files.values()] == [True] * 4 + [False]
        outcomes = await decide(client, session)
        assert {name: outcome for name, (outcome, _) in outcomes.items()} == {
            "plain.txt": "applied",
            asked.names[0]: "applied",
            **dict.fromkeys(asked.names[1:], "failed"),
        }
        assert "you did not confirm it. It is still proposed." in outcomes[asked.names[1]][1]
        assert {params["kind"] for params in asked.params} == {"file"}
        assert {params["toolCallId"] for params in asked.params} == {None}
        assert all(len(params["reasons"]) == 2 for params in asked.params)
        left = {Path(file["uri"]).name for file in client.last("agent/edits")["files"]}
        assert left == set(asked.names[1:])
    contents = [path.read_text() for path in workspace.rglob("*") if path.is_file()]
    assert sorted(contents) == sorted(["new\n"] * 2 + (["old\n"] * 3 if there else []))


async def test_fault_35_accepting_a_file_or_a_hunk_asks(workspace: Path, replay: Replay) -> None:
    """docs/faults.md 35: accepting a step of the plan asks too. "Allow for the session" covers only the text shown."""
    (workspace / ".envrc").write_text("a\nb\nc\nd\ne\n")
    plan = {"todo": {"items": [{"content": "One", "status": "in_progress"}]}}
    settings = replay(
        {"calls": [plan, write(".envrc", "A\nb\nc\nd\nE\n")]},
        {"text": "."},
        {"calls": [write(".envrc", "A\nX\n")]},
        {"text": "."},
    )
    asked = Asked("reject", "reject", "reject", "allow_session", "reject")
    async with Client(workspace, settings=settings, answers={"agent/approve": asked}) as client:
        session = (await client.run())["sessionId"]
        [file] = client.last("agent/edits")["files"]
        first, second = (hunk["id"] for hunk in file["hunks"])
        for target in ({"item": "1"}, {"uri": file["uri"]}, {"uri": file["uri"], "hunk": first}):
            assert (await decide(client, session, **target))[".envrc"][0] == "failed"
        for hunk in (first, second):
            assert (await decide(client, session, uri=file["uri"], hunk=hunk))[".envrc"][0] == "applied"
        assert len(asked.params) == 4
        await client.run(sessionId=session)
        assert (await decide(client, session))[".envrc"][0] == "failed"
        assert len(asked.params) == 5
    assert (workspace / ".envrc").read_text() == "A\nb\nc\nd\nE\n"


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
async def test_fault_184_hooks_that_the_users_settings_name(workspace: Path, replay: Replay) -> None:
    """docs/faults.md 184: an accept waits for Git's answer, even the first one. Other files need no confirmation."""
    subprocess.run(["git", "init", "-q", str(workspace)], check=True)
    (Path.home() / ".gitconfig").write_text("[core]\n\thooksPath = ci/hooks\n\tfsmonitor = tools/monitor.sh\n")
    names = ["ci/hooks/pre-commit", "tools/monitor.sh", "tools/other.sh"]
    asked = Asked("reject")
    settings = replay({"calls": [write(name) for name in names]}, {"text": "."})
    async with Client(workspace, settings=settings, answers={"agent/approve": asked}) as client:
        session = (await client.run())["sessionId"]
        outcomes = {name: outcome for name, (outcome, _) in (await decide(client, session)).items()}
    assert outcomes == {"other.sh": "applied", "pre-commit": "failed", "monitor.sh": "failed"}
    assert sorted(asked.names) == ["monitor.sh", "pre-commit"]


async def test_fault_35_undo_and_redo_ask_nothing(workspace: Path, replay: Replay) -> None:
    """docs/faults.md 35: the user can undo and redo what they confirmed."""
    asked = Asked("allow_once")
    settings = replay({"calls": [write(".vscode/tasks.json")]}, {"text": "."})
    async with Client(workspace, settings=settings, answers={"agent/approve": asked}) as client:
        session = (await client.run())["sessionId"]
        await decide(client, session)
        for how, there in (("undo", False), ("redo", True)):
            await client.request(f"agent/edits/{how}", {"sessionId": session})
            assert (workspace / ".vscode" / "tasks.json").exists() == there
        assert len(asked.params) == 1


async def test_fault_35_a_rename_or_a_deletion_asks(workspace: Path, replay: Replay) -> None:
    """docs/faults.md 35: renaming a file to or from a protected name asks, and so does deleting a protected file."""
    for name in ("plain.txt", "CLAUDE.md", ".bashrc"):
        (workspace / name).write_text("old\n")
    calls: list[dict[str, Any]] = [
        {"rename_file": {"path": "plain.txt", "new_path": ".husky/pre-push"}},
        {"rename_file": {"path": "CLAUDE.md", "new_path": "notes.md"}},
        {"delete_file": {"path": ".bashrc"}},
    ]
    asked = Asked("reject")
    settings = replay({"calls": calls}, {"text": "."})
    async with Client(workspace, settings=settings, answers={"agent/approve": asked}) as client:
        session = (await client.run())["sessionId"]
        assert {outcome for outcome, _ in (await decide(client, session)).values()} == {"failed"}
        assert sorted(asked.names) == [".bashrc", "CLAUDE.md", "plain.txt"]
        reasons = next(p for p in asked.params if "plain" in p["uri"])["reasons"]
        assert "Its new path is .husky/pre-push." in reasons
    assert sorted(path.name for path in workspace.iterdir()) == [".bashrc", "CLAUDE.md", "plain.txt"]


@pytest.mark.skipif(sys.platform == "win32", reason="symbolic links")
async def test_fault_35_the_target_of_a_protected_link_is_protected(workspace: Path, replay: Replay) -> None:
    """docs/faults.md 35: the target is protected under either name; its neighbors are not."""
    (workspace / "config").mkdir()
    (workspace / ".vscode").symlink_to("config")
    (workspace / "README.md").write_text("old\n")
    (workspace / "CLAUDE.md").symlink_to("README.md")
    names = {".vscode/a.json": True, "config/b.json": True, "README.md": True, "configs/c.json": False}
    settings = replay({"calls": [write(name) for name in names]}, {"text": "."})
    async with Client(workspace, settings=settings, answers={"agent/approve": Asked("reject")}) as client:
        session = (await client.run())["sessionId"]
        files = {Path(file["uri"]).name: file["protected"] for file in client.last("agent/edits")["files"]}
        assert files == {Path(name).name: protected for name, protected in names.items()}
        outcomes = await decide(client, session)
        assert {name: outcome == "failed" for name, (outcome, _) in outcomes.items()} == files


@pytest.mark.parametrize("title", ["Allow Once", "Reject", None])
async def test_fault_35_a_plain_client_is_asked_by_a_message(
    workspace: Path, replay: Replay, title: str | None
) -> None:
    """docs/faults.md 35, docs/protocol.md: the message has the file's path and the reason; dismissing it means no."""
    messages: list[Json] = []

    def answer(params: Json) -> Json | None:
        messages.append(params)
        return {"title": title} if title else None

    plain = {
        "workspace": {"applyEdit": True, "workspaceEdit": {"documentChanges": True, "resourceOperations": ["create"]}}
    }
    settings = replay({"calls": [write("AGENTS.md")]}, {"text": "."})
    answers = {"window/showMessageRequest": answer}
    async with Client(workspace, settings=settings, capabilities=plain, answers=answers) as client:
        session = (await client.run())["sessionId"]
        outcomes = await decide(client, session)
        assert outcomes["AGENTS.md"][0] == ("applied" if title == "Allow Once" else "failed")
    [message] = messages
    assert str(workspace / "AGENTS.md") in message["message"]
    assert "tells coding agents what to do" in message["message"]


async def test_fault_35_text_that_changed_during_the_question_is_not_accepted(workspace: Path, replay: Replay) -> None:
    """docs/faults.md 35: a yes covers the text that was shown; newer text of the agent stays a proposal."""
    settings = replay(
        {"calls": [write("CLAUDE.md", "shown\n")]}, {"text": "."}, {"calls": [write("CLAUDE.md")]}, {"text": "."}
    )
    session = ""

    async def answer(_: Json) -> Json:
        await client.run(sessionId=session)
        return {"option": "allow_once"}

    async with Client(workspace, settings=settings, answers={"agent/approve": answer}) as client:
        session = (await client.run())["sessionId"]
        assert (await decide(client, session))["CLAUDE.md"][0] == "failed"
        assert not (workspace / "CLAUDE.md").exists()


async def test_a_secret_is_read_only_after_a_yes(workspace: Path, replay: Replay) -> None:
    """docs/protocol.md: the question is `agent/approve` of kind `file`. After a no, the run continues with an error."""
    (workspace / ".env").write_text("TOKEN=1\n")
    calls = [
        {"read_file": {"path": ".env"}},
        {"search": {"pattern": "TOKEN"}},
        {"read_file": {"path": ".env", "limit": 1}},
    ]
    asked = Asked("reject", "allow_once")
    settings = replay({"calls": calls}, {"text": "."})
    async with Client(workspace, settings=settings, answers={"agent/approve": asked}) as client:
        assert (await client.run())["stopReason"] == "end_turn"
        texts = [event["text"] for event in client.events("tool_finished")]
    assert texts[0].startswith("Error: Not done: .env looks like a secret, and the user did not allow it.")
    assert "TOKEN" not in texts[0] + texts[1]
    assert texts[2] == "TOKEN=1\n"
    first = asked.params[0]
    assert (first["kind"], first["command"], first["mode"]) == ("file", None, None)
    assert first["uri"] == (workspace / ".env").as_uri()
    assert first["toolCallId"]


async def test_with_a_client_that_announces_nothing_no_secret_is_read(workspace: Path, replay: Replay) -> None:
    """docs/faults.md 47: a client that cannot ask means no, and the run works."""
    (workspace / ".env").write_text("TOKEN=1\n")
    settings = replay({"calls": [{"read_file": {"path": ".env"}}]}, {"text": "."})
    async with Client(workspace, settings=settings, capabilities=NOTHING) as client:
        assert (await client.run())["stopReason"] == "end_turn"
        assert "did not allow it" in client.events("tool_finished")[0]["text"]


@pytest.mark.skipif(sys.platform == "win32", reason="symbolic links")
@pytest.mark.parametrize("data", [b"caf\xe9\n", b"plain\n"], ids=["written by the server", "written by the editor"])
async def test_fault_34_a_link_that_appears_before_the_accept(workspace: Path, replay: Replay, data: bytes) -> None:
    """docs/faults.md 34: the accept fails with a reason, whoever would write the file. So does the next edit, and the
    file outside does not change."""
    outside = workspace.parent / "outside"
    for folder in (workspace / "sub", outside):
        folder.mkdir()
        (folder / "a.txt").write_bytes(data)
    first = data.decode("cp1252").split("\n")[0]
    call = {"edit_file": {"path": "sub/a.txt", "old_text": first, "new_text": "changed"}}
    settings = replay({"calls": [call]}, {"text": "."}, {"calls": [write("sub/a.txt")]}, {"text": "."})
    async with Client(workspace, settings=settings) as client:
        session = (await client.run())["sessionId"]
        (workspace / "sub").rename(workspace / "was")
        (workspace / "sub").symlink_to(outside)
        outcome, message = (await decide(client, session))["a.txt"]
        assert outcome == "failed" and "symbolic link" in message
        await client.run(sessionId=session)
        assert "Path escapes workspace" in client.events("tool_finished")[-1]["text"]
    assert (outside / "a.txt").read_bytes() == data


async def test_fault_42_a_hostile_repository_runs_no_program(workspace: Path, tmp_path: Path, replay: Replay) -> None:
    """docs/faults.md 42: no program in its settings runs when files are listed, searched, read or changed."""
    marker = tmp_path / "was-run"
    script = workspace / "run.sh"
    script.write_text(f"#!/bin/sh\ntouch '{marker}'\n")
    script.chmod(0o755)
    (workspace / ".git" / "hooks").mkdir(parents=True)
    for name in ("HEAD", "hooks/post-checkout", "hooks/pre-commit"):
        (workspace / ".git" / name).write_text("ref: refs/heads/main\n" if name == "HEAD" else script.read_text())
        (workspace / ".git" / name).chmod(0o755)
    run = str(script).replace("\\", "/")
    keys = ("fsmonitor", "hooksPath", "pager", "editor", "sshCommand")
    core = "".join(f"\t{key} = {run if key != 'hooksPath' else '.git/hooks'}\n" for key in keys)
    (workspace / ".git" / "config").write_text(f'[core]\n{core}[filter "x"]\n\tsmudge = {run}\n\tclean = {run}\n')
    (workspace / ".gitattributes").write_text("* filter=x\n")
    (workspace / "a.txt").write_text("one\n")
    calls = [
        {"list_files": {}},
        {"search": {"pattern": "one"}},
        {"read_file": {"path": "a.txt"}},
        write("a.txt", "two\n"),
    ]
    async with Client(workspace, settings=replay({"calls": calls}, {"text": "."})) as client:
        session = (await client.run())["sessionId"]
        assert (await decide(client, session))["a.txt"][0] == "applied"
        await client.request("agent/edits/undo", {"sessionId": session})
    assert not marker.exists()
