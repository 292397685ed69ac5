"""Finds what a program needs to run: its links and files, the installation or package around it, its interpreter."""

import os
import re
import shutil
import stat
from collections.abc import Collection, Iterator
from pathlib import Path

from fairlead.shell.sandbox.box import installed
from fairlead.workspace.paths import real_path
from fairlead.workspace.repositories import read_start
from fairlead.workspace.secrets import secret_path_filter

# a folder with its shown parts
Shown = tuple[Path, installed.Parts]

_MOST_LINKS = 40  # on the way to one file, as in the kernel
_MOST_SCRIPTS = 5  # whose interpreter is a script too; the kernel allows 4
_MOST_ENTRIES = 20_000  # in a package that is searched for secrets
_MODULES = "node_modules"
_JAVASCRIPT = (".js", ".mjs", ".cjs", ".ts", ".mts")
_SCRIPT_RUNTIMES = ("node", "bun", "deno")
_NOT_SEARCHED = (_MODULES, ".venv", "venv", "site-packages")
_FIRST_LINE = re.compile(r"#!\s*(\S+)[ \t]*([^\r\n]*)")
# the form in which pip and distlib write an interpreter whose path is long or contains a space
_SECOND_LINE = re.compile(r"#![^\n]*\n'''exec' (?:\"([^\"\n]+)\"|(\S+)) ")


class Needs:
    """Collects folders with their shown parts (`installed.shown_paths`), and the links on the way to them."""

    def __init__(self, path: str) -> None:
        """`path` is the value of the variable `PATH`."""
        self._path = path
        self.parts: list[Shown] = []
        self.links: dict[Path, Path] = {}
        """The targets of symbolic links, which are absolute, by the link's path, whose folders are no links."""
        self.path_folders: list[Path] = []
        """The folders of `PATH`, with links resolved."""
        self.packages: set[Path] = set()
        """Folders that are shown as a whole, but may contain secrets."""

    @property
    def folders(self) -> set[Path]:
        """All folders, with links resolved."""
        return {folder for folder, _ in self.parts}

    def add_folder(self, folder: Path, parts: installed.Parts) -> None:
        """Adds a folder, which may be a link or in a linked folder."""
        self.parts.append((self._places(folder)[-1], parts))

    def add_path_folder(self, folder: Path, known: Collection[Path]) -> None:
        """Adds a folder of `PATH` with the installation around it, unless that is one of the `known` folders."""
        real = self._places(folder)[-1]
        self.path_folders.append(real)
        self.parts.append((real, installed.parts_of_path_folder(real)))
        if real.name in installed.BIN and real.parent not in known:
            self.parts += _installation(real.parent)

    def of_program(self, program: Path, known: Collection[Path], depth: int = 0) -> Iterator[Shown]:
        """What a program needs, apart from the `known` folders. Adds the links on the way to its files."""
        if not program.is_absolute() or depth > _MOST_SCRIPTS:
            return
        places = self._places(program)
        interpreter = _interpreter(places[-1], self._path)
        yield places[-1], installed.Parts()
        for place in places:
            top = place.parent.parent
            if place.parent.name in installed.BIN and top not in known:
                if _is_named_after(top, place) and self._add_package(top):
                    yield top, installed.Parts()
                else:
                    yield from _installation(top)
            elif place.parent not in known:
                yield place.parent, installed.LIBRARIES
        is_script = interpreter is not None and interpreter.name in _SCRIPT_RUNTIMES
        if is_script or places[-1].suffix in _JAVASCRIPT or _MODULES in places[-1].parts:
            yield from self._packages_of(places[-1], known)
        if interpreter is not None:
            yield from self.of_program(interpreter, known, depth + 1)

    def _packages_of(self, script: Path, known: Collection[Path]) -> Iterator[Shown]:
        """The package of a script, and all folders in which Node looks for its imports."""
        outermost = [folder for folder in script.parents if folder not in known]
        modules = [folder for folder in outermost if folder.name == _MODULES]
        package = next((folder for folder in outermost if os.path.isfile(folder / "package.json")), None)
        if not modules and package is not None and self._add_package(package):
            yield package, installed.Parts()
        for folder in (*modules, *(folder / _MODULES for folder in outermost)):
            if os.path.isdir(folder):
                self.packages.add(folder)
                yield folder, installed.Parts()

    def _add_package(self, folder: Path) -> bool:
        """Notes that a folder is to be searched for secrets. Returns False if it is too large for that."""
        if sum(1 for _, _ in zip(_walk(folder), range(_MOST_ENTRIES), strict=False)) >= _MOST_ENTRIES:
            return False
        self.packages.add(folder)
        return True

    def _places(self, path: Path) -> list[Path]:
        """The places that a path leads to, in folders without links: a link, what it leads to, and so on to a file."""
        places: list[Path] = []
        at, rest, links = Path("/"), [*reversed(path.parts[1:])], 0
        while rest:
            name = rest.pop()
            if name == "..":
                at = at.parent
                continue
            at /= name
            if not rest:
                places.append(at)
            try:
                target = Path(os.readlink(at))
            except OSError:  # not a link
                continue
            links += 1
            if links > _MOST_LINKS:
                break
            self.links[at] = at.parent / target
            at, steps = (Path("/"), target.parts[1:]) if target.is_absolute() else (at.parent, target.parts)
            rest += reversed(steps)
        return places or [at]


def secrets_in(package: Path) -> list[Path]:
    """The files and folders of a package that look like secrets. Packages that it depends on are not searched."""
    is_secret = secret_path_filter(package)
    return [path for path in _walk(package) if is_secret(path.relative_to(package).as_posix()) or path.name == ".git"]


def _walk(folder: Path) -> Iterator[Path]:
    """All files and folders below a folder, outer ones first, without those in `.git` and in folders of packages.

    Of a folder of packages itself, only the entries.
    """
    for path, folders, files in os.walk(folder):
        yield from (Path(path, name) for name in (*folders, *files))
        is_packages = os.path.basename(path) in _NOT_SEARCHED
        folders[:] = [] if is_packages else [name for name in folders if name not in (*_NOT_SEARCHED, ".git")]


def _installation(top: Path) -> Iterator[Shown]:
    """The shown parts of the folder around `bin`, and those of the Python that a virtual environment uses."""
    yield top, installed.parts_around_bin(top)
    named = re.search(r"^home\s*=\s*(.+?)\s*$", read_start(top / "pyvenv.cfg"), re.M)
    if named and os.path.isabs(named[1]):
        base = real_path(named[1])
        if base.name in installed.BIN:
            yield base.parent, installed.parts_around_bin(base.parent)


def _is_named_after(folder: Path, program: Path) -> bool:
    """Whether a folder is a program's unpacked release, such as `lua-language-server-3.9`, and not a repository."""
    return len(program.stem) > 2 and folder.name.startswith(program.stem) and not os.path.lexists(folder / ".git")


def _interpreter(file: Path, path: str) -> Path | None:
    """The program that the first line of a script names; None if there is none."""
    try:
        with open(os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as opened:
            start = opened.read(4096) if stat.S_ISREG(os.fstat(opened.fileno()).st_mode) else b""
    except OSError:
        return None
    text = os.fsdecode(start) if start.startswith(b"#!") else ""
    second = _SECOND_LINE.match(text)
    if second is not None:
        return Path(second[1] or second[2])
    first = _FIRST_LINE.match(text)
    if first is None:
        return None
    if os.path.basename(first[1]) != "env":
        return Path(first[1])
    words = [word for word in first[2].split() if not word.startswith("-") and "=" not in word]
    found = shutil.which(words[0], path=path) if words else None
    return Path(found) if found is not None else None
