"""Records as JSON. The names are the fields of `document.py` in camelCase."""

import json
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from fairlead.json_values import is_list, is_object
from fairlead.session.record.document import FORMAT, SessionRecord

T = TypeVar("T")

MAX_INTEGER = 2**53  # the limit of all numbers; JavaScript cannot represent every integer beyond this
MAX_QUOTED = 60  # characters

_PLAIN: dict[Any, tuple[str, Callable[[Any], bool]]] = {
    str: ("text", lambda value: isinstance(value, str)),
    bool: ("true or false", lambda value: isinstance(value, bool)),
    int: ("a whole number up to 2^53", lambda value: _is_number(value) and isinstance(value, int)),
    float: ("a number from 0 to 2^53", lambda value: _is_number(value) and value >= 0),
    NoneType: ("null", lambda value: value is None),
}


class BadRecord(ValueError):
    """A text that is not a record; the message tells the user where and why."""


def record_text(record_json: Any) -> bytes:
    """A record, given as JSON values, as the content of a file."""
    text = json.dumps(record_json, ensure_ascii=False, indent=2) + "\n"
    return text.encode("utf-8", "backslashreplace")  # a lone surrogate becomes its JSON escape


def record_json(value: Any) -> Any:
    """A record, or a value of one, as JSON values."""
    if is_dataclass(value):
        return {_camel(field.name): record_json(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {key: record_json(inner) for key, inner in value.items()}  # pyright: ignore[reportUnknownVariableType]
    return list(map(record_json, value)) if isinstance(value, tuple) else value  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]


def read_record(data: bytes) -> SessionRecord:
    """Reads the content of a file. Unknown fields are ignored.

    Raises:
        BadRecord: it is not a record of this format, or one of its values is invalid.
    """
    try:
        values = json.loads(data.decode("utf-8"), parse_constant=_no_constant)
    except UnicodeDecodeError as error:
        raise BadRecord("It is not UTF-8 text.") from error
    except json.JSONDecodeError as error:
        raise BadRecord(f"It is not valid JSON: {error.msg} (line {error.lineno}, column {error.colno}).") from error
    except RecursionError as error:
        raise BadRecord("It is nested too deeply.") from error
    except ValueError as error:
        raise BadRecord(f"It is not valid JSON: {error}.") from error
    if not is_object(values) or "format" not in values:
        raise BadRecord("It is not a record: it has no “format”.")
    if values["format"] != FORMAT:
        raise BadRecord(
            f"Its format is {_quoted(values['format'])}, and this version of Fairlead reads format {FORMAT}."
        )
    return _read(SessionRecord, values, "")


def _read(kind: Any, value: Any, path: str) -> Any:
    """Converts a JSON value to a type. Raises BadRecord, which names the field by its path."""
    origin, args = get_origin(kind), get_args(kind)
    if kind in _PLAIN:
        name, is_valid = _PLAIN[kind]
        return value if is_valid(value) else _fail(path, name, value)
    if isinstance(kind, type) and is_dataclass(kind):
        return _read_object(kind, value, path)
    if origin is Literal:
        return value if value in args else _fail(path, f"one of {', '.join(args)}", value)
    if origin is UnionType:
        return None if value is None else _read(args[0], value, path)
    if origin is tuple:
        if not is_list(value):
            return _fail(path, "a list", value)
        return tuple(_read(args[0], inner, f"{path}[{index}]") for index, inner in enumerate(value))
    if origin is Mapping:
        if not is_object(value):
            return _fail(path, "an object", value)
        return {key: _read(args[1], inner, f"{path}[{_quoted(key)}]") for key, inner in value.items()}
    raise TypeError(f"a record has no values of the type {kind}")


def _read_object(kind: type[T], value: Any, path: str) -> T:
    if not is_object(value):
        return _fail(path, "an object", value)
    found: dict[str, Any] = {}
    for name, hint in get_type_hints(kind).items():
        field, inner = _camel(name), f"{path}.{_camel(name)}" if path else _camel(name)
        if field not in value:
            raise BadRecord(f"“{inner}” is missing.")
        found[name] = _read(hint, value[field], inner)
    try:
        return kind(**found)
    except ValueError as error:
        what = f"“{path}”: {error}" if path else _sentence(str(error))
        raise BadRecord(f"{what}.") from error


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _fail(path: str, wanted: str, value: Any) -> Any:
    raise BadRecord(f"“{path}” must be {wanted}, not {_quoted(value)}.")


def _quoted(value: Any) -> str:
    try:
        text = json.dumps(value)
    except RecursionError:
        text = "[...]"
    return text if len(text) <= MAX_QUOTED else f"{text[:MAX_QUOTED]}..."


def _is_number(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) <= MAX_INTEGER


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON number")


def _camel(name: str) -> str:
    first, *more = name.split("_")
    return first + "".join(word.capitalize() for word in more)
