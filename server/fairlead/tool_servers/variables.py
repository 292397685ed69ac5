"""Replaces the variables in a definition: `${env:NAME}`, `${NAME}`, `${NAME:-default}`, `${input:ID}` and folders.

The folders are `${workspaceFolder}`, `${userHome}` and `${serverData}`, which is for what the server keeps.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from fairlead.display import escape_to_one_line
from fairlead.errors import ToolError
from fairlead.tool_servers.definition import Definition

_VARIABLE = re.compile(r"\$\{([^{}]{1,200})\}")
_WORKSPACE = ("workspaceFolder", "workspaceRoot")
_DATA = "serverData"
_MAX_FILE = 1_000_000
_LINE = re.compile(r"\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*?)\s*")


@dataclass(frozen=True)
class Values:
    """Where the values of variables come from."""

    workspace: Path
    home: Path
    data: Path
    """The server's own folder, which may not exist yet."""
    environment: Callable[[str], str | None]
    """A variable of the user's environment; None: it is not set."""
    inputs: Mapping[str, str]
    """What the user has entered, by the id of the input."""


class MissingValue(ToolError):
    """A variable has no value."""


def names_in(definition: Definition) -> tuple[list[str], list[str]]:
    """The variables of the user's environment that a definition reads, and the ids of its inputs, in order."""
    found = dict.fromkeys(name for text in _texts(definition) for name in _VARIABLE.findall(text))
    inputs = [name.removeprefix("input:") for name in found if name.startswith("input:")]
    others = [name.removeprefix("env:").partition(":-")[0] for name in found if not name.startswith("input:")]
    return [name for name in dict.fromkeys(others) if name not in (*_WORKSPACE, "userHome", _DATA)], inputs


def uses_data(definition: Definition) -> bool:
    """Whether a definition names the server's own folder."""
    return any(_DATA in _VARIABLE.findall(text) for text in _texts(definition))


def expanded(definition: Definition, values: Values) -> Definition:
    """A definition without variables, and with those of its file.

    Raises:
        MissingValue: a variable has no value, or the file cannot be read.
    """

    def each(text: str) -> str:
        return _VARIABLE.sub(lambda found: _value(found[1], values), text)

    from_file = _read_file(values.workspace / each(definition.variables_file)) if definition.variables_file else {}
    variables = {**from_file, **{name: each(text) for name, text in definition.variables}}
    return replace(
        definition,
        command=tuple(map(each, definition.command)),
        url=each(definition.url),
        variables=tuple(variables.items()),
        variables_file="",
        headers=tuple((name, each(text)) for name, text in definition.headers),
        client_id=each(definition.client_id),
        client_secret=each(definition.client_secret),
        folder=each(definition.folder),
        folders=tuple(replace(folder, path=each(folder.path)) for folder in definition.folders),
    )


def _texts(definition: Definition) -> Iterator[str]:
    yield from definition.command
    yield from (definition.url, definition.variables_file, definition.folder)
    yield from (definition.client_id, definition.client_secret)
    yield from (text for _, text in (*definition.variables, *definition.headers))
    yield from (folder.path for folder in definition.folders)


def _value(name: str, values: Values) -> str:
    if name in _WORKSPACE:
        return str(values.workspace)
    if name == _DATA:
        return str(values.data)
    if name == "userHome":
        return str(values.home)
    if name.startswith("input:"):
        name = name.removeprefix("input:")
        if name not in values.inputs:
            raise MissingValue(f"Nothing was entered for “{escape_to_one_line(name)}”.")
        return values.inputs[name]
    name, has_default, default = name.removeprefix("env:").partition(":-")
    value = values.environment(name)
    if value is None and not has_default:
        raise MissingValue(f"The environment variable {escape_to_one_line(name)} is not set.")
    return value if value is not None and (value or not has_default) else default


def _read_file(path: Path) -> dict[str, str]:
    try:
        with path.open(encoding="utf-8") as file:
            text = file.read(_MAX_FILE)
    except (OSError, ValueError) as error:
        raise MissingValue(f"The file with its environment variables cannot be read: {path}.") from error
    found: dict[str, str] = {}
    for line in text.splitlines():
        match = _LINE.fullmatch(line)
        if match:
            value = match[2]
            is_quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
            found[match[1]] = value[1:-1] if is_quoted else value
    return found
