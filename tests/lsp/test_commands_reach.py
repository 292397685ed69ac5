"""What sandboxed commands cannot see or reach, and the notes that say so (docs/sandbox.md)."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from support.calls import bash
from support.client import Client, Json
from support.sandbox import needs_sandbox

Replay = Callable[..., Json]


@pytest.fixture(autouse=True)
def sandboxed() -> None:
    needs_sandbox()


async def test_secrets_of_the_workspace_are_hidden_from_commands(workspace: Path, replay: Replay) -> None:
    """Secrets in deep folders are hidden too. A command neither reads nor changes a secret, and nothing is proposed for
    it.
    """
    (workspace / "app" / "conf").mkdir(parents=True)
    for name in (".env", "app/conf/server.pem"):
        (workspace / name).write_text("s3cret\n")
    (workspace / ".env.example").write_text("KEY=\n")
    command = "grep -rsc s3cret . ; cat .env.example; echo x > .env; mv app/conf/server.pem x; true"
    settings = replay({"calls": [bash(command)]}, {"text": "Done."})
    async with Client(workspace, settings=settings) as client:
        await client.run()
        [result] = client.results()
        assert "KEY=" in result and not any(line.endswith(":1") for line in result.splitlines())
        assert not any(edits["files"] for edits in client.all("agent/edits"))
    assert (workspace / ".env").read_text() == "s3cret\n"


async def test_links_that_are_named_like_secrets_are_hidden_with_their_targets(
    workspace: Path, replay: Replay, tmp_path: Path
) -> None:
    """A target within the workspace cannot be read, and a command cannot write through a link that leads outside."""
    outside = Path("/srv") if os.access("/srv", os.W_OK) else tmp_path
    elsewhere = outside / f"fairlead-{tmp_path.parent.name}-{tmp_path.name}"
    elsewhere.write_text("s3cret\n")
    (workspace / "config").mkdir()
    (workspace / "config/prod").write_text("s3cret\n")
    (workspace / ".env").symlink_to("config/prod")
    (workspace / "a.pem").symlink_to(elsewhere)
    (workspace / "id_config").symlink_to("config")
    (workspace / "config/plain").write_text("plain\n")
    command = "cat .env a.pem config/prod id_config/prod; cat id_config/plain; echo x > a.pem; echo fine > fine"
    settings = replay({"calls": [bash(command)]}, {"text": "Done."})
    try:
        async with Client(workspace, settings=settings) as client:
            await client.run()
            [result] = client.results()
            assert "s3cret" not in result and "plain\n" in result
            [file] = client.last("agent/edits")["files"]
            assert (file["kind"], Path(file["uri"]).name) == ("create", "fine")
        assert elsewhere.read_text() == "s3cret\n"
    finally:
        elsewhere.unlink()


async def test_a_secret_that_appears_while_the_question_is_open_is_hidden(workspace: Path, replay: Replay) -> None:
    """The server determines which files a command may read when the command starts, not when the user is asked."""

    def allow(_: Json) -> Json:
        (workspace / ".env").write_text("s3cret\n")
        return {"option": "allow_once"}

    settings = replay({"calls": [bash("cat .env", network=True)]}, {"text": "Done."})
    async with Client(workspace, settings=settings, answers={"agent/approve": allow}) as client:
        await client.run()
        [result] = client.results()
        assert "# hidden by Fairlead" in result and "s3cret" not in result


async def test_a_failed_command_reports_its_hidden_files(workspace: Path, replay: Replay) -> None:
    """The note appears if the command failed, was refused access to a hidden file, or printed its placeholder. Without
    the note, the model would look for the reason in the program.
    """
    (workspace / ".env").write_text("s3cret\n")
    commands = ("cat .env; true", "echo x > .env; true", "exit 1", "cat .env > /dev/null; echo Permission denied")
    calls = [bash(command) for command in commands]
    async with Client(workspace, settings=replay({"calls": calls}, {"text": "Done."})) as client:
        await client.run()
        line = (
            "(1 file that looks like a secret is hidden from commands: .env. "
            "`unsandboxed` shows it, if the user allows that.)"
        )
        assert [line in result for result in client.results()] == [True, True, True, False]


async def test_a_failed_command_reports_what_it_cannot_reach(workspace: Path, replay: Replay) -> None:
    """Servers on this machine need `services`; Docker and snaps need `unsandboxed`. Other commands get no note."""
    refused = "(exec 3<> /dev/tcp/127.0.0.1/9999) 2>&1"
    docker = "echo Cannot connect to the Docker daemon at unix:///var/run/docker.sock."
    snap = "echo snap-confine is packaged without necessary permissions and cannot continue"
    lines = [refused, "echo connect ECONNREFUSED ::1:6379; false", f"{docker}; false", f"{snap}; false"]
    lines += [f"{refused}; true", snap, "false"]
    calls = [
        *map(bash, lines),
        bash(f"{refused}; false", network=True),
        bash("false", services=["::1:9"]),
        bash(f"{docker}; false", unsandboxed=True),
    ]
    answers = {"agent/approve": lambda _: {"option": "allow_once"}}
    settings = replay({"calls": calls}, {"text": "Done."})
    async with Client(workspace, settings=settings, answers=answers) as client:
        await client.run()
        hints = [("`services`" in result, "`unsandboxed`" in result) for result in client.results()]
        needs_services, needs_more, nothing = (True, False), (False, True), (False, False)
        assert hints == [*[needs_services] * 2, *[needs_more] * 2, *[nothing] * 3, needs_services, nothing, nothing]
        assert "Write host:port, such as localhost:5432" in client.results()[-2]


async def test_a_failed_command_reports_files_of_another_group(workspace: Path, replay: Replay) -> None:
    """The kernel's error ("Value too large for defined data type") does not mention the group, so a note does. Other
    commands get no note.
    """
    if os.geteuid() != 0:
        pytest.skip("only root can give a file to any group")
    (workspace / "shared.txt").write_text("ours\n")
    os.chown(workspace / "shared.txt", -1, 12345)
    calls = [bash("echo more >> shared.txt"), bash("cat shared.txt")]
    async with Client(workspace, settings=replay({"calls": calls}, {"text": "Done."})) as client:
        await client.run()
        line = "a sandboxed command cannot change a file of another owner or group"
        assert [line in result for result in client.results()] == [True, False]
