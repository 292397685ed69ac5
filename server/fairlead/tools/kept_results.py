"""The texts that are no files of the workspace, and that the model reads with `read_file` all the same.

These are the whole results that were too long for the model, and the files of the user's own skills.
"""

from collections import OrderedDict
from collections.abc import Awaitable, Callable

from fairlead.display import count_of

PREFIX = "tool-result:"
MAX_KEPT_CHARS = 20_000_000
"""In all. The oldest are forgotten first."""


async def no_other(path: str) -> str | None:
    """There is no other text."""
    return None


class KeptResults:
    """The kept results of one session, by the paths under which `read_file` finds them.

    Args:
        read_other: reads any other text by its path; it returns None for a path that it does not know.
    """

    def __init__(self, read_other: Callable[[str], Awaitable[str | None]] = no_other) -> None:
        self.read_other = read_other
        self._texts = OrderedDict[str, str]()
        self._count = 0

    def keep(self, text: str) -> str:
        """Keeps a text. Returns its path."""
        self._count += 1
        path = f"{PREFIX}{self._count}"
        self._texts[path] = text
        while len(self._texts) > 1 and sum(map(len, self._texts.values())) > MAX_KEPT_CHARS:
            self._texts.popitem(last=False)
        return path

    def shortened(self, text: str, limit: int) -> str:
        """A text of at most `limit` characters as it is, else its beginning, with the path of the whole text."""
        if len(text) <= limit:
            return text
        path, omitted = self.keep(text), count_of(len(text) - limit, "character")
        return f"{text[:limit]}\n({omitted} more: read_file reads the whole text at the path {path}.)"

    def get(self, path: str) -> str | None:
        """The text at a path; None if there is none."""
        return self._texts.get(path.strip())
