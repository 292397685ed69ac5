"""A changeset with only some of its changes: the texts are those that accepting these changes would write."""

import hypothesis.strategies as st
from hypothesis import given

from edits.bench import PATH, Bench
from fairlead.edits import changeset as cs
from fairlead.edits.changeset import Changeset
from fairlead.edits.origins import Author
from fairlead.edits.proposal import Raw
from fairlead.edits.selection import Change, differs_only_by, only, pending

TEXTS = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "}\n", "\n", "d\r\n", "日\n", "z"]), max_size=12).map("".join)


def _bench(start: str, proposed: str, typed: str | None) -> Bench:
    """A file with a proposal, whose text the user then replaced with `typed`, unless that is None."""
    bench = Bench(start)
    bench.propose(proposed)
    if typed is not None:
        bench.type(typed)
    return bench


def _text(changes: Changeset, user_text: str | None) -> str | None:
    proposal = changes.get(PATH)
    return user_text if proposal is None else proposal.proposed


@given(TEXTS, TEXTS, st.none() | TEXTS, st.data())
def test_chosen_hunks_give_the_text_that_accepting_them_writes(
    start: str, proposed: str, typed: str | None, data: st.DataObject
) -> None:
    """The texts are equal even for hunks in conflict, which are accepted here with `overwrite_user_lines`."""
    bench = _bench(start, proposed, typed)
    chosen = data.draw(st.sets(st.sampled_from(pending(bench.changes)))) if len(bench.changes) else set[Change]()
    text = _text(only(bench.changes, chosen), bench.disk)
    bench.accept({change.hunk_id for change in chosen if change.hunk_id is not None}, overwrite_user_lines=True)
    assert text == bench.disk


@given(TEXTS, TEXTS, st.none() | TEXTS)
def test_all_and_none(start: str, proposed: str, typed: str | None) -> None:
    """A selection of all changes is the changeset itself; with an empty selection, nothing is proposed."""
    bench = _bench(start, proposed, typed)
    assert only(bench.changes, pending(bench.changes)) is bench.changes
    assert len(only(bench.changes, [])) == 0


@given(st.lists(st.sampled_from(["keep", "delete", "replace", "insert"]), max_size=12), st.data())
def test_only_the_chosen_changes_are_pending(edits: list[str], data: st.DataObject) -> None:
    """Their hunks are the same as before if no line is repeated, because then there is only one shortest diff."""
    old, new = [f"old {number}\n" for number in range(len(edits))], list[str]()
    for line, edit in zip(old, edits, strict=True):
        new += [f"new {line}"] if edit in ("replace", "insert") else []
        new += [line] if edit in ("keep", "insert") else []
    changes = _bench("".join(old), "".join(new), None).changes
    if len(changes) == 0:
        return
    chosen = data.draw(st.sets(st.sampled_from(pending(changes))))
    left = only(changes, chosen).get(PATH)
    before = [hunk for hunk in changes.files[PATH].hunks if Change(PATH, hunk.id) in chosen]
    now = () if left is None else left.hunks
    assert [(hunk.old, hunk.new) for hunk in now] == [(hunk.old, hunk.new) for hunk in before]


def test_files_that_are_decided_as_a_whole_are_chosen_as_a_whole() -> None:
    """A selection contains such a file with the bytes and permissions that are proposed for it, or not at all."""
    author = Author("1", "call")
    changes = cs.propose(Changeset(), "/ws/new", None, "new\n", author)
    changes = cs.delete(changes, "/ws/gone", "gone\n", author)
    changes = cs.rename(changes, "/ws/old", "/ws/moved", "old\n", author)
    changes = cs.propose(changes, "/ws/logo.png", "line\n", "other\n", author, Raw(b"\0", 0o755))
    changes = cs.propose(changes, PATH, "1\n2\n3\n", "one\n2\nthree\n", author)
    files = [Change("/ws/new"), Change("/ws/gone"), Change("/ws/old"), Change("/ws/logo.png")]
    hunks = [Change(PATH, hunk.id) for hunk in changes.files[PATH].hunks]
    assert pending(changes) == [*files, *hunks]
    for change in files:
        assert dict(only(changes, [change]).files) == {change.path: changes.files[change.path]}
    some = only(changes, [files[1], hunks[1], Change("/ws/unknown"), Change(PATH, "unknown")])
    assert list(some.files) == ["/ws/gone", PATH]
    assert some.files[PATH].proposed == "1\n2\nthree\n"


@given(TEXTS, TEXTS, st.data())
def test_decisions_are_distinguished_from_other_edits(start: str, proposed: str, data: st.DataObject) -> None:
    """`differs_only_by` allows accepts of any changes and rejects of those in `without`, but no other edit."""
    bench = _bench(start, proposed, None)
    before = bench.changes
    if len(before) == 0:
        return
    all_changes = pending(before)
    without = data.draw(st.sets(st.sampled_from(all_changes)))
    for change in data.draw(st.permutations(all_changes)):
        kind = data.draw(st.sampled_from(["accept", "reject", "leave"]))
        if change.hunk_id is None or kind == "leave":
            continue
        if kind == "reject" and change in without:
            bench.reject([change.hunk_id])
        else:
            bench.accept([change.hunk_id])
    now = _text(bench.changes, bench.disk)
    assert differs_only_by(before, without, PATH, now)
    assert not differs_only_by(before, without, PATH, f"new line\n{now}")
    assert not differs_only_by(before, without, "/ws/another", now)


def test_a_text_may_lack_only_the_given_changes() -> None:
    changes = cs.propose(Changeset(), PATH, "1\n2\n3\n", "one\n2\nthree\n", Author())
    first, second = pending(changes)
    assert differs_only_by(changes, [first], PATH, "1\n2\nthree\n")
    assert not differs_only_by(changes, [second], PATH, "1\n2\nthree\n")


def test_only_the_given_changes_of_whole_files_may_be_rejected() -> None:
    changes = cs.rename(Changeset(), "/ws/old", "/ws/new", "old\n", Author())
    changes = cs.propose(changes, "/ws/made", None, "made\n", Author())
    rename, made = pending(changes)
    for path, text in (("/ws/old", "old\n"), ("/ws/new", None)):
        assert differs_only_by(changes, [rename], path, text)
        assert not differs_only_by(changes, [made], path, text)
    assert differs_only_by(changes, [made], "/ws/made", None)
    assert not differs_only_by(changes, [made], "/ws/made", "other\n")
