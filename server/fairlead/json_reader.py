"""Reads untrusted JSON as a value of a type, and writes values as JSON. An error names the field that is wrong."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache
from types import MappingProxyType, NoneType, UnionType
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

    A dataclass is what Fairlead wrote (`to_json`): its fields have their names in camelCase. Each is present; one with
    a default may be missing, because an older version did not have it.

    Args:
        path: the name of the value in the messages; "" if only the names of its fields are wanted.

    Raises:
        WrongValue: the value has another type, or a dataclass refuses it with a ValueError.
    """
    return _PLAIN_READERS.read(kind, value, path)


def read_valid(kind: type[T], value: Any, path: str) -> tuple[T, list[str]]:
    """The fields of a TypedDict without required fields, and the messages about those that are wrong and left out."""
    given, found, problems = fields_of(value), dict[str, Any](), list[str]()
    for name, field in _PLAIN_READERS.fields(kind).items():
        if given.get(name) is not None:
            try:
                found[name] = field.read(given[name], f"{path}.{name}")
            except WrongValue as error:
                problems.append(str(error))
    return cast("T", found), problems


def to_json(value: Any, special: Mapping[type, Callable[[Any], Any]] = MappingProxyType({})) -> Any:
    """A value of dataclasses, mappings and sequences as JSON, as `read` reads it.

    Args:
        special: returns the JSON of values of these types, for `Readers` with the inverse.
    """
    if value is None or isinstance(value, str | int | float):
        return value
    if write := special.get(type(value)):  # pyright: ignore[reportUnknownArgumentType]
        return write(value)
    if is_dataclass(value):
        return fields_to_json(value, special)
    if isinstance(value, Mapping):
        return {key: to_json(inner, special) for key, inner in cast("Mapping[str, Any]", value).items()}
    if isinstance(value, tuple | list):
        return [to_json(inner, special) for inner in cast("Sequence[Any]", value)]
    if isinstance(value, frozenset):
        return sorted(cast("frozenset[str]", value))
    return value.hex() if isinstance(value, bytes) else value


def fields_to_json(value: Any, special: Mapping[type, Callable[[Any], Any]] = MappingProxyType({})) -> dict[str, Any]:
    """A dataclass as JSON, even if its type is special."""
    return {name: to_json(getattr(value, attribute), special) for name, attribute in names_of(value.__class__)}


@cache
def names_of(kind: Any) -> list[tuple[str, str]]:
    """The fields of a dataclass that count when its values are compared: the name in JSON and in Python."""
    return [(camel_case(field.name), field.name) for field in fields(kind) if field.compare]


def _without_default(kind: Any) -> set[str]:
    return {each.name for each in fields(kind) if each.default is MISSING and each.default_factory is MISSING}


@dataclass(frozen=True)
class _Reader:
    """How the values of a type are read."""

    name: str
    """What a value must be, for the messages."""
    read: Callable[[Any, str], Any]


@dataclass(frozen=True)
class _Field(_Reader):
    """How a field of an object is read."""

    attribute: str
    """Its name in Python."""
    required: bool
    nullable: bool
    choices: tuple[Any, ...]
    """The values that it may have; empty if it is no choice."""


