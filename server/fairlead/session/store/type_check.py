"""Checks a value against its type, recursively, so that a damaged file is not taken for a session's state."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import is_dataclass
from functools import cache
from math import isfinite
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

MAX_INTEGER = 2**53  # JavaScript cannot represent every integer beyond this

Check = Callable[[Any], bool]


def matches_type(kind: Any, value: Any) -> bool:
    """Whether a value is of the given type. Numbers must be finite, and integers from -`MAX_INTEGER` to `MAX_INTEGER`.

    Raises:
        TypeError: the type has a part other than dataclasses, unions, literals, `tuple`, `frozenset`, `dict`, `Mapping`
            and the types in `_PLAIN`.
    """
    return _check(kind)(value)


@cache
def _check(kind: Any) -> Check:
    origin, args = get_origin(kind), get_args(kind)
    if kind in _PLAIN:
        return _PLAIN[kind]
    if isinstance(kind, type) and is_dataclass(kind):
        fields = [(name, _check(hint)) for name, hint in get_type_hints(kind).items()]
        return lambda value: isinstance(value, kind) and all(check(getattr(value, name)) for name, check in fields)
    if origin is Literal:
        return lambda value: value in args
    if origin in (Union, UnionType):
        alternatives = [_check(arg) for arg in args]
        return lambda value: any(check(value) for check in alternatives)
    if origin is tuple and args[-1] is not ...:
        members = [_check(arg) for arg in args]
        return lambda value: _is_a(tuple, value) and len(value) == len(members) and _all(members, value)
    if origin in (tuple, frozenset):
        member = _check(args[0])
        return lambda value: _is_a(origin, value) and all(map(member, _distinct(value)))
    if origin in (dict, Mapping):
        check_key, check_item = _check(args[0]), _check(args[1])
        return lambda value: _is_a(Mapping, value) and all(check_key(k) and check_item(v) for k, v in value.items())
    raise TypeError(f"no check for {kind}")


def _is_a(kind: Any, value: Any) -> bool:
    """Like `isinstance`, but the type checker does not narrow the value to a container of unknown values."""
    return isinstance(value, kind)


def _all(checks: Iterable[Check], values: Iterable[Any]) -> bool:
    return all(check(value) for check, value in zip(checks, values, strict=True))


def _distinct(values: Iterable[Any]) -> Iterable[Any]:
    """Each object once, because the many lines of a file share few origins."""
    return {id(value): value for value in values}.values()


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and -MAX_INTEGER <= value <= MAX_INTEGER


_PLAIN: dict[Any, Check] = {
    Any: lambda _: True,
    NoneType: lambda value: value is None,
    bool: lambda value: isinstance(value, bool),
    str: lambda value: isinstance(value, str),
    bytes: lambda value: isinstance(value, bytes),
    int: _is_integer,
    float: lambda value: _is_integer(value) or (isinstance(value, float) and isfinite(value)),
}
