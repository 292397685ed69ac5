"""The journal of a session: every complete line is restored, wherever writing was interrupted."""

import json
import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.edits import changeset as cs
from fairlead.edits.changeset import Changeset
from fairlead.edits.origins import Author
from fairlead.edits.undo import Decision, DecisionLog, FileDecision
from fairlead.session.state import SessionState
from fairlead.session.store.entries import EntryEncoder, read_entries
from fairlead.session.store.journal import SMALL_BYTES, Journals, SavingChanged
from fairlead.session.store.lock import Locked
from fairlead.session.store.reader import JournalInfo
from session.states import ID, ROOT, Change, changes, planning, proposing, recording, same, saying, states
from support.messages import user


@contextmanager
def temporary_journals() -> Iterator[Journals]:
    with TemporaryDirectory() as folder:
        yield Journals(Path(folder) / "sessions", warn=pytest.fail)


def file_of(journals: Journals) -> Path:
    assert journals.folder is not None
    return journals.folder / f"{ID}.jsonl"


def written(journals: Journals, *all: SessionState) -> bytes:
    journal = journals.new(ID, ROOT)
    for state in all:
        journal.write(state)
    journal.close()
    return file_of(journals).read_bytes()


def loaded(journals: Journals) -> SessionState:
    journal, state = journals.open(JournalInfo(ID, (ROOT,), 0.0, None))
    journal.close()
    return state


@given(st.lists(changes, max_size=12), st.integers(0, 1_000_000))
def test_a_journal_cut_at_any_byte_restores_the_last_complete_line(made: list[Change], cut: int) -> None:
    """docs/faults.md 22: a journal that is cut at any byte after its first entry restores the state of its last
    complete line, and can be continued."""
    all = states(made)
    with temporary_journals() as journals:
        journal = journals.new(ID, ROOT)
        index_at_size: dict[int, int] = {}
        for index, state in enumerate(all):
            journal.write(state)
            index_at_size[file_of(journals).stat().st_size] = index
        journal.close()
        data = file_of(journals).read_bytes()
        first = min(index_at_size)
        length = first + cut % (len(data) - first + 1)
        file_of(journals).write_bytes(data[:length])
        expected = index_at_size[max(size for size in index_at_size if size <= length)]
        found = loaded(journals)
        # between an entry and its summary, the entry counts
        assert any(same(found, state) for state in all[expected : expected + 2])
        journal, found = journals.open(JournalInfo(ID, (ROOT,), 0.0, None))
        journal.write(all[-1])
        journal.close()
        assert same(loaded(journals), all[-1])


@given(st.lists(changes, max_size=12))
def test_a_compacted_journal_restores_the_same_state(made: list[Change]) -> None:
    """read(compact(j)) == read(j): one entry with the whole state restores the same as all entries together."""
    all = states(made)
    encoder = EntryEncoder()
    entries = [entry for state in all if (entry := encoder.entry(state)) is not None]
    through = read_entries(json.loads(json.dumps(entries))).state
    at_once = read_entries(json.loads(json.dumps([EntryEncoder().entry(all[-1])]))).state
    assert same(through, all[-1])
    assert same(at_once, all[-1])


def test_a_text_and_a_message_are_written_once() -> None:
    """A round writes only its own messages, and a decision no text that is saved already."""
    big = "line\n" * 1000
    changes = cs.propose(Changeset(), "/ws/a.txt", big, big + "1\n", Author("1", "c1"))
    one = SessionState(changes=changes, messages=(user(big),))
    encoder, proposal = EntryEncoder(), changes.files["/ws/a.txt"]
    assert len(json.dumps(encoder.entry(one))) > 2 * len(big)
    decision = Decision("reject", "R", (FileDecision(proposal, cs.rejected(proposal, None), False),))
    two = saying("yes")(replace(one, decisions=DecisionLog().with_decision(decision)))
    assert len(json.dumps(encoder.entry(two))) < 600
    assert encoder.entry(replace(two, at=6.0)) is None


def test_the_evidence_of_a_step_is_written_once() -> None:
    """A further command of a step writes only its own evidence, even after hundreds of commands."""
    encoder, state, sizes = EntryEncoder(), SessionState(), list[int]()
    for n in range(200):
        state = recording("1", f"{n:03}")(state)
        sizes.append(len(json.dumps(encoder.entry(state))))
    assert sizes[-1] < sizes[0] + 20


