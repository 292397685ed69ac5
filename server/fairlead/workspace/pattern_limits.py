"""Limits for patterns that the user or the model writes in the format of `.gitignore`."""

import re

MAX_LENGTH = 500  # characters
MAX_STARS = 4  # the time to match grows as the length of the name to the power of the number of stars


def check_pattern(pattern: str) -> None:
    """Raises ValueError if matching the pattern could take long; the message says why."""
    if len(pattern) > MAX_LENGTH:
        raise ValueError("it is too long")
    if any(len(re.findall(r"\*+", part)) > MAX_STARS for part in pattern.split("/")):
        raise ValueError(f"more than {MAX_STARS} stars in one part take too long to match")
    if pattern.count("**") > MAX_STARS:
        raise ValueError(f"more than {MAX_STARS} double stars take too long to match")
