"""Several servers with one state folder: they start, end and are killed at any moment without disturbing each other."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

if sys.platform == "win32":
    pytest.skip("processes are forked here", allow_module_level=True)

from fairlead.session.state import SessionState
from fairlead.session.store import journal, journal_files, lock
from fairlead.session.store.journal import Journals, SavingChanged
from fairlead.session.store.lock import Lock, Locked, is_held
from fairlead.shell.sandbox.probe import BUBBLEWRAP
from support.forks import at_one_moment, killed_at_each_line
from support.messages import user

pytestmark = pytest.mark.slow

needs_linux = pytest.mark.skipif(sys.platform != "linux", reason="the sandbox needs Linux")
ID, ROOT = "0123456789ab", "/ws"


@needs_linux
def test_fault_52_a_folder_that_is_being_created_is_not_swept(tmp_path: Path) -> None:
    """docs/faults.md 52: servers that create, use and sweep layers at the same moment never lose a layer in use."""

    from fairlead.shell.sandbox.layer.layer_folder import LayerFolder, sweep

    def many() -> None:
        for _ in range(40):
            sweep(tmp_path)
            own = LayerFolder(tmp_path)
            (own.path / "upper").mkdir()
            (own.path / "upper/a.txt").write_text("a")
            assert (own.path / "upper/a.txt").read_text() == "a"
            own.remove()

    assert set(at_one_moment(16, many)) == {0}
    assert list(tmp_path.iterdir()) == []


@needs_linux
def test_fault_53_a_killed_servers_layer_is_swept_and_no_other(tmp_path: Path) -> None:
    """docs/faults.md 53: if a server is killed at any line of creating, removing or sweeping layers, the next sweep
    removes what is left; a layer in use stays."""
    from fairlead.shell.sandbox.layer import layer_folder, trees
    from fairlead.shell.sandbox.layer.layer_folder import LayerFolder, sweep

    used = LayerFolder(tmp_path)
    (used.path / "upper").mkdir()

    def life() -> None:
        sweep(tmp_path)
        own = LayerFolder(tmp_path)
        (own.path / "upper/deep").mkdir(parents=True)
        (own.path / "upper/a.txt").write_text("a")
        own.remove()

    lines = 0
    for lines in killed_at_each_line(life, layer_folder, trees):
        if lines % 3 == 0:  # so that most sweeps of `life` find what the previous one left
            sweep(tmp_path)
            assert list(tmp_path.iterdir()) == [used.path]
    assert lines > 40
    sweep(tmp_path)
    assert (used.path / "upper").is_dir()
    used.remove()
    assert list(tmp_path.iterdir()) == []


@needs_linux
@pytest.mark.parametrize("hidden", [[], BUBBLEWRAP], ids=["as it is", "without bubblewrap"])
def test_fault_54_a_read_only_workspace(tmp_path: Path, hidden: Sequence[str]) -> None:
    """docs/faults.md 54: in a workspace on a read-only file system, commands run in the sandbox and their changes are
    proposed; an accept reports for each file why it was not written, and the run ends."""
    workspace = tmp_path / "ws"
    workspace.mkdir()
    (workspace / "a.txt").write_text("a\n")
    calls = [{"bash": {"command": "echo b > b.txt; echo more >> a.txt; cat a.txt"}}]
    script = tmp_path / "script.replay.yaml"
    script.write_text(json.dumps({"replay": 1, "turns": [{"calls": calls}, {"text": "."}]}))
    run = [sys.executable, "-m", "fairlead", "run", "x", "--workspace", str(workspace), "--replay", str(script)]
    mount = f'mount --bind "{workspace}" "{workspace}" && mount -o remount,bind,ro "{workspace}"'
    hide = "".join(f" && mount --bind /dev/null {program}" for program in hidden if os.path.exists(program))
    mounted = [
        "unshare",
        "-rm",
        "sh",
        "-c",
        f'{{ {mount}{hide}; }} || exit 99; exec "$@"',
        "sh",
        *run,
        "--accept",
        "all",
    ]
    env = {**os.environ, "XDG_STATE_HOME": str(tmp_path / "state")}
    ended = subprocess.run(mounted, check=False, capture_output=True, text=True, env=env, stdin=subprocess.DEVNULL)
    if ended.returncode == 99:
        pytest.skip("nothing can be mounted here")
    assert ended.returncode == 1, ended.stdout + ended.stderr
    assert "This file is read-only." in ended.stdout
    assert "b.txt could not be written: Read-only file system" in ended.stdout
    assert "Could not be applied: a.txt, b.txt" in ended.stdout
    assert [path.name for path in workspace.iterdir()] == ["a.txt"]


def test_fault_52_a_lock_has_one_holder_even_while_it_is_removed(tmp_path: Path) -> None:
    """docs/faults.md 52: processes that take, remove and create the same lock at the same moment never hold it
    together."""
    path, owner = tmp_path / "x.lock", tmp_path / "owner"

    def many() -> None:
        taken = 0
        while taken < 60:
            try:
                lock = Lock(path)
            except Locked:
                continue
            owner.open("x").close()
            owner.unlink()
            lock.remove()
            taken += 1

    assert set(at_one_moment(8, many)) == {0}
    assert list(tmp_path.iterdir()) == []


def test_fault_52_to_ask_for_a_lock_does_not_take_it(tmp_path: Path) -> None:
    """docs/faults.md 52: a process that takes its lock is never refused because others ask whether it is held."""

    def many() -> None:
        own = tmp_path / f"{os.getpid()}.lock"
        for _ in range(3000):
            taken = Lock(own)
            held = [path for path in tmp_path.iterdir() if is_held(path)]
            assert own in held
            taken.release()

    assert set(at_one_moment(4, many)) == {0}
    assert not any(map(is_held, tmp_path.iterdir()))


def test_fault_52_a_lock_of_another_process_is_held(tmp_path: Path) -> None:
    """docs/faults.md 52: the answer comes from the system, and not only from what this process has locked."""
    path = tmp_path / "x.lock"
    assert not is_held(path)
    hold = "import sys; from pathlib import Path; from fairlead.session.store.lock import Lock; "
    hold += "lock = Lock(Path(sys.argv[1])); print('held', flush=True); input()"
    command = [sys.executable, "-c", hold, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None and holder.stdout.readline() == "held\n"
        assert is_held(path)
        holder.communicate("\n")
    assert not is_held(path)


def test_fault_107_a_killed_servers_sessions_are_free_although_its_child_lives(tmp_path: Path) -> None:
    """docs/faults.md 107: if a server is killed before its new child executes a program, the child holds no lock."""
    path = tmp_path / "x.lock"
    pids, writing = os.pipe()
    server = os.fork()
    if server == 0:
        Lock(path)
        child = os.fork()  # between `fork` and `exec`, with all descriptors of its parent
        if child == 0:
            signal.pause()
        os.write(writing, str(child).encode())
        signal.pause()
    child = int(os.read(pids, 20))
    try:
        with pytest.raises(Locked):
            Lock(path)
        os.kill(server, signal.SIGKILL)
        os.waitpid(server, 0)
        Lock(path).release()
    finally:
        os.kill(child, signal.SIGKILL)


def test_fault_52_an_expired_session_that_was_used_since_is_not_removed(tmp_path: Path) -> None:
    """docs/faults.md 52: another window may use a session after it was found to be expired."""
    journals = Journals(tmp_path)
    journal = journals.new(ID, ROOT)
    journal.write(SessionState("Old", "idle", 5.0))
    journal.close()
    (found,) = journals.scan()
    journal, _ = journals.open(found)
    journal.write(SessionState("Old", "running", 6.0))
    journal.close()
    journals.remove(found)
    (now,) = journals.scan()
    assert journals.read(now).phase == "running"
    journals.remove(now)
    assert list(tmp_path.iterdir()) == []


def test_fault_52_without_its_lock_nothing_is_written_into_a_journal(tmp_path: Path) -> None:
    """docs/faults.md 52: a session that was opened when its lock could not be created stays read-only, even after
    another process has locked it."""
    reports: list[SavingChanged] = []
    journals = Journals(tmp_path, report=reports.append)
    first = journals.new(ID, ROOT)
    first.write(SessionState("x", "running"))
    first.close()
    (found,) = journals.scan()
    blocked = tmp_path / f"{ID}.lock"
    blocked.unlink()
    blocked.mkdir()
    unlocked, _ = journals.open(found)
    blocked.rmdir()
    owner, _ = journals.open(found)
    before = (tmp_path / f"{ID}.jsonl").read_bytes()
    unlocked.write(SessionState("y", "running"))
    assert (tmp_path / f"{ID}.jsonl").read_bytes() == before
    assert "open elsewhere" in reports[0].message
    owner.close()


def test_fault_53_a_killed_servers_journal_is_whole_or_swept(tmp_path: Path) -> None:
    """docs/faults.md 53: killed at any line of creating, rewriting or deleting a journal, a server leaves a session
    that can be opened, or files that are swept; a journal in use stays."""
    used = Journals(tmp_path).new("used", ROOT)
    used.write(SessionState("used", "running"))
    message = user("x" * 400)
    states = [SessionState(str(n), "running", messages=(message,) * n) for n in range(3)]

    def life() -> None:
        made = Journals(tmp_path).new(ID, ROOT)
        for state in states:
            made.write(state)
        made._write_whole(states[-1])
        made.delete()

    whole = torn = 0
    for _ in killed_at_each_line(life, journal, journal_files, lock):
        journals = Journals(tmp_path, warn=pytest.fail)
        for found in [each for each in journals.scan() if each.id == ID]:
            again, state = journals.open(found)
            assert state.title in ("0", "1", "2")
            again.delete()
            whole += 1
        torn += len(list(tmp_path.iterdir())) > 2
        journals.remove_leftovers(float("inf"))
        assert {path.stem for path in tmp_path.iterdir()} == {"used"}
    assert whole > 10
    assert torn > 5
    used.close()
