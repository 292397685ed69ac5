"""The changes of known files: what a command sees after some of them (docs/plan.md P26)."""

import hypothesis.strategies as st
from hypothesis import given

from fairlead.edits.changeset import Changeset, propose
from fairlead.edits.origins import Author
from fairlead.session.evidence.change_log import ChangeLog, ViewChange, view_after

TEXTS = st.one_of(st.none(), st.text(alphabet="ab\n", max_size=6))
EDITS = st.lists(st.tuples(st.sampled_from(["/a", "/b", "/c"]), TEXTS, st.booleans()), min_size=1, max_size=12)


@given(EDITS)
def test_p26_each_earlier_view_is_shown_exactly(edits: list[tuple[str, str | None, bool]]) -> None:
    """Edits of the user and of the agent to three files. The oracle remembers each state as a whole."""
    user: dict[str, str | None] = dict.fromkeys(["/a", "/b", "/c"], "start\n")
    now, seen = Changeset(), dict(user)
    changes: list[ViewChange] = []
    views = [dict(seen)]
    for path, text, is_of_user in edits:
        if text == seen[path] or (not is_of_user and text is None):
            continue
        if is_of_user:
            now, user = now.without(path), {**user, path: text}
        else:
            now = propose(now.without(path), path, user[path], text or "", Author(None, "call"))
        maker = "user" if is_of_user else "agent"
        changes.append(ViewChange(path, seen[path], text, maker, "", 1))
        seen = {**seen, path: text}
        views.append(dict(seen))
    for count, expected in enumerate(views):
        view = view_after(now, changes, count, user)
        shown = {path: view.files[path].proposed if path in view.files else user[path] for path in user}
        assert shown == expected


def test_p26_typing_in_one_file_is_one_change() -> None:
    """Unless a verification ran in between, or somebody else changed it."""
    log = ChangeLog()
    for before, after, states in (("", "a", 1), ("a", "ab", 1), ("ab", "abc", 2)):
        log.add(ViewChange("/a", before, after, "user", "", states))
    log.add(ViewChange("/a", "abc", "x", "agent", "1", 2))
    assert [(change.before, change.after) for change in log.changes] == [("", "ab"), ("ab", "abc"), ("abc", "x")]
    assert [change.after for change in log.between(1, 2, lambda _: True)] == ["abc", "x"]
