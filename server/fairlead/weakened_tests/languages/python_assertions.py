"""Single assertions in Python's syntax tree: what they are about, and how much they say."""

import ast
from collections.abc import Iterator, Sequence
from typing import TypeGuard

from fairlead.weakened_tests.outline import Assertion, Guard, Strength, strengths

_NOTHING, _VAGUE, _PARTIAL, _EXACT = Strength
# what unittest, numpy, pandas and mocks call their assertions; others count as exact
_STRENGTHS = strengths(
    vague="""
        assertTrue assertFalse assertIsNotNone assertIsInstance assertNotIsInstance assertNotEqual assertIsNot
        assert_called assertNotAlmostEqual assertWarns
    """,
    partial="""
        assertIn assertNotIn assertGreater assertGreaterEqual assertLess assertLessEqual assertRegex assertNotRegex
        assertAlmostEqual assertAlmostEquals assert_allclose assert_almost_equal assert_approx_equal
        assert_array_almost_equal assert_array_less assert_called_once assert_any_call assert_has_calls
        assert_any_await assert_has_awaits assertContains assertNotContains assertDictContainsSubset
        assert_array_max_ulp
    """,
)
_APPROXIMATE = (
    "assertAlmostEqual assertAlmostEquals assert_allclose assert_almost_equal assert_array_almost_equal approx"
)
_OF_MOCKS = ("assert_called", "assert_any", "assert_has", "assert_not", "assert_await")
_TOLERANCES = ("rel", "abs", "rtol", "atol", "delta")
SWALLOWED = {"AssertionError", "Exception", "BaseException"}
"""The errors whose handlers catch failed assertions."""


def of_method(call: ast.Call, name: str, guards: tuple[Guard, ...], count: int) -> Assertion:
    strength = _STRENGTHS.get(name, _EXACT)
    args = call.args
    subject, expected = (code_of(args[0]) if args else ""), (code_of(args[1]) if len(args) > 1 else "")
    is_of_mock = name.startswith(_OF_MOCKS)
    if isinstance(call.func, ast.Attribute) and (is_of_mock or not args):
        subject, expected = code_of(call.func.value), ",".join(map(code_of, args))
    tolerance = None
    if name in ("assertTrue", "assertFalse") and args:
        if isinstance(args[0], ast.Constant):
            strength = _NOTHING
        elif isinstance(args[0], ast.Compare):  # as good as the assertion with a name
            inner = next(of_condition(args[0], call.lineno - 1, guards, count))
            strength, subject, expected, tolerance = inner.strength, inner.subject, inner.expected, inner.tolerance
    elif (not is_of_mock and len(args) > 1 and all(isinstance(each, ast.Constant) for each in args[:2])) or (
        len(args) > 1 and name in ("assertEqual", "assertIs") and subject == expected
    ):
        strength = _NOTHING
    elif any(_is_any(each) for each in args):
        strength = min(strength, _PARTIAL)
    if name in _APPROXIMATE:
        tolerance = _tolerance(call, places=7 if "lmost" in name else None)
    return Assertion(
        code_of(call), call.lineno - 1, name, strength, subject, expected, tolerance, guards=guards, count=count
    )


