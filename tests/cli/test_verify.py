"""`fairlead run --save-record` and `fairlead verify`."""

import json
import os
import shutil
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from cli.command import Ended, all_gone, in_terminal, run_plain
from cli.conftest import EXAMPLE
from fairlead.cli.program import program_name
from fairlead.json_reader import to_json
from protocol.examples import a_session_record
from support.sandbox import needs_sandbox

Json = dict[str, Any]
Record = Callable[..., Path]


@pytest.fixture
def sandbox() -> None:
    needs_sandbox()


def content(data: bytes, *, executable: bool = False) -> Json:
    return {"sha256": sha256(data).hexdigest(), "executable": executable}


def check(command: str, exit_code: int = 0) -> Json:
    return {
        "command": command,
        "exitCode": exit_code,
        "seconds": 0.5,
        "step": "1",
        "failsWithoutChanges": False,
        "differs": {},
        "leftovers": [],
    }


class Records:
    """Writes a record to a file, and verifies it against a workspace."""

    def __init__(self, folder: Path, workspace: Path) -> None:
        self.path, self.workspace = folder / "record.json", workspace

    def write(self, files: dict[str, Json | None] | None = None, checks: Sequence[Json] = (), **more: Any) -> None:
        known = [{"path": path, "before": None, "after": after} for path, after in (files or {}).items()]
        record = {**to_json(a_session_record()), "files": known, "verifications": list(checks), **more}
        self.path.write_text(json.dumps(record), encoding="utf-8")

    def verify(self, *options: str, home: Path | None = None) -> Ended:
        env = {"HOME": str(home), "XDG_STATE_HOME": str(self.path.parent / "state")} if home is not None else {}
        return run_plain("verify", self.path, "--workspace", self.workspace, *options, cwd=None, spawned=False, **env)


@pytest.fixture
def records(tmp_path: Path, workspace: Path) -> Records:
    return Records(tmp_path, workspace)


@pytest.mark.usefixtures("sandbox")
def test_the_record_of_the_example_holds_until_a_byte_or_a_check_changes(
    tmp_path: Path, example: Path, records: Records
) -> None:
    shutil.copytree(EXAMPLE / "workspace", records.workspace, dirs_exist_ok=True)
    task = ("run", "Refactor hello.py", "--workspace", records.workspace, "--replay", example)
    saved = run_plain(*task, "--accept", "all", "--save-record", records.path)
    assert saved.code == 0, saved.out
    verify = f"{program_name()} verify {records.path} --workspace {records.workspace}"
    assert f"Saved the record to {records.path}. To verify it: {verify}\n" in saved.out

    unchanged = records.verify()
    assert unchanged.code == 0, unchanged.out
    assert unchanged.out.startswith("Record of “Refactor hello.py”, created by Fairlead ")
    assert "\nFiles\n  ✓ hello.py  unchanged\n" in unchanged.out
    assert "\nChecks\n  ✓ python3 -B -m unittest  passes (" in unchanged.out
    assert unchanged.out.endswith("\n✓ The record holds.\n")

    script = records.workspace / "hello.py"
    good = script.read_bytes()
    script.write_bytes(good.replace(b"night", b"nigth"))
    changed = records.verify()
    assert changed.code == 1
    assert "  ✗ hello.py  has different content\n" in changed.out
    assert "  ✓ python3 -B -m unittest  passes (" in changed.out
    assert changed.out.endswith("\n✗ The record does not hold: 1 of 2 failed.\n")

    script.write_bytes(good)
    tests = records.workspace / "test_hello.py"  # the session did not read it, so the record does not list it
    tests.write_text(tests.read_text().replace(", Ada!", ", Eve!"))
    broken = records.verify()
    assert broken.code == 1
    assert "  ✓ hello.py  unchanged\n" in broken.out
    assert "  ✗ python3 -B -m unittest  fails (exit code 1, " in broken.out
    assert "      FAILED (failures=1)\n" in broken.out


FILES: dict[str, tuple[Json | None, bytes | None, str, str]] = {
    "same": (content(b"a\n"), b"a\n", "✓", "unchanged"),
    "absent": (None, None, "✓", "does not exist, as recorded"),
    "longer": (content(b"a\n"), b"a\r\n", "✗", "has different content"),
    "gone": (content(b"a\n"), None, "✗", "no longer exists"),
    "created": (None, b"", "✗", "exists now"),
    "script": (content(b"a\n", executable=True), b"a\n", "✗", "is no longer executable"),
    "unreadable": ({"sha256": None, "executable": False}, b"a\n", "✗", "could not be read when the record was"),
}


