"""Finds what weakens tests in a set of changed files."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain

from fairlead.edits.diff import hunks
from fairlead.sentences import Sentence
from fairlead.weakened_tests.compare import Elsewhere, compare, gone_definitions, helper_counts
from fairlead.weakened_tests.kinds import has_test_name, is_snapshot, is_test_name, language_of
from fairlead.weakened_tests.languages import go, java, javascript, python, rust
from fairlead.weakened_tests.languages.trees import MAX_BYTES
from fairlead.weakened_tests.outline import EMPTY, UNREADABLE, Outline
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


def find_weakenings(
    files: Sequence[ChangedFile], read: Callable[[ChangedFile], Outlines] | None = None
) -> dict[str, tuple[Weakening, ...]]:
    """What weakens tests, by the path of the file; without files that weaken none.

    Args:
        read: returns the outlines of a file (`outlines_of`), which a caller may cache.
    """
    read = read or outlines_of
    outlines = {file.path: read(file) for file in files if file.may_concern_tests}
    elsewhere: Elsewhere | None = None
    found: dict[str, tuple[Weakening, ...]] = {}
    for file in files:
        if file.old is None or file.path not in outlines:
            continue
        each = of_file(file, outlines[file.path], Elsewhere())
        if each and outlines[file.path][0].tests:
            elsewhere = elsewhere or elsewhere_in(files, outlines.values())
            each = of_file(file, outlines[file.path], elsewhere)
        if each:
            found[file.path] = tuple(weakening.shown for weakening in each)
    return found


def elsewhere_in(files: Iterable[ChangedFile], outlines: Collection[Outlines]) -> Elsewhere:
    """What all files of a change say about the tests of each."""
    removes_tests = any(old.tests.keys() - new.tests.keys() for old, new in outlines)
    products = [file for file in files if removes_tests and not is_test_name(file.path)]
    return Elsewhere(
        tuple(test for old, new in outlines for name, test in new.tests.items() if name not in old.tests),
        dict(chain.from_iterable(helper_counts(new).items() for _, new in outlines)),
        gone_definitions((definitions(file.path, file.old), definitions(file.new_path, file.new)) for file in products),
    )


def outlines_of(file: ChangedFile) -> Outlines:
    """The outlines of both texts; empty for a language that is not read, and for very long texts."""
    return outline(file.path, file.old), outline(file.new_path, file.new)


def outline(path: str, text: str | None) -> Outline:
    """The outline of a text; empty for a language that is not read."""
    language = language_of(path)
    if text is None or language is None:
        return EMPTY
    if len(text) > MAX_BYTES:
        return UNREADABLE
    try:
        return _outline(language, text)
    except RecursionError:
        return UNREADABLE


@lru_cache(maxsize=32)  # the agent changes a file in several steps, whose base stays the same
def _outline(language: str, text: str) -> Outline:
    match language:
        case "python":
            return python.outline(text)
        case "go":
            return go.outline(text)
        case "rust":
            return rust.outline(text)
        case "java":
            return java.outline(text)
        case _:
            return javascript.outline(language, text)


def definitions(path: str, text: str | None) -> dict[str, str]:
    """The functions and classes of a text, by name: the code without the name. Empty as for `outline`."""
    language = language_of(path)
    if text is None or language is None or len(text) > MAX_BYTES:
        return {}
    try:
        return _definitions(language, text)
    except RecursionError:
        return {}


@lru_cache(maxsize=256)  # most files stay the same while the agent changes another one
def _definitions(language: str, text: str) -> dict[str, str]:
    match language:
        case "python":
            return python.definitions(text)
        case "go":
            return go.definitions(text)
        case "rust":
            return rust.definitions(text)
        case "java":
            return java.definitions(text)
        case _:
            return javascript.definitions(language, text)


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
    if old.tests and not new.is_readable:
        return (Weakening(Sentence("The tests of this file can no longer be read.")),)
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
