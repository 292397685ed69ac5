"""Where `search` and `list_files` look: a file or folder on disk, and the texts in it that the disk does not have."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from fairlead.agent.errors import ToolError
from fairlead.workspace.files import Files
from fairlead.workspace.paths import Root, Roots, below
from fairlead.workspace.ripgrep import file_names, only_named
from fairlead.workspace.secrets import secret_globs

MAX_NAMED = 200
"""The most names in the arguments of one command."""


@dataclass(frozen=True)
class Place:
    """A file or folder in a folder of the workspace."""

    roots: Roots
    root: Root
    path: Path

    @property
    def inner(self) -> str:
        """The path in the folder."""
        return (below(self.path, self.root.path) or ".").replace(os.sep, "/")

    async def names(self, most: int) -> set[str]:
        """The names of at most `most` files there that no rule ignores."""
        if not self.path.exists():
            return set()
        found = await file_names(self.inner, self.root.path, most)
        return {name for name, _ in self.roots.names_in(self.root, found)}

    async def secrets(self, is_secret: Callable[[str], bool], most: int) -> set[str]:
        """The names of the files there that look like secrets and that no rule ignores.

        `rg` filters the names, because in a large workspace that is much faster than to read them all.
        """
        globs = secret_globs(self.roots.paths)
        found = await file_names(self.inner, self.root.path, most, globs)
        secrets = {name: inner for name, inner in self.roots.names_in(self.root, found) if is_secret(name)}
        if globs and secrets:
            last_parts = {inner.rpartition("/")[2] for inner in secrets.values()}
            options = only_named(last_parts) if len(last_parts) <= MAX_NAMED else ()
            not_ignored = await file_names(self.inner, self.root.path, most, options)
            return {name for name, inner in secrets.items() if inner in not_ignored}
        return set(secrets)

    def name(self, inner: str) -> str | None:
        """The name of a file in the folder; None if it belongs to a folder of the workspace inside this one."""
        return next((name for name, _ in self.roots.names_in(self.root, [inner])), None)


def search_scope(files: Files, given: str | None) -> tuple[list[Place], dict[Path, str | None]]:
    """The places of a path that the model gave (none: the whole workspace), and the texts in them.

    The texts are those of `Files.texts_not_on_disk`. A folder of the workspace inside a place is a place too.

    Raises:
        ToolError: there is nothing at the path, neither on disk nor among these texts.
    """
    roots, within = files.roots, files.roots.scopes(given)
    inside = [path for path in roots.paths if any(path != each and path.is_relative_to(each) for each in within)]
    found = [Place(roots, root, path) for path in dict.fromkeys([*within, *inside]) if (root := roots.folder_of(path))]
    texts = {path: text for path, text in files.texts_not_on_disk() if any(map(path.is_relative_to, within))}
    if not any(path.exists() for path in within) and all(text is None for text in texts.values()):
        raise ToolError(f"No such file or folder: {given or '.'}")
    return found, texts
