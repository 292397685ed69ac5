"""Paths stay beneath the workspace root (docs/plan.md L11, docs/faults.md 32 to 34)."""

import contextlib
import os
from pathlib import Path

from fairlead.agent.errors import ToolError


class PathEscape(ToolError):
    """A path that leads out of the workspace, by itself or through a symbolic link."""


def below(path: Path, root: Path) -> str | None:
    """`path` relative to `root`, "." for the root itself; None where it is not below it.

    As `Path.relative_to`, which takes ten times as long: a command may change thousands of files.
    """
    name, prefix = str(path), os.path.join(root, "")
    if name.startswith(prefix):
        return name[len(prefix) :]
    return str(path.relative_to(root)) if path.is_relative_to(root) else None


class Root:
    """The workspace folder. `path` is as the editor named it, `real` with symbolic links resolved."""

    def __init__(self, path: Path) -> None:
        self.path = Path(os.path.normpath(path))
        self.real = Path(os.path.realpath(path))

    def resolve(self, given: str) -> Path:
        """The absolute path that a given one means, links inside the workspace followed.

        The result is below `path`, whatever links the root itself hangs on, so that one file has one name.

        Raises:
            PathEscape: it lies outside, or a link on the way leads outside.
            ToolError: it cannot be a path.
        """
        if "\0" in given:
            raise ToolError("A path cannot hold a NUL character.")
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
            raise ToolError("The path holds characters that are no valid Unicode.") from error
        except OSError as error:
            raise ToolError(f"Not a usable path: {given[:200]} ({error.strerror or error})") from error
        return self.path / real.relative_to(self.real)

    def check_no_link(self, given: str) -> None:
        """A link and what it leads to are two things: what is done to one path must not happen to the other.

        Raises:
            ToolError: the path itself is a symbolic link.
        """
        if os.path.islink(os.path.normpath(self.path / given)):
            raise ToolError(
                f"{given} is a symbolic link. Links cannot be deleted or renamed here; name the file itself."
            )

    def relative(self, path: Path) -> str:
        """How people and the model name a file: relative to the root, with forward slashes."""
        inner = below(path, self.path)
        return str(path) if inner is None else inner.replace(os.sep, "/")