def test_a_grown_journal_is_compacted() -> None:
    """A journal that is much larger than its content becomes small, and restores the same state."""
    with temporary_journals() as journals:
        journal = journals.new(ID, ROOT)
        state = SessionState()
        for n in range(30):
            state = replace(
                proposing("/ws/a.txt", Random(n).randbytes(SMALL_BYTES // 40).hex())(state), phase="running"
            )
            journal.write(state)
        before = file_of(journals).stat().st_size
        journal.compact(state)
        after = file_of(journals).stat().st_size
        assert after < before / 10
        further = replace(state, title="And on.")
        journal.write(further)
        journal.close()
        assert same(loaded(journals), further)


def test_a_settled_session_is_listed_by_its_last_line() -> None:
    """The list needs only the first and the last line, except for sessions that have proposals or were interrupted."""
    with temporary_journals() as journals:
        written(journals, SessionState("A task", "idle", 5.0, plan=planning(["a"])(SessionState()).plan))
        (found,) = journals.scan()
        assert found.folders == (ROOT,)
        assert found.summary is not None
        assert (found.summary.title, found.summary.updated, found.summary.total) == ("A task", 5.0, 1)
        for state in (SessionState("x", "running"), proposing("/ws/a.txt", "x")(SessionState("x"))):
            file_of(journals).unlink()
            written(journals, state)
            assert [one.summary for one in journals.scan()] == [None]


@pytest.mark.parametrize(
    "text", ["", "[1]\n", '{"format":99,"root":"/ws"}\n', '{"format":1,"root":"/ws"}\n', '{"format":2}\n', "\xff\xfe"]
)
def test_a_file_that_is_not_a_journal_stays_unchanged_and_is_reported_once(text: str, tmp_path: Path) -> None:
    """Foreign files, later formats and empty files are not listed."""
    warnings: list[str] = []
    journals = Journals(tmp_path, warnings.append)
    (tmp_path / "other.jsonl").write_text(text)
    assert list(journals.scan()) == []
    assert list(journals.scan()) == []
    assert len(warnings) == 1
    assert "other" in warnings[0]
    assert (tmp_path / "other.jsonl").read_text() == text


def test_an_unknown_entry_is_an_error(tmp_path: Path) -> None:
    """A journal with an unknown entry is neither opened nor changed."""
    journals = Journals(tmp_path)
    data = written(journals, SessionState("x")) + b'{"plan": 3}\n'
    file_of(journals).write_bytes(data)
    with pytest.raises(ValueError, match="not an entry"):
        journals.open(JournalInfo(ID, (ROOT,), 0.0, None))
    assert file_of(journals).read_bytes() == data


def test_fault_46_a_journal_has_one_writer(tmp_path: Path) -> None:
    """docs/faults.md 46: an open session cannot be opened again or removed until it is closed."""
    journals = Journals(tmp_path)
    journal = journals.new(ID, ROOT)
    journal.write(SessionState("x"))
    with pytest.raises(Locked):
        journals.open(JournalInfo(ID, (ROOT,), 0.0, None))
    journals.remove(JournalInfo(ID, (ROOT,), 0.0, None))
    assert file_of(journals).exists()
    journal.close()
    other, _ = journals.open(JournalInfo(ID, (ROOT,), 0.0, None))
    other.delete()
    assert list(tmp_path.iterdir()) == []


@contextmanager
def max_file_size(size: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    old = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, old)


def test_a_full_disk_is_reported_once_and_retried(tmp_path: Path) -> None:
    """A failed write is reported once, with the session and the folder, and the last complete line stays. When there
    is space again, everything is written, and that is reported."""
    reports: list[SavingChanged] = []
    now = [100.0]
    journals = Journals(tmp_path, report=reports.append, clock=lambda: now[0])
    journal = journals.new(ID, ROOT)
    one = SessionState("x", "running")
    journal.write(one)
    size = file_of(journals).stat().st_size
    two = saying("y" * 1000)(one)
    with max_file_size(size + 100):
        journal.write(two)
        assert file_of(journals).stat().st_size == size
        now[0] += 10
        journal.write(two)
    assert [(report.session_id, report.saved) for report in reports] == [(ID, False)]
    assert reports[0].message.startswith(f"The session “x” cannot be saved: File too large ({tmp_path}).")
    journal.write(saying("z")(two))  # too early to retry
    assert file_of(journals).stat().st_size == size
    now[0] += 10
    three = saying("z")(two)
    journal.write(three)
    assert reports[1:] == [SavingChanged(ID, True, "The session “x” is saved again.")]
    with max_file_size(size):
        journal.write(saying("more")(three))
    assert [report.saved for report in reports] == [False, True, False]
    journal.close()
    assert same(loaded(journals), three)


def test_a_deleted_journal_leaves_no_lock(tmp_path: Path) -> None:
    """Opening a journal that another process deleted creates no file."""
    journals = Journals(tmp_path)
    journal = journals.new(ID, ROOT)
    journal.write(SessionState("x", "running"))
    (found,) = journals.scan()
    journal.delete()
    with pytest.raises(FileNotFoundError):
        journals.open(found)
    assert list(tmp_path.iterdir()) == []
