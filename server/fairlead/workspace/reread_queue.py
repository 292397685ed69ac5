"""Chooses the files that are read again between two rounds (docs/plan.md L6), so that the work stays bounded."""

from collections.abc import Callable, Collection, Iterable
from itertools import chain, cycle, islice
from pathlib import Path
from typing import Generic, TypeVar

from fairlead.workspace.paths import real_path

AT_ONCE = 20  # the number of files that each `take` chooses in turn, in addition to reported and open ones

K = TypeVar("K")


class RereadQueue(Generic[K]):
    """Chooses the files that were reported as changed, and some of the others in turn.

    So every change is noticed. An unreported one, such as on a drive that cannot be watched, is noticed some rounds
    later.
    """

    def __init__(self, key: Callable[[Path], K]) -> None:
        """`key` converts a path to the key by which `take` identifies the file."""
        self._key = key
        self._reported: dict[Path, None] = {}
        self._next = 0
        self._all = False

    def report(self, paths: Iterable[Path] | None) -> None:
        """Adds files to what `take` returns next; None: all."""
        if paths is None:
            self._all = True
        else:
            self._reported.update(dict.fromkeys(paths))

    def take(self, known: Collection[K], open_paths: Iterable[Path]) -> list[K]:
        """The files to read now: all of them if they are few.

        Args:
            known: all files, with a fast membership test. Only these are returned.
            open_paths: the open documents. Those that are known are always included.
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
    return real_path(path)
