"""Files that look like secrets. The model needs permission to read them; sandboxed commands cannot read them.

They are recognized by name: by the rules in `.fairleadignore`, and by the tables of `secret_names.py`. Only the user's
setting `secrets.allow` makes a name of these tables ordinary: a repository must not open what the user keeps in it.
"""

import asyncio
import logging
import os
from collections.abc import Callable, Iterable, Sequence, Set
from contextlib import aclosing
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from time import monotonic

from fairlead.text_lines import split_lines, without_line_ending
from fairlead.workspace.disk import read_bytes
from fairlead.workspace.errors import WorkspaceError
from fairlead.workspace.folder_index import Entries, FolderIndex
from fairlead.workspace.paths import Roots, real_path
from fairlead.workspace.pattern_limits import check_pattern
from fairlead.workspace.repositories import is_git_folder
from fairlead.workspace.ripgrep import plain_name, records
from fairlead.workspace.secret_names import DEPENDENCIES, globs, is_shipped, looks_secret

log = logging.getLogger(__name__)

RULES = ".fairleadignore"
_SEARCH_INTERVAL = 60  # seconds between two searches of folders of dependencies
_MAX_FILES = 10_000
_MAX_ARGUMENTS = 1000  # folders in the arguments of one `rg` command

IsSecret = Callable[[str], bool]


def read_pattern(text: str) -> str:
    """A pattern of `secrets.allow`, without whitespace around it. Raises ValueError if it cannot be used."""
    pattern = text.strip()
    if not pattern or pattern.startswith(("#", "!")):
        raise ValueError("It must be a pattern as in a .gitignore, such as tests/certs/*.pem.")
    _parse(pattern)
    return pattern


def secret_path_filter(root: Path, allowed: Sequence[str] = ()) -> IsSecret:
    """A predicate on paths relative to the root, with `/`: whether the file looks like a secret. Ignores case.

    `.fairleadignore` in the root has the format of a `.gitignore`: a line names further secrets. A line with `!` only
    undoes earlier lines.

    Args:
        allowed: valid patterns (`read_pattern`) of the files that the user opened, relative to the root.
    """
    return _rules(root, _read_rules(root), tuple(allowed))


def secret_name_filter(roots: Roots, allowed: Sequence[str] = ()) -> IsSecret:
    """Like `secret_path_filter`, but on names of files in any folder of the workspace (`Roots.relative`).

    Each folder has its own rules. In a nested folder, those of the outer ones apply too.
    """
    if not roots.has_names and roots.folders:
        return secret_path_filter(roots.first.path, allowed)
    rules = {root.path: secret_path_filter(root.path, allowed) for root in roots.folders}
    # by folder: the rules that apply, each with the path from the folder that has the rules to this one
    applying = {
        root.name: [(rules[outer.path], "" if way == "." else f"{way}/") for outer, way in roots.enclosing(root.path)]
        for root in roots.folders
    }

    def is_secret(name: str) -> bool:
        found = roots.split(name)
        if found is None:
            return looks_secret(name)
        root, inner = found
        return any(rule(f"{prefix}{inner}") for rule, prefix in applying[root.name])

    return is_secret


def names_secrets(folder: Path) -> bool:
    """Whether a folder has rules of its own by which a file looks like a secret."""
    return any(not line.startswith("!") for line in _lines(_read_rules(folder)))


def secret_globs(folders: Iterable[Path]) -> Sequence[str]:
    """Options with which `rg` lists only files that may look like secrets; none if a folder has rules of its own.

    With these options, `rg` also lists ignored files, unless their folder is ignored.
    """
    if any(map(names_secrets, folders)):
        return ()
    return [part for pattern in globs() for part in ("--iglob", pattern)]