def test_each_file_is_compared(records: Records) -> None:
    for name, (_, now, _, _) in FILES.items():
        if now is not None:
            (records.workspace / name).write_bytes(now)
    records.write({name: after for name, (after, _, _, _) in FILES.items()})
    ended = records.verify()
    assert (ended.code, ended.err) == (1, "")
    for name, (_, _, mark, text) in FILES.items():
        assert f"  {mark} {name}  {text}" in ended.out


def test_a_folder_a_pipe_and_a_link_to_elsewhere_do_not_hold(records: Records, tmp_path: Path) -> None:
    """docs/faults.md 95: the output says what each path is, and nothing outside of the workspace is read."""
    (records.workspace / "folder").mkdir()
    os.mkfifo(records.workspace / "pipe")
    outside = tmp_path / "outside"
    outside.write_bytes(b"a\n")
    (records.workspace / "link").symlink_to(outside)
    (records.workspace / "up").symlink_to(tmp_path, target_is_directory=True)
    records.write(dict.fromkeys(["folder", "pipe", "link", "up/outside"], content(b"a\n")))
    ended = records.verify()
    assert ended.code == 1
    for line in (
        "folder  folder is a folder",
        "pipe  pipe is not a regular file",
        "link  Path escapes workspace: link",
    ):
        assert f"  ✗ {line}" in ended.out
    assert "  ✗ up/outside  Path escapes workspace: up/outside\n" in ended.out
    assert "4 of 4 failed" in ended.out


@pytest.mark.usefixtures("sandbox")
def test_the_commands_of_a_record_run_only_in_the_sandbox(records: Records) -> None:
    """docs/faults.md 95: the commands see no secret, reach no network, change nothing, and do not see each other's
    files. A pipeline fails if its first command fails. A command that did not pass in the session does not run."""
    (records.workspace / ".env").write_text("KEY=1\n")
    (records.workspace / ".gitignore").write_text("cache\n")
    (records.workspace / "a").write_text("a\n")
    passing = ["echo b > a; touch new cache; cat a", "test ! -e cache && test ! -e new && grep -q a a"]
    failing = ["grep KEY .env", "bash -c 'exec 3<>/dev/tcp/192.0.2.1/80'", "echo x > /etc/fairlead-was-here"]
    failing.append("python3 -B -m unittest test_no | tail -1")
    records.write(checks=[*map(check, [*passing, *failing]), check("touch never", exit_code=1)])
    ended = records.verify()
    assert ended.code == 1
    assert all(f"  ✓ {command}  passes" in ended.out for command in passing), ended.out
    assert all(f"  ✗ {command}  fails" in ended.out for command in failing), ended.out
    assert "  · touch never  not run: it did not pass in the session\n" in ended.out
    assert sorted(path.name for path in records.workspace.iterdir()) == [".env", ".gitignore", "a"]
    assert (records.workspace / "a").read_text() == "a\n"


@pytest.mark.usefixtures("sandbox")
def test_a_command_is_killed_at_the_time_limit(records: Records) -> None:
    records.write(checks=[check("echo started; sleep 60"), check("true")])
    ended = records.verify("--timeout", "3")  # enough for the second one on a busy machine
    assert ended.code == 1
    assert "  ✗ echo started; sleep 60  killed at the time limit (" in ended.out
    assert "      started\n  ✓ true  passes" in ended.out


@pytest.mark.usefixtures("sandbox")
def test_a_command_gets_the_variables_that_the_user_names(records: Records) -> None:
    records.write(checks=[check('test "$SHELL_TEST_MODE" = full')])
    assert run_plain("verify", records.path, "--workspace", records.workspace, SHELL_TEST_MODE="full").code == 1
    options = ("--workspace", records.workspace, "--pass-variable", "SHELL_TEST_*")
    assert run_plain("verify", records.path, *options, SHELL_TEST_MODE="full").code == 0
    config = records.path.with_name("config.json")
    config.write_text('{"bash": {"passVariables": ["SHELL_TEST_*"], "timeoutSeconds": "long"}}')
    options = ("--workspace", records.workspace, "--config", config)
    ended = run_plain("verify", records.path, *options, SHELL_TEST_MODE="full")
    assert (ended.code, "bash.timeoutSeconds must be" in ended.out) == (0, True)


