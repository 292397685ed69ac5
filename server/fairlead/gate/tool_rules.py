"""Rules of the settings for calls of tool servers, such as `github__get_*` and `db__query(sql=SELECT *)`."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

SEPARATOR = "__"
"""Between the names of a server and its tool. The name of a server does not contain it."""
_RULE = re.compile(r"(?P<server>.+?)__(?P<tool>[^()]+)(?:\((?P<arguments>.*)\))?", re.DOTALL)
_ARGUMENT = re.compile(r"\s*([^=,()]+?)\s*=\s*(.*?)\s*")


@dataclass(frozen=True, slots=True)
class ToolRule:
    """Matches calls. `*` in it stands for any characters."""

    text: str
    server: str
    tool: str
    arguments: Sequence[tuple[str, str]] = ()
    """Names with patterns of values, of which all must match. Texts are compared as they are, other values as JSON."""

    @classmethod
    def parse(cls, text: str) -> "ToolRule":
        """Parses `server__tool` or `server__tool(name=pattern, name=pattern)`.

        Raises:
            ValueError: the text is something else.
        """
        found = _RULE.fullmatch(text.strip())
        parts = found["arguments"].split(", ") if found and found["arguments"] else []
        arguments = [_ARGUMENT.fullmatch(part) for part in parts]
        if found is None or None in arguments:
            raise ValueError("Write server__tool, with * for any characters, or server__tool(argument=pattern).")
        given = [(each[1], each[2]) for each in arguments if each]
        return cls(text.strip(), found["server"].strip(), found["tool"].strip(), given)

    @property
    def is_exact(self) -> bool:
        """Whether it names one tool."""
        return "*" not in self.server + self.tool

    def matches(self, server: str, tool: str, arguments: Mapping[str, Any]) -> bool:
        return (
            _fits(self.server, server)
            and _fits(self.tool, tool)
            and all(name in arguments and _fits(pattern, _text(arguments[name])) for name, pattern in self.arguments)
        )


def rule_for(server: str, tool: str) -> str:
    """The rule for one tool, in which its name has no pattern."""
    return f"{server}{SEPARATOR}{tool}"


@dataclass(frozen=True, slots=True)
class ToolPolicy:
    """What the user's settings say about calls of tool servers."""

    allow: Sequence[ToolRule] = ()
    deny: Sequence[ToolRule] = ()
    always_asks: bool = False
    """Whether calls without effects outside of the sandbox ask too."""


def _fits(pattern: str, text: str) -> bool:
    # only `*` is special
    return fnmatchcase(text, re.sub(r"[?\[]", lambda found: f"[{found[0]}]", pattern))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
