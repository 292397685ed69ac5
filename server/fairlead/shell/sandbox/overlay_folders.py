"""The folders that a box shows through overlays: the workspace's folders, without those inside another one.

`View` and `Changes` name files as the workspace does (`Roots.relative`); an overlay names them relative to its folder.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from fairlead.shell.layer import HEAD_MOVED, NO_FOLDERS, REPOSITORY_DISCARDED, Changes, FolderChanges, View
from fairlead.shell.sandbox import repository
from fairlead.shell.sandbox.layer import collect_changes
from fairlead.workspace.paths import Roots, below

OUTSIDE = (
    "Changes to files outside of the workspace were discarded, so this run verifies nothing. To change these files, "
    "run the command with `unsandboxed`:"
)
_MAX_NAMED = 5


class OverlayFolders:
    """Translates between the names of a workspace and the paths in its overlays."""

    def __init__(self, roots: Roots) -> None:
        self.roots = roots
        reals = [root.real for root in roots.folders]
        self.paths = [
            real for real in reals if not any(real != other and real.is_relative_to(other) for other in reals)
        ]
        """The folders of the overlays. Links in them are resolved."""

    def containing(self, path: Path) -> Path | None:
        """The folder of the overlay that contains a path; None if none does. Links in the path must be resolved."""
        return next((top for top in self.paths if path.is_relative_to(top)), None)

    def path(self, name: str) -> Path:
        """The path of a file, by its name in the workspace. Links below the workspace's folder are not resolved."""
        found = self.roots.split(name)
        return self.paths[0] / name if found is None else found[0].real / found[1]

    def name(self, path: Path) -> str | None:
        """The name of a path; None if it is outside of the workspace. Links in the path must be resolved."""
        inside = [root for root in self.roots.folders if path.is_relative_to(root.real)]
        if not inside:
            return None
        root = max(inside, key=lambda root: len(str(root.real)))
        return self.roots.relative(root.path / path.relative_to(root.real))

    def split(self, view: View) -> Mapping[Path, View]:
        """The part of a view that each overlay of the workspace shows, named as in the overlay.

        `repositories` and `enclosing` stay as they are.
        """
        if not self.roots.has_names:
            return {self.paths[0]: view}
        proposed, hidden, read_only = map(self._by_overlay, (view.proposed, view.hidden, view.read_only))
        empty, removed = map(self._by_overlay, (view.empty_folders, view.removed_folders))
        return {
            top: replace(
                view,
                proposed={inner: view.proposed[name] for inner, name in proposed[top].items()},
                hidden=frozenset(hidden[top]),
                read_only=frozenset(read_only[top]),
                empty_folders=frozenset(empty[top]),
                removed_folders=frozenset(removed[top]),
            )
            for top in self.paths
        }

    def _by_overlay(self, names: Iterable[str]) -> Mapping[Path, Mapping[str, str]]:
        """The names in each overlay, by their path in the overlay."""
        found: dict[Path, dict[str, str]] = {top: {} for top in self.paths}
        for name in names:
            path = self.path(name)
            top = self.containing(path)
            inner = below(path, top) if top is not None else None
            if top is not None and inner is not None:
                found[top][inner] = name
        return found

    def merge(self, changes: Mapping[Path, Changes]) -> Changes:
        """The changes in the overlays of the workspace, named as in it.

        If a command moved the HEAD or the stash of a repository, no changes to files are included. Of changes in other
        overlays, only warnings and `discarded_outside` remain.
        """
        within = {top: changes[top] for top in self.paths}
        others = {top: each for top, each in changes.items() if top not in within}
        discarded = any(each.files or HEAD_MOVED in each.warnings for each in others.values())
        moved = any(HEAD_MOVED in each.warnings for each in within.values())
        warnings = dict.fromkeys(line for each in within.values() for line in each.warnings)
        if not moved:
            warnings |= dict.fromkeys(_discarded(others))
        latest = max(each.repository_changed for each in changes.values())
        omitted = sum(each.omitted for each in changes.values())
        if not self.roots.has_names:
            return replace(
                within[self.paths[0]],
                warnings=list(warnings),
                discarded_outside=discarded,
                repository_changed=latest,
                omitted=omitted,
            )
        files = [
            replace(change, path=self._outer(top, change.path))
            for top, each in within.items()
            for change in (() if moved else each.files)
        ]
        ignored = self._outer_names((top, each.ignored) for top, each in within.items())
        folders = NO_FOLDERS if moved else self._outer_folders({top: each.folders for top, each in within.items()})
        return Changes(files, ignored, list(warnings), discarded, folders, latest, omitted)

    def _outer_folders(self, inner: Mapping[Path, FolderChanges]) -> FolderChanges:
        return FolderChanges(
            self._outer_names((top, each.empty) for top, each in inner.items()),
            self._outer_names((top, each.not_empty) for top, each in inner.items()),
            self._outer_names((top, each.removed) for top, each in inner.items()),
        )

    def _outer_names(self, inner: Iterable[tuple[Path, Iterable[str]]]) -> list[str]:
        return [self._outer(top, name) for top, names in inner for name in names]

    def _outer(self, top: Path, inner: str) -> str:
        name = self.name(top / inner) or inner
        return f"{name}/" if inner.endswith("/") else name

    def outside_repositories(self) -> Mapping[Path, Sequence[Path]]:
        """The repositories outside of all overlays, each with the overlays' folders that belong to it."""
        found: dict[Path, list[Path]] = {}
        for top in self.paths:
            outside = repository.find_outside(top)
            if outside is not None and self.containing(outside) is None:
                found.setdefault(outside, []).append(top)
        return found


def _discarded(changes: Mapping[Path, Changes]) -> Iterator[str]:
    """Warnings about the changes in overlays outside of the workspace."""
    lines = [line for each in changes.values() for line in each.warnings]
    if REPOSITORY_DISCARDED in lines or HEAD_MOVED in lines:
        yield REPOSITORY_DISCARDED
    paths = [str(top / change.path) for top, each in changes.items() for change in each.files]
    if paths:
        more = f" and {len(paths) - _MAX_NAMED:,} more" if len(paths) > _MAX_NAMED else ""
        yield f"{OUTSIDE} {', '.join(paths[:_MAX_NAMED])}{more}."
    yield from (line for line in lines if line.startswith(collect_changes.TOO_MANY))
