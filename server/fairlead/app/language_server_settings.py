"""Reads the setting `languageServers` from the wire."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from fairlead.code.servers.table import TABLE, ServerSpec
from fairlead.json_values import is_list, is_object

_FIELDS = ("command", "languages", "initializationOptions")


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
            found[name] = _spec(name, value)
        except ValueError as error:
            problems.append(f"languageServers.{name} {error}")
    return found


def _spec(name: str, value: Any) -> ServerSpec:
    """The server that a value describes; `false` switches it off, like an empty command.

    A missing field has the value that the server has in `TABLE`, or is empty.

    Raises:
        ValueError: the value is wrong, or the server is not in `TABLE` and has no command. The message continues a
            sentence that begins with the name of the setting.
    """
    if value is False:
        value = {"command": []}
    if not is_object(value):
        raise ValueError("must be an object, or false to switch the server off")
    unknown = [field for field in value if field not in _FIELDS]
    if unknown:
        raise ValueError(f"has an unknown field {unknown[0]!r}; use {', '.join(_FIELDS)}")
    known = next((spec for spec in TABLE if spec.name == name), ServerSpec(name, (), {}))
    command = value.get("command", list(known.command))
    if not is_list(command) or not all(isinstance(word, str) and word and "\0" not in word for word in command):
        raise ValueError('needs a "command" that is a list of strings, such as ["gopls", "serve"]')
    if not command and known not in TABLE:
        names = ", ".join(spec.name for spec in TABLE)
        raise ValueError(f'has no "command", and Fairlead knows no server of this name, only {names}')
    languages = value.get("languages", known.languages)
    if not is_object(languages) or not all(_is_language(suffix, each) for suffix, each in languages.items()):
        raise ValueError('needs "languages" such as {".py": "python"}')
    if command and not languages:
        raise ValueError('needs "languages" such as {".py": "python"}')
    options = value.get("initializationOptions", known.initialization_options)
    if not is_object(options):
        raise ValueError('needs an object as "initializationOptions"')
    return replace(known, command=tuple(command), languages=languages, initialization_options=options)


def _is_language(suffix: str, language: Any) -> bool:
    return suffix.startswith(".") and isinstance(language, str) and bool(language)
