"""Compares the tests of a file before and after a change."""

import builtins
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher

from fairlead.sentences import Sentence
from fairlead.weakened_tests.outline import MANY, Assertion, Guard, Mark, Outline, Strength, Test
from fairlead.weakened_tests.weakening import Place, Weakening, line

_MARKS: Mapping[Mark, Callable[[str], Sentence]] = {
    "skipped": lambda name: Sentence("{0} is skipped.", name),
    "expected_failure": lambda name: Sentence("{0} is expected to fail.", name),
    "only": lambda name: Sentence("Only {0} runs, and no other test.", name),
}
_ALL: Mapping[Mark, Sentence] = {
    "skipped": Sentence("Tests of this file are skipped."),
    "expected_failure": Sentence("The tests of this file are expected to fail."),
    "only": Sentence("Only some tests of this file run."),
}
_GUARDS: Mapping[Guard, Callable[[str], Sentence]] = {
    "condition": lambda name: Sentence("An assertion of {0} now depends on a condition.", name),
    "caught": lambda name: Sentence("A failed assertion of {0} is now caught.", name),
    "unreached": lambda name: Sentence("An assertion of {0} is no longer reached.", name),
}
_SIMILAR = 0.6  # of two tests with other names
_TOKEN = re.compile(r"\w+|\"[^\"]*\"|'[^']*'")


@dataclass(frozen=True)
class Elsewhere:
    """What the other files of a change say about the tests of one."""

    added: tuple[Test, ...] = ()
    """Tests that are new there."""
    helpers: Mapping[str, int] = field(default_factory=dict[str, int])
    """How many assertions the functions there make."""
    gone: frozenset[str] = frozenset()
    """The functions and classes that are no longer there, and not under another name either."""


NOTHING_ELSEWHERE = Elsewhere()


def compare(old: Outline, new: Outline, elsewhere: Elsewhere = NOTHING_ELSEWHERE) -> list[Weakening]:
    """What weakens the tests of a file. A test that was renamed or moved is compared with what it was."""
    pairs = [(old.tests[name], new.tests[name]) for name in old.tests if name in new.tests]
    removed = [test for name, test in old.tests.items() if name not in new.tests]
    added = [test for name, test in new.tests.items() if name not in old.tests]
    moved, removed = _moved(removed, [*added, *elsewhere.added])
    texts = _new_texts(pairs, [*added, *elsewhere.added])
    removed = [test for test in removed if not _is_merged(test, texts)]
    removed = _without_cases(removed, [*added, *(pair[1] for pair in pairs), *elsewhere.added])
    found: list[Weakening] = [
        Weakening(Sentence("The test {0} is removed.", test.name), (Place("old", test.line, test.end),))
        for test in removed
        if not test.words & elsewhere.gone
    ]
    for before, after in (*pairs, *moved):
        found += _compare_tests(before, after, texts, elsewhere)
    for name in old.helpers.keys() & new.helpers.keys():
        found += _compare_tests(old.helpers[name], new.helpers[name], texts, elsewhere)
    for mark, at in new.marks.items():
        if mark not in old.marks and old.tests:
            found.append(Weakening(_ALL[mark], (line("new", at),)))
    return list(dict.fromkeys(found))


def _moved(removed: Sequence[Test], added: Sequence[Test]) -> tuple[list[tuple[Test, Test]], list[Test]]:
    """The removed tests with what they have become, and those that have become nothing."""
    free = list(added)
    moved: list[tuple[Test, Test]] = []
    left: list[Test] = []
    for test in removed:
        scored = [(_likeness(test, other), -index) for index, other in enumerate(free)]
        score, index = max(scored, default=(0.0, 0))
        if score >= _SIMILAR:
            moved.append((test, free.pop(-index)))
        else:
            left.append(test)
    return moved, left


def _likeness(test: Test, other: Test) -> float:
    """How much two tests are alike: from 0 to 1, and 2 if they have the same name."""
    if _last(test.name) == _last(other.name):
        return 2.0
    if len(other.assertions) < len(test.assertions) / 2:
        return 0.0
    texts, others = Counter(each.text for each in test.assertions), Counter(each.text for each in other.assertions)
    common = (texts & others).total() / texts.total() if texts else 0.0
    words = len(test.words & other.words) / max(1, len(test.words | other.words))
    return max(common, words) if texts else words * 0.9


def _last(name: str) -> str:
    return re.split(r" > |\.|::", name)[-1]


def _new_texts(pairs: Iterable[tuple[Test, Test]], added: Iterable[Test]) -> Counter[str]:
    """The code of the assertions that are new in their tests."""
    found: Counter[str] = Counter()
    for before, after in pairs:
        found += Counter(each.text for each in after.assertions) - Counter(each.text for each in before.assertions)
    for test in added:
        found += Counter(each.text for each in test.assertions)
    return found


def _is_merged(test: Test, texts: Counter[str]) -> bool:
    """Whether other tests make all its assertions now."""
    return bool(test.assertions) and all(texts[each.text] for each in test.assertions)


