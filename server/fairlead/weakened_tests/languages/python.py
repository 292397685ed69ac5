"""Outlines of Python texts, by Python's own parser."""

import ast
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence

from fairlead.weakened_tests.languages.python_assertions import (
    SWALLOWED,
    code_of,
    last_name,
    name_of_raised,
    number_of,
    of_call,
    of_condition,
    of_method,
    of_raises,
    swallows,
)
from fairlead.weakened_tests.outline import (
    ASSERTING,
    MANY,
    UNREADABLE,
    Assertion,
    Guard,
    Limit,
    Mark,
    Outline,
    Strength,
    Test,
    by_name,
)

Function = ast.FunctionDef | ast.AsyncFunctionDef

_RAISES = {
    *("raises", "assertRaises", "assertRaisesRegex", "assertRaisesRegexp"),
    *("warns", "assertWarns", "assertWarnsRegex"),
}
_SKIPS = {"skip", "skipif", "skipIf", "skipUnless", "skipTest", "SkipTest"}
_FAILURES = {"xfail", "expectedFailure"}
_TEST_BASE = re.compile(r"(^|\.)\w*Test(Case|s|Base)?\w*$")


def outline(text: str) -> Outline:
    """The outline of a text."""
    tree = _parsed(text)
    try:
        return _Reader(tree).outline() if tree is not None else UNREADABLE
    except MemoryError:
        return UNREADABLE


def definitions(text: str) -> dict[str, str]:
    """The functions and classes of a text, by name: the code without the name."""
    tree = _parsed(text)
    return dict(_definitions(tree)) if tree is not None else {}


def _parsed(text: str) -> ast.Module | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except (SyntaxError, ValueError, MemoryError):
        return None


