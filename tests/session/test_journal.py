"""The journal of a session: what is written line by line comes back, wherever the writing was cut off."""

import json
import os
import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.agent.messages import text_block
from fairlead.edits import changeset as cs
from fairlead.edits.changeset import Changeset
from fairlead.edits.origins import Author
from fairlead.edits.undo import Decision, DecisionLog
from fairlead.session.state import SessionState
from fairlead.session.store.entries import EntryEncoder, read_entries
from fairlead.session.store.journal import SMALL_BYTES, Journals
from fairlead.session.store.lock import Lock, Locked
from fairlead.session.store.reader import JournalInfo
from session.states import ID, ROOT, Change, changes, planning, proposing, recording, same, saying, states


@contextmanager
def journals() -> Iterator[Journals]:
    with TemporaryDirectory() as folder:
        yield Journals(Path(folder) / "sessions", warn=pytest.fail)


def file_of(kept: Journals) -> Path:
    assert kept.folder is not None
    return kept.folder / f"{ID}.jsonl"


def written(kept: Journals, *all: SessionState) -> bytes:
    journal = kept.new(ID, ROOT)
    for state in all:
        journal.write(state)
    journal.close()
    return file_of(kept).read_bytes()


def loaded(kept: Journals) -> SessionState:
    journal, state = kept.open(JournalInfo(ID, ROOT, 0.0, None))
    journal.close()
    return state


@given(st.lists(changes, max_size=12), st.integers(0, 1_000_000))
def test_cut_at_any_byte_a_journal_says_what_it_said_before(made: list[Change], cut: int) -> None:
    """docs/faults.md 22: behind its first write, a journal that is cut at any byte comes to one of the states that were
    written, the one of its last whole line; and it can be gone on with."""
    all = states(made)
    with journals() as kept:
        journal = kept.new(ID, ROOT)
        said: dict[int, int] = {}
        for index, state in enumerate(all):
            journal.write(state)
            said[file_of(kept).stat().st_size] = index
        journal.close()
        data = file_of(kept).read_bytes()
        first = min(said)
        length = first + cut % (len(data) - first + 1)
        file_of(kept).write_bytes(data[:length])
        expected = said[max(size for size in said if size <= length)]
        found = loaded(kept)
        # where the cut is between an entry and its row, the entry counts
        assert any(same(found, state) for state in all[expected : expected + 2])
        journal, found = kept.open(JournalInfo(ID, ROOT, 0.0, None))
        journal.write(all[-1])
        journal.close()
        assert same(loaded(kept), all[-1])


@given(st.lists(changes, max_size=12))
def test_a_journal_written_anew_says_the_same(made: list[Change]) -> None:
    """fold(compact(j)) == read_entries(j): one entry from nothing leads where all the entries lead."""
    all = states(made)
    following = EntryEncoder()
    entries = [entry for state in all if (entry := following.entry(state)) is not None]
    through = read_entries(json.loads(json.dumps(entries))).state
    at_once = read_entries(json.loads(json.dumps([EntryEncoder().entry(all[-1])]))).state
    assert same(through, all[-1])
    assert same(at_once, all[-1])


def test_a_text_and_a_message_are_written_once() -> None:
    """What stays as it is costs nothing: an edit writes the new text only, a round only its own messages."""
    big = "line\n" * 1000
    changes = cs.propose(Changeset(), "/ws/a.txt", big, big + "1\n", Author("1", "c1"))
    one = SessionState(changes=changes, messages=({"role": "user", "content": [text_block(big)]},))
    following = EntryEncoder()
    assert len(json.dumps(following.entry(one))) > 3 * len(big)
    two = replace(one, changes=cs.propose(changes, "/ws/a.txt", None, "short\n", Author("1", "c2")))
    three = saying("yes")(replace(two, decisions=DecisionLog().with_decision(Decision("reject", "R", ()))))
    assert following.entry(replace(two, at=5.0)) is not None
    assert len(json.dumps(following.entry(three))) < 400
    assert following.entry(replace(three, at=6.0)) is None


def test_a_files_and_a_commands_record_are_written_once() -> None:
    """A step with hundreds of commands does not write them all with each further one."""
    following, state, sizes = EntryEncoder(), SessionState(), list[int]()
    for n in range(200):
        state = recording("1", f"{n:03}")(state)
        sizes.append(len(json.dumps(following.entry(state))))
    assert sizes[-1] < sizes[0] + 20


