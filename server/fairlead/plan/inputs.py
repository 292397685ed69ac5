"""What a verification read: the changes that can change its result (docs/plan.md P21). Pure values."""

import base64
import binascii
import json
import posixpath  # only Linux records what commands read
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

FOLDER, PRESENT = "folder", "present"
"""In `Inputs.others`: there was a folder, or a file whose content does not count."""


@dataclass(frozen=True, eq=False)
class Inputs:
    """What a verification read. All paths are absolute and without links."""

    files: frozenset[str] = frozenset()
    """The files of the workspace that it opened, executed or asked about."""
    absent: frozenset[str] = frozenset()
    """The names in the workspace that it asked for, and that did not exist."""
    listed: Mapping[str, frozenset[str] | None] = field(default_factory=dict[str, frozenset[str] | None])
    """The folders of the workspace that it listed, with the suffixes of the names that count there. None: all names."""
    others: Mapping[str, str] = field(default_factory=dict[str, str])
    """What it read besides, by path, each with its state then (`session/evidence/other_inputs.py`).

    For example, files that Git ignores, links, installed packages and programs.
    """

    def depends_on(self, path: str, *, appeared: bool, vanished: bool, stays: Callable[[str], bool]) -> bool:
        """Whether a change of a file of the workspace can change the result.

        Args:
            path: the file.
            appeared: whether the file did not exist then.
            vanished: whether it does not exist now.
            stays: returns whether a folder existed then and exists now.
        """
        if path in self.files or self.others.get(path, PRESENT) != PRESENT:
            return True
        if path in self.others:
            return appeared or vanished
        if not appeared and not vanished:
            return False
        if appeared and any(name in self.absent for name in _with_parents(path)):
            return True
        if vanished and any(self.others.get(folder) == FOLDER and not stays(folder) for folder in _with_parents(path)):
            return True
        below = path
        for folder in _with_parents(posixpath.dirname(path)):
            if folder in self.listed:
                suffixes = self.listed[folder]
                counts = suffixes is None or suffix_of(path) in suffixes
                if counts and (below == path or not stays(below)):
                    return True
            below = folder
        return False

    def reads(self, path: str) -> bool:
        """Whether the command has noticed a file of the workspace, or its absence."""
        return self.depends_on(path, appeared=True, vanished=True, stays=lambda _: True)

    @cached_property
    def packed(self) -> str:
        """The inputs as a short text, which `unpack` reads."""
        listed = {folder: suffixes and sorted(suffixes) for folder, suffixes in self.listed.items()}
        text = json.dumps([sorted(self.files), sorted(self.absent), listed, dict(self.others)])
        return base64.b64encode(zlib.compress(text.encode(), 6)).decode()


def unpack(packed: str) -> Inputs:
    """The inverse of `Inputs.packed`. Raises ValueError for any other text."""
    try:
        files, absent, listed, others = json.loads(zlib.decompress(base64.b64decode(packed)))
        suffixes = {folder: None if each is None else frozenset(each) for folder, each in listed.items()}
        return Inputs(frozenset(files), frozenset(absent), suffixes, dict(others))
    except (binascii.Error, zlib.error, TypeError, AttributeError) as error:
        raise ValueError(f"damaged: {error}") from error


def suffix_of(path: str) -> str:
    """What tells the kind of a file, such as `.py`. Empty if its name has none."""
    return posixpath.splitext(path)[1]


def _with_parents(path: str) -> Iterator[str]:
    """A path, and the folders above it, the nearest first."""
    while True:
        yield path
        parent = posixpath.dirname(path)
        if parent == path:
            return
        path = parent
