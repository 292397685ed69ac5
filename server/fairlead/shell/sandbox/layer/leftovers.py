"""Finds the ignored files that earlier commands left in a layer and that may decide what a later command does.

Nobody reviews these files, and nobody else has them. A verification that passed with them is repeated without them. So
what is left out here costs nothing but time if it is harmless; what is trusted here is never questioned.

The content is hostile: no link is followed.
"""

import contextlib
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

from fairlead.shell.layer import Entry
from fairlead.shell.sandbox.layer import trees
from fairlead.shell.sandbox.layer.ignored import is_environment
from fairlead.shell.sandbox.layer.upper_layer import UpperLayer

MAX_FOUND = 20
_MAX_VISITED = 50_000  # files and folders; what is not visited is not trusted
_HEAD = 16  # bytes
# how linked programs begin: ELF, PE, and Mach-O for one or several processors. Other files may be data for a test
_PROGRAMS = (b"\x7fELF", b"MZ", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe")

# folders and files in which tools store only what they check before they use it, or read only for a report
_CACHES = frozenset((".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis", ".gradle", ".cache", ".coverage"))
_CARGO_MARK = ".rustc_info.json"
# what linkers and builds read again only by name, after comparing it with its sources
_OUTPUTS = frozenset((".o", ".obj", ".a", ".lo", ".d", ".dwo", ".rlib", ".rmeta", ".gcda", ".gcno", ".pdb", ".ilk"))
# binary files that programs load because they find them
_LOADED = frozenset((".so", ".pyd", ".dylib", ".dll", ".node", ".jar", ".class", ".zip", ".whl", ".egg", ".wasm"))
_PYC_UNCHECKED = 0b01  # the flags of a .pyc that is used without comparing it with its source (PEP 552)


def find_leftovers(upper: UpperLayer, proposed: Mapping[str, Entry | None]) -> list[str]:
    """The paths of the ignored files and folders of a layer that may decide what a command does, at most `MAX_FOUND`.

    These are not the compiled outputs and caches that tools check against their sources.

    Args:
        proposed: the proposed files that the command sees.
    """
    search = _Search(upper, proposed)
    found: list[str] = []
    with contextlib.suppress(OSError), trees.opened(upper.folder) as top:
        for path in sorted(upper.retained):
            folder, _, name = path.rpartition("/")
            with contextlib.suppress(FileNotFoundError, NotADirectoryError), trees.opened_below(top, folder) as at:
                for each in search.below(at, name, path):
                    found.append(each)
                    if len(found) == MAX_FOUND:
                        return found
    return found


class _Search:
    def __init__(self, upper: UpperLayer, proposed: Mapping[str, Entry | None]) -> None:
        self._upper, self._proposed = upper, proposed
        self._visited = 0

    def below(self, at: int, name: str, path: str) -> Iterator[str]:
        """The untrusted files at and below a path. `at` is a descriptor of its folder."""
        self._visited += 1
        found = os.stat(name, dir_fd=at, follow_symlinks=False)
        if name in _CACHES and not stat.S_ISLNK(found.st_mode):
            return
        if not stat.S_ISDIR(found.st_mode):
            if self._visited > _MAX_VISITED or not self._is_trusted_file(at, name, path, found):
                yield path
            return
        with trees.opened(name, at) as inner:
            names = sorted(os.listdir(inner))
            if name == "target" and _CARGO_MARK in names:
                return
            is_installed = name == "node_modules" and any(each not in _CACHES for each in names)
            if is_installed or is_environment(inner) or self._visited > _MAX_VISITED:
                yield path
                return
            for each in names:
                yield from self.below(inner, each, f"{path}/{each}")

    def _is_trusted_file(self, at: int, name: str, path: str, found: os.stat_result) -> bool:
        if not stat.S_ISREG(found.st_mode):  # a link, or the mark of a deleted file
            return False
        suffix = PurePosixPath(name).suffix
        if suffix in _OUTPUTS:
            return True
        if suffix in _LOADED or ".so." in name:
            return False
        with trees.open_regular_file(name, at) as file:
            head = file.read(_HEAD)
        if suffix == ".pyc":
            return len(head) >= 8 and head[4] & 0b11 != _PYC_UNCHECKED and self._has_source(path)
        return head.startswith(_PROGRAMS)

    def _has_source(self, path: str) -> bool:
        """Whether there is the source of a `.pyc`, so that Python compares both."""
        compiled = PurePosixPath(path)
        folder = compiled.parent.parent if compiled.parent.name == "__pycache__" else compiled.parent
        source = str(folder / f"{compiled.name.split('.')[0]}.py")
        if source in self._proposed:
            return self._proposed[source] is not None
        return self._upper.lower.status(source) is not None
