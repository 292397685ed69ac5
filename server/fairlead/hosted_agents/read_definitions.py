"""Reads the agents of the presets, and those of the user's settings, which may change a preset."""

import json
import platform
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from importlib.resources import files
from pathlib import PurePosixPath
from typing import Any, NotRequired, TypedDict

from fairlead.display import shorten
from fairlead.hosted_agents.definition import AgentDefinition, ApiKey
from fairlead.json_reader import WrongValue, read
from fairlead.json_values import is_object
from fairlead.shell.network import BadService, Service

MAX_AGENTS = 50
MAX_NAME = 60
_NAME = re.compile(rf"\w(?:[\w.-]{{0,{MAX_NAME - 2}}}\w)?")  # it is the name of a folder
ARCHITECTURE = "arm64" if platform.machine().lower() in ("aarch64", "arm64") else "x64"
"""The value of `${arch}` in the name of a package: npm's name of the machine's architecture."""


class _Key(TypedDict):
    variable: str
    addressVariable: str
    address: str


class _Agent(TypedDict):
    title: NotRequired[str]
    command: NotRequired[str]
    args: NotRequired[list[str]]
    package: NotRequired[list[str]]
    state: NotRequired[Mapping[str, str]]
    env: NotRequired[Mapping[str, Any]]
    hosts: NotRequired[list[str]]
    key: NotRequired[_Key]
    signIn: NotRequired[list[str]]
    mode: NotRequired[str]
    ignored: NotRequired[list[str]]
    tools: NotRequired[bool]
    disabled: NotRequired[bool]


@cache
def presets() -> Mapping[str, AgentDefinition]:
    """The agents that Fairlead knows, by name."""
    text = files("fairlead.hosted_agents").joinpath("presets.json").read_text("utf-8")
    given: dict[str, Any] = json.loads(text)
    return {
        name: _definition(AgentDefinition(name, name), read(_Agent, value, name), name) for name, value in given.items()
    }


def with_presets(given: Mapping[str, AgentDefinition]) -> Mapping[str, AgentDefinition]:
    """All agents that can be chosen, given those of the settings."""
    return {name: each for name, each in {**presets(), **given}.items() if each.is_enabled}


def read_agents(given: Any, problems: list[str]) -> dict[str, AgentDefinition]:
    """The agents of the setting `agents` by name, which may change presets. Invalid ones are reported in `problems`."""
    found: dict[str, AgentDefinition] = {}
    if given == []:  # an empty table in Lua
        return found
    if not is_object(given):
        problems.append("agents must be an object")
        return found
    for name, value in list(given.items())[:MAX_AGENTS]:
        path = f"agents.{shorten(name, MAX_NAME)}"
        try:
            if not _NAME.fullmatch(name):
                raise WrongValue(
                    path, f"needs a name of at most {MAX_NAME} letters, digits, and “-”, “_” or “.” within it"
                )
            fields = read(_Agent, value, path)
            definition = _definition(presets().get(name, AgentDefinition(name, name)), fields, path)
            if not definition.command:
                raise WrongValue(path, 'needs a "command"')
            found[name] = definition
        except WrongValue as error:
            problems.append(str(error))
    if len(given) > MAX_AGENTS:
        problems.append(f"agents has more than {MAX_AGENTS} agents; the others are left out")
    return found


def _definition(base: AgentDefinition, given: _Agent, path: str) -> AgentDefinition:
    """A definition with what is given. A command of its own replaces a preset's package and arguments.

    Raises:
        WrongValue: a value is wrong.
    """
    changed = base
    if "command" in given:
        if not given["command"].strip() or "\0" in "".join((given["command"], *given.get("args", ()))):
            raise WrongValue(path, 'needs a "command" that is not empty and has no NUL character')
        changed = replace(changed, command=(given["command"].strip(), *given.get("args", ())), package=())
    elif "args" in given and base.command:
        changed = replace(changed, command=(base.command[0], *given["args"]))
    key = given.get("key")
    return replace(
        changed,
        title=given.get("title", changed.title),
        package=tuple(each.replace("${arch}", ARCHITECTURE) for each in given.get("package", changed.package)),
        state=tuple(_state(given["state"], path)) if "state" in given else changed.state,
        variables=tuple({**dict(changed.variables), **_variables(given.get("env", {}), path)}.items()),
        hosts=tuple(_host(text, path) for text in given["hosts"]) if "hosts" in given else changed.hosts,
        key=ApiKey(key["variable"], key["addressVariable"], key["address"]) if key is not None else changed.key,
        sign_in=tuple(given.get("signIn", changed.sign_in)),
        mode=given.get("mode", changed.mode),
        ignored=tuple(given.get("ignored", changed.ignored)),
        has_tools=given.get("tools", changed.has_tools),
        is_enabled=not given.get("disabled", False),
    )


def _variables(given: Mapping[str, Any], path: str) -> dict[str, str]:
    for name, value in given.items():
        if not isinstance(value, str):
            raise WrongValue(f"{path}.env.{shorten(name, MAX_NAME)}", "must be a string")
    return dict(given)


def _state(given: Mapping[str, str], path: str) -> Iterator[tuple[str, str]]:
    for variable, part in given.items():
        folder = PurePosixPath(part)
        if folder.is_absolute() or ".." in folder.parts or not part.isprintable():
            raise WrongValue(
                f"{path}.state.{shorten(variable, MAX_NAME)}", "must be a path within the agent's state folder"
            )
        yield variable, part


def _host(text: str, path: str) -> Service:
    """A host with its port, which is that of HTTPS if none is given."""
    try:
        return Service.parse_host(text)
    except BadService as error:
        raise WrongValue(f"{path}.hosts", f"has a wrong entry. {error}") from error
