"""Turns what a command read, as the sandbox recorded it, into what its result depends on (docs/plan.md P21)."""

import os
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pathspec

from fairlead.plan.inputs import FOLDER, PRESENT, Inputs, suffix_of
from fairlead.session.evidence.other_inputs import ABSENT, OtherInputs
from fairlead.shell.layer import View
from fairlead.shell.reads import Access, Reads, Seen
from fairlead.shell.sandbox.box.path_calls import DOCUMENTS
from fairlead.shell.sandbox.layer.ignored import TOOL_CACHES
from fairlead.workspace.paths import Roots, real_path

MAX_OTHERS = 5_000
"""A command that read more than this besides the workspace's files counts as not recorded."""

# what tools check against its source before they use it, or only they use
_CACHES = pathspec.GitIgnoreSpec.from_lines(
    (
        *TOOL_CACHES,
        ".coverage",
        ".coverage.*",
        ".cache/",
        "*.tsbuildinfo",
        ".eslintcache",
        ".nyc_output/",
        ".next/cache/",
    )
)
_CARGO_MARK = ".rustc_info.json"
# programs that list folders to find the files of a few kinds
_SCANNERS = ("python", "pypy", "node", "deno", "bun", "go", "cargo", "rustc", "java", "ruby", "php")
# caches of results: their programs look at files to find those that have changed
_RESULTS = pathspec.GitIgnoreSpec.from_lines(("*cache*", "!__pycache__/", "!.pytest_cache/"))
# suffixes of which one may take the place of another
_FAMILIES = (
    frozenset((".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts", ".json", ".vue", ".svelte")),
    frozenset((".c", ".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp", ".hxx", ".inl")),
    frozenset((".py", ".pyi", ".so", ".pyd", ".pth")),
)
_MODULES, _PYTHON_PACKAGES = "node_modules", ("site-packages", "dist-packages")
# what belongs to the machine, or to the box alone
_MACHINE = ("/usr", "/bin", "/sbin", "/etc", "/opt", "/nix", "/snap", "/run", "/tmp", "/var", "/proc", "/sys", "/dev")
_MAX_LINKS = 40


class _Links:
    """Resolves paths as the kernel does, and collects the links on the way."""

    def __init__(self) -> None:
        self.found: dict[str, str] = {}
        """Where the links lead, by their own paths without links."""
        self._known = dict[str, str]()

    def resolve(self, path: str, depth: int = 0) -> str:
        """The path without links and `..`. What does not exist counts as no link."""
        written, real = "", "/"
        for name in path.split("/"):
            if name in ("", "."):
                continue
            written += f"/{name}"
            known = self._known.get(written)
            if known is None:
                known = os.path.dirname(real) if name == ".." else self._follow(os.path.join(real, name), depth)
                self._known[written] = known
            real = known
        return real

    def _follow(self, path: str, depth: int) -> str:
        """Where a path leads whose folder has no links."""
        try:
            target = os.readlink(path)
        except OSError:
            return path
        self.found[path] = target
        return self.resolve(os.path.join(os.path.dirname(path), target), depth + 1) if depth < _MAX_LINKS else path


@dataclass
class _Found:
    """What is known about one path."""

    first: Access
    seen: Seen | None
    was_written: bool = False
    was_opened: bool = False
    programs: set[str] = field(default_factory=set[str])
    """Those that listed the folder, or asked about the file."""

    @property
    def is_used(self) -> bool:
        """Whether it was a file whose content or times can matter."""
        if self.seen is None or not self.seen.is_file:
            return False
        is_document = self.first.path.endswith(DOCUMENTS)
        return self.was_opened or not is_document or not _are_scanners(self.programs)


def find_inputs(
    reads: Reads,
    roots: Roots,
    view: View,
    is_followed: Callable[[str], bool],
    others: OtherInputs,
) -> Inputs | None:
    """What a command depends on; None if that is not known completely. Blocks for some milliseconds.

    Args:
        view: what the command saw.
        is_followed: whether the session notices changes of a file of the workspace, so that its state is not needed.
    """
    if not reads.is_complete:
        return None
    return _Search(roots, view, is_followed, others).inputs(reads)


