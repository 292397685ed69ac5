"""What a running command wrote that need not be read again, because it is as it was when it was last collected."""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from fairlead.shell.layer import Entry
from fairlead.shell.sandbox.layer.lower_layer import FileStatus, file_status

Basis = Entry | FileStatus | Literal["ignored"] | None
"""What a file was compared with: the entry of the view (None: no file), or the status of the user's file.

`ignored`: with nothing, because it is in a folder that git ignores.
"""

_CLOCK = 5
"""CLOCK_REALTIME_COARSE, which the kernel takes the times of files from. Python has no name for it."""


@dataclass(frozen=True, slots=True)
class Settled:
    """What is known about a file."""

    status: FileStatus
    basis: Basis
    stays: bool
    """Whether later commands see something at its path."""
    has_changed: bool
    """Whether it is an ignored file of the user that the command changed."""


@dataclass
class SettledFiles:
    """The files of a layer that did not differ from the command's view when they were read.

    A file with the same status as then has the same content. This holds only if it was read after the tick of the
    clock in which it was changed, because a second change in this tick has the same time. So a file that was changed
    in the current tick is read again the next time, as Git does. A write through a memory map is the exception: its
    time is that of the first one.
    """

    _known: dict[str, Settled] = field(default_factory=dict[str, Settled])
    _found: dict[str, Settled] = field(default_factory=dict[str, Settled])
    """Those of the current search."""
    _began: int = 0
    """When the current search began, by the file system's clock, in ns."""

    def begin(self) -> None:
        """Begins a search. What the last one did not find is forgotten."""
        self._known, self._found = self._found, {}
        self._began = time.clock_gettime_ns(_CLOCK)

    def find(self, path: str, found: os.stat_result, basis_of: Callable[[], Basis]) -> Settled | None:
        """What is known about a file, if it is unchanged; None if it must be read.

        Args:
            found: its status now.
            basis_of: returns what it would be compared with now.
        """
        known = self._known.get(path)
        if known is None or known.status != file_status(found) or known.basis != basis_of():
            return None
        self._found[path] = known
        return known

    def add(
        self, path: str, found: os.stat_result, basis: Basis, *, stays: bool = True, has_changed: bool = False
    ) -> None:
        """Notes that a file does not differ from its basis.

        Args:
            found: its status before it was read.
            stays, has_changed: see `Settled`.
        """
        changed = [found.st_ctime_ns, *(basis[3:] if isinstance(basis, tuple) else ())]
        if max(changed) < self._began:
            self._found[path] = Settled(file_status(found), basis, stays, has_changed)
