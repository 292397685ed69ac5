"""Which files a boundary looks at (docs/plan.md L6): as many of a thousand files as of a hundred."""

import os
from collections.abc import Callable, Collection, Iterable
from itertools import chain, cycle, islice
from pathlib import Path
from typing import Generic, TypeVar

AT_ONCE = 20

K = TypeVar("K")


class Looks(Generic[K]):
    """Chooses files that may have changed: those that were reported, and some of the others in turn.

    Each change is noticed, because each file has its turn. One that nobody reports, on a drive that cannot be watched,
    is noticed some rounds later.
    """

    def __init__(self, key: Callable[[Path], K]) -> None:
        """`key` returns what a file is known by."""
        self._key = key
        self._reported: dict[Path, None] = {}
        self._next = 0
        self._all = False

    def report(self, paths: Iterable[Path] | None) -> None:
        """The next look includes these files; None: all."""
        if paths is None:
            self._all = True
        else:
            self._reported.update(dict.fromkeys(paths))

    def take(self, known: Collection[K], open_paths: Iterable[Path]) -> list[K]:
        """The files to look at now.

        Args:
            known: all files; can be asked quickly whether it contains one.
            open_paths: the open documents, which are always looked at.
        """
        reported, self._reported = self._reported, {}
        everything, self._all = self._all, False
        if everything or len(known) <= AT_ONCE:
            return list(known)
        turn = islice(cycle(known), self._next, self._next + AT_ONCE)
        self._next = (self._next + AT_ONCE) % len(known)
        named = (*reported, *open_paths)
        keys = map(self._key, (*named, *map(_real, named)))
        return list(dict.fromkeys(chain(turn, (key for key in keys if key in known))))


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))
