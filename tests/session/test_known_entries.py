"""What a process that stays is shown of the proposals is made anew only for those that have changed."""

from collections.abc import Callable
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.edits.origins import Author
from fairlead.shell.layer import Change, Changes, Entry
from fairlead.tools.command_changes import KnownEntries, propose_changes, proposed_entries
from session.harness import SessionHarness, harness_with, run_sync

NAMES, TEXTS = st.sampled_from(["a", "b", "c", "d/e"]), st.sampled_from([b"1\n", b"2\n", b"11\n", "é\n".encode()])
Step = Callable[[SessionHarness], None]


def propose(name: str, after: Entry | None) -> Step:
    """A process has left a file like this."""

    def step(harness: SessionHarness) -> None:
        files = harness.session.files
        seen, path = proposed_entries(files), harness.folder / name
        before = seen[name] if name in seen else Entry(path.read_bytes()) if path.exists() else None
        if before != after:
            run_sync(propose_changes(files, Changes([Change(name, before, after)]), files.roots, Author()))

    return step


def rename(name: str, new: str) -> Step:
    """A process has moved a file."""

    def step(harness: SessionHarness) -> None:
        files = harness.session.files
        seen = proposed_entries(files)
        paths = [harness.folder / each for each in (name, new)]
        old, other = (
            seen[each] if each in seen else Entry(path.read_bytes()) if path.exists() else None
            for each, path in zip((name, new), paths, strict=True)
        )
        if old is not None and other is None:
            changes = [Change(name, old, None), Change(new, None, Entry(old.data))]
            run_sync(propose_changes(files, Changes(changes), files.roots, Author()))

    return step


def write(name: str, data: bytes | None, mode: int) -> Step:
    """The user changes a file on disk."""

    def step(harness: SessionHarness) -> None:
        path = harness.folder / name
        path.parent.mkdir(exist_ok=True)
        path.unlink(missing_ok=True)
        if data is not None:
            path.write_bytes(data)
            path.chmod(mode)
        run_sync(harness.session.files.observe_all())

    return step


def accept(harness: SessionHarness) -> None:
    harness.accept()


STEPS = st.lists(
    st.one_of(
        st.builds(propose, NAMES, st.none() | st.builds(Entry, TEXTS, st.sampled_from([None, 0o644, 0o755]))),
        st.builds(propose, NAMES, st.builds(Entry, TEXTS | st.just(b"\0\xff"))),
        st.builds(rename, NAMES, NAMES),
        st.builds(write, NAMES, st.none() | TEXTS, st.sampled_from([0o644, 0o755])),
        st.just(accept),
    ),
    max_size=12,
)


@settings(max_examples=30)
@given(STEPS)
def test_what_is_known_is_what_would_be_made(steps: list[Step]) -> None:
    """Whatever is proposed, accepted and changed on disk in between."""
    with harness_with({"a": "1\n", "d/e": "2\n"}) as harness:
        known = KnownEntries()
        for step in steps:
            step(harness)
            files = harness.session.files
            assert proposed_entries(files, known=known) == proposed_entries(files)


def test_only_what_has_changed_is_made(tmp_path: Path) -> None:
    """A call that changes one file of many costs what one file costs."""
    harness, known = SessionHarness(tmp_path), KnownEntries()
    files = harness.session.files
    for name in ("a", "b"):
        propose(name, Entry(b"1\n"))(harness)
    before = proposed_entries(files, known=known)
    propose("a", Entry(b"2\n"))(harness)
    after = proposed_entries(files, known=known)
    assert after == {"a": Entry(b"2\n"), "b": Entry(b"1\n")}
    assert after["b"] is before["b"]
