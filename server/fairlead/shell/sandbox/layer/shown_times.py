"""The modification times that commands see, where they differ from those on disk.

Builds and caches compare times. make, ninja and cargo build a file again if a source has a later time; Python and mypy
compile it again if the size or the whole second of a source differs. What earlier commands built stays in the layer
(`upper_layer.py`). So a file whose content differs from what an earlier command saw gets a new time, as if it had been
edited in place.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from os import stat_result
from typing import Literal

from fairlead.shell.sandbox.layer.lower_layer import FileStatus

HasOutputSince = Callable[[int], bool]
"""Whether a command wrote something that stays in the layer at a moment or later, in ns."""

_SECOND = 1_000_000_000  # ns
_ABSENT: Literal[b""] = b""
_UNKNOWN: Literal[b"?"] = b"?"


@dataclass(frozen=True, slots=True)
class _Shown:
    """What commands last saw at a path."""

    identity: bytes
    """A digest of the content and the permissions; `_ABSENT` or `_UNKNOWN`."""
    time: int
    """The modification time, in ns."""
    in_second: frozenset[tuple[int, bytes]] | None = frozenset()
    """The sizes in bytes and the identities of all that was seen in the second of `time`.

    None if a command changed the file. It may have built something from any content before it left this one.
    """


@dataclass
class ShownTimes:
    """The times of the files that a command changed, or that differed from the disk. Paths are those of the layer."""

    _shown: dict[str, _Shown] = field(default_factory=dict[str, _Shown])
    _valid_from: int = 0
    """Earlier times do not count: something that was built elsewhere has appeared since."""
    _last_end: int = 0
    """When the last command ended, so that everything that stays in the layer is older. In ns."""

    def copy(self) -> "ShownTimes":
        """An independent copy."""
        return replace(self, _shown=dict(self._shown))

    def paths(self) -> Sequence[str]:
        """All paths that have a time."""
        return list(self._shown)

    def forget(self, path: str) -> None:
        """Commands see the time on disk from now on."""
        del self._shown[path]

    def renew(self) -> None:
        """Gives each file a new time when it is shown next."""
        self._valid_from = time.time_ns()

    def show(
        self, path: str, data: bytes, mode: int, replaced: stat_result | None, has_output_since: HasOutputSince
    ) -> int:
        """The time at which a command sees a file, in ns; not in the future, unless the user's file is.

        The same content keeps its time, so that builds stay warm. May sleep for up to a second: different contents of
        the same size never have times in the same second, nor has any content one in which a command changed the file,
        unless nothing that was built in this second stays. The user may also have built something from what is on disk.

        Args:
            mode: the permission bits.
            replaced: the user's file at the path, unless it has the same content.
        """
        known, identity, size = self._shown.get(path), _identity(data, mode), len(data)
        is_settled = known is not None and known.in_second is not None and known.time >= self._valid_from
        if known is not None and known.identity == identity and is_settled:
            return known.time
        on_disk = 0 if replaced is None else replaced.st_mtime_ns
        now, last, others = time.time_ns(), 0, frozenset[tuple[int, bytes]]()
        if known is not None:
            last, others = known.time, known.in_second
        new = max(now, last + 1, on_disk + 1)
        second = last // _SECOND
        differs = others is None or any(size == each[0] and identity != each[1] for each in others)
        if differs and second >= new // _SECOND and has_output_since(second * _SECOND):
            new = (second + 1) * _SECOND
        if on_disk // _SECOND >= new // _SECOND:
            new = (on_disk // _SECOND + 1) * _SECOND
        if 0 < new - now <= _SECOND:  # otherwise make warns of a skewed clock
            time.sleep((new - now) / _SECOND)
        earlier = known.in_second if known is not None and known.time // _SECOND == new // _SECOND else None
        self._shown[path] = _Shown(identity, new, (earlier or frozenset()) | {(size, identity)})
        return new

    def hide(self, path: str) -> None:
        """Notes that a command sees no file at a path."""
        known = self._shown.get(path, _Shown(_ABSENT, 0))
        self._shown[path] = replace(known, identity=_ABSENT)

    def is_late_enough(self, path: str, lower: stat_result) -> bool:
        """Whether commands can see the time on disk of a path that has a time here, whatever it contains."""
        found = lower.st_mtime_ns
        return found > self._last_end and found // _SECOND > self._shown[path].time // _SECOND

    def note_changed(self, path: str, content: tuple[bytes, int] | None) -> None:
        """Notes that a command changed or deleted a file, even if it restored it, or if the change is not proposed.

        Args:
            content: the bytes and permission bits that it left; None if it left no file, or if they are unknown.
        """
        identity = _UNKNOWN if content is None else _identity(*content)
        at = max(time.time_ns(), self._shown[path].time if path in self._shown else 0)
        self._shown[path] = _Shown(identity, at, in_second=None)

    def note_replaced(self, path: str, before: FileStatus | None, now: FileStatus) -> bool:
        """Notes that the user changed or created a file. Returns whether that alone gives it a new time.

        Args:
            before: its status when commands last saw it; None if it did not exist.
            now: its status now.
        """
        known = self._shown.get(path)
        if known is not None:  # the user may have built something from another content in the second of its time
            self._shown[path] = replace(known, identity=_UNKNOWN)
            return False
        _, size, last, _ = before or (0, 0, 0, 0)
        at = now[2]
        if at > self._last_end and at // _SECOND > last // _SECOND:
            return False
        self._shown[path] = _Shown(_UNKNOWN, last, frozenset({(size, _UNKNOWN)}))
        return True

    def note_end(self) -> None:
        """Notes that a command whose outputs stay has ended."""
        self._last_end = time.time_ns()


def _identity(data: bytes, mode: int) -> bytes:
    return blake2b(data, key=mode.to_bytes(4)).digest()
