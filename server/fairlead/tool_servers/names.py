"""The names under which the model sees the tools of servers, such as `github__create_issue`."""

import hashlib
import re
from collections.abc import Iterable

from fairlead.gate.tool_rules import SEPARATOR

MAX_NAME = 64
"""The shortest limit of the providers' APIs."""
_OTHER = re.compile(r"[^A-Za-z0-9_-]")
_DIGEST = 8


def tool_names(tools: Iterable[tuple[str, str]], taken: Iterable[str] = ()) -> dict[tuple[str, str], str]:
    """A unique name for each tool, given as (server, name). APIs accept each name.

    Characters that APIs do not accept become `_`. A name that is too long, or that another tool has, ends with a part
    of the digest of what it stands for, so that it is the same in each run.

    Args:
        taken: the names of other tools.
    """
    used, found = set(taken), dict[tuple[str, str], str]()
    for server, tool in tools:
        plain = f"{server}{SEPARATOR}{tool}"
        name = _OTHER.sub("_", plain)
        if len(name) > MAX_NAME or name in used:
            digest = hashlib.sha256(f"{server}\0{tool}".encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST]
            name = f"{name[: MAX_NAME - _DIGEST - 1]}_{digest}"
        used.add(name)
        found[server, tool] = name
    return found
