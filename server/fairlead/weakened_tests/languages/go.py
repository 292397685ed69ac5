"""Outlines of Go: the package `testing`, and Testify."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from fairlead.weakened_tests.languages.trees import Tree, line_of, number_in, split_condition, walk
from fairlead.weakened_tests.outline import (
    ASSERTING,
    MANY,
    Assertion,
    Guard,
    Mark,
    Outline,
    Strength,
    Test,
    by_name,
    strengths,
)

if TYPE_CHECKING:
    from tree_sitter import Node

_NOTHING, _VAGUE, _PARTIAL, _EXACT = Strength
_TEST = re.compile(r"(Test|Fuzz|Example)([^a-z]\w*)?")
_FAILS = {"Error", "Errorf", "Fatal", "Fatalf", "Fail", "FailNow"}
_SKIPS = {"Skip", "Skipf", "SkipNow"}
_STRENGTHS = strengths(
    vague="""
        True False NotNil NotEmpty NotEqual Error NotPanics Panics NotZero IsType Implements
    """,
    partial="""
        Contains NotContains Greater GreaterOrEqual Less LessOrEqual InDelta InEpsilon Regexp ElementsMatch Subset
        WithinDuration InDeltaSlice InEpsilonSlice Positive
    """,
)
_LIBRARIES = {"assert", "require", "suite", "is", "qt", "must", "check"}
# an error that passes is the opposite of what these conditions say
_OPPOSITE = {"==": _VAGUE, "!=": _EXACT, "<": _PARTIAL, ">": _PARTIAL, "<=": _PARTIAL, ">=": _PARTIAL}


def outline(text: str) -> Outline:
    """The outline of a Go text."""
    return _Reader(Tree("go", text)).outline()


def definitions(text: str) -> dict[str, str]:
    """The functions and classes of a text, by name: the code without the name."""
    return _Reader(Tree("go", text)).definitions()


class _Reader:
    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._functions = {
            tree.code(node.child_by_field_name("name")): node
            for node in tree.root.named_children
            if node.type in ("function_declaration", "method_declaration")
        }
        self._counts: dict[str, int] = {}

    def outline(self) -> Outline:
        tests = {name: node for name, node in self._functions.items() if _TEST.fullmatch(name)}
        helpers = (self._test(name, node) for name, node in self._functions.items() if name not in tests)
        marks: dict[Mark, int] = {}
        for node in self._tree.root.named_children:
            if node.type == "comment" and self._tree.text(node).startswith(("//go:build", "// +build")):
                marks["skipped"] = line_of(node)
        return Outline(
            by_name(self._test(name, node) for name, node in tests.items()),
            by_name(helpers),
            marks,
        )

    def definitions(self) -> dict[str, str]:
        return {name: self._tree.code(node.child_by_field_name("body")) for name, node in self._functions.items()}

    def _test(self, name: str, node: "Node") -> Test:
        body = node.child_by_field_name("body")
        marks: dict[Mark, int] = {}
        cases, cases_line = list[str](), 0
        for each in walk(node):
            if each.type == "call_expression":
                names = self._names(each.child_by_field_name("function"))
                if len(names) == 2 and names[1] in _SKIPS:
                    marks.setdefault("skipped", line_of(each))
            if each.type == "literal_value" and not cases:
                values = [value for value in each.named_children if value.type != "comment"]
                if len(values) > 1 and each.parent is not None and each.parent.type == "composite_literal":
                    kind = each.parent.child_by_field_name("type")
                    if kind is not None and kind.type in (
                        "slice_type",
                        "array_type",
                        "map_type",
                        "implicit_length_array_type",
                    ):
                        cases, cases_line = [self._tree.code(value) for value in values], line_of(each)
        found = tuple(self._assertions(body, (), None, 1)) if body is not None else ()
        end = node.end_point[0] + 1
        return Test(name, line_of(node), end, found, marks, tuple(cases), cases_line, {}, self._tree.words(node))

    def _names(self, node: "Node | None") -> list[str]:
        if node is None:
            return []
        if node.type == "selector_expression":
            return [
                *self._names(node.child_by_field_name("operand")),
                self._tree.code(node.child_by_field_name("field")),
            ]
        if node.type == "call_expression":
            return self._names(node.child_by_field_name("function"))
        return [self._tree.text(node)] if node.type == "identifier" else []

    def _assertions(
        self, node: "Node", guards: tuple[Guard, ...], condition: "Node | None", count: int
    ) -> Iterator[Assertion]:
        """The assertions in a node.

        Args:
            condition: that of the innermost `if`.
        """
        for child in node.named_children:
            match child.type:
                case "if_statement":
                    test = child.child_by_field_name("condition")
                    body = child.child_by_field_name("consequence")
                    initial = child.child_by_field_name("initializer")
                    if initial is not None:
                        yield from self._assertions(initial, guards, condition, count)
                    outer = (*guards, "condition") if condition is not None else guards
                    if body is not None:
                        yield from self._assertions(body, outer, test, count)
                    otherwise = child.child_by_field_name("alternative")
                    if otherwise is not None:
                        yield from self._assertions(otherwise, outer, test, count)
                    if body is not None and _returns(body) and not _fails(self, body):
                        guards = (*guards, "condition")
                case "for_statement":
                    yield from self._assertions(child, guards, condition, MANY)
                case "return_statement":
                    yield from self._assertions(child, guards, condition, count)
                    guards = (*guards, "unreached")
                case "call_expression":
                    yield from self._of_call(child, guards, condition, count)
                case _:
                    yield from self._assertions(child, guards, condition, count)

    def _of_call(
        self, call: "Node", guards: tuple[Guard, ...], condition: "Node | None", count: int
    ) -> Iterator[Assertion]:
        names = self._names(call.child_by_field_name("function"))
        arguments = call.child_by_field_name("arguments")
        given = [self._tree.code(each) for each in arguments.named_children] if arguments is not None else []
        last = names[-1] if names else ""
        code = self._tree.code(call)
        if len(names) == 2 and last in _FAILS and names[0] not in _LIBRARIES and names[0] != "errors":
            kind, strength, subject, expected = self._failing(condition)
            at = line_of(condition) if condition is not None else line_of(call)
            text = self._tree.code(condition) or code
            yield Assertion(text, at, kind, strength, subject, expected, guards=guards, count=count)
        elif len(names) == 2 and names[0] in _LIBRARIES:
            inner = (*guards, "condition") if condition is not None else guards
            yield self._of_testify(call, last, given, inner, count)
        elif last in self._functions and len(names) == 1:
            inside = self._count_in(last)
            if inside:
                yield Assertion(code, line_of(call), last, _EXACT, guards=guards, count=min(MANY, inside * count))
        elif names and ASSERTING.fullmatch(last):
            yield Assertion(code, line_of(call), last, _EXACT, guards=guards, count=count)
        else:
            yield from self._assertions(call, guards, condition, count)

    def _failing(self, condition: "Node | None") -> tuple[str, Strength, str, str]:
        """What is asserted by a failure under a condition, which is the opposite of the condition."""
        code = self._tree.code(condition)
        if not code:
            return "Fatal", _EXACT, "", ""
        if code == "false":
            return "if false", _NOTHING, "", ""
        kind, strength, subject, expected = split_condition(code)
        if "&&" in code:
            return "&&", min(_PARTIAL, strength), subject, expected
        if strength == _NOTHING:
            return kind, strength, subject, expected
        if subject == "err" or expected == "nil":
            return kind, (_EXACT if kind == "!=" else _VAGUE), subject, expected
        if kind == "true":
            exact = "Equal" in code or "cmp.Diff" in code
            partial = "Contains" in code or "Match" in code or "HasPrefix" in code or "errors." in code
            return kind, (_EXACT if exact else _PARTIAL if partial else _VAGUE), subject, expected
        return {"!=": "==", "==": "!="}.get(kind, kind), _OPPOSITE.get(kind, _PARTIAL), subject, expected

    def _of_testify(
        self, call: "Node", name: str, given: list[str], guards: tuple[Guard, ...], count: int
    ) -> Assertion:
        plain = name.removesuffix("f")
        values = given[1:] if given[:1] and re.fullmatch(r"t|s\.T\(\)|c|tt", given[0]) else given
        strength = _STRENGTHS.get(plain, _EXACT)
        subject = values[1] if len(values) > 1 and plain in ("Equal", "EqualValues", "JSONEq", "Len") else ""
        subject = values[0] if plain == "Len" and values else subject or (values[0] if values else "")
        expected = next((value for value in values if value != subject), "")
        tolerance = None
        if plain in ("InDelta", "InEpsilon") and len(values) > 2:
            tolerance, subject, expected = number_in(values[2]), values[1], values[0]
        if plain in ("True", "False") and values:
            _, strength, subject, expected = split_condition(values[0])
        elif len(values) > 1 and plain == "Equal" and values[0] == values[1]:
            strength = _NOTHING
        return Assertion(
            self._tree.code(call),
            line_of(call),
            name,
            strength,
            subject,
            expected,
            tolerance,
            guards=guards,
            count=count,
        )

    def _count_in(self, name: str) -> int:
        if name not in self._counts:
            self._counts[name] = 0  # a function may call itself
            body = self._functions[name].child_by_field_name("body")
            found = self._assertions(body, (), None, 1) if body is not None else ()
            self._counts[name] = sum(each.count for each in found)
        return self._counts[name]

    def fails_in(self, node: "Node") -> bool:
        """Whether a block makes the test fail."""
        calls = (each for each in walk(node) if each.type == "call_expression")
        return any(
            self._names(each.child_by_field_name("function"))[-1:]
            and self._names(each.child_by_field_name("function"))[-1] in _FAILS | _SKIPS
            for each in calls
        )


def _returns(body: "Node") -> bool:
    return any(each.type == "return_statement" for each in walk(body, lambda each: each.type != "func_literal"))


def _fails(reader: _Reader, body: "Node") -> bool:
    return reader.fails_in(body)
