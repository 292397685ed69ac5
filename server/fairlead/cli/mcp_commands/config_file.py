"""Changes the tool servers in a file of settings. Everything else in it stays as it is."""

import json
import os
import re
from pathlib import Path
from typing import Any

from fairlead.app.settings import SECTION
from fairlead.cli.config import BadConfig, read_object
from fairlead.json_values import is_object, plain_json
from fairlead.workspace.replace_file import replace_file

NAME = "mcpServers"
_INDENT = re.compile(r"^([ \t]+)\S", re.MULTILINE)
HAS_COMMENTS = "has comments, which would be lost. Change it yourself: {what}"


class ServersFile:
    """The tool servers in a file of settings, which may not exist yet.

    Raises:
        BadConfig: the file is not a file of settings.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._data, self._text = read_object(path) if path.exists() else (dict[str, Any](), "")
        holder, key = self._place()
        servers = holder.get(key, {})
        if not is_object(servers):
            raise BadConfig(f'has a wrong "{key}": it must be an object of servers by name.')
        self.servers: dict[str, Any] = servers
        """The definitions by name, as they are in the file."""

    def add(self, name: str, definition: dict[str, Any]) -> None:
        """Adds or replaces a definition. Raises as `_write`."""
        what = f'add {json.dumps({name: definition}, ensure_ascii=False)} to "{self._place()[1]}".'
        self._write({**self.servers, name: definition}, what)

    def remove(self, name: str) -> None:
        """Removes a definition, which is there. Raises as `_write`."""
        left = {each: value for each, value in self.servers.items() if each != name}
        self._write(left, f'remove "{name}" from "{self._place()[1]}".')

    def _place(self) -> tuple[dict[str, Any], str]:
        """The object that contains the servers, or should contain them, and their name in it (`read_config`)."""
        section = self._data.get(SECTION)
        if is_object(section) and f"{SECTION}.{NAME}" not in self._data:
            return section, NAME
        has_prefix = any(name.startswith(f"{SECTION}.") for name in self._data)
        return self._data, f"{SECTION}.{NAME}" if has_prefix else NAME

    def _write(self, servers: dict[str, Any], what: str) -> None:
        """Writes the file with other servers.

        Args:
            what: what the user must do if the file cannot be written without a loss.

        Raises:
            BadConfig: it has comments.
            OSError: it cannot be written.
        """
        if plain_json(self._text) != self._text:
            raise BadConfig(HAS_COMMENTS.format(what=what))
        holder, key = self._place()
        holder[key] = servers
        indent = _INDENT.search(self._text)
        text = json.dumps(self._data, ensure_ascii=False, indent=indent[1] if indent else 2)
        if not self._path.exists():  # it may get secrets
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            os.close(os.open(self._path, os.O_CREAT | os.O_WRONLY, 0o600))
        replace_file(self._path, f"{text}\n".encode("utf-8", "surrogatepass"))
        self.servers = servers