@dataclass(frozen=True, slots=True)
class Secrets:
    """What a command must not read below a root. Paths are relative to it, with `/`."""

    names: frozenset[str] = frozenset()
    """The files and links that look like secrets."""
    outside: frozenset[str] = frozenset()
    """The names that are links to something outside of the root."""
    repositories: frozenset[str] = frozenset()
    """The folders and files that Git takes for a repository; their settings may contain tokens."""
    nested_rules: frozenset[str] = frozenset()
    """The folders below the root with a `.fairleadignore` of their own, which does not apply."""


@dataclass(frozen=True, slots=True)
class _Noted:
    """What `_examine` noted about a folder. Paths are relative to the root."""

    secrets: list[str]
    links: list[str]
    """Links whose own names look like a secret file or like a folder of secrets."""
    repositories: list[str]
    """As in `Secrets`."""
    dependencies: list[str]
    """Folders of dependencies, which are not examined."""
    nested_rules: list[str]
    """As in `Secrets`."""


class SecretFinder:
    """Finds the files and links below a root that look like secrets, including ignored files.

    Finds at most 10,000 files in folders of dependencies.

    Folders of dependencies are large, so they are searched at most once a minute. Other folders are searched again only
    if names in them have changed. Skips `.git`, links in folders of dependencies, and keys and certificates of
    installed packages.
    """

    def __init__(
        self, root: Path, clock: Callable[[], float] = monotonic, allowed: Callable[[], Sequence[str]] = tuple
    ) -> None:
        """`allowed` returns the current patterns of the files that the user opened (`secret_path_filter`)."""
        self._root, self._clock, self._allowed = root, clock, allowed
        self._rules: IsSecret | None = None
        self._apart: Set[str] = frozenset()
        self._index: FolderIndex[_Noted] | None = None
        self._in_dependencies: frozenset[str] = frozenset()
        self._next_search = float("-inf")

    async def find(self, apart: Set[str] = frozenset()) -> Secrets:
        """The secrets as they are now. Those in folders of dependencies may be up to a minute old.

        Do not call it again before it has returned.

        Args:
            apart: folders that are not searched, as paths relative to the root.

        Raises:
            WorkspaceError: the search failed, or found more than 10,000 files outside of folders of dependencies.
        """
        started = self._clock()
        allowed = tuple(self._allowed())
        found, dependencies = await asyncio.to_thread(self._find_outside_dependencies, apart, allowed)
        if started >= self._next_search:
            self._in_dependencies = await _secrets_below(self._root, dependencies, allowed)
            self._next_search = started + _SEARCH_INTERVAL
        return replace(found, names=found.names | self._in_dependencies)

    def _find_outside_dependencies(self, apart: Set[str], allowed: Sequence[str]) -> tuple[Secrets, Sequence[str]]:
        """The secrets outside of folders of dependencies, and the paths of those folders."""
        rules = secret_path_filter(self._root, allowed)
        if self._index is None or rules is not self._rules or apart != self._apart:
            self._rules, self._apart, self._next_search = rules, apart, float("-inf")
            self._index = FolderIndex(self._root, partial(_examine, rules, apart))
        noted = self._index.current_notes().values()
        real = real_path(self._root)
        links = [link for each in noted for link in each.links if _is_secret_link(rules, self._root, link)]
        files = [name for each in noted for name in each.secrets]
        if len(files) > _MAX_FILES:  # not all of them could be hidden
            raise WorkspaceError(
                f"More than {_MAX_FILES:,} files look like secrets, such as {files[0]}. If they are not, the user can "
                "open them with the setting secrets.allow."
            )
        outside = frozenset(link for link in links if not _leads_inside(real, self._root / link))
        repositories = frozenset(name for each in noted for name in each.repositories)
        names = frozenset((*files, *links))
        nested_rules = frozenset(folder for each in noted for folder in each.nested_rules)
        found = Secrets(names, outside, repositories, nested_rules)
        return found, [name for each in noted for name in each.dependencies]