def _without_cases(removed: Sequence[Test], tests: Iterable[Test]) -> list[Test]:
    """The removed tests without those that are cases of another test now."""
    left = list(removed)
    for test in tests:
        free = len(test.cases)
        for other in list(left):
            shared = len(other.words & test.words) / max(1, len(other.words))
            if free and shared >= 0.5 and any(_literals(other) & set(_TOKEN.findall(case)) for case in test.cases):
                left.remove(other)
                free -= 1
    return left


def _literals(test: Test) -> set[str]:
    tokens = (token for each in test.assertions for token in _TOKEN.findall(each.text))
    return {token for token in tokens if not token.isidentifier()}


def _compare_tests(old: Test, new: Test, texts: Counter[str], elsewhere: Elsewhere) -> Iterator[Weakening]:
    around = (Place("old", old.line, old.end), Place("new", new.line, new.end))
    for mark, at in new.marks.items():
        if mark not in old.marks:
            yield Weakening(_MARKS[mark](new.name), (line("new", at), *around))
    for limit, (number, at) in new.limits.items():
        before = old.limits.get(limit)
        if limit == "timeout" and before is not None and number > before[0]:
            words = Sentence("{0} may take longer: {1} instead of {2}.", new.name, f"{number:g}", f"{before[0]:g}")
            yield Weakening(words, (line("new", at), *around))
        if limit == "retries" and (before is None or number > before[0]):
            yield Weakening(Sentence("{0} is tried again if it fails.", new.name), (line("new", at), *around))
    lost = list((Counter(old.cases) - Counter(new.cases)).elements())
    fewer = len(old.cases) - len(new.cases)
    if fewer > 0 and (new.cases or not len(new.assertions) >= len(old.cases)):
        words = Sentence("{0} has fewer cases: {1} instead of {2}.", new.name, len(new.cases), len(old.cases))
        yield Weakening(words, (Place("old", old.cases_line, old.end), *around)) if lost else Weakening(words, around)
    yield from _compare_assertions(old, new, texts, elsewhere, around)


def _compare_assertions(
    old: Test, new: Test, texts: Counter[str], elsewhere: Elsewhere, around: tuple[Place, ...]
) -> Iterator[Weakening]:
    same, gone, fresh = _matched(old.assertions, new.assertions)
    for before, after in same:
        yield from _compare_guards(new.name, before, after, around)
    pairs, gone, fresh = _paired(gone, fresh)
    for before, after in pairs:
        yield from _compare_pair(new.name, before, after, around)
    used = {id(after) for _, after in pairs}
    for after in new.assertions:
        is_new = after.text not in {each.text for each in old.assertions}
        if after.strength == Strength.NOTHING and is_new and id(after) not in used:
            yield Weakening(
                Sentence("{0} has an assertion that is always true.", new.name), (line("new", after.line), *around)
            )
    factor = len(new.cases) / max(1, len(old.cases)) if len(new.cases) > len(old.cases) else 1
    room = sum(each.count for each in fresh if each.strength != Strength.NOTHING) * factor
    room += sum(elsewhere.helpers.get(word, 0) for word in new.words - old.words)
    room += sum(each.count * (factor - 1) for _, each in (*same, *pairs))
    wide = [each for each in new.assertions if each.strength == Strength.EXACT]
    for before in gone:
        if texts[before.text] or any(_includes(each, before) for each in wide if each.text != before.text):
            continue
        if room >= before.count:
            room -= before.count
            continue
        words = Sentence("{0} no longer has the assertion {1}.", new.name, before.text)
        yield Weakening(words, (line("old", before.line), *around))


def _matched(
    old: Sequence[Assertion], new: Sequence[Assertion]
) -> tuple[list[tuple[Assertion, Assertion]], list[Assertion], list[Assertion]]:
    """The assertions with the same code, and the others of both sides."""
    by_text: dict[str, list[Assertion]] = {}
    for each in new:
        by_text.setdefault(each.text, []).append(each)
    same: list[tuple[Assertion, Assertion]] = []
    gone: list[Assertion] = []
    for each in old:
        if by_text.get(each.text):
            same.append((each, by_text[each.text].pop(0)))
        else:
            gone.append(each)
    left = {id(each) for rest in by_text.values() for each in rest}
    return same, gone, [each for each in new if id(each) in left]


def _paired(
    gone: Sequence[Assertion], fresh: Sequence[Assertion]
) -> tuple[list[tuple[Assertion, Assertion]], list[Assertion], list[Assertion]]:
    """Old assertions with those that replace them: about the same value, else with the most similar code."""
    pairs: list[tuple[Assertion, Assertion]] = []
    left, free = list(gone), list(fresh)
    for before in list(left):
        about = [each for each in free if each.subject == before.subject and each.subject]
        if about:
            after = max(about, key=lambda each: (each.strength, _ratio(each.text, before.text)))
            pairs.append((before, after))
            left.remove(before)
            free.remove(after)
    for before in list(left):
        scored = [(_ratio(each.text, before.text), -index) for index, each in enumerate(free)]
        score, index = max(scored, default=(0.0, 0))
        if score >= 0.5:
            pairs.append((before, free.pop(-index)))
            left.remove(before)
    for before in list(left):  # one that says nothing replaces whatever is gone
        after = next((each for each in free if each.strength == Strength.NOTHING), None)
        if after is not None:
            pairs.append((before, after))
            left.remove(before)
            free.remove(after)
    return pairs, left, free


