"""Where `search` and `list_files` look: files and folders on disk, and the texts of proposed and open files."""

import asyncio
import contextlib
import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from fairlead.errors import ToolError
from fairlead.workspace.errors import WorkspaceError
from fairlead.workspace.files import Files
from fairlead.workspace.paths import Root, Roots, below
from fairlead.workspace.ripgrep import (
    MAX_FILE,
    file_names,
    options_for_names,
    plain_name,
    records,
    take_without_large,
    unusable_rules,
)
from fairlead.workspace.secret_names import is_shipped
from fairlead.workspace.secrets import secret_globs

A = TypeVar("A")
B = TypeVar("B")

MAX_NAMED = 200
"""The most names in the arguments of one `rg` command."""
MAX_IGNORED = 5
"""The most ignored files that a result names."""
IGNORED_SECONDS = 1.0
"""How long a search may look for ignored files, in all of its folders together."""
NOT_ALL_IGNORED = "\n(Not all ignored files were looked at. To use one, pass it as `path`.)"
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

    async def ignored_names(self) -> AsyncGenerator[str, None]:
        """The names of all files in it on disk, with those that a rule ignores."""
        if self.path.exists():
            listing = records(["--files", "--null", WITH_IGNORED, "--", self.inner], self.root.path, end=b"\0")
            async with aclosing(listing) as output:
                async for record in output:
                    name = self.name(plain_name(record)) if record else None
                    if name is not None:
                        yield name

    async def ignored_secrets(self, is_secret: Callable[[str], bool], limit: int) -> set[str]:
        """Like `secrets`, with those that a rule ignores, but without those of installed packages."""
        options = [WITH_IGNORED, *secret_globs(self.roots.paths)]
        return {name for name in await self.names(limit, options) if is_secret(name) and not is_shipped(name)}

    def name(self, inner: str) -> str | None:
        """The name of a file at a path in `root`; None if it belongs to a nested folder of the workspace."""
        return next((name for name, _ in self.roots.names_in(self.root, [inner])), None)


def search_scope(files: Files, given: str | None) -> tuple[list[SearchTarget], dict[Path, str | None]]:
    """The files and folders to search at a path that the model gave, and the texts there that may differ from the disk.

    A nested folder of the workspace is a target of its own.

    Args:
        given: the path, or None for the whole workspace.

    Returns:
        The targets, and the texts of proposed and open files, as from `Files.texts_not_on_disk`, and of closed files
        whose encodings only a document showed.

    Raises:
        ToolError: the path cannot be used, or there is nothing at it, neither on disk nor among these texts.
    """
    roots, within = files.roots, files.roots.scopes(given)
    nested = [path for path in roots.paths if any(path != each and path.is_relative_to(each) for each in within)]
    targets = [
        SearchTarget(roots, root, path) for path in dict.fromkeys([*within, *nested]) if (root := roots.folder_of(path))
    ]
    texts = {path: text for path, text in files.texts_not_on_disk() if any(map(path.is_relative_to, within))}
    for path in files.user_files.shown_by_documents():  # `rg` does not know their encodings
        if path not in texts and any(map(path.is_relative_to, within)):
            with contextlib.suppress(WorkspaceError):
                texts[path] = files.read(path)
    if not any(path.exists() for path in within) and all(text is None for text in texts.values()):
        raise ToolError(f"No such file or folder: {given or '.'}")
    return targets, texts


async def ignored_files(
    found: Sequence[AsyncGenerator[str, None]],
    targets: Sequence[SearchTarget],
    is_secret: Callable[[str], bool],
    limit: int,
    seconds: float,
) -> tuple[str, set[str]]:
    """What a result without files omits because a rule ignores it: lines about files, and the names of secrets.

    Folders such as `node_modules` can be very large, so the time for both is limited.

    Args:
        found: the names of the files, which may be repeated.
        targets: where secrets are looked for, among at most `limit` files each.

    Returns:
        The lines, each with a leading newline, and the secrets, as from `SearchTarget.ignored_secrets`.
    """
    (note, is_complete), secrets = await both(_note(found, seconds), _secrets(targets, is_secret, limit, seconds))
    return note + ("" if is_complete and secrets is not None else NOT_ALL_IGNORED), secrets or set()


async def _secrets(
    targets: Sequence[SearchTarget], is_secret: Callable[[str], bool], limit: int, seconds: float
) -> set[str] | None:
    """The secrets in all targets. None if listing them takes longer than `seconds`."""
    try:
        async with asyncio.timeout(seconds):
            return {name for target in targets for name in await target.ignored_secrets(is_secret, limit)}
    except TimeoutError:
        return None


async def _note(found: Sequence[AsyncGenerator[str, None]], seconds: float) -> tuple[str, bool]:
    """A line about ignored files, and whether all of them were looked at, or enough.

    The search ends when it has found more files than the result names.
    """
    names = set[str]()
    try:
        async with asyncio.timeout(seconds):
            for each in found:
                async with aclosing(each):
                    async for name in each:
                        names.add(name)
                        if len(names) > MAX_IGNORED:
                            return _omitted_ignored(names), True
    except TimeoutError:
        return _omitted_ignored(names), False
    return _omitted_ignored(names), True


async def both(first: Awaitable[A], second: Awaitable[B]) -> tuple[A, B]:
    """Runs both at the same time. If one fails, raises its error after the other one has ended too."""
    results = await asyncio.gather(first, second, return_exceptions=True)
    a, b = results
    if isinstance(a, BaseException):
        raise a
    if isinstance(b, BaseException):
        raise b
    return a, b


def left_out(targets: Collection[SearchTarget]) -> str:
    """Lines about files that the searches before could not read, each with a leading newline; empty if there are none.

    These are files with ignore rules, and large ones.
    """
    found = {path: target.roots for target in targets for path in unusable_rules(target.root.path)}
    named = ", ".join(list(dict.fromkeys(roots.relative(path) for path, roots in found.items()))[:MAX_IGNORED])
    note = f"\n(Ignored files are included, because these cannot be read as files with ignore rules: {named})"
    large = f"\n(Files of more than {MAX_FILE // 1_000_000} MB were left out, because one has a very long line.)"
    is_without = [take_without_large(root) for root in {target.root.path for target in targets}]
    return note * bool(found) + large * any(is_without)


def _omitted_ignored(names: Collection[str]) -> str:
    if not names:
        return ""
    shown = ", ".join(sorted(names)[:MAX_IGNORED]) + (", ..." if len(names) > MAX_IGNORED else ".")
    return f"\n(Left out because ignored: {shown} To use one, pass it as `path`.)"
