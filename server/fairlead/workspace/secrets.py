"""Files that look like secrets. The model needs permission to read them; sandboxed commands cannot read them.

They are recognized by name: by the rules in `.fairleadignore`, else by a list of common names. Only `auth.json` needs a
look at the folder.
"""

import asyncio
import logging
import os
import re
from collections.abc import Callable, Iterable, Sequence, Set
from contextlib import aclosing
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import islice
from pathlib import Path
from time import monotonic

from fairlead.edits.text import split_lines, without_line_ending
from fairlead.workspace.disk import read_bytes
from fairlead.workspace.errors import WorkspaceError
from fairlead.workspace.folder_index import Entries, FolderIndex
from fairlead.workspace.paths import Roots, real_path
from fairlead.workspace.pattern_limits import check_pattern
from fairlead.workspace.repositories import is_git_folder
from fairlead.workspace.ripgrep import plain_name, records

log = logging.getLogger(__name__)

RULES = ".fairleadignore"
_NAMES = (
    *(".env", ".env.*", ".envrc.local", "*.pem", "*.key", "*.p12", "*.pfx", "*.ppk", "*.kdbx", "*.jks", "*.keystore"),
    *(".npmrc", ".netrc", "_netrc", ".pypirc", ".git-credentials", ".pgpass", ".my.cnf", ".htpasswd", ".dockercfg"),
    *(".s3cfg", ".boto", ".terraformrc", ".vault-token", "credentials.json", "credentials.toml", "client_secret*.json"),
    *("service-account*.json", "service_account*.json", "serviceaccount*.json", "gha-creds-*.json", "kubeconfig"),
    *("secrets.json", "secrets.yml", "secrets.yaml", "secrets.toml", "secrets.env", "*.tfstate", "*.tfstate.backup"),
    *("*.tfvars", "local.settings.json", "auth.json"),
)
_FOLDERS = frozenset((".ssh", ".gnupg", ".aws", ".azure", ".kube"))
_PATHS = ("/.docker/config.json", "/.cargo/credentials", "/.config/gcloud/credentials.db")
_TOKENS = "auth.json"  # of Composer and some agents; deeper in a project, it is usually a translation
_PUBLIC_KEY = "/android/app/debug.keystore"  # every React Native project has the same
_HARMLESS = (".pub", ".example", ".sample", ".template", ".dist", ".tmpl", ".defaults")
_EXACT = frozenset(name for name in _NAMES if "*" not in name and name != _TOKENS)
_ENDS = tuple(name[1:] for name in _NAMES if name.startswith("*"))
_STARTS = {name.split("*")[0]: name.split("*")[1] for name in _NAMES if "*" in name[1:]}
_ANY_START = tuple(_STARTS)
_DEPENDENCIES = ("node_modules", ".venv", "venv", "site-packages", "bower_components", "__pycache__")
_ANY_DEPENDENCIES = rf"(?:^|/)(?:{'|'.join(map(re.escape, _DEPENDENCIES))})/"
_SEARCH_INTERVAL = 60  # seconds between two searches of folders of dependencies
# keys and certificates in a package are public, and programs need them (certifi, pytest-httpbin)
_SHIPPED = re.compile(
    rf"{_ANY_DEPENDENCIES}[^./][^/]*/(?:.*/)?(?:[^/]*\.(?:pem|key|p12|pfx|ppk|kdbx|jks|keystore)|id_[^/.]*)$"
)
_PATTERNS = (*_NAMES, "id_*", *(f"**/{name}/**" for name in sorted(_FOLDERS)), *(f"**{path}" for path in _PATHS))
_MAX_FILES = 10_000
_MAX_ARGUMENTS = 1000  # folders in the arguments of one `rg` command

IsSecret = Callable[[str], bool]


def secret_path_filter(root: Path) -> IsSecret:
    """A predicate on paths relative to the root, with `/`: whether the file looks like a secret. Ignores case.

    `.fairleadignore` in the root has the format of a `.gitignore`: a line names secrets, or exempts files with `!`.
    """
    return _rules(root, _read_rules(root))


def secret_name_filter(roots: Roots) -> IsSecret:
    """Like `secret_path_filter`, but on names of files in any folder of the workspace (`Roots.relative`).

    Each folder has its own rules. In a nested folder, those of the outer ones apply too.
    """
    if not roots.has_names and roots.folders:
        return secret_path_filter(roots.first.path)
    rules = {root.path: secret_path_filter(root.path) for root in roots.folders}
    # by folder: the rules that apply, each with the path from the folder that has the rules to this one
    applying = {
        root.name: [(rules[outer.path], "" if way == "." else f"{way}/") for outer, way in roots.enclosing(root.path)]
        for root in roots.folders
    }

    def is_secret(name: str) -> bool:
        found = roots.split(name)
        if found is None:
            return _by_name(name)
        root, inner = found
        return any(rule(f"{prefix}{inner}") for rule, prefix in applying[root.name])

    return is_secret


def is_shipped(name: str) -> bool:
    """Whether a file that looks like a secret is public, as the certificates in an installed package are."""
    return _SHIPPED.search(name.casefold()) is not None


def names_secrets(folder: Path) -> bool:
    """Whether a folder has rules of its own by which a file looks like a secret."""
    return any(not line.startswith("!") for line in _lines(_read_rules(folder)))


