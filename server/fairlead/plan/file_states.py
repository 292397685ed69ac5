"""The contents of files at different times, as digests, to tell whether a verification still holds. Pure values."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace


@dataclass(frozen=True)
class FileStates:
    """The states of the files that a session knows, numbered from 0. Each is stored as changes to the one before."""

    first: Mapping[str, str] = field(default_factory=dict[str, str])
    """The digest of each file when the session first saw it, by path. It is assumed for all earlier states too."""
    changes: tuple[Mapping[str, str], ...] = ()
    """For each state, the digests that differ from the state before, by path. For state 0, from `first`."""
    cut: int = 0
    """After the states below this number, more files have changed than are known."""

    def with_first(self, path: str, digest: str) -> "FileStates":
        """The states with one more file, unless it is known already."""
        return self if path in self.first else replace(self, first={**self.first, path: digest})

    def with_earlier(self, path: str, digest: str, until: int) -> "FileStates":
        """The states in which a known file had another digest in all states before number `until`."""
        now = dict(self.at(until))[path]
        changes = [{name: each for name, each in changed.items() if name != path} for changed in self.changes[:until]]
        if until < len(self.changes):
            changes.append({**self.changes[until], path: now})
        changed = (*changes, *self.changes[until + 1 :])
        return replace(self, first={**self.first, path: digest}, changes=changed)

    def with_state(self, now: Mapping[str, str]) -> "FileStates":
        """The states with a further one, in which the files have these digests."""
        before = dict(self.at(len(self.changes) - 1))
        changed = {path: digest for path, digest in now.items() if before.get(path) != digest}
        return replace(self, changes=(*self.changes, changed))

    def at(self, state: int) -> Iterator[tuple[str, str]]:
        """The paths and digests of the known files in a state. A path may occur again; its last digest counts."""
        yield from self.first.items()
        for changed in self.changes[: state + 1]:
            yield from changed.items()

    def changed_between(self, first: int, last: int) -> tuple[str, ...]:
        """The paths whose digests differ between two states."""
        return self.changed_since(first, dict(self.at(last)))

    def changed_since(self, state: int, now: Mapping[str, str]) -> tuple[str, ...]:
        """The paths in `now` whose digests differ from those in a state, or that the state does not have."""
        before = dict(self.at(state))
        return tuple(path for path, digest in now.items() if before.get(path) != digest)
