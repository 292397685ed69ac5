"""Reads settings from the wire. A wrong value is reported and replaced with the default.

In lists, in `languageServers`, in `endpoints` and in `mcpServers`, only the wrong entries are left out.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import is_dataclass, replace
from typing import Any, cast, get_origin, get_type_hints

from fairlead.app.endpoint_settings import read_endpoints
from fairlead.app.language_server_settings import read_language_servers
from fairlead.gate.host_rules import HostRule
from fairlead.gate.tool_rules import ToolRule
from fairlead.hosted_agents.read_definitions import read_agents
from fairlead.json_reader import WrongValue, names_of, read
from fairlead.json_values import is_list, is_object
from fairlead.session.settings import Settings
from fairlead.shell.command_line.rules import Rule
from fairlead.shell.environment import read_pattern
from fairlead.shell.network import Service
from fairlead.tool_servers.read_definitions import read_servers
from fairlead.web.search import read_template
from fairlead.workspace import secrets

DEFAULTS = Settings()
SECTION = "fairlead"

MINIMUM = {
    "maxTokens": 1,
    "maxItems": 1,
    "reminderInterval": 1,
    "maxRepeats": 2,
    "maxRounds": 1,
    "maxIdleRounds": 2,
    "timeoutSeconds": 1,
}
"""The smallest valid value of a setting, by its name without the group; 0 for those that are not listed."""


def read_settings(given: Any, before: Settings = DEFAULTS) -> tuple[Settings, list[str]]:
    """The settings after a change, and the problems in it, for the user.

    Clients send an empty object, the settings of all their servers, or only the settings that changed. A setting
    that is not named keeps its value. One that is null or wrong gets its default.

    Args:
        given: the settings, or an object with them in its section `fairlead`. If they are not an object, nothing
            changes.
        before: the settings before the change.
    """
    problems: list[str] = []
    name = "settings"
    if is_object(given):
        given = _nested(given)
        if SECTION in given:
            given, name = given[SECTION], SECTION
    if is_object(given):
        return _read(given, before, "", problems, is_only_ours=name == SECTION), problems
    # [] is an empty table in Lua
    return before, [] if given is None or given == [] else [f"{name} must be an object"]


def ignored_values(problems: Iterable[str]) -> str:
    """The message for the user about problems in the settings."""
    return f"Some values in Fairlead's settings are ignored: {'; '.join(each.removesuffix('.') for each in problems)}."


def _read(given: Any, before: Any, prefix: str, problems: list[str], *, is_only_ours: bool = True) -> Any:
    """`before` with the given values. None and wrong values mean the default. Adds to `problems`.

    Args:
        is_only_ours: False: an unknown object may be the section of another server.
    """
    kind = cast("type[Any]", type(before))
    if given is None:
        return kind()
    if given == []:  # an empty table in Lua
        return before
    if not is_object(given):
        problems.append(f"{prefix.rstrip('.')} must be an object")
        return kind()
    given, hints, defaults = _nested(given), get_type_hints(kind), kind()
    names = dict(names_of(kind))
    unknown = [name for name in given if name not in names and (is_only_ours or not is_object(given[name]))]
    problems += [f"{prefix}{name} is not a setting" for name in unknown]
    values: dict[str, Any] = {}
    for name, attribute in names.items():
        if name not in given:
            continue
        value, wanted = given[name], hints[attribute]
        values[attribute] = getattr(defaults, attribute)
        if is_dataclass(wanted):
            values[attribute] = _read(value, getattr(before, attribute), f"{prefix}{name}.", problems)
        elif value is not None and get_origin(wanted) is Mapping:
            values[attribute] = _OBJECT_READERS[name](value, problems)
        elif value is not None and get_origin(wanted) is tuple:
            values[attribute] = _texts(f"{prefix}{name}", value, _LIST_READERS.get(f"{prefix}{name}", _rule), problems)
        elif value is not None:
            try:
                values[attribute] = _read_value(name, wanted, value, f"{prefix}{name}")
            except WrongValue as error:
                problems.append(str(error))
    return replace(before, **values)


def _nested(given: dict[str, Any]) -> dict[str, Any]:
    """Turns dotted names as in VS Code (`plan.maxItems`) into nested objects. Splits them at the first dot."""
    nested: dict[str, Any] = {}
    for name, value in given.items():
        group, dot, rest = name.partition(".")
        inner = {rest: value} if dot else value
        existing = nested.get(group)
        nested[group] = {**existing, **inner} if is_object(existing) and is_object(inner) else inner
    return nested


def _texts(name: str, given: Any, read: Callable[[str], str], problems: list[str]) -> tuple[str, ...]:
    """The texts of a list, each as `read` returns it.

    Entries that are not strings, and texts for which `read` raises ValueError, are left out and reported.
    """
    if not is_list(given):
        problems.append(f"{name} must be a list of strings")
        return ()
    found: list[str] = []
    for text in given:
        if not isinstance(text, str):
            problems.append(f"{name}: {text!r} must be a string")
            continue
        try:
            found.append(read(text))
        except ValueError as error:
            problems.append(f"{name}: {text!r} was left out. {error}")
    return tuple(found)


def _rule(text: str) -> str:
    return Rule.parse(text).text


def _tool_rule(text: str) -> str:
    return ToolRule.parse(text).text


def _host_rule(text: str) -> str:
    return HostRule.parse(text).text


def _service(text: str) -> str:
    return str(Service.parse(text))


def _command(text: str) -> str:
    if not text.strip():
        raise ValueError("It is empty.")
    return text.strip()


_OBJECT_READERS: dict[str, Callable[[Any, list[str]], Mapping[str, Any]]] = {
    "languageServers": read_language_servers,
    "endpoints": read_endpoints,
    "mcpServers": read_servers,
    "agents": read_agents,
}

_LIST_READERS = {
    "checks": _command,
    "bash.passVariables": read_pattern,
    "bash.services": _service,
    "secrets.allow": secrets.read_pattern,
    "tools.allow": _tool_rule,
    "tools.deny": _tool_rule,
    "web.allow": _host_rule,
    "web.deny": _host_rule,
    "web.privateHosts": _service,
}
"""How the texts of a list are read, by the setting's name. All other lists contain command rules."""


_TEXT_READERS = {"web.searchUrl": read_template}
"""How single texts are read that cannot be any text, by the setting's name."""


def _read_value(name: str, wanted: Any, value: Any, path: str) -> Any:
    found = read(wanted, value, path)
    if path in _TEXT_READERS:
        try:
            return _TEXT_READERS[path](found)
        except ValueError as error:
            raise WrongValue(path, str(error)) from error
    least = MINIMUM.get(name, 0)
    if isinstance(found, int | float) and found < least:
        raise WrongValue(path, f"must be at least {least}")
    return found
