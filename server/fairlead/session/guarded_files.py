"""The files that sandboxed commands must not read or must not write."""

import asyncio
import logging
import sys
from collections.abc import Callable, Iterable, Sequence, Set
from pathlib import Path

from fairlead.shell.layer import View
from fairlead.workspace.paths import Root, Roots, below, real_path
from fairlead.workspace.protected import ProtectedFiles, is_repository
from fairlead.workspace.secrets import RULES, SecretFinder, names_secrets

log = logging.getLogger(__name__)

# for the hidden and read-only files in a repository around the workspace: each needs a mount, which takes time
_MAX_MOUNTS = 300


class GuardedFiles:
    """The guarded files in a root folder. Remembers what it found, so that later searches are quick."""

    def __init__(self, root: Path, allowed: Callable[[], Sequence[str]] = tuple) -> None:
        """`allowed` returns the current patterns of the files that the user opened (`secrets.allow`)."""
        self._secrets, self._protected = SecretFinder(root, allowed=allowed), ProtectedFiles(root)
        self._searching = asyncio.Lock()
        self._first_search: asyncio.Task[View] | None = None

    def start(self) -> None:
        """Starts the first search, which takes longest, unless it has started before."""
        if self._first_search is None:
            self._first_search = asyncio.create_task(self.view())
            self._first_search.add_done_callback(_log_failure)

    async def view(self, apart: Set[str] = frozenset()) -> View:
        """The files on disk as any command sees them: without secrets, and with protected files that it cannot write.

        Names are relative to the root.

        Args:
            apart: folders in which no secrets are searched for, as paths relative to the root.

        Raises:
            WorkspaceError: the search failed.
        """
        async with self._searching:
            # One after the other: each makes a short system call per folder, and two threads that do so at once hand
            # Python's lock to each other at every call, which takes several times as long.
            found = await self._secrets.find(apart)
            protected = await asyncio.to_thread(self._protected.find)
        read_only = [name for name in protected if not is_repository(name)]
        # removes links to secrets outside of the root from the view, because their targets cannot be hidden
        proposed = dict.fromkeys(found.outside)
        return View(proposed, found.names, read_only, found.repositories, nested_rules=found.nested_rules)


async def guarded_view(roots: Roots, guarded_files: Callable[[Root], GuardedFiles]) -> View:
    """Like `GuardedFiles.view`, for all folders of a workspace and the repositories around them (`View.enclosing`).

    Names are as `Roots.relative` returns them.

    Args:
        guarded_files: returns the guarded files of a folder.
    """
    tops = await asyncio.to_thread(enclosing_tops, roots)
    # one after the other, for the reason given in `GuardedFiles.view`
    views = [await guarded_files(root).view() for root in roots.folders]
    around = [await _view_around(top, roots, guarded_files(Root(top))) for top in tops]
    # links that look like secrets and lead outside of their folder, perhaps to a file of the repository around it
    links = [root.real / name for root, view in zip(roots.folders, views, strict=True) for name in view.proposed]
    targets = [real_path(link) for link in links]

    def named(names: Sequence[Iterable[str]]) -> list[str]:
        pairs = zip(roots.folders, names, strict=True)
        return [name for root, inner in pairs for name in roots.names_of(root, inner)]

    enclosing: dict[Path, View] = {}
    for top, found in zip(tops, around, strict=True):
        view = _apart(found, top, roots, targets) if isinstance(found, View) else found
        reason = await asyncio.to_thread(_why_hidden, top, view)
        if isinstance(view, View) and not reason:
            enclosing[top] = view
        else:
            log.warning("the rest of the repository %s is hidden from commands: %s", top, reason)
    return View(
        dict.fromkeys(named([view.proposed for view in views])),
        frozenset(named([view.hidden for view in views])),
        named([view.read_only for view in views]),
        frozenset(named([view.repositories for view in views])),
        enclosing,
    )


async def _view_around(top: Path, roots: Roots, files: GuardedFiles) -> View | BaseException:
    """The view of a repository around the workspace, or what the search in it raised."""
    [found] = await asyncio.gather(files.view(_inside(top, roots)), return_exceptions=True)
    return found


def _why_hidden(top: Path, found: View | BaseException) -> str:
    """Why a repository around the workspace is hidden, given what the search in it found; empty if it is shown."""
    if not isinstance(found, View):
        return f"the search for secrets failed: {found!r}"
    for name in found.nested_rules:
        if names_secrets(top / name):
            return f"the rules in {name}/{RULES} do not apply, so they must be moved to the top of the repository"
    count = len(found.hidden) + len(found.read_only)
    return f"{count:,} files would have to be hidden or protected, more than {_MAX_MOUNTS}" * (count > _MAX_MOUNTS)


def enclosing_tops(roots: Roots) -> Sequence[Path]:
    """The top folders of the repositories around the workspace that commands may see. Empty except on Linux."""
    if sys.platform != "linux":
        return ()
    from fairlead.shell.sandbox.enclosing import shown_repositories  # noqa: PLC0415  imports only on Linux

    return shown_repositories(roots)


def _inside(top: Path, roots: Roots) -> frozenset[str]:
    """The workspace's folders in a repository, relative to its top. Their secrets are searched for separately."""
    return frozenset(name for root in roots.folders if (name := below(root.real, top)) is not None)


def _apart(view: View, top: Path, roots: Roots, targets: Iterable[Path]) -> View:
    """The view of a repository without the workspace's folders in it, whose own rules apply.

    Args:
        targets: the targets of the workspace's links that look like secrets.
    """
    own = tuple(f"{name}/" for name in _inside(top, roots))

    def apart(names: Iterable[str]) -> list[str]:
        return [name for name in names if not f"{name}/".startswith(own)]

    hidden = {*view.hidden, *(name for target in targets if (name := below(target, top)) is not None)}
    proposed, repositories = dict.fromkeys(apart(view.proposed)), frozenset(apart(view.repositories))
    nested_rules = apart(view.nested_rules)
    return View(proposed, frozenset(hidden), apart(view.read_only), repositories, nested_rules=nested_rules)


def _log_failure(search: asyncio.Task[View]) -> None:
    """Logs the error of the first search. The command that needs the files searches again and reports it."""
    if not search.cancelled() and search.exception() is not None:
        log.info("the first search for guarded files failed: %s", search.exception())
