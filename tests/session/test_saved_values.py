"""The texts of proposals in a journal: restored exactly, and saved in proportion to what has changed."""

import json
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.edits import changeset as cs
from fairlead.edits.origins import Author
from fairlead.edits.proposal import Raw
from fairlead.session.state import SessionState
from fairlead.session.store.entries import EntryEncoder, read_entries
from fairlead.session.store.journal import Journals
from fairlead.session.store.reader import JournalInfo
from fairlead.session.store.text_difference import joined, parts
from session.states import ID, ROOT, same

PATH = f"{ROOT}/a.txt"
Splice = tuple[int, int, str]
"""Where a text is edited, how many characters are removed there, and what is added."""

# line endings, a byte order mark, bytes that are not UTF-8, and the halves of a surrogate pair, also as neighbours
pieces = st.text(st.sampled_from("ab \n\r\ufeffé\u2028\U0001f600\udc80\ud83d\ude00"), max_size=12)
fillers = st.sampled_from(["{n}: {n} more of the same\n", "one line\n", "[{n},0,0,0,1],", "\r\n", "é{n}\udc80\r", "0"])
"""Parts of a long text: with its number, the same again and again, or without any line."""
splices = st.tuples(st.integers(0, 10**6), st.integers(0, 80), pieces)
edits = st.lists(splices, min_size=1, max_size=4)


def edited(text: str, edit: list[Splice]) -> str:
    for at, removed, added in edit:
        start = at % (len(text) + 1)
        text = text[:start] + added + text[start + removed :]
    return text


def cost(edit: list[Splice]) -> int:
    """How much the journal may grow with an edit, in bytes, however long the file is and whatever came before."""
    return 800 + sum(400 + 8 * (removed + len(added)) for _, removed, added in edit)


@given(st.lists(st.tuples(pieces, st.integers(0, 40)), max_size=4), st.lists(edits, max_size=4))
def test_the_parts_of_a_text_are_the_text(repeated: list[tuple[str, int]], made: list[list[Splice]]) -> None:
    """For all texts, and in both directions."""
    old = new = "".join(piece * times for piece, times in repeated)
    for edit in made:
        new = edited(new, edit)
    assert joined(old, parts(old, new)) == new
    assert joined(new, parts(new, old)) == old


@given(fillers, st.lists(edits, min_size=1, max_size=8), st.booleans())
def test_a_journal_grows_with_the_edit_not_with_the_file(
    filler: str, made: list[list[Splice]], is_binary: bool
) -> None:
    """Any edits of a long text or of the bytes of a binary file are restored exactly, and each adds at most a
    constant and a multiple of its own size to the journal."""
    text = "".join(filler.replace("{n}", str(n)) for n in range(20_000 // len(filler)))
    with TemporaryDirectory() as folder:
        journals, file = Journals(Path(folder), warn=pytest.fail), Path(folder, f"{ID}.jsonl")
        journal, state = journals.new(ID, ROOT), SessionState(phase="running")
        base, size = "base" if is_binary else text, 0
        for number, edit in enumerate([[(0, 0, "!")], *made]):
            text, author = edited(text, edit), Author("1", f"call-{number}")
            raw = Raw(text.encode("utf-8", "surrogatepass")) if is_binary else None
            proposed = f"bytes {number}" if is_binary else text
            state = replace(state, changes=cs.propose(state.changes, PATH, base, proposed, author, raw))
            journal.write(state)
            growth, size = file.stat().st_size - size, file.stat().st_size
            assert growth <= cost(edit) or not number, growth
        journal.close()
        journal, found = journals.open(JournalInfo(ID, (ROOT,), 0.0, None))
        journal.close()
        assert same(found, state)


def test_many_edits_of_a_file_cost_as_much_as_few() -> None:
    """The hundredth edit of a file in another place adds as much as the second, although all lines that the agent
    changed are saved with their steps and calls."""
    text = "".join(f"line {number}\n" for number in range(5_000))
    encoder, state, sizes = EntryEncoder(), SessionState(), list[int]()
    for number in range(100):
        new = (state.changes.files[PATH].proposed if number else None) or text
        new = new.replace(f"line {number * 50}\n", f"LINE {number * 50}\n")
        state = replace(state, changes=cs.propose(state.changes, PATH, text, new, Author("1", f"call-{number}")))
        sizes.append(len(json.dumps(encoder.entry(state))))
    assert max(sizes[50:]) < min(sizes[1:50]) + 50


def test_a_text_that_is_gone_is_forgotten() -> None:
    """Neither the writer nor the reader holds the earlier texts of a proposal."""
    encoder, state, entries = EntryEncoder(), SessionState(), list[object]()
    for number in range(20):
        text = "a long line of text\n" * 100 + f"{number}\n"
        state = replace(state, changes=cs.propose(state.changes, PATH, f"{PATH}\n" * 9, text, Author("1", "call")))
        entries.append(encoder.entry(state))
    content = read_entries(json.loads(json.dumps(entries)))
    assert len(content.texts) == 3  # the base, which is also the user's text, the proposed text, and its other values
    assert same(content.state, state)


@pytest.mark.parametrize("damaged", ["digest", "range", "number", "text"])
def test_fault_145_a_damaged_difference_is_found(damaged: str) -> None:
    """docs/faults.md 145: a text is restored as it was saved, or its session is damaged."""
    encoder, text = EntryEncoder(), "a long line of text\n" * 100
    changes = cs.propose(SessionState().changes, PATH, text, text + "more\n", Author("1", "call"))
    (entry,) = json.loads(json.dumps([encoder.entry(SessionState(changes=changes))]))
    ((key, (number, digest, (kept, added))),) = [each for each in entry["texts"].items() if isinstance(each[1], list)]
    assert read_entries([entry]).state.changes.files[PATH].proposed == text + "more\n"
    entry["texts"][key] = {
        "digest": [number, "0" * 16, [kept, added]],
        "range": [number, digest, [[0, len(text) + 1], added]],
        "number": [99, digest, [kept, added]],
        "text": [number, digest, [kept, "MORE\n"]],
    }[damaged]
    with pytest.raises(ValueError, match=r"saved|outside|not an entry"):
        read_entries([entry])
