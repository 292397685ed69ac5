"""Finds what a box shows of the tools in its private folders: listed ones, those on `PATH`, and chosen programs.

The paths are free of links. A link on the way to a tool is shown as a link.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fairlead.shell.sandbox.box import installed, mounts, programs
from fairlead.workspace.paths import real_path
from fairlead.workspace.repositories import read_start

_ENVIRONMENTS = (".venv", "venv", "env", ".env")


@dataclass(frozen=True, slots=True)
class Tools:
    """Tools that are mounted again in the private folders. Valid as long as `is_current`."""

    paths: Sequence[Path]
    """The outermost paths, to be mounted read-only."""
    links: Sequence[tuple[Path, Path]]
    """Symbolic links that lead to these and to other visible paths, as (target, path)."""
    hidden: Sequence[Path]
    """Files and folders in `paths` that look like secrets."""
    listing: installed.Listing

    @property
    def is_current(self) -> bool:
        """Whether nothing has been added to the tools' folders or removed from them since they were listed."""
        return self.listing.is_current()


def find_tools(
    roots: Sequence[Path], environment: Mapping[str, str], private: Sequence[Path], chosen: Iterable[Path] = ()
) -> Tools:
    """The tools that a box shows.

    Args:
        roots: the folders that are shown as layers. No path in them, and none that contains one, is mounted.
        environment: the user's, in which `PATH` and other variables name folders of tools.
        private: the private folders of the box.
        chosen: programs that the user's settings or Fairlead chose, never the model or the workspace.
    """
    listing, needs = installed.Listing(), programs.Needs(environment.get("PATH", ""))
    for folder, parts in _listed(roots, environment, private, listing):
        needs.add_folder(folder, parts)
    known = {*private, *needs.folders}
    for folder in map(Path, environment.get("PATH", "").split(os.pathsep)):
        if folder.is_absolute():
            needs.add_path_folder(folder, known)
    hidden = [(folder, parts) for folder, parts in needs.parts if _is_inside(folder, private)]
    paths = {path for folder, parts in hidden for path in installed.shown_paths(folder, parts, listing)}
    for root in roots:
        paths.update(_interpreters(root))
    for program in (*_links_on_path(needs, private, paths, listing), *chosen):
        paths.update(_program_paths(needs, program, private, known, listing))
    paths = {path for path in paths if _may_be_shown(path, roots, private)}
    outermost = sorted(path for path in paths if paths.isdisjoint(path.parents))
    secrets = [path for folder in sorted(needs.packages) for path in programs.secrets_in(folder)]
    secrets = [path for path in secrets if _is_below(path, outermost)]
    for folder in needs.packages:
        listing.entries(folder)  # so that a later secret is noticed
    return Tools(outermost, _links(needs, outermost, roots, private), secrets, listing)


def _listed(
    roots: Sequence[Path], environment: Mapping[str, str], private: Sequence[Path], listing: installed.Listing
) -> Iterator[programs.Shown]:
    for name, parts in installed.IN_HOME.items():
        yield mounts.home() / name, parts
    if any(entry.name == ".pnp.cjs" and entry.is_file() for root in roots for entry in listing.entries(root)):
        yield mounts.home() / installed.YARN_CACHE, installed.Parts()
    for name, parts in installed.BY_VARIABLE.items():
        folder = Path(environment.get(name, ""))
        if folder.is_absolute() and real_path(folder) not in private:
            yield folder, parts


def _links_on_path(
    needs: programs.Needs, private: Sequence[Path], paths: set[Path], listing: installed.Listing
) -> Iterator[Path]:
    """The programs in the folders of `PATH` that are links to something which is hidden so far."""
    for folder in needs.path_folders:
        for entry in listing.entries(folder) if _is_inside(folder, private) else ():
            if entry.is_symlink():
                real = real_path(entry.path)
                if _is_inside(real, private) and paths.isdisjoint((real, *real.parents)):
                    yield Path(entry.path)


def _program_paths(
    needs: programs.Needs, program: Path, private: Sequence[Path], known: set[Path], listing: installed.Listing
) -> Iterator[Path]:
    for folder, parts in needs.of_program(program, known):
        if _is_inside(folder, private):
            yield from installed.shown_paths(folder, parts, listing)


def _links(
    needs: programs.Needs, paths: Sequence[Path], roots: Sequence[Path], private: Sequence[Path]
) -> list[tuple[Path, Path]]:
    """The links that the box does not show otherwise. A link of which a shown path makes a folder is left out."""
    folders = {parent for path in paths for parent in path.parents}
    return [
        (target, path)
        for path, target in needs.links.items()
        if _is_inside(path, private) and path not in folders and not _is_below(path, [*paths, *roots])
    ]


def _is_inside(path: Path, private: Sequence[Path]) -> bool:
    return any(path != hiding and path.is_relative_to(hiding) for hiding in private)


def _is_below(path: Path, folders: Iterable[Path]) -> bool:
    return any(path.is_relative_to(folder) for folder in folders)


def _may_be_shown(path: Path, roots: Sequence[Path], private: Sequence[Path]) -> bool:
    """Whether a path exists in a private folder, contains no private folder, and does not overlap a root."""
    if not os.path.exists(path):  # unlike `Path.exists`, does not raise if a parent is closed
        return False
    if any(path.is_relative_to(root) or root.is_relative_to(path) for root in roots):
        return False
    return _is_inside(path, private) and not any(hiding.is_relative_to(path) for hiding in private)


def _interpreters(root: Path) -> Iterator[Path]:
    """The programs and libraries of the Pythons that the workspace's virtual environments use.

    The path comes from the workspace, so it must look like a Python's, and no part of it may be a link.
    """
    for name in _ENVIRONMENTS:
        named = re.search(r"^home\s*=\s*(.+?)\s*$", read_start(root / name / "pyvenv.cfg"), re.M)
        folder = Path(os.path.abspath(named[1])) if named else None
        if folder is None or folder.name != "bin" or not any(folder.glob("python3*")):
            continue
        libraries = [*folder.parent.glob("lib/python3*"), *folder.parent.glob("lib/libpython3*")]
        if any(map(os.path.isdir, libraries)):
            yield from (path for path in (folder, *libraries, folder.parent / "include") if real_path(path) == path)
