"""What a running command wrote that need not be read again, because it is as it was when it was last collected."""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from fairlead.shell.layer import Entry
from fairlead.shell.sandbox.layer.lower_layer import FileStatus, file_status

Basis = Entry | FileStatus | None
"""What a file was compared with: the entry of the view (None: no file), or the status of the user's file."""

_CLOCK = 5
"""CLOCK_REALTIME_COARSE, which the kernel takes the times of files from. Python has no name for it."""


@dataclass(frozen=True, slots=True)
class _Settled:
    status: FileStatus
    basis: Basis
    stays: bool


@dataclass
class SettledFiles:
    """The files of a layer that did not differ from the command's view when they were read.

    A file with the same status as then has the same content. This holds only if it was read after the tick of the
    clock in which it was changed, because a second change in this tick has the same time. So a file that was changed
    in the current tick is read again the next time, as Git does. A write through a memory map is the exception: its
    time is that of the first one.
    """

    _known: dict[str, _Settled] = field(default_factory=dict[str, _Settled])
    _found: dict[str, _Settled] = field(default_factory=dict[str, _Settled])
    """Those of the current search."""
    _began: int = 0
    """When the current search began, by the file system's clock, in ns."""

    def begin(self) -> None:
        """Begins a search. What the last one did not find is forgotten."""
        self._known, self._found = self._found, {}
        self._began = time.clock_gettime_ns(_CLOCK)

    def find(self, path: str, found: os.stat_result, basis_of: Callable[[str], Basis]) -> bool | None:
        """Whether later commands see something at a path, if it is unchanged; None if it must be read.

        Args:
            found: its status now.
            basis_of: returns what a file would be compared with now.
        """
        known = self._known.get(path)
        if known is None or known.status != file_status(found) or known.basis != basis_of(path):
            return None
        self._found[path] = known
        return known.stays

    def add(self, path: str, found: os.stat_result, basis: Basis, *, stays: bool) -> None:
        """Notes that a file does not differ from its basis.

        Args:
            found: its status before it was read.
            stays: whether later commands see something at the path.
        """
        changed = [found.st_ctime_ns, *(basis[3:] if isinstance(basis, tuple) else ())]
        if max(changed) < self._began:
            self._found[path] = _Settled(file_status(found), basis, stays)
