"""Outlines of Rust: functions with the attribute `test`, and the macros that assert."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from fairlead.weakened_tests.languages.trees import Tree, line_of, number_in, split_condition, walk
from fairlead.weakened_tests.outline import ASSERTING, MANY, Assertion, Guard, Mark, Outline, Strength, Test, by_name

if TYPE_CHECKING:
    from tree_sitter import Node

_NOTHING, _VAGUE, _PARTIAL, _EXACT = Strength
_TEST = re.compile(r"((\w+::)*(test|rstest|test_case|quickcheck|proptest|wasm_bindgen_test))\b")
_STRENGTHS = {
    "assert_ne": _VAGUE,
    "assert_matches": _PARTIAL,
    "assert_abs_diff_eq": _PARTIAL,
    "assert_relative_eq": _PARTIAL,
    "assert_approx_eq": _PARTIAL,
    "assert_ulps_eq": _PARTIAL,
}
_TOLERANCE = re.compile(r"(?:epsilon|max_relative)=([\d.eE_-]+)")


def outline(text: str) -> Outline:
    """The outline of a Rust text."""
    return _Reader(Tree("rust", text)).outline()


def definitions(text: str) -> dict[str, str]:
    """The functions and classes of a text, by name: the code without the name."""
    return _Reader(Tree("rust", text)).definitions()


class _Reader:
    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._functions = dict(self._collect(tree.root))
        self._has_tests_inside = any("test" in name.rpartition("::")[0] for name in self._functions)
        self._by_last_name = {
            name.rpartition("::")[2]: node for name, (node, _) in self._functions.items() if self._is_for_tests(name)
        }
        self._counts: dict[str, int] = {}

    def outline(self) -> Outline:
        found = {name: self._test(name, node, attributes) for name, (node, attributes) in self._functions.items()}
        tests = {name for name, (_, attributes) in self._functions.items() if any(map(self._is_test, attributes))}
        return Outline(
            by_name(test for name, test in found.items() if name in tests),
            by_name(test for name, test in found.items() if name not in tests and self._is_for_tests(name)),
        )

    def definitions(self) -> dict[str, str]:
        functions = ((name, node) for name, (node, _) in self._functions.items() if "test" not in name)
        return {name.rpartition("::")[2]: self._tree.code(node.child_by_field_name("body")) for name, node in functions}

    def _collect(self, node: "Node", prefix: str = "") -> "Iterator[tuple[str, tuple[Node, list[Node]]]]":
        attributes: list[Node] = []
        for child in node.named_children:
            name = self._tree.code(child.child_by_field_name("name"))
            body = child.child_by_field_name("body")
            if child.type == "attribute_item":
                attributes.append(child)
                continue
            if child.type == "function_item":
                yield f"{prefix}{name}", (child, attributes)
            elif child.type in ("mod_item", "impl_item") and body is not None:
                yield from self._collect(body, f"{prefix}{name}::" if name else prefix)
            if child.type not in ("line_comment", "block_comment"):
                attributes = []

    def _is_for_tests(self, name: str) -> bool:
        """Whether a function is for tests. In a file with a module of tests, only those in the module are."""
        return not self._has_tests_inside or "test" in name.rpartition("::")[0]

    def _is_test(self, attribute: "Node") -> bool:
        return bool(_TEST.match(self._tree.code(attribute)[2:]))

    def _test(self, name: str, node: "Node", attributes: "list[Node]") -> Test:
        marks: dict[Mark, int] = {}
        cases: list[str] = []
        assertions: list[Assertion] = []
        for attribute in attributes:
            code = self._tree.code(attribute)[2:-1]
            if code.startswith("ignore") or (code.startswith("cfg_attr") and "ignore" in code):
                marks["skipped"] = line_of(attribute)
            if re.match(r"(case|test_case)\b", code):
                cases.append(code)
            if code.startswith("should_panic"):
                assertions.append(
                    Assertion(code, line_of(attribute), "should_panic", _EXACT, "panic", has_message="expected" in code)
                )
        body = node.child_by_field_name("body")
        assertions += self._assertions(body, (), 1) if body is not None else ()
        line = min(map(line_of, (*attributes, node)))
        words = self._tree.words(node)
        return Test(name, line, node.end_point[0] + 1, tuple(assertions), marks, tuple(cases), line, {}, words)

    def _assertions(self, node: "Node", guards: tuple[Guard, ...], count: int) -> Iterator[Assertion]:
        for child in node.named_children:
            match child.type:
                case "if_expression":
                    code = self._tree.code(child.child_by_field_name("condition"))
                    yield from self._assertions(child, guards if code == "true" else (*guards, "condition"), count)
                    if any(each.type == "return_expression" for each in walk(child)):
                        guards = (*guards, "condition")
                case "match_arm":
                    yield from self._assertions(child, guards, count)
                case "for_expression" | "while_expression" | "loop_expression":
                    over = child.child_by_field_name("value")
                    array = (
                        next((each for each in walk(over) if each.type == "array_expression"), None) if over else None
                    )
                    times = MANY if array is None else max(1, len(array.named_children))
                    yield from self._assertions(child, guards, min(MANY, count * times))
                case "expression_statement" if child.named_children[:1] and (
                    child.named_children[0].type == "return_expression"
                ):
                    guards = (*guards, "unreached")
                case "macro_invocation":
                    yield from self._of_macro(child, guards, count)
                case "call_expression":
                    yield from self._of_call(child, guards, count)
                case _:
                    yield from self._assertions(child, guards, count)

    def _of_macro(self, node: "Node", guards: tuple[Guard, ...], count: int) -> Iterator[Assertion]:
        name = self._tree.code(node.child_by_field_name("macro")).rpartition("::")[2].removeprefix("debug_")
        code = self._tree.code(node)
        inside = code.partition("!")[2][1:-1]
        arguments = _split(inside)
        if name in ("panic", "unreachable"):
            yield Assertion(code, line_of(node), name, _EXACT, guards=guards, count=count)
        if not name.startswith(("assert", "prop_assert", "check")) or not arguments:
            return
        plain = name.removeprefix("prop_")
        strength, subject = _STRENGTHS.get(plain, _EXACT), arguments[0]
        expected = arguments[1] if len(arguments) > 1 else ""
        tolerance = None
        if plain == "assert":
            kind, strength, subject, expected = split_condition(arguments[0])
            if arguments[0].startswith("matches!("):
                strength = _PARTIAL
            if ".abs()" in subject and kind in ("<", "<="):
                tolerance = number_in(expected)
                expected = ""
        elif plain == "assert_eq" and subject == expected:
            strength = _NOTHING
        match = _TOLERANCE.search(inside)
        if match:
            tolerance = number_in(match[1])
        yield Assertion(code, line_of(node), name, strength, subject, expected, tolerance, guards=guards, count=count)

    def _of_call(self, call: "Node", guards: tuple[Guard, ...], count: int) -> Iterator[Assertion]:
        name = self._tree.code(call.child_by_field_name("function"))
        if name in self._by_last_name:
            inside = self._count_in(name)
            if inside:
                yield Assertion(
                    self._tree.code(call), line_of(call), name, _EXACT, guards=guards, count=min(MANY, inside * count)
                )
        elif ASSERTING.fullmatch(name):
            yield Assertion(self._tree.code(call), line_of(call), name, _EXACT, guards=guards, count=count)
        yield from self._assertions(call, guards, count)

    def _count_in(self, name: str) -> int:
        if name not in self._counts:
            self._counts[name] = 0  # a function may call itself
            body = self._by_last_name[name].child_by_field_name("body")
            found = self._assertions(body, (), 1) if body is not None else ()
            self._counts[name] = sum(each.count for each in found)
        return self._counts[name]


def _split(code: str) -> list[str]:
    """The arguments of a macro."""
    parts, depth, quoted = [""], 0, False
    for at, char in enumerate(code):
        quoted ^= char == '"' and code[at - 1 : at] != "\\"
        depth += 0 if quoted else (char in "([{") - (char in ")]}")
        if char == "," and not depth and not quoted:
            parts.append("")
        else:
            parts[-1] += char
    return [part for part in parts if part]