def of_condition(test: ast.expr, line: int, guards: tuple[Guard, ...], count: int) -> Iterator[Assertion]:
    """The assertions of `assert test`. Parts that are joined by `and` are assertions of their own."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        for value in test.values:
            yield from of_condition(value, line, guards, count)
        return
    kind, strength, subject, expected, tolerance = _kind_of(test)
    yield Assertion(code_of(test), line, kind, strength, subject, expected, tolerance, guards=guards, count=count)


def _kind_of(test: ast.expr) -> tuple[str, Strength, str, str, float | None]:
    """What a condition is called, how much it says, about what, compared with what, and its tolerance."""
    code = code_of(test)
    match test:
        case ast.Constant() | ast.JoinedStr() | ast.Lambda():
            return code, _NOTHING, "", "", None
        case ast.Tuple(elts=elements) if elements:
            return "a tuple", _NOTHING, "", "", None
        case ast.BoolOp(values=values):
            inner = [_kind_of(value) for value in values]
            if any(isinstance(value, ast.Constant) and value.value for value in values):
                return "or", _NOTHING, inner[0][2], "", None
            return "or", min(_PARTIAL, *(each[1] for each in inner)), inner[0][2], code, None
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return "not", _VAGUE, code_of(operand), "", None
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return _kind_of_comparison(left, op, right)
        case ast.Compare(left=left):
            return "<", _PARTIAL, code_of(left), code, None
        case ast.Call(func=func, args=args) if args:
            name = last_name(func)
            if name in ("isinstance", "hasattr", "callable", "bool", "any", "issubclass"):
                return name, _VAGUE, code_of(args[0]), "", None
            if name in ("isclose", "allclose"):
                return name, _PARTIAL, code_of(args[0]), code_of(args[-1]), _tolerance(test, places=None)
            return ("all" if name == "all" else "true"), (_PARTIAL if name == "all" else _VAGUE), code, "", None
        case _:
            return "true", _VAGUE, code, "", None


def _kind_of_comparison(left: ast.expr, op: ast.cmpop, right: ast.expr) -> tuple[str, Strength, str, str, float | None]:
    subject, expected = code_of(left), code_of(right)
    if isinstance(left, ast.Constant) and not isinstance(right, ast.Constant):
        subject, expected = expected, subject  # `3 == total`
    if isinstance(op, ast.Eq | ast.Is):
        for side in (left, right):
            if isinstance(side, ast.Call) and last_name(side.func) == "approx":
                return "approx", _PARTIAL, subject, expected, _tolerance(side, places=None)
        if subject == expected or (isinstance(left, ast.Constant) and isinstance(right, ast.Constant)):
            return "==", _NOTHING, subject, expected, None
        if isinstance(right, ast.Constant) and isinstance(right.value, bool):
            return "true", _VAGUE, subject, "", None
        if _is_any(left) or _is_any(right):
            return "ANY", _VAGUE, subject, "", None
        if any(map(_mentions_any, (left, right))):
            return "ANY", _PARTIAL, subject, expected, None
        return ("==" if isinstance(op, ast.Eq) else "is"), _EXACT, subject, expected, None
    if isinstance(op, ast.NotEq | ast.IsNot):
        return ("!=" if isinstance(op, ast.NotEq) else "is not"), _VAGUE, subject, expected, None
    if isinstance(op, ast.In | ast.NotIn):
        return ("in" if isinstance(op, ast.In) else "not in"), _PARTIAL, expected or subject, subject, None
    symbols: dict[type[ast.cmpop], str] = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
    if isinstance(left, ast.Call) and last_name(left.func) == "abs" and isinstance(op, ast.Lt | ast.LtE):
        return "abs", _PARTIAL, subject, "", number_of(right)
    if _is_length(left) and isinstance(op, ast.GtE) and number_of(right) == 0:
        return ">=", _NOTHING, subject, expected, None
    return symbols.get(type(op), "<"), _PARTIAL, subject, expected, None


def of_raises(call: ast.Call, body: Sequence[ast.stmt], guards: tuple[Guard, ...], count: int) -> Assertion:
    name = last_name(call.func)
    classes = call.args[0] if call.args else next((k.value for k in call.keywords if "exc" in (k.arg or "")), None)
    listed = classes.elts if isinstance(classes, ast.Tuple) else [classes] if classes is not None else []
    errors = frozenset(last_name(each) or code_of(each) for each in listed)
    has_message = any(k.arg in ("match", "expected_regex") for k in call.keywords) or "Regex" in name
    does = code_of(body[0]) if body else ""
    subject = does or ", ".join(map(code_of, call.args[1:]))
    return Assertion(
        code_of(call),
        call.lineno - 1,
        name,
        _EXACT,
        subject,
        errors=errors,
        has_message=has_message,
        guards=guards,
        count=count,
    )


def swallows(handler: ast.ExceptHandler) -> bool:
    """Whether a handler catches failed assertions and does not fail in turn."""
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    catches = any(kind is None or last_name(kind) in SWALLOWED for kind in kinds)
    last = handler.body[-1]
    fails = isinstance(last, ast.Raise | ast.Assert) or (
        isinstance(last, ast.Expr) and isinstance(last.value, ast.Call) and last_name(last.value.func) == "fail"
    )
    return catches and not fails


def _tolerance(call: ast.Call, places: int | None) -> float | None:
    by_name = {keyword.arg: number_of(keyword.value) for keyword in call.keywords}
    given = [by_name[name] for name in _TOLERANCES if by_name.get(name) is not None]
    if given:
        return max(each for each in given if each is not None)
    if places is not None:
        at = number_of(call.args[2]) if len(call.args) > 2 else None
        return 10.0 ** -(by_name.get("places") or by_name.get("decimal") or at or places)
    return number_of(call.args[1]) if len(call.args) == 2 and last_name(call.func) == "approx" else None


def number_of(node: ast.expr | None) -> float | None:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = number_of(node.operand)
        return None if inner is None else -inner
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Pow):
        left, right = number_of(node.left), number_of(node.right)
        if left is None or right is None or abs(left) > 1e6 or abs(right) > 1e3:
            return None
        return left * right if isinstance(node.op, ast.Mult) else left**right
    is_number = isinstance(node, ast.Constant) and type(node.value) in (int, float)
    return float(node.value) if is_number and isinstance(node, ast.Constant) else None  # type: ignore[arg-type]


def _is_any(node: ast.expr) -> bool:
    return last_name(node) == "ANY"


def _mentions_any(node: ast.expr) -> bool:
    return any(isinstance(each, ast.Name | ast.Attribute) and last_name(each) == "ANY" for each in ast.walk(node))


def _is_length(node: ast.expr) -> TypeGuard[ast.Call]:
    return isinstance(node, ast.Call) and last_name(node.func) == "len"


def name_of_raised(node: ast.expr) -> str:
    return last_name(node.func if isinstance(node, ast.Call) else node)


def last_name(node: ast.AST | None) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


def of_call(call: ast.Call, kind: str, strength: Strength, guards: tuple[Guard, ...], count: int) -> Assertion:
    return Assertion(code_of(call), call.lineno - 1, kind, strength, guards=guards, count=count)


def code_of(node: ast.AST) -> str:
    return ast.unparse(node)
