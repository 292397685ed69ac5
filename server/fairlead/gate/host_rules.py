"""Rules of the settings for hosts of the web, such as `docs.python.org`, `*.example.com` and `localhost:3000`."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

_RULE = re.compile(r"(\*|(?:\*\.)?[a-z0-9_-]+(?:\.[a-z0-9_-]+)*|\[[0-9a-f:.]+\])(:[0-9]{1,5})?")


@dataclass(frozen=True, slots=True)
class HostRule:
    """Matches hosts."""

    text: str
    host: str
    """A name or an address; `*.` before it: its sub-domains, without itself; `*`: every host."""
    port: str
    """As in `:8080`; empty: the usual ones."""

    @classmethod
    def parse(cls, text: str) -> "HostRule":
        """Parses `host`, `host:port`, `*.host` or `*`.

        Raises:
            ValueError: the text is something else.
        """
        found = _RULE.fullmatch(text.strip().lower())
        if found is None:
            raise ValueError("Write a host such as example.com, *.example.com for its sub-domains, or localhost:3000.")
        return cls(found[0], found[1], found[2] or "")

    @property
    def is_exact(self) -> bool:
        """Whether it names one host."""
        return "*" not in self.host

    def matches(self, name: str) -> bool:
        """Whether it is about a host.

        Args:
            name: in lower case, with the port if it is unusual. An IPv6 address is in brackets.
        """
        host, port = (name, "") if name.endswith("]") or ":" not in name else _split(name)
        if self.host == "*":
            return self.port in ("", port)
        if port != self.port:
            return False
        return host.endswith(self.host[1:]) if self.host.startswith("*.") else host == self.host


def _split(name: str) -> tuple[str, str]:
    host, colon, port = name.rpartition(":")
    return host, colon + port


@dataclass(frozen=True, slots=True)
class HostPolicy:
    """What the user's settings say about hosts of the web."""

    allow: Sequence[HostRule] = ()
    deny: Sequence[HostRule] = ()
