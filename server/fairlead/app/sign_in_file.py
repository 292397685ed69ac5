"""The sign-ins to tool servers of the terminal and of editors over ACP, in a file that only the user can read."""

import json
import os
from pathlib import Path
from typing import Any

from fairlead.json_values import fields_of

SIGN_INS = "sign-ins.json"
"""The name of the file in the folder of the terminal's sessions."""
ONLY_USER = 0o600


class SignInFile:
    """The file. If two processes change it at the same time, one of the sign-ins may be lost.

    Args:
        path: may not exist yet.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> dict[str, str]:
        """The sign-ins by their keys; none if the file is missing or damaged."""
        try:
            found: dict[str, Any] = fields_of(json.loads(self._path.read_text("utf-8")))
        except (OSError, ValueError, RecursionError):
            return {}
        return {key: text for key, text in found.items() if isinstance(text, str)}

    def change(self, key: str, value: str | None) -> None:
        """Saves a sign-in; None removes it.

        Raises:
            OSError: the file cannot be written.
        """
        found = {name: text for name, text in self.read().items() if name != key}
        if value is not None:
            found[key] = value
        self._path.parent.mkdir(parents=True, exist_ok=True)
        temporary = self._path.with_name(f".{self._path.name}.{os.getpid()}.tmp")
        try:
            with open(
                os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, ONLY_USER), "w", encoding="utf-8"
            ) as file:
                json.dump(found, file)
            temporary.replace(self._path)
        finally:
            temporary.unlink(missing_ok=True)
