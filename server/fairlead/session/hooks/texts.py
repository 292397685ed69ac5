"""What the model reads of hooks."""

from collections.abc import Sequence

from fairlead.tool_servers.results import tagged

REFUSED = "Not run: a hook of the user refused this call. Do not try to get around it.\n{said}"
CHANGED = "A hook of the user changed the input of this call. It ran with: {given}"
CHANGED_FILES = "Then a hook of the user changed {names}. Read what you need again before you edit it."
BLOCKED_PROMPT = "<hook>A hook of the user blocked their message, so you do not see it.</hook>"
STOP = "A hook of the user wants you to continue before you end your turn:\n{said}"


_MAX_NAMED = 10


def changed_files(names: Sequence[str]) -> str:
    """Which files a hook has changed."""
    more = f" and {len(names) - _MAX_NAMED} more" if len(names) > _MAX_NAMED else ""
    return CHANGED_FILES.format(names=", ".join(names[:_MAX_NAMED]) + more)


def said(event: str, text: str) -> str:
    """A text of a hook, between tags that it cannot end."""
    return tagged("hook", text, event)
