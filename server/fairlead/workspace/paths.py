"""Resolves paths and refuses those outside of the workspace root (docs/plan.md L11, docs/faults.md 32 to 34)."""

import contextlib
import os
from pathlib import Path

from fairlead.workspace.errors import WorkspaceError


class PathEscape(WorkspaceError):
    """A path outside of the workspace, given as such or through a symbolic link."""


def below(path: Path, root: Path) -> str | None:
    """`path` relative to `root`, "." for the root itself; None if it is not below it.

    As `Path.relative_to`, but ten times as fast: a command may change thousands of files.
    """
    name, prefix = str(path), os.path.join(root, "")
    if name.startswith(prefix):
        return name[len(prefix) :]
    return str(path.relative_to(root)) if path.is_relative_to(root) else None


class Root:
    """The workspace folder. `path` is the path that the editor gave, `real` has symbolic links resolved."""

    def __init__(self, path: Path) -> None:
        self.path = Path(os.path.normpath(path))
        self.real = Path(os.path.realpath(path))

    def resolve(self, given: str) -> Path:
        """The absolute path of a given one, with links inside the workspace followed.

        The result is below `path`, even if the root is reached through links, so that each file has one name.

        Raises:
            PathEscape: it is outside of the workspace, or a link leads outside.
            WorkspaceError: it is not a valid path.
        """
        if "\0" in given:
            raise WorkspaceError("A path cannot contain a NUL character.")
        lexical = Path(os.path.normpath(self.path / given))
        if not (lexical.is_relative_to(self.path) or lexical.is_relative_to(self.real)):
            raise PathEscape(f"Path escapes workspace: {given}")
        try:
            real = Path(os.path.realpath(lexical))
            if not real.is_relative_to(self.real):
                raise PathEscape(f"Path escapes workspace: {given}")
            with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                real.lstat()
        except UnicodeEncodeError as error:
            raise WorkspaceError("The path contains characters that are not valid Unicode.") from error
        except OSError as error:
            raise WorkspaceError(f"Not a usable path: {given[:200]} ({error.strerror or error})") from error
        return self.path / real.relative_to(self.real)

    def check_no_link(self, given: str) -> None:
        """Checks that a path is not a link, whose target would be changed in its place.

        Raises:
            WorkspaceError: the path is a symbolic link.
        """
        if os.path.islink(os.path.normpath(self.path / given)):
            raise WorkspaceError(
                f"{given} is a symbolic link. Links cannot be deleted or renamed here. Name the file itself."
            )

    def relative(self, path: Path) -> str:
        """The name of a file for the user and the model: relative to the root, with forward slashes."""
        inner = below(path, self.path)
        return str(path) if inner is None else inner.replace(os.sep, "/")
