"""Reads the setting `languageServers` from the wire."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypedDict

from fairlead.code.servers.table import TABLE, ServerSpec
from fairlead.json_reader import WrongValue, read
from fairlead.json_values import is_object


class _Server(TypedDict, total=False):
    command: list[str]
    languages: Mapping[str, str]
    initializationOptions: dict[str, Any]


def read_language_servers(given: Any, problems: list[str]) -> Mapping[str, ServerSpec]:
    """The valid servers by name. Invalid ones are left out and reported in `problems`."""
    if given == []:  # an empty table in Lua
        return {}
    if not is_object(given):
        problems.append("languageServers must be an object")
        return {}
    found: dict[str, ServerSpec] = {}
    for name, value in given.items():
        try:
            found[name] = _spec(name, value, f"languageServers.{name}")
        except WrongValue as error:
            problems.append(str(error))
    return found


def _spec(name: str, value: Any, path: str) -> ServerSpec:
    """The server that a value describes; `false` switches it off, like an empty command.

    A missing field has the value that the server has in `TABLE`, or is empty.

    Raises:
        WrongValue: the value is wrong, or the server is not in `TABLE` and has no command.
    """
    if value is False:
        value = {"command": []}
    if not is_object(value):
        raise WrongValue(path, "must be an object, or false to switch the server off")
    fields = _Server.__annotations__
    if unknown := value.keys() - fields.keys():
        raise WrongValue(path, f"has an unknown field {min(unknown)!r}; use {', '.join(fields)}")
    known = next((spec for spec in TABLE if spec.name == name), ServerSpec(name, (), {}))
    given = read(_Server, value, path)
    command = given.get("command", list(known.command))
    if not all(word and "\0" not in word for word in command):
        raise WrongValue(path, 'needs a "command" that is a list of strings, such as ["gopls", "serve"]')
    if not command and known not in TABLE:
        names = ", ".join(spec.name for spec in TABLE)
        raise WrongValue(path, f'has no "command", and Fairlead knows no server of this name, only {names}')
    languages = given.get("languages", known.languages)
    valid = all(suffix.startswith(".") and language for suffix, language in languages.items())
    if not valid or (command and not languages):
        raise WrongValue(path, 'needs "languages" such as {".py": "python"}')
    options = given.get("initializationOptions", known.initialization_options)
    package = known.package if "command" not in given else None  # the user knows that the program is a server
    return replace(known, command=tuple(command), languages=languages, initialization_options=options, package=package)
