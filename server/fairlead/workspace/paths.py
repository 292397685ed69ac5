"""Resolves paths and refuses those outside of the workspace's folders (docs/plan.md L11, docs/faults.md 32 to 34).

With several folders, each path for the model and the user begins with the name of its folder, as in VS Code.
"""

import contextlib
import errno
import functools
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from fairlead.edits.bad_bytes import SHOWN_AS, as_shown
from fairlead.workspace.errors import WorkspaceError

MAX_NAME = 100  # characters of a folder's name
MAX_PATH = 40_000  # characters; Windows allows 32,767, Linux 4,096 bytes
_SEPARATORS = "/\\:"  # a colon ends the path in the results of a search


class PathEscape(WorkspaceError):
    """The path is outside of the workspace, or leads there through a symbolic link."""


def below(path: Path, root: Path) -> str | None:
    """`path` relative to `root`, "." for the root itself; None if `path` is neither the root nor below it.

    Ten times as fast as `Path.relative_to`, which matters because a command may change thousands of files.
    """
    name, prefix = str(path), _prefix(root)
    if name.startswith(prefix):
        return name[len(prefix) :]
    return str(path.relative_to(root)) if path.is_relative_to(root) else None


@functools.lru_cache
def _prefix(root: Path) -> str:
    """The beginning of all paths below a folder."""
    return os.path.join(root, "")


def check_length(given: str) -> None:
    """Checks that a path is not longer than any system allows, because looking up one of a megabyte takes minutes.

    Raises:
        WorkspaceError: it is.
    """
    if len(given) > MAX_PATH:
        raise WorkspaceError(f"The path is too long: {len(given):,} characters. Give a shorter one.")


def real_path(path: str | os.PathLike[str]) -> Path:
    """The path with symbolic links resolved, apart from those that the kernel does not follow.

    These form a loop, or a chain of more than 40 links, which `os.path.realpath` would follow for minutes.
    """
    try:
        os.stat(path)
    except OSError as error:
        if error.errno == errno.ELOOP:
            return _real_path_of_parent(Path(os.path.abspath(path)))
    return Path(os.path.realpath(path))


def _real_path_of_parent(path: Path) -> Path:
    for parent in path.parents:
        try:
            os.stat(parent)
        except OSError:
            continue
        return Path(os.path.realpath(parent)) / path.relative_to(parent)
    return path


class Root:
    """A folder of the workspace."""

    def __init__(self, path: Path, name: str = "") -> None:
        self.path = Path(os.path.normpath(path))
        """The path that the editor gave."""
        self.real = real_path(path)
        """The same path with symbolic links resolved."""
        self.name = name or self.path.name
        """The first part of the names of its files if `Roots.has_names`.

        Unique and without slashes if `Roots.with_folders` chose it.
        """
        self.prefix = os.path.join(self.path, "")
        """The beginning of the paths below it."""

    def contains(self, path: Path) -> bool:
        """Whether an absolute path is in this folder, or the folder itself."""
        return str(path).startswith(self.prefix) or path.is_relative_to(self.path)

    def __repr__(self) -> str:
        return f"Root({str(self.path)!r}, {self.name!r})"