def _examine(
    is_secret: IsSecret, apart: Set[str], folder: str, entries: Entries
) -> tuple[_Noted | None, Sequence[str]]:
    """See `FolderIndex`. `apart` are the folders that are not examined."""
    noted, below = _Noted([], [], [], [], []), list[str]()
    if folder and RULES in entries:
        noted.nested_rules.append(folder)
    if folder and is_git_folder(entries.__contains__):
        noted.repositories.append(folder)
    for name, entry in entries.items():
        path = f"{folder}/{name}" if folder else name
        if name == ".git":
            noted.repositories.append(path)
        elif path in apart:
            continue
        elif entry.is_dir(follow_symlinks=False):
            (noted.dependencies.append(path) if name in DEPENDENCIES else below.append(name))
        elif entry.is_symlink():
            if is_secret(path) or is_secret(f"{path}/x"):
                noted.links.append(path)
        elif is_secret(path) and not is_shipped(path):
            noted.secrets.append(path)
    is_empty = not (noted.secrets or noted.links or noted.repositories or noted.dependencies or noted.nested_rules)
    return None if is_empty else noted, below


def _is_secret_link(is_secret: IsSecret, root: Path, link: str) -> bool:
    """Whether a link's own name looks like a secret: as a folder if it leads to one, else as a file."""
    return is_secret(f"{link}/x" if os.path.isdir(root / link) else link)


def _leads_inside(real: Path, link: Path) -> bool:
    target = real_path(link)
    return target != real and target.is_relative_to(real)


async def _secrets_below(root: Path, folders: Sequence[str], allowed: Sequence[str]) -> frozenset[str]:
    """The secrets in folders of dependencies."""
    is_secret = secret_path_filter(root, allowed)
    options = secret_globs([root])  # lets ripgrep skip other names quickly
    found: set[str] = set()
    for start in range(0, len(folders), _MAX_ARGUMENTS):
        batch = folders[start : start + _MAX_ARGUMENTS]
        listing = records(["--files", "--null", "--no-ignore", *options, "--", *batch], root, end=b"\0")
        async with aclosing(listing) as output:
            async for record in output:
                name = plain_name(record or b"")
                if name and is_secret(name) and not is_shipped(name):
                    found.add(name)
                if len(found) >= _MAX_FILES:
                    return frozenset(found)
    return frozenset(found)


def _read_rules(root: Path) -> bytes:
    """The bytes of `.fairleadignore`; empty if there is none, or it cannot be read."""
    try:
        return read_bytes(root / RULES) or b""
    except WorkspaceError as error:
        log.warning("%s is not used: %s", RULES, error)
        return b""


@lru_cache(maxsize=16)
def _lines(data: bytes) -> tuple[str, ...]:
    lines = map(without_line_ending, split_lines(data.decode("utf-8", "replace").casefold()))
    return tuple(line for line in lines if _is_rule(line))


@lru_cache(maxsize=16)
def _rules(root: Path, data: bytes, allowed: tuple[str, ...]) -> IsSecret:
    lines = _lines(data)
    if not lines and not allowed:
        return lambda name: looks_secret(name, root)
    import pathspec  # noqa: PLC0415  slow to import, and rarely needed

    own = pathspec.GitIgnoreSpec.from_lines(lines)
    opened = pathspec.GitIgnoreSpec.from_lines(pattern.casefold() for pattern in allowed)

    def is_secret(name: str) -> bool:
        path = name.casefold()
        return own.match_file(path) or (looks_secret(name, root) and not opened.match_file(path))

    return is_secret


def _is_rule(line: str) -> bool:
    """Whether a line is a usable pattern. Lines that are invalid or slow to match are skipped, with a warning."""
    if not line.strip() or line.startswith("#"):
        return False
    try:
        _parse(line)
    except ValueError as error:
        log.warning("a line of %s is not used: %s (%s)", RULES, line[:100], error)
        return False
    return True


def _parse(line: str) -> None:
    """Raises ValueError if a line is not a pattern, or is slow to match."""
    import pathspec  # noqa: PLC0415  as above

    check_pattern(line)
    pathspec.GitIgnoreSpec.from_lines([line])