def secret_globs(folders: Iterable[Path]) -> Sequence[str]:
    """Options with which `rg` lists only files that may look like secrets; none if a folder has rules of its own.

    With these options, `rg` also lists ignored files, unless their folder is ignored.
    """
    if any(_lines(_read_rules(folder)) for folder in folders):
        return ()
    return [part for pattern in _PATTERNS for part in ("--iglob", pattern)]


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

    Finds at most 10,000 files outside of folders of dependencies, and 10,000 in them.

    Folders of dependencies are large, so they are searched at most once a minute. Other folders are searched again only
    if names in them have changed. Skips `.git`, links in folders of dependencies, and keys and certificates of
    installed packages.
    """

    def __init__(self, root: Path, clock: Callable[[], float] = monotonic) -> None:
        self._root, self._clock = root, clock
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
            WorkspaceError: the search failed.
        """
        started = self._clock()
        found, dependencies = await asyncio.to_thread(self._find_outside_dependencies, apart)
        if started >= self._next_search:
            self._in_dependencies = await _secrets_below(self._root, dependencies)
            self._next_search = started + _SEARCH_INTERVAL
        return replace(found, names=found.names | self._in_dependencies)

    def _find_outside_dependencies(self, apart: Set[str]) -> tuple[Secrets, Sequence[str]]:
        """The secrets outside of folders of dependencies, and the paths of those folders."""
        rules = secret_path_filter(self._root)
        if self._index is None or rules is not self._rules or apart != self._apart:
            self._rules, self._apart, self._next_search = rules, apart, float("-inf")
            self._index = FolderIndex(self._root, partial(_examine, rules, apart))
        noted = self._index.current_notes().values()
        real = real_path(self._root)
        links = [link for each in noted for link in each.links if _is_secret_link(rules, self._root, link)]
        files = islice((name for each in noted for name in each.secrets), _MAX_FILES)
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
            (noted.dependencies.append(path) if name in _DEPENDENCIES else below.append(name))
        elif entry.is_symlink():
            if is_secret(path) or is_secret(f"{path}/x"):
                noted.links.append(path)
        elif is_secret(path) and not _SHIPPED.search(path.casefold()):
            noted.secrets.append(path)
    is_empty = not (noted.secrets or noted.links or noted.repositories or noted.dependencies or noted.nested_rules)
    return None if is_empty else noted, below


def _is_secret_link(is_secret: IsSecret, root: Path, link: str) -> bool:
    """Whether a link's own name looks like a secret: as a folder if it leads to one, else as a file."""
    return is_secret(f"{link}/x" if os.path.isdir(root / link) else link)


def _leads_inside(real: Path, link: Path) -> bool:
    target = real_path(link)
    return target != real and target.is_relative_to(real)


async def _secrets_below(root: Path, folders: Sequence[str]) -> frozenset[str]:
    """The secrets in folders of dependencies."""
    is_secret = secret_path_filter(root)
    globs = secret_globs([root])  # lets ripgrep skip other names quickly
    found: set[str] = set()
    for start in range(0, len(folders), _MAX_ARGUMENTS):
        batch = folders[start : start + _MAX_ARGUMENTS]
        listing = records(["--files", "--null", "--no-ignore", *globs, "--", *batch], root, end=b"\0")
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
def _rules(root: Path, data: bytes) -> IsSecret:
    lines = _lines(data)
    if not lines:
        return lambda name: _by_name(name, root)
    import pathspec  # noqa: PLC0415  slow to import, and rarely needed

    spec = pathspec.GitIgnoreSpec.from_lines(lines)

    def is_secret(name: str) -> bool:
        match = spec.check_file(name.casefold()).include
        return _by_name(name, root) if match is None else match

    return is_secret


def _by_name(path: str, root: Path | None = None) -> bool:
    """Whether a path looks like a secret by the list of common names. `root` is what it is relative to, if known."""
    name = path.casefold()
    folders, _, last = name.rpartition("/")
    if last.endswith(_HARMLESS) or f"/{name}".endswith(_PUBLIC_KEY):
        return False
    if last == _TOKENS and (root is None or not folders or "/." in f"/{folders}"):
        return True
    if last == _TOKENS and root is not None and os.path.exists(root / path.rpartition("/")[0] / "composer.json"):
        return True
    if last in _EXACT or last.endswith(_ENDS) or f"/{name}".endswith(_PATHS):
        return True
    if last.startswith(_ANY_START) and any(
        last.startswith(start) and last.endswith(end) for start, end in _STARTS.items()
    ):
        return True
    # a key such as id_rsa has no suffix, unlike id_map.py
    return (last.startswith("id_") and "." not in last) or (
        "." in folders and not _FOLDERS.isdisjoint(folders.split("/"))
    )


def _is_rule(line: str) -> bool:
    """Whether a line is a usable pattern. Lines that are invalid or slow to match are skipped, with a warning."""
    import pathspec  # noqa: PLC0415  as above

    if not line.strip() or line.startswith("#"):
        return False
    try:
        check_pattern(line)
        pathspec.GitIgnoreSpec.from_lines([line])
    except ValueError as error:
        log.warning("a line of %s is not used: %s (%s)", RULES, line[:100], error)
        return False
    return True