class Roots:
    """The folders of the workspace, in the editor's order. A file in two of them belongs to the inner one.

    Names of files begin with the name of their folder if there are, or once were, several folders. So the names that
    the model knows stay valid when another folder is removed.
    """

    def __init__(self, *folders: Root, has_names: bool = False, former: Sequence[Root] = ()) -> None:
        self.folders = folders
        self.has_names = has_names or len(folders) > 1
        """Whether names of files begin with the name of their folder."""
        self.former = former
        """The folders that were removed. No other folder gets their names."""
        self._key = tuple((root.path, root.real, root.name) for root in folders), self.has_names
        self._innermost = sorted(folders, key=lambda root: len(root.prefix), reverse=True)
        real_prefixes = [(os.path.join(root.real, ""), root.prefix) for root in folders]
        self._real_prefixes = sorted(real_prefixes, key=lambda pair: len(pair[0]), reverse=True)

    @classmethod
    def of(cls, *paths: Path) -> "Roots":
        """The workspace with these folders, each named like the last part of its path."""
        return cls().with_folders([(path, "") for path in paths])

    def with_folders(self, folders: Sequence[tuple[Path, str]]) -> "Roots":
        """The workspace with these folders instead, each given with the editor's name for it.

        A folder that was open before keeps its name. A new folder gets the editor's name for it, or the last part of
        its path if that name cannot be used. A number is appended if another folder has or had the name. Of several
        paths to the same folder, only the first counts.
        """
        known = {root.path: root.name for root in (*self.former, *self.folders)}
        taken = set(map(str.casefold, known.values()))
        opened: dict[Path, Root] = {}
        for path, given in folders:
            root = Root(path)
            if root.real in opened:
                continue
            if root.path not in known:
                known[root.path] = _unique(_plain(given) or _plain(root.path.name) or "folder", taken)
                taken.add(known[root.path].casefold())
            opened[root.real] = Root(path, known[root.path])
        open_paths = {root.path for root in opened.values()}
        former = [Root(path, name) for path, name in known.items() if path not in open_paths]
        return Roots(*opened.values(), has_names=self.has_names, former=former)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Roots) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def first(self) -> Root:
        """The first folder.

        Raises:
            WorkspaceError: no folder is open.
        """
        if not self.folders:
            raise WorkspaceError("No folder of the workspace is open anymore.")
        return self.folders[0]

    @property
    def paths(self) -> list[Path]:
        """The paths of the folders, in the editor's order."""
        return [root.path for root in self.folders]

    @property
    def names(self) -> str:
        """The names of the folders, for messages."""
        return ", ".join(root.name for root in self.folders)

    def folder_of(self, path: Path) -> Root | None:
        """The folder that an absolute path belongs to; None if it is in none."""
        return next((root for root in self._innermost if root.contains(path)), None)

    def enclosing(self, path: Path) -> list[tuple[Root, str]]:
        """All folders that contain an absolute path, the innermost first, with the path in each.

        They all matter for protection: a file that an outer folder protects is protected in an inner one too.
        """
        found = ((root, below(path, root.path)) for root in self._innermost)
        return [(root, inner.replace(os.sep, "/")) for root, inner in found if inner is not None]

    def contains(self, path: Path) -> bool:
        """Whether a path is in one of the folders."""
        return self.folder_of(path) is not None

    def leads_to_itself(self, path: Path) -> bool:
        """Whether `resolve` returns this absolute path of a file unchanged. False for a folder of the workspace itself.

        An accept asks this for each file, so it must be quick.
        """
        try:
            real = str(real_path(path))
        except ValueError:  # a NUL or half of a surrogate pair
            return False
        found = next((pair for pair in self._real_prefixes if real.startswith(pair[0])), None)
        return found is not None and str(path) == found[1] + real[len(found[0]) :]

    def resolve(self, given: str) -> Path:
        """The absolute path that `given` leads to, with links followed.

        The result begins with the `Root.path` of its folder, even if that contains links. So each file has one path.

        Raises:
            PathEscape: it is outside of the workspace, or a link leads outside.
            WorkspaceError: it is not a valid path, or as for `path_of`.
        """
        if "\0" in given:
            raise WorkspaceError("A path cannot contain a NUL character.")
        lexical = self.path_of(given)
        if not any(lexical.is_relative_to(root.path) or lexical.is_relative_to(root.real) for root in self.folders):
            raise PathEscape(f"Path escapes workspace: {given}")
        try:
            real = real_path(lexical)
            inside = [root for root in self.folders if real.is_relative_to(root.real)]
            if not inside:
                raise PathEscape(f"Path escapes workspace: {given}")
            with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                real.lstat()
        except UnicodeEncodeError as error:
            raise WorkspaceError("The path contains characters that are not valid Unicode.") from error
        except OSError as error:
            raise WorkspaceError(f"Not a usable path: {given[:200]} ({error.strerror or error})") from error
        root = max(inside, key=lambda root: len(str(root.real)))
        return root.path / real.relative_to(root.real)

    def path_of(self, given: str) -> Path:
        """`given` as an absolute path, without `..`. Follows no links; the result may be outside of the workspace.

        Each U+FFFD may stand for a byte that is not UTF-8, if only one existing path looks like that.

        Raises:
            PathEscape: it begins with `..` where the name of a folder is needed (`has_names`).
            WorkspaceError: it lacks the name of an open folder (`has_names`), no folder is open, or it is too long.
        """
        check_length(given)
        if not self.has_names or os.path.isabs(given):
            return _with_bytes(Path(os.path.normpath(self.first.path / given)))
        name, _, inner = os.path.normpath(given).partition(os.sep)
        if name == os.pardir:
            raise PathEscape(f"Path escapes workspace: {given}")
        root = next((root for root in self.folders if root.name == name), None)
        if root is not None:
            return _with_bytes(root.path / inner)
        if any(root.name == name for root in self.former):
            others = f"The workspace's folders are: {self.names}." if self.folders else "No other folder is open."
            raise WorkspaceError(f"The folder {name} is not part of the workspace anymore. {others}")
        _ = self.first  # raises if no folder is open
        raise WorkspaceError(
            f"{given[:200]} does not begin with the name of a folder of the workspace. Begin each path with one of: "
            f"{self.names}."
        )

    def scopes(self, given: str | None) -> list[Path]:
        """The paths that a tool's argument means: one, or the paths of all folders if it is None or ".".

        Raises:
            WorkspaceError: no folder is open, or as for `resolve`.
        """
        if self.has_names and os.path.normpath(given or ".") == ".":
            return [self.first.path, *self.paths[1:]]
        return [self.resolve(given or ".")]

    def check_no_link(self, given: str) -> None:
        """Checks that a path is not a symbolic link, because deleting or renaming it would affect its target.

        Raises:
            WorkspaceError: the path is a symbolic link, or as for `path_of`.
        """
        if os.path.islink(self.path_of(given)):
            raise WorkspaceError(
                f"{given} is a symbolic link. Links cannot be deleted or renamed here. Name the file itself."
            )

    def relative(self, path: Path) -> str:
        """The name of a file for the user and the model, with forward slashes.

        It is relative to its folder, with the name of the folder first if there are several (`has_names`). The name of
        a file outside of the workspace is its absolute path.
        """
        for root in self._innermost:
            inner = below(path, root.path)
            if inner is not None:
                inner = inner.replace(os.sep, "/")
                return inner if not self.has_names else root.name if inner == "." else f"{root.name}/{inner}"
        return str(path)

    def split(self, name: str) -> tuple[Root, str] | None:
        """The folder and the path in it for a name that `relative` returned; None for a path outside."""
        if not self.has_names:
            return (self.folders[0], name) if self.folders and not os.path.isabs(name) else None
        first, _, inner = name.partition("/")
        root = next((root for root in self.folders if root.name == first), None)
        return None if root is None else (root, inner or ".")

    def names_of(self, root: Root, inner: Iterable[str]) -> list[str]:
        """The names of the files at these paths in a folder."""
        return [self.relative(root.path / name) for name in inner] if self.has_names else list(inner)

    def names_in(self, root: Root, inner: Iterable[str]) -> Iterator[tuple[str, str]]:
        """The name and the path of each file at these paths in a folder. Leaves out files of a nested folder."""
        nested = [each for each in (below(other.path, root.path) for other in self.folders) if each not in (None, ".")]
        skipped = tuple(f"{each}/".replace(os.sep, "/") for each in nested)
        prefix = f"{root.name}/" if self.has_names else ""
        return ((f"{prefix}{path}", path) for path in inner if not path.startswith(skipped))


def _with_bytes(path: Path) -> Path:
    """The existing path that looks like this one, if its names are not UTF-8 and there is only one; else the path."""
    if SHOWN_AS not in str(path) or os.path.lexists(path):
        return path
    found = Path(path.anchor)
    for part in path.parts[1:]:
        similar: list[str] = []
        if SHOWN_AS in part and not os.path.lexists(found / part):
            with contextlib.suppress(OSError):
                similar = [name for name in os.listdir(found) if as_shown(name) == part]
        found /= similar[0] if len(similar) == 1 else part
    return found


def _plain(name: str) -> str:
    """A folder's name with `-` for separators and invisible characters; "" if only `-`, `.` and blanks are left."""
    plain = "".join(each if each.isprintable() and each not in _SEPARATORS else "-" for each in name)[:MAX_NAME]
    return "" if plain.strip(". -") == "" else plain.strip()


def _unique(name: str, taken: set[str]) -> str:
    """The name, with a number appended if another folder has it. Ignores case."""
    number, unique = 1, name
    while unique.casefold() in taken:
        number += 1
        unique = f"{name}-{number}"
    return unique
