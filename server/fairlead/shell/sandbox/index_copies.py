"""Copies of Git's indexes for boxes that hide files of the work tree: Git would report these as deleted or changed."""

import contextlib
import os
from pathlib import Path

from fairlead.shell.layer import View
from fairlead.shell.sandbox.box import mounts
from fairlead.shell.sandbox.layer import trees
from fairlead.shell.sandbox.layer.index import assume_unchanged
from fairlead.shell.sandbox.layer.lower_layer import Fingerprint, LowerLayer
from fairlead.shell.sandbox.layer.upper_layer import Owner
from fairlead.shell.sandbox.overlay_folders import OverlayFolders
from fairlead.shell.sandbox.shown_paths import ShownPaths
from fairlead.workspace.repositories import enclosing_repository, git_folder

# what a copy depends on: the index, whether the work tree is shown, and the hidden files in it
_State = tuple[Fingerprint, bool, frozenset[Path]]


class IndexCopies:
    """Writes the copies for a session's boxes. Makes a copy again only if it would differ."""

    def __init__(self, folders: OverlayFolders, shown: ShownPaths, owner: Owner) -> None:
        self._folders, self._shown, self._owner = folders, shown, owner
        self._copies: dict[Path, tuple[_State, bytes | None]] = {}

    def write(self, upper: Path, lower: Path, top: Path, view: View, private: list[mounts.PrivateFolder]) -> None:
        """Writes an index to the layer over a repository, in which the files that the box hides count as unchanged.

        Does nothing if the box shows all files.

        Args:
            upper: the folder of the layer.
            lower: the folder below it, which is or contains the repository.
            top: a folder of the workspace, in the work tree of the repository.
            view: what the command sees.
            private: the folders that are private to the box.
        """
        work_tree = enclosing_repository(top) or top
        hidden = self._shown.hidden_in(work_tree, view)
        is_shown = work_tree in (top, *view.enclosing)
        if not hidden and (is_shown or mounts.is_shown(work_tree, mounts.paths_of(private), ())):
            return
        index = git_folder(work_tree / ".git") / "index"
        if not index.is_relative_to(lower):
            return
        fingerprint = LowerLayer(index.parent).fingerprint("index")
        state = fingerprint, is_shown, hidden
        known, data = self._copies.get(index, (None, None))
        if state != known:
            tops = [path for path in self._folders.paths if path.is_relative_to(work_tree)]
            shown = None if is_shown else [os.fsencode(path.relative_to(work_tree)) for path in tops]
            data = assume_unchanged({os.fsencode(path.relative_to(work_tree)) for path in hidden}, index, shown)
            self._copies[index] = state, data
        if data is None:
            return
        folder = upper
        for name in index.parent.relative_to(lower).parts:
            folder /= name
            with contextlib.suppress(FileExistsError):  # several work trees may share a repository
                trees.make_folder(folder.parent, name, self._owner.uid, self._owner.gid)
        with open(folder / "index", "xb") as file:
            file.write(data)
            os.fchmod(file.fileno(), 0o644)
            os.fchown(file.fileno(), self._owner.uid, self._owner.gid)