def test_a_grown_journal_is_written_anew() -> None:
    """Far beyond what it says, a journal becomes small again at the start of a run, and says the same."""
    with journals() as kept:
        journal = kept.new(ID, ROOT)
        state = SessionState()
        for n in range(30):
            state = replace(proposing("/ws/a.txt", f"{n}\n" + "x" * (SMALL_BYTES // 20))(state), phase="running")
            journal.write(state)
        before = file_of(kept).stat().st_size
        journal.compact(state)
        after = file_of(kept).stat().st_size
        assert after < before / 10
        further = replace(state, title="And on.")
        journal.write(further)
        journal.close()
        assert same(loaded(kept), further)


def test_a_session_at_rest_is_known_by_its_last_line() -> None:
    """The list needs no more than the first and the last line; what is pending or interrupted has to be read."""
    with journals() as kept:
        written(kept, SessionState("A task", "idle", 5.0, plan=planning(["a"])(SessionState()).plan))
        (found,) = kept.scan()
        assert found.root == ROOT
        assert found.summary is not None
        assert (found.summary.title, found.summary.updated, found.summary.total) == ("A task", 5.0, 1)
        for state in (SessionState("x", "running"), proposing("/ws/a.txt", "x")(SessionState("x"))):
            file_of(kept).unlink()
            written(kept, state)
            assert [one.summary for one in kept.scan()] == [None]


@pytest.mark.parametrize("text", ["", "[1]\n", '{"format":99,"root":"/ws"}\n', '{"format":1}\n', "\xff\xfe"])
def test_what_is_no_journal_is_left_alone_and_said_once(text: str, tmp_path: Path) -> None:
    """A foreign file, a later format, an empty one: not listed, not touched, and the person is told once."""
    said: list[str] = []
    kept = Journals(tmp_path, said.append)
    (tmp_path / "other.jsonl").write_text(text)
    assert list(kept.scan()) == []
    assert list(kept.scan()) == []
    assert len(said) == 1
    assert "other" in said[0]
    assert (tmp_path / "other.jsonl").read_text() == text


def test_an_entry_of_another_kind_is_an_error(tmp_path: Path) -> None:
    """A journal whose lines are not understood is left as it is."""
    kept = Journals(tmp_path)
    data = written(kept, SessionState("x")) + b'{"plan": 3}\n'
    file_of(kept).write_bytes(data)
    with pytest.raises(ValueError, match="not an entry"):
        kept.open(JournalInfo(ID, ROOT, 0.0, None))
    assert file_of(kept).read_bytes() == data


def test_fault_46_a_journal_has_one_owner(tmp_path: Path) -> None:
    """docs/faults.md 46: a session that one has open cannot be opened by another, until it is closed."""
    kept = Journals(tmp_path)
    journal = kept.new(ID, ROOT)
    journal.write(SessionState("x"))
    with pytest.raises(Locked):
        kept.open(JournalInfo(ID, ROOT, 0.0, None))
    kept.remove(JournalInfo(ID, ROOT, 0.0, None))
    assert file_of(kept).exists()
    journal.close()
    other, _ = kept.open(JournalInfo(ID, ROOT, 0.0, None))
    other.delete()
    assert list(tmp_path.iterdir()) == []


def test_a_lock_ends_with_its_process(tmp_path: Path) -> None:
    """The lock of a process that was killed is free at once."""
    path = tmp_path / "x.lock"
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        Lock(path)
        os.write(writing, b"x")
        signal.pause()
    os.read(reading, 1)
    with pytest.raises(Locked):
        Lock(path)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    Lock(path).release()


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    old = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, old)


def test_a_full_disk_is_said_once_and_tried_again(tmp_path: Path) -> None:
    """What cannot be written is said once, with the session and the place; the file keeps its last whole line; with
    room again, all is there, and that is said."""
    said: list[str] = []
    good: list[str] = []
    now = [100.0]
    kept = Journals(tmp_path, said.append, good.append, clock=lambda: now[0])
    journal = kept.new(ID, ROOT)
    one = SessionState("x", "running")
    journal.write(one)
    size = file_of(kept).stat().st_size
    two = saying("y" * 1000)(one)
    with files_of_at_most(size + 100):
        journal.write(two)
        assert file_of(kept).stat().st_size == size
        now[0] += 10
        journal.write(two)
    assert len(said) == 1
    assert said[0].startswith(f"The session “x” cannot be saved: File too large ({tmp_path}).")
    assert good == []
    journal.write(saying("z")(two))  # not yet tried again
    assert file_of(kept).stat().st_size == size
    now[0] += 10
    three = saying("z")(two)
    journal.write(three)
    assert (len(said), good) == (1, ["The session “x” is saved again."])
    with files_of_at_most(size):
        journal.write(saying("more")(three))
    assert len(said) == 2
    journal.close()
    assert same(loaded(kept), three)


def test_a_journal_that_is_gone_leaves_no_lock(tmp_path: Path) -> None:
    """Another process deleted it a moment ago: asking for it makes nothing."""
    kept = Journals(tmp_path)
    journal = kept.new(ID, ROOT)
    journal.write(SessionState("x", "running"))
    (found,) = kept.scan()
    journal.delete()
    with pytest.raises(FileNotFoundError):
        kept.open(found)
    assert list(tmp_path.iterdir()) == []
