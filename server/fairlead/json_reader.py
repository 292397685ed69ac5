"""Reads untrusted JSON as a value of a type. An error names the field that is wrong."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints, is_typeddict

from fairlead.json_values import fields_of, is_list, is_object

T = TypeVar("T")

MAX_NUMBER = 2**53  # JavaScript cannot represent every integer beyond this
MAX_QUOTED = 60  # characters


class WrongValue(ValueError):
    """A value does not have its type. The message names it by its path, such as `params.target.uri`."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{path} {problem}")
        self.path = path
        self.problem = problem
        """The message without the path."""


def read(kind: type[T], value: Any, path: str) -> T:
    """The JSON value as a value of a type, without the fields that the type does not have.

    A TypedDict is what a client sends: null counts as an absent field, except in an optional field whose type includes
    None. A required field whose type includes None may be absent. An empty list counts as an empty object, because Lua
    cannot distinguish the two.

    A dataclass is what Fairlead wrote: each of its fields is present, with its name in camelCase.

    Args:
        path: the name of the value in the messages; "" if only the names of its fields are wanted.

    Raises:
        WrongValue: the value has another type, or a dataclass refuses it with a ValueError.
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
    if isinstance(kind, type) and is_dataclass(kind):
        return _Reader("an object", lambda value, path: _read_dataclass(kind, value, path))
    if origin is list:
        return _Reader("a list", lambda value, path: _read_list(_reader(args[0]), value, path))
    if origin is tuple:
        return _Reader("a list", lambda value, path: tuple(_read_list(_reader(args[0]), value, path)))
    if origin is dict:  # of any values
        return _Reader("an object", _object)
    if origin is Mapping:
        return _Reader("an object", lambda value, path: _read_mapping(_reader(args[1]), value, path))
    if origin is Literal:
        return _plain_reader(_either(args), lambda value: value in args and type(value) in map(type, args))
    if origin in (Union, UnionType):
        return _union_reader([option for option in args if option is not NoneType], NoneType in args)
    return _plain_reader(*_PLAIN[kind])


def _plain_reader(name: str, is_valid: Callable[[Any], bool]) -> _Reader:
    def read_plain(value: Any, path: str) -> Any:
        return value if is_valid(value) else _refuse(value, path, name)

    return _Reader(name, read_plain)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= MAX_NUMBER


_PLAIN: dict[Any, tuple[str, Callable[[Any], bool]]] = {
    str: ("a string", lambda value: isinstance(value, str)),
    bool: ("true or false", lambda value: isinstance(value, bool)),
    int: ("an integer up to 2^53", lambda value: _is_number(value) and isinstance(value, int)),
    float: ("a number from 0 to 2^53", lambda value: _is_number(value) and value >= 0),
}


def _read_list(item: _Reader, value: Any, path: str) -> list[Any]:
    if not is_list(value):
        return _refuse(value, path, "a list")
    return [item.read(inner, f"{path}[{index}]") for index, inner in enumerate(value)]


def _read_mapping(item: _Reader, value: Any, path: str) -> dict[str, Any]:
    if not is_object(value):
        return _refuse(value, path, "an object")
    return {key: item.read(inner, f"{path}[{quoted(key)}]") for key, inner in value.items()}


def _read_dataclass(kind: type[Any], value: Any, path: str) -> Any:
    if not is_object(value):
        return _refuse(value, path, "an object")
    found: dict[str, Any] = {}
    for name, (field, reader) in _attributes(kind).items():
        inner = f"{path}.{field}" if path else field
        if field not in value:
            raise WrongValue(inner, f"is missing; it must be {reader.name}")
        found[name] = reader.read(value[field], inner)
    try:
        return kind(**found)
    except ValueError as error:
        raise WrongValue(path, f"is wrong: {error}") from error


@cache
def _attributes(kind: type[Any]) -> dict[str, tuple[str, _Reader]]:
    """The fields of a dataclass: by name, the name in JSON and how it is read."""
    return {name: (camel_case(name), _reader(hint)) for name, hint in get_type_hints(kind).items()}


def camel_case(name: str) -> str:
    """The name in JSON of a field in Python."""
    return re.sub(r"_([a-z0-9])", lambda match: match[1].upper(), name)


def _read_object(fields: dict[str, _Field], value: Any, path: str) -> dict[str, Any]:
    value = _object(value, path)
    found: dict[str, Any] = {}
    for name, field in fields.items():
        given = value.get(name)
        if given is not None:
            found[name] = field.read(given, f"{path}.{name}")
        elif field.required and not field.nullable:
            raise WrongValue(f"{path}.{name}", f"is missing; it must be {field.name}")
        elif field.nullable and (field.required or name in value):
            found[name] = None
    return found


def _object(value: Any, path: str) -> dict[str, Any]:
    if value == []:  # an empty table in Lua
        return {}
    return value if is_object(value) else _refuse(value, path, "an object")


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


def _union_reader(options: Sequence[Any], nullable: bool) -> _Reader:
    if all(map(is_typeddict, options)) and len(options) > 1:
        return _Reader("an object", lambda value, path: _read_one_of([*map(_fields, options)], value, path))
    readers = [_reader(option) for option in options]
    name = " or ".join(reader.name for reader in readers)

    def read_any(value: Any, path: str) -> Any:
        if value is None and nullable:
            return None
        if len(readers) == 1:
            return readers[0].read(value, path)
        for reader in readers:
            try:
                return reader.read(value, path)
            except WrongValue:
                continue
        return _refuse(value, path, name)

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
            _reader(Literal[choices]).read(value[tag], f"{path}.{tag}")
        shapes = [
            shape for shape in shapes if (value[tag] in shape[tag].choices if tag in given else not shape[tag].required)
        ]
        if not shapes:
            raise WrongValue(f"{path}.{tag}", f"is missing; it must be {_either(choices)}")

    def similarity(shape: dict[str, _Field]) -> tuple[int, int]:
        return len(given & shape.keys()), -sum(field.required for name, field in shape.items() if name not in given)

    best = max(shapes, key=similarity)
    foreign = given & {name for shape in shapes for name in shape} - best.keys()
    if tag is None and (foreign or similarity(best)[1] < 0):
        forms = [
            f"{{{', '.join(f'{name}: true' if shape[name].choices else name for name in shape)}}}" for shape in shapes
        ]
        raise WrongValue(path, f"must be one of {', '.join(forms[:-1])} and {forms[-1]}")
    return _read_object(best, value, path)


def _either(choices: Sequence[Any]) -> str:
    names = ["true" if choice is True else str(choice) for choice in choices]
    return " or ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def _refuse(value: Any, path: str, wanted: str) -> Any:
    shown = "a list" if is_list(value) else "an object" if is_object(value) else quoted(value)
    raise WrongValue(path, f"must be {wanted}, not {shown}")


def quoted(value: Any) -> str:
    """A value as JSON, shortened."""
    text = json.dumps(value)
    return text if len(text) <= MAX_QUOTED else f"{text[:MAX_QUOTED]}..."
