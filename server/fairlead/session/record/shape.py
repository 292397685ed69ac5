"""Records as JSON. The names are the fields of `document.py` in camelCase."""

import json
from typing import Any

from fairlead.json_reader import WrongValue, quoted, read
from fairlead.json_values import is_object
from fairlead.session.record.document import FORMAT, SessionRecord


class BadRecord(ValueError):
    """A text that is not a record; the message tells the user where and why."""


def record_text(record_json: Any) -> bytes:
    """A record, given as JSON values, as the content of a file."""
    text = json.dumps(record_json, ensure_ascii=False, indent=2) + "\n"
    return text.encode("utf-8", "backslashreplace")  # a lone surrogate becomes its JSON escape


def read_record(data: bytes) -> SessionRecord:
    """Reads the content of a file. Unknown fields are ignored.

    Raises:
        BadRecord: it is not a record of this format, or one of its values is invalid.
    """
    return record_of(json_object(data))


def json_object(data: bytes) -> dict[str, Any]:
    """The JSON object that a file contains.

    Raises:
        BadRecord: it contains something else.
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
    if not is_object(values):
        raise BadRecord("It is not a record: it has no “format”.")
    return values


def record_of(values: dict[str, Any]) -> SessionRecord:
    """The record that a JSON object is.

    Raises:
        BadRecord: as for `read_record`.
    """
    if "format" not in values:
        raise BadRecord("It is not a record: it has no “format”.")
    if values["format"] != FORMAT:
        raise BadRecord(
            f"Its format is {quoted(values['format'])}, and this version of Fairlead reads format {FORMAT}."
        )
    try:
        return read(SessionRecord, values, "")
    except WrongValue as error:
        place = f"“{error.path}” " if error.path else "It "
        raise BadRecord(f"{place}{error.problem}.") from error


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON number")
