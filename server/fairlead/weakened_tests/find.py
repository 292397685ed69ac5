"""Finds what weakens tests in a set of changed files."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from fairlead.edits.diff import hunks
from fairlead.sentences import Sentence
from fairlead.weakened_tests.compare import Elsewhere, compare, gone_definitions, helper_counts
from fairlead.weakened_tests.kinds import has_test_name, is_snapshot, is_test_name, language_of
from fairlead.weakened_tests.languages import go, java, javascript, python, rust
from fairlead.weakened_tests.languages.trees import MAX_BYTES
from fairlead.weakened_tests.outline import EMPTY, Outline
from fairlead.weakened_tests.settings_files import compare_settings, is_settings
from fairlead.weakened_tests.weakening import Place, Weakening


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """A file before and after a change."""

    path: str
    """Relative to the workspace, with `/`."""
    new_path: str
    """As `path`, unless the file is moved."""
    old: str | None
    """None: there is no file."""
    new: str | None

    @property
    def may_concern_tests(self) -> bool:
        """Whether it is worth reading."""
        paths = {self.path, self.new_path}
        return any(is_test_name(path) or is_snapshot(path) or is_settings(path) for path in paths) or (
            _mentions_tests(self)
        )


Outlines = tuple[Outline, Outline]


def find_weakenings(files: Sequence[ChangedFile]) -> dict[str, tuple[Weakening, ...]]:
    """What weakens tests, by the path of the file; without files that weaken none."""
    outlines = {file.path: outlines_of(file) for file in files if file.may_concern_tests and file.old is not None}
    rest = (file for file in files if file.path not in outlines)
    elsewhere: Elsewhere | None = None
    found: dict[str, tuple[Weakening, ...]] = {}
    for file in files:
        if file.old is None or not file.may_concern_tests:
            continue
        each = of_file(file, outlines[file.path], Elsewhere())
        if each and any(map(bool, outlines[file.path][0].tests)):
            if elsewhere is None:
                all_outlines = {**outlines, **{other.path: outlines_of(other) for other in rest}}
                elsewhere = elsewhere_in(all_outlines)
            each = of_file(file, outlines[file.path], elsewhere)
        if each:
            found[file.path] = tuple(weakening.shown for weakening in each)
    return found


def elsewhere_in(outlines: Mapping[str, Outlines]) -> Elsewhere:
    """What all files of a change say about the tests of each."""
    pairs = outlines.values()
    return Elsewhere(
        tuple(test for old, new in pairs for name, test in new.tests.items() if name not in old.tests),
        dict(chain.from_iterable(helper_counts(new).items() for _, new in pairs)),
        gone_definitions(pairs),
    )


def outlines_of(file: ChangedFile) -> Outlines:
    """The outlines of both texts; empty for a language that is not read, and for very long texts."""
    return outline(file.path, file.old), outline(file.new_path, file.new)


def outline(path: str, text: str | None) -> Outline:
    """The outline of a text; empty for a language that is not read, and for a very long text."""
    if text is None or len(text) > MAX_BYTES:
        return EMPTY
    match language_of(path):
        case "python":
            return python.outline(text)
        case "javascript" | "typescript" | "tsx" as language:
            return javascript.outline(language, text)
        case "go":
            return go.outline(text)
        case "rust":
            return rust.outline(text)
        case "java":
            return java.outline(text)
        case _:
            return EMPTY


def of_file(file: ChangedFile, outlines: Outlines, elsewhere: Elsewhere) -> tuple[Weakening, ...]:
    """What weakens tests in one file."""
    assert file.old is not None
    if is_snapshot(file.path):
        return _of_snapshot(file)
    if is_settings(file.path):
        return tuple(compare_settings(file.path, file.old, file.new))
    old, new = outlines
    if file.new is None and not old.tests and has_test_name(file.path) and language_of(file.path) is None:
        return (Weakening(Sentence("This test file is deleted.")),)
    if is_test_name(file.path) and not is_test_name(file.new_path):
        new = EMPTY  # test runners look for names
    found = compare(old, new, elsewhere)
    if file.new is None and len(found) > 1:
        return (Weakening(Sentence("{0} tests are removed with this file.", len(found))),)
    return tuple(found)


def _of_snapshot(file: ChangedFile) -> tuple[Weakening, ...]:
    if file.new is None:
        return (Weakening(Sentence("A snapshot is deleted that tests compare with.")),)
    if file.new == file.old or file.old is None:
        return ()
    words = Sentence("A snapshot changes that tests compare with.")
    changed = (hunk for hunk in hunks(file.old, file.new) if hunk.old)
    return tuple(Weakening(words, (Place("old", each.old_start, each.old_start + len(each.old)),)) for each in changed)


def _mentions_tests(file: ChangedFile) -> bool:
    """Whether a file of another name has tests: Rust's are in the files that they test."""
    texts = file.old or "", file.new or ""
    match language_of(file.path):
        case "rust":
            return any("test" in text and "#[" in text for text in texts)
        case "python":
            return any(word in text for text in texts for word in ("import pytest", "import unittest", "def test_"))
        case _:
            return False
