"""Recognizes commands that failed because the sandbox does not pass a variable of the user's environment."""

import os
import re
from collections.abc import Mapping

from fairlead.shell.environment import named_variables

# names in messages; shorter names and those with small letters are also words
_NAME = re.compile(r"(?<![A-Za-z0-9_])[A-Z][A-Z0-9_]{2,}(?![A-Za-z0-9_])")
# what they name is not in a box: the desktop, the editor, the login. A shell sets the last ones itself
_USELESS = re.compile(r"(?:DBUS|SSH|VSCODE|WAYLAND|XDG)_.*|DISPLAY|XAUTHORITY|OLDPWD|PWD|SHLVL")
_MAX_NAMED = 5


class MissingVariables:
    """Names each variable once per session. Never names a secret, and never shows a value.

    `environment` is the user's.
    """

    def __init__(self, environment: Mapping[str, str] = os.environ) -> None:
        self._environment = environment
        self._named: set[str] = set()

    def hint(self, output: str, passed: Mapping[str, str]) -> str:
        """A sentence for the model if the output of a failed sandboxed command names such variables, else empty.

        Args:
            passed: the variables that the command had.
        """
        lacking = self._environment.keys() - passed.keys() - self._named
        missing = [name for name in dict.fromkeys(_NAME.findall(output)) if name in lacking]
        not_secret, _ = named_variables(self._environment, missing)
        names = [name for name in missing if name in not_secret and not _USELESS.fullmatch(name)][:_MAX_NAMED]
        self._named.update(names)
        if not names:
            return ""
        named, it = ", ".join(names), "it" if len(names) == 1 else "them"
        return (
            f"The user's environment has {named}, but sandboxed commands do not get {it}. If the command needs {it}, "
            f"set {it} in the command, or ask the user to add {it} to the setting bash.passVariables "
            "(`--pass-variable` of `fairlead run`)."
        )
