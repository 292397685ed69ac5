"""Outlines of JavaScript and TypeScript: Jest, Vitest, Mocha with Chai, Playwright, AVA, `node:assert`."""

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
_TESTS = {"it", "test", "specify", "xit", "xtest", "fit", "xspecify"}
_GROUPS = {"describe", "context", "suite", "xdescribe", "fdescribe", "xcontext"}
_SKIPPED = {"skip", "todo", "fixme", "skipIf", "runIf"}
_FAILING = {"failing", "fails", "fail"}
_STRENGTHS = strengths(
    vague="""
        toBeTruthy toBeFalsy toBeDefined toBeInstanceOf toHaveBeenCalled toBeCalled toHaveReturned ok exist exists
        assert isOk isDefined isObject isArray isString isNumber isFunction truthy falsy notEqual notStrictEqual
        notDeepEqual notDeepStrictEqual a an instanceof instanceOf toBeAttached not
    """,
    partial="""
        toContain toContainEqual toMatch toMatchObject toBeCloseTo toBeGreaterThan toBeGreaterThanOrEqual
        toBeLessThan toBeLessThanOrEqual toHaveProperty toBeOneOf toContainText include includes contain contains
        match closeTo approximately above below least most greaterThan lessThan isAbove isBelow like keys oneOf gt
        lt gte lte approx almost
    """,
)
_THROWS = {"toThrow", "toThrowError", "throw", "throws", "rejects", "rejectedWith", "throwsAsync"}
_LIBRARIES = {"assert", "t", "chai", "should"}
_CHAIN = {"to", "be", "been", "is", "that", "which", "and", "has", "have", "with", "at", "of", "same", "but", "does"}
_ANY = re.compile(r"expect\.any(thing)?\(")
_FUNCTIONS = {"arrow_function", "function_expression", "function_declaration", "method_definition", "function"}


def outline(language: str, text: str) -> Outline:
    """The outline of a text in `javascript`, `typescript` or `tsx`."""
    return _Reader(Tree(language, text)).outline()


def definitions(language: str, text: str) -> dict[str, str]:
    """The functions and classes of a text, by name: the code without the name."""
    return _Reader(Tree(language, text)).definitions()


