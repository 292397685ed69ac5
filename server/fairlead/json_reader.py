"""Reads untrusted JSON as a value of a type. An error names the field that is wrong."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints, is_typeddict

from fairlead.json_values import fields_of, is_list, is_object

T = TypeVar("T")

MAX_QUOTED = 200  # characters


class WrongValue(ValueError):
    """A value does not have its type. The message names it by its path, such as `params.target.uri`."""


def read(kind: type[T], value: Any, path: str) -> T:
    """The JSON value as a value of a TypedDict, without the fields that the type does not have.

    Null counts as an absent field, except in an optional field whose type includes None. A required field whose type
    includes None may be absent. An empty list counts as an empty object, because Lua cannot distinguish the two.

    Args:
        path: the name of the value in the messages.

    Raises:
        WrongValue: the value has another type.
    """
    return _reader(kind).read(value, path)


def read_valid(kind: type[T], value: Any, path: str) -> tuple[T, list[str]]:
    """The fields of a TypedDict without required fields, and the messages about those that are wrong and left out."""
    given, found, problems = fields_of(value), dict[str, Any](), list[str]()
    for name, field in _fields(kind).items():
        if given.get(name) is not None:
            try:
                found[name] = field.read(given[name], f"{path}.{name}")
            except WrongValue as error:
                problems.append(str(error))
    return cast("T", found), problems


@dataclass(frozen=True)
class _Reader:
    """How the values of a type are read."""

    name: str
    """What a value must be, for the messages."""
    read: Callable[[Any, str], Any]


@dataclass(frozen=True)
class _Field(_Reader):
    """How a field of an object is read."""

    required: bool
    nullable: bool
    choices: tuple[Any, ...]
    """The values that it may have; empty if it is no choice."""


@cache
def _reader(kind: Any) -> _Reader:
    origin, args = get_origin(kind), get_args(kind)
    if is_typeddict(kind):
        return _Reader("an object", lambda value, path: _read_object(_fields(kind), value, path))
    if origin is list:
        return _Reader("a list", lambda value, path: _read_list(_reader(args[0]), value, path))
    if origin is dict:  # of any values
        return _Reader("an object", _object)
    if origin is Literal:
        return _Reader(_either(args), lambda value, path: _read_choice(args, value, path))
    if origin in (Union, UnionType):
        return _union_reader([option for option in args if option is not NoneType])
    name = _PLAIN[kind]
    return _Reader(name, lambda value, path: _read_plain(kind, name, value, path))


_PLAIN: dict[Any, str] = {str: "a string", int: "an integer", bool: "true or false"}


def _read_plain(kind: type, name: str, value: Any, path: str) -> Any:
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise WrongValue(f"{path} must be {name}")
    return value


def _read_choice(choices: tuple[Any, ...], value: Any, path: str) -> Any:
    if choices == (True,):
        if value is not True:
            raise WrongValue(f"{path} must be true")
    elif not isinstance(value, str):
        raise WrongValue(f"{path} must be a string")
    elif value not in choices:
        raise WrongValue(f"{path} {repr(value)[:MAX_QUOTED]} is unknown; use {_either(choices)}")
    return value


def _read_list(item: _Reader, value: Any, path: str) -> list[Any]:
    if not is_list(value):
        raise WrongValue(f"{path} must be a list")
    return [item.read(inner, f"{path}[{index}]") for index, inner in enumerate(value)]


def _read_object(fields: dict[str, _Field], value: Any, path: str) -> dict[str, Any]:
    value = _object(value, path)
    found: dict[str, Any] = {}
    for name, field in fields.items():
        given = value.get(name)
        if given is not None:
            found[name] = field.read(given, f"{path}.{name}")
        elif field.required and not field.nullable:
            raise WrongValue(f"{path}.{name} is missing; it must be {field.name}")
        elif field.nullable and (field.required or name in value):
            found[name] = None
    return found


def _object(value: Any, path: str) -> dict[str, Any]:
    if value == []:  # an empty table in Lua
        return {}
    if not is_object(value):
        raise WrongValue(f"{path} must be an object")
    return value


@cache
def _fields(kind: Any) -> dict[str, _Field]:
    return {
        name: _Field(
            _reader(hint).name,
            _reader(hint).read,
            required=name in kind.__required_keys__,
            nullable=NoneType in get_args(hint),
            choices=get_args(hint) if get_origin(hint) is Literal else (),
        )
        for name, hint in get_type_hints(kind).items()
    }


def _union_reader(options: Sequence[Any]) -> _Reader:
    """The reader of a union, whose null is handled where the field is read."""
    if len(options) == 1:
        return _reader(options[0])
    if all(map(is_typeddict, options)):
        return _Reader("an object", lambda value, path: _read_one_of([*map(_fields, options)], value, path))
    readers = [_reader(option) for option in options]
    name = " or ".join(reader.name for reader in readers)

    def read_any(value: Any, path: str) -> Any:
        for reader in readers:
            try:
                return reader.read(value, path)
            except WrongValue:
                continue
        raise WrongValue(f"{path} must be {name}")

    return _Reader(name, read_any)


def _read_one_of(shapes: list[dict[str, _Field]], value: Any, path: str) -> dict[str, Any]:
    """Reads an object as the shape that its tag names (`kind`, `op`), and among several as the most similar one.

    If the shapes have no tag, an object that mixes them is refused.
    """
    value = _object(value, path)
    given = {name for name, inner in value.items() if inner is not None}
    tag = next((name for name in shapes[-1] if all(name in shape and shape[name].choices for shape in shapes)), None)
    if tag is not None:
        choices = tuple(dict.fromkeys(choice for shape in shapes for choice in shape[tag].choices))
        if tag in given:
            _read_choice(choices, value[tag], f"{path}.{tag}")
        shapes = [
            shape for shape in shapes if (value[tag] in shape[tag].choices if tag in given else not shape[tag].required)
        ]
        if not shapes:
            raise WrongValue(f"{path}.{tag} is missing; it must be {_either(choices)}")

    def similarity(shape: dict[str, _Field]) -> tuple[int, int]:
        return len(given & shape.keys()), -sum(field.required for name, field in shape.items() if name not in given)

    best = max(shapes, key=similarity)
    foreign = given & {name for shape in shapes for name in shape} - best.keys()
    if tag is None and (foreign or similarity(best)[1] < 0):
        forms = [
            f"{{{', '.join(f'{name}: true' if shape[name].choices else name for name in shape)}}}" for shape in shapes
        ]
        raise WrongValue(f"{path} must be one of {', '.join(forms[:-1])} and {forms[-1]}")
    return _read_object(best, value, path)


def _either(choices: Sequence[Any]) -> str:
    return " or ".join(filter(None, [", ".join(map(str, choices[:-1])), str(choices[-1])]))