class _Reader:
    def __init__(self, tree: ast.Module) -> None:
        self._tree = tree
        self._values = {
            target.id: node.value
            for node in tree.body
            if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None
            for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
            if isinstance(target, ast.Name)
        }
        self._helpers: dict[str, tuple[str, Function]] = {}
        self._counts: dict[str, int] = {}
        self._tests: list[tuple[str, Function, tuple[ast.ClassDef, ...]]] = []
        self._collect(tree.body, (), is_test_class=True)

    def outline(self) -> Outline:
        tests = [self._test(name, function, classes) for name, function, classes in self._tests]
        helpers = [self._test(name, function, ()) for name, function in self._helpers.values()]
        return Outline(
            by_name(tests),
            by_name(helpers),
            self._module_marks(),
        )

    def _collect(self, body: Sequence[ast.stmt], classes: tuple[ast.ClassDef, ...], *, is_test_class: bool) -> None:
        prefix = "".join(f"{each.name}." for each in classes)
        for node in body:
            if isinstance(node, Function):
                if is_test_class and node.name.startswith("test") and not _is_fixture(node):
                    self._tests.append((prefix + node.name, node, classes))
                else:
                    self._helpers.setdefault(node.name, (prefix + node.name, node))
            elif isinstance(node, ast.ClassDef):
                self._collect(node.body, (*classes, node), is_test_class=_is_test_class(node))
            elif isinstance(node, ast.If | ast.Try):
                self._collect(node.body, classes, is_test_class=is_test_class)

    def _module_marks(self) -> dict[Mark, int]:
        marks: dict[Mark, int] = {}
        for node in self._tree.body:
            if isinstance(node, ast.Assign):
                names = {target.id for target in node.targets if isinstance(target, ast.Name)}
                if "pytestmark" in names:
                    marks |= _marks_in([node.value])
                if names & {"collect_ignore", "collect_ignore_glob"}:
                    marks.setdefault("skipped", node.lineno - 1)
                if "__test__" in names and isinstance(node.value, ast.Constant) and not node.value.value:
                    marks.setdefault("skipped", node.lineno - 1)
        calls = _calls_outside_of_functions(self._tree)
        for call in (*calls, *self._calls_in_hooks()):
            if last_name(call.func) in _SKIPS - {"skipif", "skipIf", "skipUnless"}:
                marks.setdefault("skipped", call.lineno - 1)
        return marks

    def _calls_in_hooks(self) -> Iterator[ast.Call]:
        """The calls in functions that pytest calls for all tests."""
        for _, function in self._helpers.values():
            if function.name.startswith("pytest_") or _is_fixture(function):
                for node in ast.walk(function):
                    if isinstance(node, ast.Call):
                        yield node

    def _test(self, name: str, function: Function, classes: tuple[ast.ClassDef, ...]) -> Test:
        decorators = [*(d for each in classes for d in each.decorator_list), *function.decorator_list]
        body = _without_docstring(function.body)
        assertions = tuple(self._assertions(body, (), 1))
        marks = _marks_in(decorators)
        for each in classes:
            if _has_no_tests(each):
                marks.setdefault("skipped", each.lineno - 1)
        for call in _calls(function):
            if last_name(call.func) in {"skip", "skipTest", "SkipTest"} and _is_of_framework(call.func):
                marks.setdefault("skipped", call.lineno - 1)
            if last_name(call.func) == "xfail":
                marks.setdefault("expected_failure", call.lineno - 1)
        cases, cases_line = self._cases(decorators)
        if not cases:
            cases, cases_line = self._loop_cases(function)
        first = min([function.lineno, *(each.lineno for each in function.decorator_list)]) - 1
        return Test(
            name,
            first,
            function.end_lineno or function.lineno,
            assertions,
            marks,
            cases,
            cases_line,
            _limits(decorators),
            _words(function),
        )

    def _cases(self, decorators: Iterable[ast.expr]) -> tuple[tuple[str, ...], int]:
        cases: list[str] = []
        line = 0
        for decorator in decorators:
            if isinstance(decorator, ast.Call) and last_name(decorator.func) in ("parametrize", "expand", "data"):
                values = next(reversed(decorator.args[:2]), None)
                values = next((k.value for k in decorator.keywords if k.arg in ("argvalues", "input")), values)
                if last_name(decorator.func) == "data":
                    elements: list[ast.expr] | None = list(decorator.args)
                else:
                    elements = self._elements(values)
                if elements is not None:
                    cases += map(code_of, elements)
                    line = (values.lineno if values is not None else decorator.lineno) - 1
        return tuple(cases), line

    def _loop_cases(self, function: Function) -> tuple[tuple[str, ...], int]:
        for node in ast.walk(function):
            if isinstance(node, ast.For) and _asserts(node) and (elements := self._elements(node.iter)) is not None:
                return tuple(map(code_of, elements)), node.iter.lineno - 1
        return (), 0

    def _elements(self, node: ast.expr | None) -> list[ast.expr] | None:
        """The elements of a list in the file; None if it is not in the file."""
        if isinstance(node, ast.Name):
            node = self._values.get(node.id)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "items":
            inner = node.func.value
            node = self._values.get(inner.id) if isinstance(inner, ast.Name) else inner
        if isinstance(node, ast.List | ast.Tuple | ast.Set):
            return node.elts
        if isinstance(node, ast.Dict):
            return [
                ast.Tuple([key, value], ast.Load()) for key, value in zip(node.keys, node.values, strict=True) if key
            ]
        return None

    def _assertions(self, body: Sequence[ast.stmt], guards: tuple[Guard, ...], count: int) -> Iterator[Assertion]:
        for node in body:
            yield from self._of_statement(node, guards, count)
            if isinstance(node, ast.Return | ast.Raise | ast.Continue | ast.Break):
                guards = (*guards, "unreached")
            elif isinstance(node, ast.If) and any(isinstance(each, ast.Return) for each in node.body):
                guards = (*guards, "condition")

    def _of_statement(self, node: ast.stmt, guards: tuple[Guard, ...], count: int) -> Iterator[Assertion]:
        match node:
            case ast.Assert(test=test):
                yield from of_condition(test, node.lineno - 1, guards, count)
            case ast.If(test=test, body=body, orelse=orelse):
                inner = guards if _is_always(test) else (*guards, "condition")
                yield from self._assertions(body, inner, count)
                yield from self._assertions(orelse, inner, count)
            case ast.For(iter=over, body=body) | ast.AsyncFor(iter=over, body=body):
                elements = self._elements(over)
                times = MANY if elements is None else len(elements)
                inner = (*guards, "unreached") if elements == [] else guards
                yield from self._assertions(body, inner, min(MANY, count * max(1, times)))
            case ast.While(body=body):
                yield from self._assertions(body, guards, count)
            case ast.With() | ast.AsyncWith():
                yield from self._of_with(node, guards, count)
            case ast.Try():
                yield from self._of_try(node, guards, count)
            case ast.Raise(exc=exc) if exc is not None and name_of_raised(exc) == "AssertionError":
                yield Assertion(code_of(exc), node.lineno - 1, "raise", Strength.EXACT, guards=guards, count=count)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                pass  # its assertions count where it is called
            case _:
                for call in _calls(node):
                    yield from self._of_call(call, guards, count)

    def _of_with(self, node: ast.With | ast.AsyncWith, guards: tuple[Guard, ...], count: int) -> Iterator[Assertion]:
        inner = guards
        for call in (item.context_expr for item in node.items if isinstance(item.context_expr, ast.Call)):
            name = last_name(call.func)
            if name == "suppress" and any(last_name(each) in SWALLOWED for each in call.args):
                inner = (*inner, "caught")
            elif name in _RAISES:
                yield of_raises(call, node.body, guards, count)
            else:
                yield from self._of_call(call, guards, count)
        yield from self._assertions(node.body, inner, count)

    def _of_try(self, node: ast.Try, guards: tuple[Guard, ...], count: int) -> Iterator[Assertion]:
        inner: tuple[Guard, ...] = (*guards, "caught") if any(map(swallows, node.handlers)) else guards
        yield from self._assertions(node.body, inner, count)
        for handler in node.handlers:
            yield from self._assertions(handler.body, (*guards, "condition"), count)
        yield from self._assertions([*node.orelse, *node.finalbody], guards, count)

    def _of_call(self, call: ast.Call, guards: tuple[Guard, ...], count: int) -> Iterator[Assertion]:
        name = last_name(call.func)
        if name in _RAISES and (name != "warns" or call.args):
            yield of_raises(call, [], guards, count)
        elif name in self._helpers and _is_of_file(call.func):
            inside = self._count_in(name)
            if inside:
                yield of_call(call, name, Strength.EXACT, guards, min(MANY, count * inside))
        elif name == "fail" and _is_of_framework(call.func):
            yield of_call(call, name, Strength.EXACT, guards, count)
        elif ASSERTING.fullmatch(name):
            yield of_method(call, name, guards, count)

    def _count_in(self, name: str) -> int:
        """How many assertions a function of the file makes."""
        if name not in self._counts:
            self._counts[name] = 0  # a function may call itself
            _, function = self._helpers[name]
            self._counts[name] = sum(each.count for each in self._assertions(function.body, (), 1))
        return self._counts[name]