def _ratio(text: str, other: str) -> float:
    return SequenceMatcher(None, text[:200], other[:200], autojunk=False).ratio()


def _compare_pair(name: str, old: Assertion, new: Assertion, around: tuple[Place, ...]) -> Iterator[Weakening]:
    places = (line("new", new.line), line("old", old.line), *around)
    if new.strength == Strength.NOTHING and old.strength != Strength.NOTHING:
        yield Weakening(Sentence("{0} has an assertion that is always true.", name), places)
    elif new.strength < old.strength:
        has_names = new.kind != old.kind and not {new.kind, old.kind} & {"true", "not", "or", "ANY"}
        shown = (new.kind, old.kind) if has_names else (new.text, old.text)
        yield Weakening(Sentence("{0} checks less: {1} instead of {2}.", name, *shown), places)
    elif old.tolerance is not None and new.tolerance is not None and new.tolerance > old.tolerance:
        numbers = f"{new.tolerance:g}", f"{old.tolerance:g}"
        yield Weakening(Sentence("{0} has a larger tolerance: {1} instead of {2}.", name, *numbers), places)
    elif _is_broader(new.errors, old.errors):
        errors = (", ".join(sorted(each)) or "any" for each in (new.errors, old.errors))
        yield Weakening(Sentence("{0} accepts other errors: {1} instead of {2}.", name, *errors), places)
    elif old.has_message and not new.has_message:
        yield Weakening(Sentence("{0} no longer checks the message of the error.", name), places)
    elif old.strength == Strength.PARTIAL == new.strength and _is_part(new, old):
        yield Weakening(Sentence("{0} checks less: {1} instead of {2}.", name, new.text, old.text), places)
    yield from _compare_guards(name, old, new, around)


def _is_part(new: Assertion, old: Assertion) -> bool:
    """Whether an assertion looks for a part of the text that an old one looked for, or allows `<=` for `<`."""
    if new.kind == f"{old.kind}=" and new.kind in ("<=", ">=") and new.expected == old.expected:
        return True
    texts = [each.expected.strip("\"'`/") for each in (new, old)]
    is_quoted = new.expected[:1] in "\"'`/" and old.expected[:1] in "\"'`/"
    return bool(new.kind == old.kind and is_quoted and texts[0] != texts[1] and texts[0] in texts[1])


def _compare_guards(name: str, old: Assertion, new: Assertion, around: tuple[Place, ...]) -> Iterator[Weakening]:
    before, after = Counter(old.guards), Counter(new.guards)
    for guard, words in _GUARDS.items():
        if after[guard] > before[guard]:
            yield Weakening(words(name), (line("new", new.line), *around))
            return


def _includes(wide: Assertion, narrow: Assertion) -> bool:
    """Whether an exact assertion, for example about a whole object, compares with all that another one names."""
    wanted = set(_TOKEN.findall(narrow.expected)) or set(_TOKEN.findall(narrow.subject.rpartition(".")[2]))
    return bool(wanted) and wanted <= set(_TOKEN.findall(wide.expected))


def _is_broader(new: frozenset[str], old: frozenset[str]) -> bool:
    """Whether some classes of errors include others: those are among them, or all errors are."""
    if not old or new == old:
        return False
    if not new or new > old:
        return True
    return any(_is_superclass(each, other) for each in new - old for other in old - new)


def _is_superclass(name: str, other: str) -> bool:
    names = ("Throwable", "BaseException", "Exception", "RuntimeException", "Error", "IOException")
    if name in names:
        return other not in names or names.index(name) < names.index(other)
    wide, narrow = getattr(builtins, name, None), getattr(builtins, other, None)
    return isinstance(wide, type) and isinstance(narrow, type) and issubclass(narrow, wide)


def gone_definitions(pairs: Iterable[tuple[Mapping[str, str], Mapping[str, str]]]) -> frozenset[str]:
    """The functions and classes that a change deletes. One with the same code under another name is only renamed.

    Args:
        pairs: the code of the functions and classes of each file by name, before and after.
    """
    found = list(pairs)
    before = {name: code for old, _ in found for name, code in old.items()}
    after = {name: code for _, new in found for name, code in new.items()}
    codes = set(after.values())
    return frozenset(name for name, code in before.items() if name not in after and code not in codes)


def helper_counts(outline: Outline) -> dict[str, int]:
    """How many assertions the functions of a file make, by name."""
    counts = {name: sum(each.count for each in test.assertions) for name, test in outline.helpers.items()}
    return {name: min(count, MANY) for name, count in counts.items()}
