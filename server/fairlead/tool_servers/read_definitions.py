"""Reads definitions of tool servers in the forms that other agents use too: Claude Code's, VS Code's and Cursor's."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, NotRequired, TypedDict
from urllib.parse import urlsplit

from fairlead.display import shorten
from fairlead.gate.tool_rules import SEPARATOR
from fairlead.json_reader import WrongValue, read
from fairlead.json_values import fields_of, is_list, is_object
from fairlead.shell.network import BadService, Service
from fairlead.tool_servers.definition import CALL_SECONDS, Definition, Folder, Input
from fairlead.tool_servers.variables import names_in

MAX_SERVERS = 100
MAX_NAME = 60
NO_INPUTS: Mapping[str, Input] = {}


class _Oauth(TypedDict):
    clientId: str
    clientSecret: NotRequired[str]


class _Server(TypedDict):
    type: NotRequired[str]
    command: NotRequired[str]
    args: NotRequired[list[str]]
    env: NotRequired[Mapping[str, Any]]
    envFile: NotRequired[str]
    cwd: NotRequired[str]
    url: NotRequired[str]
    serverUrl: NotRequired[str]
    headers: NotRequired[Mapping[str, str]]
    oauth: NotRequired[_Oauth]
    disabled: NotRequired[bool]
    enabled: NotRequired[bool]
    disabledTools: NotRequired[list[str]]
    timeoutSeconds: NotRequired[int]
    sandbox: NotRequired[bool]
    hosts: NotRequired[list[str]]
    folders: NotRequired[Mapping[str, Literal["read", "write"]]]


def read_servers(
    given: Any, problems: list[str], defined_in: Path | None = None, inputs: Mapping[str, Input] = NO_INPUTS
) -> dict[str, Definition]:
    """The valid definitions by name. Invalid ones are left out and reported in `problems`.

    Args:
        given: an object of servers by name.
        defined_in: the file in the workspace; None: the user's settings.
        inputs: what is known about inputs, by id. All others are secrets.
    """
    where = defined_in.name if defined_in is not None else "mcpServers"
    if given == []:  # an empty table in Lua
        return {}
    if not is_object(given):
        problems.append(f"{where} must be an object")
        return {}
    found: dict[str, Definition] = {}
    for name, value in list(given.items())[:MAX_SERVERS]:
        try:
            definition = _definition(name, value, f"{where}.{shorten(name, MAX_NAME)}", defined_in)
            needed = [inputs.get(each, Input(each, each, True)) for each in names_in(definition)[1]]
            found[name] = replace(definition, inputs=tuple(needed))
        except WrongValue as error:
            problems.append(str(error))
    if len(given) > MAX_SERVERS:
        problems.append(f"{where} has more than {MAX_SERVERS} servers; the others are left out")
    return found


def read_file(value: Any, path: Path, problems: list[str]) -> dict[str, Definition]:
    """The definitions of a `.mcp.json` (`mcpServers`) or a `.vscode/mcp.json` (`servers` and `inputs`)."""
    fields = fields_of(value)
    servers = fields.get("mcpServers", fields.get("servers", {}))
    inputs = {each.id: each for each in _inputs(fields.get("inputs"))}
    return read_servers(servers, problems, path, inputs)


def _inputs(given: Any) -> Iterator[Input]:
    for each in map(fields_of, given if is_list(given) else ()):
        name, options = each.get("id"), each.get("options")
        if isinstance(name, str):
            yield Input(
                name,
                _string(each.get("description")) or name,
                each.get("password") is True,
                _string(each.get("default")),
                tuple(filter(None, map(_option, options if is_list(options) else ()))),
            )


def _string(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _option(given: Any) -> str:
    """A text, or an object with one."""
    return given if isinstance(given, str) else _string(fields_of(given).get("value"))


def _definition(name: str, value: Any, path: str, defined_in: Path | None) -> Definition:
    """The server that a value describes. Fields that Fairlead does not know are ignored: other agents read them.

    Raises:
        WrongValue: the value is wrong.
    """
    if not name.strip() or len(name) > MAX_NAME or not name.isprintable() or SEPARATOR in name:
        raise WrongValue(path, f"needs a name of at most {MAX_NAME} printable characters, without {SEPARATOR}")
    given = read(_Server, value, path)
    command, url = given.get("command", "").strip(), given.get("url", given.get("serverUrl", "")).strip()
    if bool(command) == bool(url):
        raise WrongValue(path, 'needs either a "command" or a "url"')
    if given.get("type") == "sse":
        raise WrongValue(path, 'has the type "sse", which MCP has replaced; ask the service for its HTTP address')
    if url:
        _check_url(url, path)
    if "\0" in "".join((command, *given.get("args", ()))):
        raise WrongValue(path, "has a command with a NUL character")
    oauth: _Oauth = given.get("oauth", {"clientId": ""})
    return Definition(
        name=name,
        command=(command, *given.get("args", ())) if command else (),
        url=url,
        variables=tuple((key, _text(text)) for key, text in given.get("env", {}).items() if text is not None),
        variables_file=given.get("envFile", ""),
        headers=tuple(given.get("headers", {}).items()),
        client_id=oauth["clientId"],
        client_secret=oauth.get("clientSecret", ""),
        folder=given.get("cwd", ""),
        is_sandboxed=given.get("sandbox", True),
        hosts=tuple(_host(text, f"{path}.hosts") for text in given.get("hosts", ())),
        folders=tuple(Folder(each, access == "write") for each, access in given.get("folders", {}).items()),
        seconds=max(1, given.get("timeoutSeconds", CALL_SECONDS)),
        disabled_tools=frozenset(given.get("disabledTools", ())),
        is_enabled=not given.get("disabled", False) and given.get("enabled", True),
        defined_in=defined_in,
    )


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _check_url(url: str, path: str) -> None:
    try:
        parts = urlsplit(url)
        is_valid = parts.scheme in ("http", "https") and bool(parts.hostname) and "@" not in parts.netloc
    except ValueError:
        is_valid = False
    if not is_valid:
        raise WrongValue(path, 'needs a "url" that begins with https:// or http:// and contains no password')


def _host(text: str, path: str) -> Service:
    """A host with its port, which is that of HTTPS if none is given."""
    try:
        return Service.parse_host(text)
    except BadService as error:
        raise WrongValue(path, f"has a wrong entry. {error}") from error
