"""Outlines of Java: JUnit 4 and 5, TestNG, AssertJ, Hamcrest, Mockito."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from fairlead.weakened_tests.languages.trees import Tree, line_of, number_in, split_condition, walk
from fairlead.weakened_tests.outline import (
    ASSERTING,
    MANY,
    Assertion,
    Guard,
    Limit,
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
_TESTS = {"Test", "ParameterizedTest", "RepeatedTest", "TestFactory", "Property", "Theory"}
_SKIPS = re.compile(r"@(\w+\.)*(Disabled\w*|Ignore|EnabledIf\w*|EnabledOn\w*|DisabledIf\w*)\b")
_STRENGTHS = strengths(
    vague="""
        assertNotNull assertNotEquals assertNotSame isNotNull isNotEmpty isInstanceOf isTrue isFalse isPresent
        isNotEqualTo assertInstanceOf isNotBlank notNullValue assertDoesNotThrow isNotZero
    """,
    partial="""
        contains containsAnyOf startsWith endsWith isGreaterThan isGreaterThanOrEqualTo isLessThan isCloseTo matches
        isLessThanOrEqualTo isBetween isIn containsString hasSizeGreaterThan isPositive isNegative assertLinesMatch
        isSubsetOf
    """,
)
_SUBJECT_SECOND = {"assertEquals", "assertSame", "assertArrayEquals", "assertNotEquals", "assertIterableEquals"}
_CAUGHT = {"Throwable", "AssertionError", "Error", "AssertionFailedError"}
_ERRORS = {"assertThrows", "assertThrowsExactly", "isInstanceOf", "isExactlyInstanceOf", "assertThatThrownBy"}


def outline(text: str) -> Outline:
    """The outline of a Java text."""
    return _Reader(Tree("java", text)).outline()


def definitions(text: str) -> dict[str, str]:
    """The functions and classes of a text, by name: the code without the name."""
    return _Reader(Tree("java", text)).definitions()


class _Reader:
    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._methods = [node for node in walk(tree.root) if node.type == "method_declaration"]
        self._by_name = {self._name(node): node for node in self._methods if not self._is_test(node)}
        self._counts: dict[str, int] = {}

    def outline(self) -> Outline:
        tests = (self._test(node) for node in self._methods if self._is_test(node))
        helpers = (self._test(node) for node in self._by_name.values())
        return Outline(by_name(tests), by_name(helpers))

    def definitions(self) -> dict[str, str]:
        classes = [node for node in walk(self._tree.root) if node.type == "class_declaration"]
        return {
            self._name(node): self._tree.code(node.child_by_field_name("body")) for node in (*self._methods, *classes)
        }

    def _name(self, node: "Node") -> str:
        return self._tree.code(node.child_by_field_name("name"))

    def _annotations(self, node: "Node") -> "list[Node]":
        modifiers = next((each for each in node.named_children if each.type == "modifiers"), None)
        found = modifiers.named_children if modifiers is not None else []
        return [each for each in found if each.type in ("annotation", "marker_annotation")]

    def _is_test(self, node: "Node") -> bool:
        return any(self._name(each).rpartition(".")[2] in _TESTS for each in self._annotations(node))

    def _test(self, node: "Node") -> Test:
        classes: list[Node] = []
        outer = node.parent
        while outer is not None:
            classes += [outer] if outer.type == "class_declaration" else []
            outer = outer.parent
        annotations = [each for owner in (*classes[::-1], node) for each in self._annotations(owner)]
        marks: dict[Mark, int] = {}
        limits: dict[Limit, tuple[float, int]] = {}
        cases, cases_line = list[str](), 0
        assertions: list[Assertion] = []
        for annotation in annotations:
            code, line = self._tree.code(annotation), line_of(annotation)
            if _SKIPS.match(code) or "enabled=false" in code:
                marks.setdefault("skipped", line)
            number = re.search(r"(?:timeout=|@Timeout\((?:value=)?)(\d[\d_]*)", code)
            if number is not None:
                limits["timeout"] = float(number[1].replace("_", "")), line
            if re.match(r"@(Retry\w*|RepeatedIfExceptions\w*|Flaky\w*)", code):
                limits["retries"] = (number_in(code.rpartition("(")[2].rstrip(")")) or 1.0), line
            expected = re.search(r"expected=([\w.]+)\.class", code)
            if expected is not None:
                errors = frozenset({expected[1]})
                assertions.append(Assertion(code, line, "expected", _EXACT, "throws", errors=errors))
            if "Source(" in code:
                values = next(
                    (each for each in walk(annotation) if each.type == "element_value_array_initializer"), None
                )
                if values is not None:
                    cases, cases_line = [self._tree.code(each) for each in values.named_children], line
        body = node.child_by_field_name("body")
        if body is not None:
            for each in walk(body):
                name = self._name(each) if each.type == "method_invocation" else ""
                if re.match(r"assum(e|ing)[A-Z]\w*", name):
                    marks.setdefault("skipped", line_of(each))
            assertions += self._assertions(body, (), 1)
        name = ".".join([*(self._name(each) for each in classes[::-1]), self._name(node)])
        end = node.end_point[0] + 1
        words = self._tree.words(node)
        return Test(name, line_of(node), end, tuple(assertions), marks, tuple(cases), cases_line, limits, words)

    def _assertions(self, node: "Node", guards: tuple[Guard, ...], count: int) -> Iterator[Assertion]:
        for child in node.named_children:
            match child.type:
                case "if_statement":
                    yield from self._assertions(child, (*guards, "condition"), count)
                    if any(each.type == "return_statement" for each in walk(child)):
                        guards = (*guards, "condition")
                case "try_statement":
                    handlers = [each for each in child.named_children if each.type == "catch_clause"]
                    catches = any(
                        any(self._tree.text(kind) in _CAUGHT for kind in walk(each) if kind.type == "type_identifier")
                        and not any(inner.type == "throw_statement" for inner in walk(each))
                        for each in handlers
                    )
                    body = child.child_by_field_name("body")
                    if body is not None:
                        yield from self._assertions(body, (*guards, "caught") if catches else guards, count)
                    for handler in handlers:
                        yield from self._assertions(handler, (*guards, "condition"), count)
                case "for_statement" | "enhanced_for_statement" | "while_statement":
                    yield from self._assertions(child, guards, MANY)
                case "return_statement" | "throw_statement":
                    yield from self._assertions(child, guards, count)
                    guards = (*guards, "unreached")
                case "method_invocation":
                    yield from self._of_call(child, guards, count)
                case _:
                    yield from self._assertions(child, guards, count)

    def _of_call(self, call: "Node", guards: tuple[Guard, ...], count: int) -> Iterator[Assertion]:
        chain = self._chain(call)
        first, last = chain[0], chain[-1]
        names = [name for name, _ in chain]
        code, line = self._tree.code(call), line_of(call)
        if names[0].startswith("assertThat") and len(names) > 1:
            yield self._of_chain(call, chain, guards, count)
        elif names[0].startswith("assertThat") and len(first[1]) > 1:
            matcher = first[1][1]
            name = matcher.partition("(")[0]
            strength = _STRENGTHS.get(name, _EXACT)
            yield Assertion(code, line, name, strength, first[1][0], matcher, guards=guards, count=count)
        elif names[0] == "verify" and len(names) > 1:
            yield Assertion(code, line, "verify", _EXACT, guards=guards, count=count)
        elif last[0] in self._by_name and len(names) == 1:
            inside = self._count_in(last[0])
            if inside:
                yield Assertion(code, line, last[0], _EXACT, guards=guards, count=min(MANY, inside * count))
        elif ASSERTING.fullmatch(last[0]) or last[0] == "fail":
            yield self._of_method(call, last[0], last[1], guards, count)
            if last[0] == "assertAll":
                yield from self._assertions(call, guards, count)
        else:
            inner = MANY if last[0] == "forEach" else 1
            yield from self._assertions(call, guards, min(MANY, inner * count))

    def _chain(self, node: "Node") -> list[tuple[str, list[str]]]:
        """The names and the arguments of the calls in `a(x).b(y)`, in order."""
        inner = node.child_by_field_name("object")
        arguments = node.child_by_field_name("arguments")
        given = [self._tree.code(each) for each in arguments.named_children] if arguments is not None else []
        before = self._chain(inner) if inner is not None and inner.type == "method_invocation" else []
        return [*before, (self._name(node), given)]

    def _of_chain(
        self, call: "Node", chain: list[tuple[str, list[str]]], guards: tuple[Guard, ...], count: int
    ) -> Assertion:
        subject = chain[0][1][0] if chain[0][1] else ""
        links = [link for link in chain[1:] if link[0] not in ("as", "describedAs", "withFailMessage", "extracting")]
        name, given = max(links or chain[-1:], key=lambda link: _STRENGTHS.get(link[0], _EXACT))
        strength = _STRENGTHS.get(name, _EXACT)
        if name in ("isTrue", "isFalse"):
            _, strength, subject, _ = split_condition(subject)
        throws = chain[0][0] in ("assertThatThrownBy", "assertThatExceptionOfType")
        errors = frozenset(each.removesuffix(".class") for link in links if link[0] in _ERRORS for each in link[1])
        has_message = throws and any("essage" in link[0] for link in links)
        tolerance = next((number_in(re.sub(r"\w+\((.*)\)", r"\1", each)) for each in given[1:]), None)
        is_error = throws and errors
        return Assertion(
            self._tree.code(call),
            line_of(call),
            name,
            _EXACT if is_error else strength,
            subject,
            ",".join(given),
            tolerance if name == "isCloseTo" else None,
            errors if throws else frozenset(),
            has_message,
            guards,
            count,
        )

    def _of_method(self, call: "Node", name: str, given: list[str], guards: tuple[Guard, ...], count: int) -> Assertion:
        strength = _STRENGTHS.get(name, _EXACT)
        subject, expected = (given[0] if given else ""), (given[1] if len(given) > 1 else "")
        errors: frozenset[str] = frozenset()
        tolerance = None
        if name in _SUBJECT_SECOND and len(given) > 1:
            subject, expected = given[1], given[0]
            tolerance = number_in(given[2]) if len(given) > 2 else None
            if subject == expected:
                strength = _NOTHING
            elif tolerance is not None:
                strength = _PARTIAL
        elif name in ("assertTrue", "assertFalse") and given:
            _, strength, subject, expected = split_condition(given[0])
        elif name in _ERRORS and len(given) > 1:
            errors, subject, expected = frozenset({given[0].removesuffix(".class")}), given[1], ""
        return Assertion(
            self._tree.code(call),
            line_of(call),
            name,
            strength,
            subject,
            expected,
            tolerance,
            errors,
            False,
            guards,
            count,
        )

    def _count_in(self, name: str) -> int:
        if name not in self._counts:
            self._counts[name] = 0  # a method may call itself
            body = self._by_name[name].child_by_field_name("body")
            found = self._assertions(body, (), 1) if body is not None else ()
            self._counts[name] = sum(each.count for each in found)
        return self._counts[name]