@pytest.mark.usefixtures("sandbox")
def test_ctrl_c_ends_a_command_of_a_record(records: Records) -> None:
    records.write(checks=[check("sleep 60")])
    with in_terminal("verify", records.path, "--workspace", records.workspace, spawned=True) as terminal:
        terminal.until("running sleep 60")
        children = terminal.children()
        terminal.press("\x03")
        assert terminal.end() == 130
        assert "Traceback" not in terminal.screen.text
        assert all_gone(children)


def test_without_a_sandbox_no_command_runs(records: Records) -> None:
    """In a home folder there is no sandbox, so the record does not hold; `--no-run` compares the files only."""
    (records.workspace / "a").write_text("a\n")
    records.write({"a": content(b"a\n")}, [check("touch made")])
    ended = records.verify(home=records.workspace)
    assert ended.code == 1
    assert "  ✗ not run: the commands of a record run only in a sandbox. " in ended.out
    assert "Use --no-run to compare only the files." in ended.out
    without = records.verify("--no-run", home=records.workspace)
    assert without.code == 0
    assert "\nChecks\n  · not run (--no-run)\n" in without.out
    assert [path.name for path in records.workspace.iterdir()] == ["a"]


def test_a_record_with_nothing_to_verify_does_not_hold(records: Records) -> None:
    records.write()
    ended = records.verify()
    assert ended.code == 1
    assert ended.out.endswith("✗ The record has no file and no check that could be verified.\n")


def test_a_record_cannot_control_the_terminal(records: Records) -> None:
    """docs/faults.md 95: terminal sequences and characters that reorder text are shown as escapes."""
    evil = "\x1b]0;x\x07\u202eevil\nsecond"
    records.write({f"a{evil}".replace("/", ""): None}, [check(evil)], title=evil, fairlead=evil)
    ended = records.verify("--no-run")
    assert "\x1b" not in ended.out
    assert "\u202e" not in ended.out
    assert "Record of “\\x1b]0;x\\x07\\u202eevil\\nsecond”" in ended.out


UNREADABLE: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "is not valid JSON"),
    "cut off": (json.dumps(to_json(a_session_record())).encode()[:-9], "is not valid JSON"),
    "a recording": (b"replay: 1\nturns: []\n", "is not valid JSON"),
    "another format": (b'{"format": 99}', "Its format is 99"),
    "a path outside": (
        json.dumps(
            {**to_json(a_session_record()), "files": [{"path": "../a", "before": None, "after": None}]}
        ).encode(),
        "“files[0]” is wrong: a path must not lead outside of the workspace.",
    ),
    "too large": (b" " * 20_000_001, "too large for a record: more than 20 MB"),
}


@pytest.mark.parametrize(("data", "reason"), UNREADABLE.values(), ids=UNREADABLE.keys())
def test_a_file_that_is_not_a_readable_record_is_refused(records: Records, data: bytes, reason: str) -> None:
    """docs/faults.md 96: exit code 2, the reason on stderr, and nothing on stdout."""
    records.path.write_bytes(data)
    ended = records.verify()
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(f"fairlead verify: {records.path} cannot be verified. ")
    assert reason in ended.err


@pytest.mark.parametrize("name", ["folder", "pipe", "missing"])
def test_only_a_regular_file_can_be_verified(records: Records, name: str) -> None:
    (records.workspace / "folder").mkdir()
    os.mkfifo(records.workspace / "pipe")
    records.path = records.workspace / name
    ended = records.verify()
    assert (ended.code, ended.out) == (2, "")
    assert {"folder": "It is a folder.", "pipe": "It is not a regular file."}.get(
        name, "It cannot be read: No such"
    ) in (ended.err)


def test_a_record_is_saved_even_if_the_run_fails(workspace: Path, record: Record, tmp_path: Path) -> None:
    """The run overwrites an older record, but no other file. A path in a missing folder is refused."""
    saved = tmp_path / "record.json"
    task = ("run", "Look", "--workspace", workspace, "--replay", record({"calls": [{"list_files": {}}]}))
    for _ in range(2):
        ended = run_plain(*task, "--save-record", saved)
        assert ended.code == 1  # the recording has ended
        assert json.loads(saved.read_text())["prompts"] == ["Look"]
    saved.write_text("mine")
    ended = run_plain(*task, "--save-record", saved)
    assert (ended.code, saved.read_text()) == (2, "mine")
    assert "the file exists and is not a record, so it is not overwritten" in ended.err
    ended = run_plain(*task, "--save-record", tmp_path / "nowhere" / "r.json")
    assert (ended.code, "the record must be a file in an existing folder" in ended.err) == (2, True)