class _Reader:
    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._functions = dict(self._named_functions())
        self._counts: dict[str, int] = {}
        self._lists = {
            tree.text(name): value
            for node in walk(tree.root)
            if node.type == "variable_declarator"
            and (name := node.child_by_field_name("name")) is not None
            and (value := node.child_by_field_name("value")) is not None
            and value.type == "array"
        }

    def outline(self) -> Outline:
        marks: dict[Mark, int] = {}
        tests = list(self._tests(self._tree.root, (), {}, marks))
        helpers = (self._helper(name, function) for name, function in self._functions.items())
        return Outline(by_name(tests), by_name(helpers), marks)

    def definitions(self) -> dict[str, str]:
        return {name: self._tree.code(node.child_by_field_name("body")) for name, node in self._defined()}

    def _tests(
        self, node: "Node", groups: tuple[str, ...], marks: dict[Mark, int], outer: dict[Mark, int]
    ) -> Iterator[Test]:
        for call in walk(node, lambda each: self._kind(each) == ""):
            kind = self._kind(call)
            if not kind:
                continue
            names, cases, cases_line = self._called(call.child_by_field_name("function"))
            arguments = _arguments(call)
            title = self._tree.text(arguments[0]).strip("'\"`") if arguments else ""
            own: dict[Mark, int] = {**marks, **self._marks(names, call)}
            body = next((each for each in arguments if each.type in _FUNCTIONS), None)
            if kind == "group":
                if "only" in own and "only" not in marks:
                    outer.setdefault("only", line_of(call))
                yield from self._tests(body or call, (*groups, title), own, outer) if body is not None else ()
            else:
                yield self._test(" > ".join((*groups, title)), call, body, own, cases, cases_line)

    def _kind(self, node: "Node") -> str:
        """Whether a call declares a test or a group of tests; empty if it does not."""
        if node.type != "call_expression":
            return ""
        names, _, _ = self._called(node.child_by_field_name("function"))
        arguments = _arguments(node)
        if not names or not arguments or arguments[0].type not in ("string", "template_string", "identifier"):
            return ""
        name = names[0]
        if "describe" in names[1:2]:
            name = "describe"  # test.describe of Playwright
        kind = "group" if name in _GROUPS else "test" if name in _TESTS else ""
        is_declared = any(each.type in _FUNCTIONS for each in arguments) or "todo" in names
        return kind if kind and (is_declared or name.startswith("x")) else ""

    def _called(self, function: "Node | None") -> tuple[list[str], tuple[str, ...], int]:
        """The names of `it.each([...])` in order, and the cases."""
        if function is None:
            return [], (), 0
        if function.type == "identifier":
            return [self._tree.text(function)], (), 0
        if function.type == "member_expression":
            names, cases, line = self._called(function.child_by_field_name("object"))
            return [*names, self._tree.code(function.child_by_field_name("property"))], cases, line
        if function.type == "call_expression":
            names, cases, line = self._called(function.child_by_field_name("function"))
            given = _arguments(function)
            if names and names[-1] in ("each", "for") and given:
                listed = self._list(given[0])
                return names, tuple(map(self._tree.code, listed or ())), line_of(given[0])
            return names, cases, line
        return [], (), 0

    def _list(self, node: "Node") -> "list[Node] | None":
        if node.type == "identifier":
            node = self._lists.get(self._tree.text(node), node)
        return list(node.named_children) if node.type == "array" else None

    def _marks(self, names: list[str], call: "Node") -> dict[Mark, int]:
        found: dict[Mark, int] = {}
        if names[0].startswith("x") or _SKIPPED & set(names[1:]):
            found["skipped"] = line_of(call)
        if _FAILING & set(names[1:]):
            found["expected_failure"] = line_of(call)
        if names[0] in ("fit", "fdescribe") or "only" in names[1:]:
            found["only"] = line_of(call)
        return found

    def _test(
        self,
        name: str,
        call: "Node",
        body: "Node | None",
        marks: dict[Mark, int],
        cases: tuple[str, ...],
        cases_line: int,
    ) -> Test:
        limits: dict[Limit, tuple[float, int]] = {}
        for each in _arguments(call)[1:]:
            number = number_in(self._tree.text(each))
            if number is not None:
                limits["timeout"] = number, line_of(each)
        for each in walk(body) if body is not None else ():
            if each.type != "call_expression":
                continue
            called = self._tree.code(each.child_by_field_name("function"))
            numbers = [number_in(self._tree.text(argument)) for argument in _arguments(each)]
            if called in ("this.skip", "test.skip", "context.skip", "ctx.skip", "t.skip", "pending"):
                marks.setdefault("skipped", line_of(each))
            if called in ("this.retries", "this.timeout", "test.setTimeout") and numbers and numbers[0] is not None:
                limits["retries" if called.endswith("retries") else "timeout"] = numbers[0], line_of(each)
        inner = _body_of(body)
        return Test(
            name,
            line_of(call),
            call.end_point[0] + 1,
            tuple(self._assertions(inner, (), 1)) if inner is not None else (),
            marks,
            cases,
            cases_line,
            limits,
            self._tree.words(call),
        )

    def _helper(self, name: str, function: "Node") -> Test:
        inner = _body_of(function)
        found = tuple(self._assertions(inner, (), 1)) if inner is not None else ()
        return Test(name, line_of(function), function.end_point[0] + 1, found, words=self._tree.words(function))

    def _named_functions(self) -> "Iterator[tuple[str, Node]]":
        for name, node in self._defined():
            if node.type in _FUNCTIONS:
                yield name, node

    def _defined(self) -> "Iterator[tuple[str, Node]]":
        for node in walk(self._tree.root):
            name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
            if name is None:
                continue
            if node.type in ("function_declaration", "class_declaration"):
                yield self._tree.text(name), node
            elif node.type == "variable_declarator" and value is not None and value.type in _FUNCTIONS:
                yield self._tree.text(name), value

    def _assertions(self, node: "Node", guards: tuple[Guard, ...], count: int) -> Iterator[Assertion]:
        for child in node.named_children:
            match child.type:
                case "if_statement":
                    consequence = child.child_by_field_name("consequence")
                    yield from self._assertions(child, (*guards, "condition"), count)
                    if consequence is not None and any(each.type == "return_statement" for each in walk(consequence)):
                        guards = (*guards, "condition")
                case "try_statement":
                    yield from self._of_try(child, guards, count)
                case "for_in_statement":
                    over = child.child_by_field_name("right")
                    listed = self._list(over) if over is not None else None
                    times = MANY if listed is None else max(1, len(listed))
                    yield from self._assertions(child, guards, min(MANY, count * times))
                case "for_statement" | "while_statement":
                    yield from self._assertions(child, guards, MANY)
                case "return_statement" | "throw_statement":
                    yield from self._assertions(child, guards, count)
                    guards = (*guards, "unreached")
                case "call_expression":
                    yield from self._of_call(child, guards, count)
                case "member_expression" if self._chain(child)[0][:1] == ["expect"]:  # a property of Chai
                    names, subject = self._chain(child)
                    yield self._assertion(child, names, subject, [], guards, count)
                case "function_declaration" | "class_declaration":
                    pass
                case _:
                    yield from self._assertions(child, guards, count)

    def _of_try(self, node: "Node", guards: tuple[Guard, ...], count: int) -> Iterator[Assertion]:
        handler, body = node.child_by_field_name("handler"), node.child_by_field_name("body")
        fails = handler is None or any(
            each.type == "throw_statement" or self._tree.code(each) in ("done", "fail") for each in walk(handler)
        )
        if body is not None:
            yield from self._assertions(body, guards if fails else (*guards, "caught"), count)
        if handler is not None:
            yield from self._assertions(handler, (*guards, "condition"), count)

    def _of_call(self, call: "Node", guards: tuple[Guard, ...], count: int) -> Iterator[Assertion]:
        function = call.child_by_field_name("function")
        names, subject = self._chain(function)
        arguments = [self._tree.code(each) for each in _arguments(call)]
        last = names[-1] if names else ""
        if names[:1] == ["expect"] and len(names) == 1:
            return  # `expect(x)` alone asserts nothing
        if names[:1] == ["expect"] or (names[:1] and names[0] in _LIBRARIES):
            yield self._assertion(call, names, subject, arguments, guards, count)
        elif last in self._functions and len(names) == 1:
            inside = self._count_in(last)
            if inside:
                yield Assertion(
                    self._tree.code(call), line_of(call), last, _EXACT, guards=guards, count=min(MANY, inside * count)
                )
            yield from self._assertions(call, guards, count)
        elif names and ASSERTING.fullmatch(last):
            yield Assertion(self._tree.code(call), line_of(call), last, _EXACT, subject, guards=guards, count=count)
        else:
            inner = MANY if last == "forEach" else 1
            yield from self._assertions(call, guards, min(MANY, count * inner))

    def _chain(self, node: "Node | None") -> tuple[list[str], str]:
        """The names of `expect(x).not.toBe` in order, and the argument of `expect`."""
        if node is None:
            return [], ""
        if node.type in ("identifier", "this"):
            return [self._tree.text(node)], ""
        if node.type == "member_expression":
            names, subject = self._chain(node.child_by_field_name("object"))
            return [*names, self._tree.code(node.child_by_field_name("property"))], subject
        if node.type == "await_expression" and node.named_children:
            return self._chain(node.named_children[0])
        if node.type == "call_expression":
            names, subject = self._chain(node.child_by_field_name("function"))
            given = _arguments(node)
            return names, subject or (self._tree.code(given[0]) if given else "")
        return [], ""

    def _assertion(
        self,
        call: "Node",
        names: list[str],
        subject: str,
        arguments: list[str],
        guards: tuple[Guard, ...],
        count: int,
    ) -> Assertion:
        is_expect = names[0] == "expect"
        words = [name for name in names[1:] if name not in _CHAIN]
        name = words[-1] if words else names[0]
        compared = arguments if is_expect else arguments[1:]
        subject = subject if is_expect else (arguments[0] if arguments else "")
        strength = _STRENGTHS.get(name, _EXACT)
        expected = ",".join(compared)
        if not is_expect and name in ("ok", "assert", "true", "isTrue", "truthy"):
            name, strength, subject, expected = split_condition(arguments[0] if arguments else "true")
        elif "not" in words[:-1] and strength == _EXACT:
            strength = _VAGUE
        elif (is_expect and subject == expected and subject) or (is_expect and _is_literal(subject)):
            strength = _NOTHING
        elif _ANY.match(expected):
            strength = _VAGUE
        elif _ANY.search(expected) or "expect.objectContaining" in expected or "expect.arrayContaining" in expected:
            strength = min(strength, _PARTIAL)
        throws = name in _THROWS
        tolerance = None
        numbers = [number_in(each) for each in compared]
        if name == "toBeCloseTo":
            tolerance = 0.5 * 10 ** -(numbers[1] if len(numbers) > 1 and numbers[1] is not None else 2)
        elif name in ("closeTo", "approximately") and numbers:
            tolerance = numbers[-1]
        errors = frozenset(each for each in compared if throws and re.fullmatch(r"[A-Z]\w*", each))
        has_message = throws and any(each[:1] in '"`/' or each.startswith("{") for each in compared)
        return Assertion(
            self._tree.code(call),
            line_of(call),
            name,
            strength,
            subject,
            expected,
            tolerance,
            errors,
            has_message,
            guards,
            count,
        )

    def _count_in(self, name: str) -> int:
        if name not in self._counts:
            self._counts[name] = 0  # a function may call itself
            inner = _body_of(self._functions[name])
            found = self._assertions(inner, (), 1) if inner is not None else ()
            self._counts[name] = sum(each.count for each in found)
        return self._counts[name]


def _arguments(call: "Node") -> "list[Node]":
    found = call.child_by_field_name("arguments")
    return [each for each in found.named_children if each.type != "comment"] if found is not None else []


def _body_of(function: "Node | None") -> "Node | None":
    """What has the statements of a function; of `() => expression`, the function."""
    if function is None:
        return None
    body = function.child_by_field_name("body")
    return body if body is not None and body.type == "statement_block" else function


def _is_literal(code: str) -> bool:
    return code in ("true", "false", "null", "undefined") or number_in(code) is not None