class _Search:
    def __init__(
        self,
        roots: Roots,
        view: View,
        is_followed: Callable[[str], bool],
        others: OtherInputs,
    ) -> None:
        self._is_followed, self._states, self._tops = is_followed, others, list(view.enclosing)
        self._folders = [(str(root.real), str(root.path)) for root in roots.folders]
        self._hidden = {str(roots.resolve(name)) for name in view.hidden}
        # the folders that exist because of the proposals
        proposed = [str(roots.resolve(name)) for name, entry in view.proposed.items() if entry is not None]
        self._proposed_folders = {folder for path in proposed for folder in _parents(path)}
        self._home = str(real_path(os.path.expanduser("~")))
        self._links = _Links()
        self._cargo: dict[str, bool] = {}
        self._files, self._absent = set[str](), set[str]()
        self._listed = dict[str, frozenset[str] | None]()
        self._others = dict[str, str]()
        self._is_complete = True
        self._uses_results = False

    def inputs(self, reads: Reads) -> Inputs | None:
        found = self._by_path(reads)
        self._uses_results = any(each.was_opened and self._is_result(path) for path, each in found.items())
        outputs = {path for path, each in found.items() if _is_output(each)}
        for path, each in found.items():
            is_in_output = any(folder in outputs for folder in _parents(path)) and not os.path.lexists(path)
            if path not in outputs and not is_in_output:
                self._add(path, each)
        for link, target in self._links.found.items():
            if self._place(link) is not None and not self._is_cache(link):
                self._others[link] = f"link:{target}"
        if not self._is_complete or len(self._others) > MAX_OTHERS:
            return None
        used = [place[0] for path, each in found.items() if each.is_used and (place := self._place(path))]
        listed = _with_suffixes(self._listed, used)
        others = {self._named(path): state for path, state in self._others.items()}
        return Inputs(frozenset(self._files), frozenset(self._absent), listed, others)

    def _add(self, path: str, each: _Found) -> None:
        place = self._place(path)
        if place is None:
            self._add_outside(path, each)
            return
        name, within = place
        if name in self._hidden or self._add_special(path, within, each):
            return
        if each.seen is None:
            self._add_absent(path)
        elif each.seen.is_folder:
            if each.programs:
                self._listed[name] = frozenset() if _are_scanners(each.programs) else None
            elif os.path.isdir(path):
                self._others[path] = FOLDER
        elif not each.is_used and not self._uses_results and os.path.lexists(path):
            self._others[path] = self._states.now(path, PRESENT)
        elif self._is_followed(name):
            self._files.add(name)
        else:
            self._add_ignored(path, each.seen)

    def _by_path(self, reads: Reads) -> dict[str, _Found]:
        found: dict[str, _Found] = {}
        for access in reads.accesses:
            path = self._links.resolve(access.path)
            each = found.setdefault(path, _Found(access, access.seen))
            each.was_written |= access.kind in ("write", "change")
            if access.seen is not None:
                each.was_opened |= access.kind in ("open", "change", "execute") and access.seen.is_file
                if access.seen.program:
                    each.programs.add(access.seen.program)
        return found

    def _place(self, path: str) -> tuple[str, str] | None:
        """The path as the session names it, and relative to its folder of the workspace; None outside of it."""
        for real, named in self._folders:
            if path == real:
                return named, ""
            if path.startswith(f"{real}/"):
                within = path[len(real) + 1 :]
                return os.path.join(named, within), within
        return None

    def _add_outside(self, path: str, each: _Found) -> None:
        """Adds what counts outside of the workspace: programs, packages, and what is no part of the machine."""
        if each.seen is None or self._add_special(path, path[1:], each):
            return
        if each.first.kind == "execute":
            self._others[path] = self._states.now(path, "stamp")
            return
        is_enclosing = any(Path(path).is_relative_to(top) for top in self._tops)
        if not is_enclosing and (
            path.startswith(tuple(f"{top}/" for top in (*_MACHINE, self._home))) or _is_library(path)
        ):
            return
        if each.seen.is_file:
            self._add_ignored(path, each.seen)

    def _add_special(self, path: str, within: str, each: _Found) -> bool:
        """Adds a package or a commit instead of a path in it. Returns whether nothing else is to be added."""
        parts = within.split("/")
        top = path[: len(path) - len(within)]
        if _MODULES in parts:
            at = len(parts) - parts[::-1].index(_MODULES)
            names = parts[at : at + (2 if parts[at : at + 1] and parts[at].startswith("@") else 1)]
            if names and not names[0].startswith("."):
                package = top + "/".join((*parts[:at], *names))
                described = os.path.join(package, "package.json")
                if os.path.lexists(package):
                    self._others[described] = self._states.now(described, "sha256")
                elif each.seen is not None:
                    self._is_complete = False  # it is in the sandbox only
                else:
                    self._others[package] = ABSENT
            return True
        for name in _PYTHON_PACKAGES:
            if name in parts:
                folder = top + "/".join(parts[: parts.index(name) + 1])
                if os.path.isdir(folder):
                    self._others[folder] = self._states.now(folder, "packages")
                return True
        if ".git" in parts:
            if each.was_opened and parts[-1] != "config":
                head = top + "/".join((*parts[: parts.index(".git") + 1], "HEAD"))
                self._others[head] = self._states.now(head, "commit")
            return True
        return self._is_cache(path) or self._is_in_cargo_target(top, parts)

    def _is_result(self, path: str) -> bool:
        place = self._place(path)
        return place is not None and _RESULTS.match_file(place[1])

    def _is_cache(self, path: str) -> bool:
        place = self._place(path)
        return place is not None and bool(place[1]) and _CACHES.match_file(place[1])

    def _is_in_cargo_target(self, top: str, parts: list[str]) -> bool:
        for at, name in enumerate(parts[:-1]):
            if name == "target":
                folder = top + "/".join(parts[: at + 1])
                if folder not in self._cargo:
                    self._cargo[folder] = os.path.exists(os.path.join(folder, _CARGO_MARK))
                if self._cargo[folder]:
                    return True
        return False

    def _add_ignored(self, path: str, seen: Seen) -> None:
        """Adds a file that the session does not follow, as it is on disk."""
        if not seen.is_file:  # a socket or a device
            return
        try:
            status = os.stat(path)
        except OSError:
            self._is_complete = False  # it is in the sandbox only, so an earlier command made it
            return
        if (status.st_size, status.st_mtime_ns) == (seen.size, seen.mtime_ns):
            self._others[path] = self._states.now(path, "sha256")
        else:
            self._is_complete = False

    def _add_absent(self, path: str) -> None:
        """Adds the first part of a path that is not there, unless a file is in the place of a folder."""
        parent = os.path.dirname(path)
        while not os.path.isdir(parent) and self._named(parent) not in self._proposed_folders:
            if os.path.lexists(parent) or parent in ("", "/"):
                return
            path, parent = parent, os.path.dirname(parent)
        self._absent.add(self._named(path))
        if not os.path.lexists(path):
            self._others[path] = ABSENT

    def _named(self, path: str) -> str:
        place = self._place(path)
        return path if place is None else place[0]


def _is_output(each: _Found) -> bool:
    """Whether the command made it before it read it."""
    if each.seen is None:
        return each.was_written
    return each.first.kind == "write" and not each.seen.is_folder


def _are_scanners(programs: Collection[str]) -> bool:
    return bool(programs) and all(program.startswith(_SCANNERS) for program in programs)


def _is_library(path: str) -> bool:
    return path.startswith("/lib")


def _with_suffixes(listed: dict[str, frozenset[str] | None], used: list[str]) -> dict[str, frozenset[str] | None]:
    """The listed folders, each with the suffixes of the files that were used in and below it, if they count."""
    suffixes: dict[str, set[str]] = {folder: set() for folder, each in listed.items() if each is not None}
    for path in used:
        suffix = suffix_of(path)
        for folder in _parents(path):
            if folder in suffixes:
                suffixes[folder].add(suffix)
    for found in suffixes.values():
        for family in _FAMILIES:
            if found & family:
                found |= family
    return {folder: frozenset(suffixes[folder]) or None if folder in suffixes else None for folder in listed}


def _parents(path: str) -> Iterator[str]:
    while path not in ("", "/"):
        path = os.path.dirname(path)
        yield path
