"""What a file says about its tests, in the same form for all languages."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Literal

ASSERTING = re.compile(r"_*(assert|check|verify|expect|ensure|must|require|should)([_A-Z]\w*)?")
"""The names of functions that assert something, if nothing else is known about them."""

MANY = 1000
"""The count of an assertion in a loop over values that are not in the file."""


class Strength(IntEnum):
    """How much an assertion says about a value."""

    NOTHING = 0
    """It always passes."""
    VAGUE = 1
    """Almost any value passes: it is true, is there, or has a type."""
    PARTIAL = 2
    """Several values pass: an approximation, a comparison, a part of it."""
    EXACT = 3


def strengths(vague: str, partial: str) -> dict[str, Strength]:
    """How much assertions say, by name; the others are exact.

    Args:
        vague: the names of those that say little, with spaces between them. `partial` is like it.
    """
    return {
        **dict.fromkeys(vague.split(), Strength.VAGUE),
        **dict.fromkeys(partial.split(), Strength.PARTIAL),
    }


Guard = Literal["condition", "caught", "unreached"]
"""What may prevent that an assertion fails the test: an `if`, a handler of errors, or a return before it."""

Mark = Literal["skipped", "expected_failure", "only"]
"""What keeps a test, or all others, from counting."""

Limit = Literal["timeout", "retries"]


@dataclass(frozen=True, slots=True)
class Assertion:
    """A statement that fails the test if something is not as it should be."""

    text: str
    """Its code, with spaces as a formatter could have left them removed."""
    line: int
    """Its first line, from 0."""
    kind: str
    """What the user calls it, such as `assertEqual`, `==` or `toBe`."""
    strength: Strength
    subject: str = ""
    """The code of the value that it is about; empty if that is not known."""
    expected: str = ""
    """The code of what the value is compared with."""
    tolerance: float | None = None
    """The greatest difference that passes; None: there is none, or it is not a number in the code."""
    errors: frozenset[str] = frozenset()
    """The classes of errors that pass, if it expects an error; empty: it expects none, or any error passes."""
    has_message: bool = False
    """Whether the message of an expected error is checked."""
    guards: tuple[Guard, ...] = ()
    count: int = 1
    """How many assertions it makes, including those of a helper that it calls."""


@dataclass(frozen=True, slots=True)
class Test:
    """A test, or a function that tests call to assert something."""

    __test__ = False  # pytest collects no class of this name

    name: str
    """With its classes or groups, as in `TestCart.test_total`."""
    line: int
    """Its first line, from 0, with its decorators."""
    end: int
    """The line after its last one."""
    assertions: tuple[Assertion, ...] = ()
    marks: Mapping[Mark, int] = field(default_factory=dict[Mark, int])
    """By mark: its line."""
    cases: tuple[str, ...] = ()
    """The code of each set of values with which it runs; empty: it runs once, or they are not in the file."""
    cases_line: int = 0
    limits: Mapping[Limit, tuple[float, int]] = field(default_factory=dict[Limit, tuple[float, int]])
    """By limit: its number and its line."""
    words: frozenset[str] = frozenset()
    """The identifiers in it."""


@dataclass(frozen=True, slots=True)
class Outline:
    """The tests of a text."""

    tests: Mapping[str, Test] = field(default_factory=dict[str, Test])
    """By name."""
    helpers: Mapping[str, Test] = field(default_factory=dict[str, Test])
    """The other functions that tests may call, by name."""
    marks: Mapping[Mark, int] = field(default_factory=dict[Mark, int])
    """Those of all its tests."""
    is_readable: bool = True
    """False: the text is no code of the language, is nested too deeply or too long."""


EMPTY = Outline()
UNREADABLE = Outline(is_readable=False)


def by_name(tests: Iterable[Test]) -> dict[str, Test]:
    """The tests by name. Those with a name that is taken get a number."""
    found: dict[str, Test] = {}
    for test in tests:
        name, number = test.name, 1
        while name in found:
            number += 1
            name = f"{test.name} #{number}"
        found[name] = test
    return found
