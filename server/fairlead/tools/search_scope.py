"""Where `search` and `list_files` look: files and folders on disk, and the texts of proposed and open files."""

import os
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from fairlead.agent.errors import ToolError
from fairlead.workspace.files import Files
from fairlead.workspace.paths import Root, Roots, below
from fairlead.workspace.ripgrep import file_names, options_for_names
from fairlead.workspace.secrets import secret_globs

MAX_NAMED = 200
"""The most names in the arguments of one `rg` command."""
MAX_IGNORED = 5
"""The most ignored files that a result names."""
WITH_IGNORED = "--no-ignore"
"""The option of `rg` that includes ignored files."""


@dataclass(frozen=True)
class SearchTarget:
    """A file or folder to search."""

    roots: Roots
    root: Root
    """The folder of the workspace that it belongs to."""
    path: Path

    @property
    def inner(self) -> str:
        """The path relative to `root`, with `/`."""
        return (below(self.path, self.root.path) or ".").replace(os.sep, "/")

    @property
    def is_whole_folder(self) -> bool:
        """Whether it is a folder of the workspace, not a path in one."""
        return self.path == self.root.path

    async def names(self, limit: int, options: Sequence[str] = ()) -> set[str]:
        """The names (`Roots.relative`) of at most `limit` files in it on disk that no rule ignores.

        Args:
            options: further options of `rg`.
        """
        if not self.path.exists():
            return set()
        found = await file_names(self.inner, self.root.path, limit, options)
        return {name for name, _ in self.roots.names_in(self.root, found)}

    async def secrets(self, is_secret: Callable[[str], bool], limit: int) -> set[str]:
        """The names of the files in it that look like secrets and that no rule ignores. Lists at most `limit` files.

        `rg` filters the names first, which is much faster in a large workspace than reading them all.
        """
        globs = secret_globs(self.roots.paths)
        found = await file_names(self.inner, self.root.path, limit, globs)
        secrets = {name: inner for name, inner in self.roots.names_in(self.root, found) if is_secret(name)}
        if globs and secrets:
            last_parts = {inner.rpartition("/")[2] for inner in secrets.values()}
            options = options_for_names(last_parts) if len(last_parts) <= MAX_NAMED else ()
            not_ignored = await file_names(self.inner, self.root.path, limit, options)
            return {name for name, inner in secrets.items() if inner in not_ignored}
        return set(secrets)

    def name(self, inner: str) -> str | None:
        """The name of a file at a path in `root`; None if it belongs to a nested folder of the workspace."""
        return next((name for name, _ in self.roots.names_in(self.root, [inner])), None)


def search_scope(files: Files, given: str | None) -> tuple[list[SearchTarget], dict[Path, str | None]]:
    """The files and folders to search at a path that the model gave, and the texts there that may differ from the disk.

    A nested folder of the workspace is a target of its own.

    Args:
        given: the path, or None for the whole workspace.

    Returns:
        The targets, and the texts of proposed and open files, as from `Files.texts_not_on_disk`.

    Raises:
        ToolError: the path cannot be used, or there is nothing at it, neither on disk nor among these texts.
    """
    roots, within = files.roots, files.roots.scopes(given)
    nested = [path for path in roots.paths if any(path != each and path.is_relative_to(each) for each in within)]
    targets = [
        SearchTarget(roots, root, path) for path in dict.fromkeys([*within, *nested]) if (root := roots.folder_of(path))
    ]
    texts = {path: text for path, text in files.texts_not_on_disk() if any(map(path.is_relative_to, within))}
    if not any(path.exists() for path in within) and all(text is None for text in texts.values()):
        raise ToolError(f"No such file or folder: {given or '.'}")
    return targets, texts


def omitted_ignored(names: Collection[str]) -> str:
    """A line about the ignored files that a result omits, with a leading newline; empty if there are none."""
    if not names:
        return ""
    shown = ", ".join(sorted(names)[:MAX_IGNORED]) + (", ..." if len(names) > MAX_IGNORED else ".")
    return f"\n(Left out because ignored: {shown} To use one, pass it as `path`.)"
