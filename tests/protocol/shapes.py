"""Compares wire values with their types: no required field is missing, none is unknown, and each has the right type."""

from collections.abc import Mapping
from types import NoneType, UnionType
from typing import Any, Literal, NotRequired, Union, get_args, get_origin, get_type_hints, is_typeddict

PLAIN: dict[Any, str] = {
    str: "string",
    int: "number",
    float: "number",
    bool: "boolean",
    NoneType: "null",
    object: "object",
    dict: "object",
    Mapping: "object",
}


def fields(shape: type) -> dict[str, Any]:
    """The fields of a TypedDict in their order, with their types; a name with `?` is optional."""
    hints = get_type_hints(shape, include_extras=True)
    return {f"{name}?" if get_origin(hint) is NotRequired else name: _inner(hint) for name, hint in hints.items()}


def written(hint: Any) -> str:
    """The type of a setting as docs/protocol.md writes it."""
    if get_origin(hint) is tuple:
        return f"{written(get_args(hint)[0])}[]"
    if get_origin(hint) is Literal:
        return " | ".join(f'"{value}"' for value in get_args(hint))
    return PLAIN[get_origin(hint) or hint]


def misfits(value: Any, hint: Any, where: str = "") -> list[str]:
    """The differences between a JSON value and its type, each with its path in the value."""
    if hint is Any:
        return []
    if hint is None or get_origin(hint) is dict:
        hint = NoneType if hint is None else dict
    if is_typeddict(hint):
        return _object_misfits(value, hint, where)
    if get_origin(hint) is list:
        if not isinstance(value, list):
            return [f"{where} is not a list"]
        return [bad for i, item in enumerate(value) for bad in misfits(item, get_args(hint)[0], f"{where}[{i}]")]
    if get_origin(hint) is Literal:
        return [] if value in get_args(hint) else [f"{where}: {value!r}"]
    if get_origin(hint) in (Union, UnionType):
        found = [misfits(value, option, where) for option in get_args(hint)]
        return [] if [] in found else min(found, key=len)
    right = isinstance(value, (int, float) if hint is float else hint) and (hint is bool or not isinstance(value, bool))
    return [] if right else [f"{where}: {value!r} is not of the type {PLAIN[hint]}"]


def _object_misfits(value: Any, shape: type, where: str) -> list[str]:
    if not isinstance(value, dict):
        return [f"{where} is not an object"]
    known = {name.rstrip("?"): hint for name, hint in fields(shape).items()}
    missing = [name for name in fields(shape) if not name.endswith("?") and name not in value]
    return [
        *(f"{where}.{name} is missing" for name in missing),
        *(f"{where}.{name} is not in {shape.__name__}" for name in value if name not in known),
        *(bad for name in value if name in known for bad in misfits(value[name], known[name], f"{where}.{name}")),
    ]


def _inner(hint: Any) -> Any:
    return get_args(hint)[0] if get_origin(hint) is NotRequired else hint
