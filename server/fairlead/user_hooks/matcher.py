"""Matchers: regular expressions over the whole name of a tool. Those that could take long are refused."""

import re
import warnings
from functools import lru_cache

from fairlead.workspace.pattern_limits import MAX_LENGTH, MAX_STARS

_ALL = ("", "*")
_TOKEN = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?[^)]|[()*+?]|\{[^}]*\}|.", re.DOTALL)
_NAMED_GROUP = "(?P"
MAX_ALTERNATIVES = 100


def check_matcher(matcher: str) -> None:
    """Raises ValueError if a matcher is not valid, or if comparing it with a name could take long.

    The time grows with the names' length to the power of the numbers of repetitions and groups, and without a limit if
    a group is repeated or a part of the name is referred to.
    """
    if matcher in _ALL:
        return
    if len(matcher) > MAX_LENGTH:
        raise ValueError(f"it is longer than {MAX_LENGTH} characters")
    before, count = "", 0
    for token in _TOKEN.findall(matcher):
        is_repetition = token in ("*", "+", "?") or (token.startswith("{") and token.endswith("}"))
        if is_repetition and before == ")":
            raise ValueError("a repeated group could take long to match")
        if (token[:1] == "\\" and token[1:2].isdigit()) or token == _NAMED_GROUP:
            raise ValueError("a reference to a group could take long to match")
        count += is_repetition or token.startswith("(")
        before = token
    if count > MAX_STARS:
        raise ValueError(f"more than {MAX_STARS} repetitions and groups could take long to match")
    if count and matcher.count("|") > MAX_ALTERNATIVES:
        raise ValueError(f"more than {MAX_ALTERNATIVES} alternatives could take long to match")
    try:
        _compiled(matcher)
    except (re.error, RecursionError, OverflowError) as error:
        raise ValueError(f"it is no regular expression: {error}") from error


def matches(matcher: str, name: str) -> bool:
    """Whether a checked matcher matches the whole name."""
    return matcher in _ALL or _compiled(matcher).fullmatch(name) is not None


@lru_cache(maxsize=256)
def _compiled(matcher: str) -> re.Pattern[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # about sets in sets, which would appear in the log
        return re.compile(matcher)
