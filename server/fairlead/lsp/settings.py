"""Settings as they come over the wire: checked one by one; what is wrong is named and replaced by its default."""

import re
from dataclasses import fields, is_dataclass
from math import isfinite
from typing import Any, get_args, get_origin, get_type_hints

from fairlead.session.settings import Settings
from fairlead.shell.rules import BadRule, Rule

# what a number may be at the least; below that the setting would make no sense
MINIMUM = {
    "maxTokens": 1,
    "maxItems": 1,
    "reminderInterval": 1,
    "maxRepeats": 2,
    "maxRounds": 1,
    "maxIdleRounds": 2,
    "timeoutSeconds": 1,
}


def read_settings(given: Any) -> tuple[Settings, list[str]]:
    """The settings, and what was wrong with them in words for people."""
    problems: list[str] = []
    settings = _read(Settings, given, "", problems)
    return settings, problems


def _read(kind: Any, given: Any, prefix: str, problems: list[str]) -> Any:
    if given is None:
        return kind()
    if not isinstance(given, dict):
        problems.append(f"{prefix.rstrip('.') or 'settings'} must be an object")
        return kind()
    hints = get_type_hints(kind)
    names = {_camel(field.name): field.name for field in fields(kind)}
    problems += [f"{prefix}{name} is no setting" for name in given if name not in names]
    values: dict[str, Any] = {}
    for name, attribute in names.items():
        value = given.get(name)
        if value is None:
            continue
        wanted = hints[attribute]
        if is_dataclass(wanted):
            values[attribute] = _read(wanted, value, f"{prefix}{name}.", problems)
            continue
        if get_origin(wanted) is tuple:
            values[attribute] = _rules(f"{prefix}{name}", value, problems)
            continue
        problem = _problem(name, wanted, value)
        if problem is None:
            values[attribute] = value
        else:
            problems.append(f"{prefix}{name} {problem}")
    return kind(**values)


def _rules(name: str, given: Any, problems: list[str]) -> tuple[str, ...]:
    """The rules that can be read; each other one is named with what is wrong with it, and left out."""
    if not isinstance(given, list):
        problems.append(f"{name} must be a list of rules")
        return ()
    rules: list[str] = []
    for text in given:
        if not isinstance(text, str):
            problems.append(f"{name}: {text!r} is no rule, which is a text")
            continue
        try:
            rules.append(Rule.parse(text).text)
        except BadRule as error:
            problems.append(f"{name}: {text!r} was left out. {error}")
    return tuple(rules)


def _problem(name: str, wanted: Any, value: Any) -> str | None:
    choices = get_args(wanted) if get_origin(wanted) is not None else ()
    if choices:
        return None if value in choices else f"must be one of {', '.join(choices)}"
    if wanted is bool:
        return None if isinstance(value, bool) else "must be true or false"
    if wanted is int:
        if not isinstance(value, int) or isinstance(value, bool):
            return "must be a whole number"
        return _too_small(name, value)
    if wanted is float:
        if not isinstance(value, int | float) or isinstance(value, bool) or not isfinite(value):
            return "must be a number"
        return _too_small(name, value)
    return None if isinstance(value, str) else "must be text"


def _too_small(name: str, value: float) -> str | None:
    least = MINIMUM.get(name, 0)
    return None if value >= least else f"must be at least {least}"


def _camel(name: str) -> str:
    return re.sub(r"_([a-z])", lambda match: match[1].upper(), name)
