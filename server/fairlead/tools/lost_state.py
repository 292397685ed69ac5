"""Recognizes commands that only change the state of their shell, which ends with them."""

import re

_SEPARATOR = re.compile(r"&&|;|\n")
# the arguments have no characters that could begin another command
_CHANGE = re.compile(
    r"(?:(?:cd|pushd|popd|export|unset|alias|(?:source|\.) \S*activate|conda activate|nvm use)(?:\s[^&|`()<>#]*)?"
    r"|[A-Za-z_]\w*=[^\s&|`()<>#]*)"
)
LOST = (
    "(This does not last until the next command: each has a shell of its own. Put both into one, as in `cd a && make`.)"
)


def lost_state_hint(command: str) -> str:
    """A sentence for the model if a command does nothing but change its shell's folder or variables, else empty."""
    parts = [part.strip() for part in _SEPARATOR.split(command)]
    return LOST if all(_CHANGE.fullmatch(part) for part in parts if part) else ""
