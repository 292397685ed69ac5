"""What a box shows of the machine and of the workspace, as binds and links; `mounts.py` has the rules."""

import logging
import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from fairlead.shell.layer import HIDDEN_TEXT, View
from fairlead.shell.network import Network
from fairlead.shell.sandbox import git_folders, gitconfig, repository
from fairlead.shell.sandbox.box import mounts
from fairlead.shell.sandbox.box.network import HOSTS, hosts_text, resolver_text
from fairlead.shell.sandbox.box.tools import Tools, find_tools
from fairlead.shell.sandbox.layer.upper_layer import Owner
from fairlead.shell.sandbox.overlay_folders import OverlayFolders
from fairlead.workspace.paths import real_path
from fairlead.workspace.repositories import enclosing_repository, read_start

log = logging.getLogger(__name__)

# names of settings files in which `#` begins a comment
_SETTINGS = re.compile(r"(?:.*\.)?env(?:[._-].*)?|\.npmrc|\.dev\.vars(?:\..*)?", re.IGNORECASE | re.DOTALL)


class ShownPaths:
    """Lists the binds and links of a session's boxes."""

    def __init__(
        self,
        folders: OverlayFolders,
        hidden: Sequence[Path],
        folder: Path,
        owner: Owner,
        *,
        enforce_permissions: bool,
    ) -> None:
        """
        Args:
            hidden: paths that no box shows, with links resolved.
            folder: the layer's folder, in which placeholders are created.
            owner: the account that commands run as.
            enforce_permissions: whether the box's view of the machine leaves out files that only root may read.
        """
        self._folders, self._hidden, self._folder, self._owner = folders, hidden, folder, owner
        self._enforce_permissions = enforce_permissions
        self._tools: dict[tuple[Path, ...], Tools] = {}
        self._root_only: list[Path] | None = None
        self.omitted_filters: Sequence[str] = ()
        """The user's Git filters that the last box does not have, because it does not show their programs."""

    def settings(self, view: View) -> Sequence[tuple[Path, str]] | None:
        """Git's settings files that contain credentials, each with the text that is shown in its place.

        None if there are too many settings files to read and the view shows repositories around the workspace, which
        must not be shown then. Without such repositories, the last settings files are left out.
        """
        repositories = self._repositories(view)
        found: list[tuple[Path, str]] = []
        try:
            for each in gitconfig.redacted_settings(repositories, mounts.home(), lambda path: self._text(path, view)):
                found.append(each)
        except gitconfig.TooManyFiles:
            if view.enclosing:
                return None
            log.warning("the workspace's repositories have too many settings files; the last ones are not searched")
        return found

    def _repositories(self, view: View, *, bare: bool = True) -> Sequence[Path]:
        """The repositories that a box shows: their folders, or the files and links that lead to them.

        Args:
            bare: whether those in the workspace that are not named `.git` are included. Their files may be tracked.
        """
        inner = map(self._folders.path, view.repositories)
        around = (top / name for top, found in view.enclosing.items() for name in found.repositories)
        return [*self._git_folders(), *(path for path in (*inner, *around) if bare or path.name == ".git")]

    def _git_folders(self) -> Sequence[Path]:
        """The repositories of the workspace's folders, those outside of it first."""
        outside = self._folders.outside_repositories()
        tops_of_outside = {top for belonging in outside.values() for top in belonging}
        return [*outside, *(top / ".git" for top in self._folders.paths if top not in tops_of_outside)]

    def binds(
        self,
        view: View,
        settings: Iterable[tuple[Path, str]],
        layers: Sequence[Path],
        private: Sequence[mounts.PrivateFolder],
        tools: Tools,
        others: Sequence[mounts.Bind],
        scratch: Path,
        *,
        network: Network,
    ) -> list[mounts.Bind]:
        """The binds, in the order of mounting.

        They come in this order: private folders, `others`, tools, the user's harmless Git settings, layers, read-only
        parts, Git settings without credentials, placeholders of hidden files and folders.

        The first call lists the files that only root may read; later calls use the same list.

        Args:
            view: what the command sees.
            settings: see `settings`.
            layers: where the layers are mounted.
            private: the folders that are private to the box.
            tools: what is shown of the tools in these.
            others: the binds of the session's caches, and of folders that are shown where they are.
            scratch: the folder of the box's file system in memory. Replacement texts are written next to it.
            network: what the box may reach.
        """
        if self._root_only is None:
            root_only = mounts.root_only_paths() if self._owner.uid == 0 and not self._enforce_permissions else []
            self._root_only = [
                path for path in root_only if not any(top.is_relative_to(path) for top in self._folders.paths)
            ]
        read_only = list(tools.paths)
        binds: list[mounts.Bind] = [(f"{scratch}/{folder.name}", str(folder.path), True) for folder in private]
        binds += others
        binds += _binds_in_place(read_only)
        in_place = [Path(target) for source, target, _ in others if source == target]
        hiding, shown = mounts.paths_of(private), {*read_only, *layers, *in_place}
        user_settings, self.omitted_filters = gitconfig.user_settings(
            mounts.home(), lambda line: self._can_run(line, hiding, shown)
        )
        binds += self._replacements(scratch.parent, user_settings)
        resolver = mounts.resolver_file() if network else None
        binds += self._replacements(scratch.parent, [(resolver, resolver_text())] if resolver is not None else [])
        if (hosts := hosts_text(network)) is not None:
            binds += self._replacements(scratch.parent, [(real_path(HOSTS), hosts)])
        binds += _binds_in_place(layers, writable=True)
        tops = self._folders.paths
        alone = [top for top in tops if enclosing_repository(top) not in view.enclosing]
        binds += _binds_in_place(dict.fromkeys(path for top in alone for path in repository.files_above(top)))
        binds += _binds_in_place(path for folder in self._git_folders() for path in repository.read_only_parts(folder))
        binds += _binds_in_place(self._existing(view.read_only, view))
        for top, around in view.enclosing.items():
            binds += _binds_in_place(self._existing_around(around.read_only, top))
        binds += self._replacements(
            scratch.parent, (each for each in settings if self._is_readable(each[0], hiding, shown))
        )
        masked = [*self._hidden, *self._root_only, *tools.hidden, *mounts.socket_paths()]
        masked += git_folders.hidden_in(self._repositories(view, bare=False))
        masked = [path for path in masked if self._is_readable(path, hiding, shown)]
        masked += self._existing(view.hidden, view)
        masked += [path for top in view.enclosing for path in self.hidden_around(top, view)]
        all_masked = set(masked)
        outermost = [path for path in masked if all_masked.isdisjoint(path.parents)]
        return [*binds, *((self._placeholder(path), str(path), False) for path in outermost)]

    def _is_readable(self, path: Path, private: set[Path], shown: set[Path]) -> bool:
        is_shown = mounts.is_shown(path, private, shown)
        return is_shown and (not self._enforce_permissions or mounts.is_reachable(path, shown))

    def _can_run(self, line: str, private: set[Path], shown: set[Path]) -> bool:
        """Whether a box shows all files that a command line names."""
        try:
            return all(self._is_readable(path, private, shown) for path in gitconfig.named_files(line, mounts.home()))
        except ValueError:
            return False

    def _text(self, path: Path, view: View) -> str:
        """The text of a file in a view; empty if the file does not exist there or cannot be read."""
        name = self._folders.name(path)
        if name is None or name not in view.proposed:
            return read_start(path)
        entry = view.proposed[name]
        return entry.data.decode("utf-8", "surrogateescape") if entry is not None else ""

    def tools(self, view: View, private: Sequence[mounts.PrivateFolder], programs: Sequence[Path]) -> Tools:
        """What is shown of the tools in private folders. Listed again if their folders have changed.

        `programs` are those that the user's settings or Fairlead chose, such as language servers.
        """
        tops, hiding = [*self._folders.paths, *view.enclosing], [folder.path for folder in private]
        state = (*tops, *programs, *hiding)
        found = self._tools.get(state)
        if found is None or not found.is_current:
            found = self._tools[state] = find_tools(tops, os.environ, hiding, programs)
        return found

    def links(self, view: View, private: Sequence[mounts.PrivateFolder], tools: Tools) -> list[tuple[str, str]]:
        """Symbolic links, as (target, path): those that lead to tools, and the editor's paths of workspace folders.

        Only for paths at which the box would show nothing otherwise.
        """
        hidden, shown = mounts.paths_of(private), {*self._folders.paths, *view.enclosing}
        paths = {root.real: Path(os.path.abspath(root.path)) for root in self._folders.roots.folders}
        folders = [(real, path) for real, path in paths.items() if not mounts.is_shown(path, hidden, shown)]
        links = {path: target for target, path in (*folders, *tools.links)}
        return [(str(target), str(path)) for path, target in sorted(links.items())]

    def _existing(self, names: Iterable[str], view: View) -> list[Path]:
        """The paths that exist in a view.

        A link counts as its target, and is left out if that is outside of the workspace.
        """
        paths = [
            path if name in view.proposed else real_path(path) for name in names if (path := self._folders.path(name))
        ]
        within = {name: path for path in paths if (name := self._folders.name(path)) is not None}
        return [
            path
            for name, path in within.items()
            if (view.proposed[name] is not None if name in view.proposed else os.path.exists(path))
        ]

    def hidden_in(self, work_tree: Path, view: View) -> frozenset[Path]:
        """The files and folders in the work tree of a repository that are hidden, also those in the workspace."""
        own = (path for path in self._existing(view.hidden, view) if path.is_relative_to(work_tree))
        return self.hidden_around(work_tree, view).union(own)

    def hidden_around(self, top: Path, view: View) -> frozenset[Path]:
        """The files and folders of a repository around the workspace that are hidden; empty if it is not shown."""
        return frozenset(self._existing_around(view.enclosing[top].hidden, top) if top in view.enclosing else ())

    def _existing_around(self, names: Iterable[str], top: Path) -> list[Path]:
        """The paths that exist in a repository around the workspace.

        A link counts as its target, and is left out if that is not in the repository. Also leaves out paths in the
        workspace's folders, which have their own rules, and paths that contain such a folder.
        """
        paths = dict.fromkeys(real_path(top / name) for name in names)
        apart = [
            path
            for path in paths
            if self._folders.containing(path) is None
            and not any(own.is_relative_to(path) for own in self._folders.paths)
        ]
        return [path for path in apart if path.is_relative_to(top) and os.path.exists(path)]

    def _replacements(self, folder: Path, texts: Iterable[tuple[Path, str]]) -> Iterator[mounts.Bind]:
        """Binds that show other texts in place of files. The texts are written to `folder`."""
        for path, text in texts:
            descriptor, made = tempfile.mkstemp(prefix="text-", dir=folder)
            with open(descriptor, "wb") as file:
                file.write(text.encode("utf-8", "surrogateescape"))
                os.fchmod(descriptor, 0o444)
            yield made, str(path), False

    def _placeholder(self, path: Path) -> str:
        """The path of the placeholder that is shown in place of a hidden file or folder.

        The placeholder is empty and has no permissions. That of a settings file is a readable comment instead: programs
        work without the file, but fail if they cannot read it.
        """
        is_folder = os.path.isdir(path)
        is_settings = not is_folder and _SETTINGS.fullmatch(path.name) is not None
        made = self._folder / ("no-folder" if is_folder else "no-settings" if is_settings else "no-file")
        if not made.exists():
            if is_folder:
                made.mkdir(mode=0)
            else:
                with open(os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0), "w") as file:
                    file.write(HIDDEN_TEXT if is_settings else "")
                    os.fchmod(file.fileno(), 0o444 if is_settings else 0)
            os.chown(made, self._owner.uid, self._owner.gid, follow_symlinks=False)
        return str(made)


def _binds_in_place(paths: Iterable[Path], *, writable: bool = False) -> Iterator[mounts.Bind]:
    """Binds that show paths where they are."""
    return ((str(path), str(path), writable) for path in paths)