class Readers:
    """Reads values of types, of which some have a form of their own in JSON.

    Args:
        special: reads the values of these types, given the readers, the JSON and its path.
    """

    def __init__(self, special: Mapping[type, Callable[["Readers", Any, str], Any]] = MappingProxyType({})) -> None:
        self._special = special
        self._known: dict[Any, _Reader] = {}
        self._shapes: dict[Any, dict[str, _Field]] = {}

    def read(self, kind: type[T], value: Any, path: str) -> T:
        """See `read`."""
        return self._of(kind).read(value, path)

    def fields(self, kind: Any) -> dict[str, _Field]:
        """The fields of a TypedDict or a dataclass by their names in JSON."""
        found = self._shapes.get(kind)
        if found is None:
            hints = get_type_hints(kind)
            names = names_of(kind) if is_dataclass(kind) else [(name, name) for name in hints]
            required = _without_default(kind) if is_dataclass(kind) else getattr(kind, "__required_keys__", hints)
            found = self._shapes[kind] = {
                name: self._field(attribute, hints[attribute], attribute in required) for name, attribute in names
            }
        return found

    def read_fields(self, kind: type[T], value: Any, path: str) -> T:
        """Reads a dataclass from an object, even if its type is special."""
        if not is_object(value):
            return _refuse(value, path, "an object")
        found: dict[str, Any] = {}
        for name, field in self.fields(kind).items():
            inner = f"{path}.{name}" if path else name
            if name in value:
                found[field.attribute] = field.read(value[name], inner)
            elif field.required:
                raise WrongValue(inner, f"is missing; it must be {field.name}")
        try:
            return kind(**found)
        except ValueError as error:
            raise WrongValue(path, f"is wrong: {error}") from error

    def _field(self, attribute: str, hint: Any, required: bool) -> _Field:
        reader, choices = self._of(hint), get_args(hint)
        return _Field(
            reader.name,
            reader.read,
            attribute,
            required,
            nullable=NoneType in choices,
            choices=choices if get_origin(hint) is Literal else (),
        )

    def _of(self, kind: Any) -> _Reader:
        reader = self._known.get(kind)
        if reader is None:
            reader = self._known[kind] = self._made(kind)
        return reader

    def _made(self, kind: Any) -> _Reader:
        origin, args = get_origin(kind), get_args(kind)
        if special := self._special.get(kind):
            return _Reader(kind.__name__, lambda value, path: special(self, value, path))
        if is_typeddict(kind):
            return _Reader("an object", lambda value, path: _read_object(self.fields(kind), value, path))
        if isinstance(kind, type) and is_dataclass(kind):
            return _Reader("an object", lambda value, path: self.read_fields(kind, value, path))
        if origin is tuple and args[-1] is not ...:
            members = [*map(self._of, args)]
            return _Reader(f"a list of {len(args)}", lambda value, path: _read_members(members, value, path))
        if origin in (list, tuple, frozenset, Sequence):
            kept = tuple if origin is Sequence else origin
            item, make = self._of(args[0]), cast("Callable[[list[Any]], Any]", kept)
            return _Reader("a list", lambda value, path: make(_read_list(item, value, path)))
        if origin is dict:  # of any values
            return _Reader("an object", _object)
        if origin is Mapping:
            item = self._of(args[1])
            return _Reader("an object", lambda value, path: _read_mapping(item, value, path))
        if origin is Literal:
            return _plain_reader(_either(args), lambda value: value in args and type(value) in map(type, args))
        if origin in (Union, UnionType):
            return self._union([option for option in args if option is not NoneType], NoneType in args)
        if kind is bytes:
            return _Reader("bytes", _read_bytes)
        return _plain_reader(*_PLAIN[kind])

    def _union(self, options: Sequence[Any], nullable: bool) -> _Reader:
        if all(map(is_typeddict, options)) and len(options) > 1:
            shapes = [*map(self.fields, options)]
            return _Reader("an object", lambda value, path: _read_one_of(shapes, value, path))
        readers = [*map(self._of, options)]
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


_PLAIN_READERS = Readers()


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
    Any: ("anything", lambda _: True),
}


def _read_list(item: _Reader, value: Any, path: str) -> list[Any]:
    if not is_list(value):
        return _refuse(value, path, "a list")
    return [item.read(inner, f"{path}[{index}]") for index, inner in enumerate(value)]


def _read_members(members: Sequence[_Reader], value: Any, path: str) -> tuple[Any, ...]:
    if not is_list(value) or len(value) != len(members):
        return _refuse(value, path, f"a list of {len(members)}")
    return tuple(
        member.read(inner, f"{path}[{index}]") for index, (member, inner) in enumerate(zip(members, value, strict=True))
    )


def _read_bytes(value: Any, path: str) -> bytes:
    try:
        return bytes.fromhex(value)
    except (TypeError, ValueError):
        return _refuse(value, path, "bytes in hexadecimal")


def _read_mapping(item: _Reader, value: Any, path: str) -> dict[str, Any]:
    if not is_object(value):
        return _refuse(value, path, "an object")
    return {key: item.read(inner, f"{path}[{quoted(key)}]") for key, inner in value.items()}


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
            _PLAIN_READERS.read(cast("Any", Literal[choices]), value[tag], f"{path}.{tag}")
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