def _limits(decorators: Iterable[ast.expr]) -> dict[Limit, tuple[float, int]]:
    limits: dict[Limit, tuple[float, int]] = {}
    for decorator in decorators:
        call = decorator if isinstance(decorator, ast.Call) else None
        name = last_name(call.func if call else decorator)
        numbers = [number_of(each) for each in (*call.args, *(k.value for k in call.keywords))] if call else []
        number = next((each for each in numbers if each is not None), None)
        line = decorator.lineno - 1
        if name in ("timeout", "timeout_decorator") and number is not None:
            limits["timeout"] = number, line
        elif name in ("flaky", "retry", "rerun", "retries"):
            limits["retries"] = (1.0 if number is None else number), line
    return limits


def _marks_in(expressions: Iterable[ast.expr]) -> dict[Mark, int]:
    marks: dict[Mark, int] = {}
    for expression in expressions:
        for node in ast.walk(expression):
            name = last_name(node) if isinstance(node, ast.Attribute | ast.Name) else ""
            if name in _SKIPS:
                marks.setdefault("skipped", expression.lineno - 1)
            elif name in _FAILURES:
                marks.setdefault("expected_failure", expression.lineno - 1)
    return marks


def _calls(node: ast.AST) -> Iterator[ast.Call]:
    """The calls in a statement, without those in functions that it defines."""
    waiting: list[ast.AST] = [node]
    while waiting:
        now = waiting.pop(0)
        if isinstance(now, ast.Call):
            yield now
        inner = ast.iter_child_nodes(now)
        waiting += [each for each in inner if not isinstance(each, ast.Lambda | ast.ClassDef)]


def _calls_outside_of_functions(tree: ast.Module) -> Iterator[ast.Call]:
    for node in tree.body:
        if not isinstance(node, Function | ast.ClassDef):
            yield from _calls(node)


def _definitions(tree: ast.Module) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, Function):
            yield node.name, code_of(ast.Module(_without_docstring(node.body), []))
        elif isinstance(node, ast.ClassDef):
            yield node.name, code_of(ast.Module(node.body, []))


def _words(node: ast.AST) -> frozenset[str]:
    names = (each.id for each in ast.walk(node) if isinstance(each, ast.Name))
    attributes = (each.attr for each in ast.walk(node) if isinstance(each, ast.Attribute))
    return frozenset((*names, *attributes))


def _is_test_class(node: ast.ClassDef) -> bool:
    return node.name.startswith("Test") or any(_TEST_BASE.search(code_of(base)) for base in node.bases)


def _has_no_tests(node: ast.ClassDef) -> bool:
    """Whether the class says that it has no tests (`__test__ = False`)."""
    return any(
        isinstance(each, ast.Assign)
        and isinstance(each.targets[0], ast.Name)
        and each.targets[0].id == "__test__"
        and isinstance(each.value, ast.Constant)
        and not each.value.value
        for each in node.body
    )


def _is_fixture(function: Function) -> bool:
    names = (last_name(each.func if isinstance(each, ast.Call) else each) for each in function.decorator_list)
    return "fixture" in names


def _is_of_file(node: ast.expr) -> bool:
    """Whether a function may be one of the file: it is called by its name, or as a method of the same object."""
    return isinstance(node, ast.Name) or (isinstance(node, ast.Attribute) and last_name(node.value) in ("self", "cls"))


def _asserts(node: ast.AST) -> bool:
    calls = (last_name(each.func) for each in ast.walk(node) if isinstance(each, ast.Call))
    return any(isinstance(each, ast.Assert) for each in ast.walk(node)) or any(map(ASSERTING.fullmatch, calls))


def _is_always(test: ast.expr) -> bool:
    return isinstance(test, ast.Constant) and bool(test.value)


def _is_of_framework(node: ast.expr) -> bool:
    """Whether a function belongs to pytest or to a test case, such as `pytest.fail` or `self.fail`."""
    if isinstance(node, ast.Name):
        return True
    return isinstance(node, ast.Attribute) and last_name(node.value) in ("pytest", "self", "unittest")


def _without_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    first = body[0] if body else None
    has_one = (
        isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)
    )
    return body[1:] if has_one else body
