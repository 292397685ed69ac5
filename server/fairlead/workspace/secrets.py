"""Files that look like secrets. The model needs the user's permission to read them; sandboxed commands cannot.

They are recognized by name: by the workspace's `.fairleadignore`, else by a list of common names.
"""

import asyncio
import contextlib
import logging
import os
import re
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from time import monotonic

from fairlead.workspace.disk import read_bytes
from fairlead.workspace.errors import WorkspaceError
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
_HARMLESS = (".pub", ".example", ".sample", ".template", ".dist", ".tmpl", ".defaults")
_EXACT = frozenset(name for name in _NAMES if "*" not in name)
_ENDS = tuple(name[1:] for name in _NAMES if name.startswith("*"))
_STARTS = {name.split("*")[0]: name.split("*")[1] for name in _NAMES if "*" in name[1:]}
_ANY_START = tuple(_STARTS)
_DEPENDENCIES = ("node_modules", ".venv", "venv", "site-packages", "bower_components", "__pycache__")
_ANY_DEPENDENCIES = rf"(?:^|/)(?:{'|'.join(map(re.escape, _DEPENDENCIES))})/"
_IN_DEPENDENCIES = re.compile(_ANY_DEPENDENCIES)
_SEARCH_INTERVAL = 60  # between two searches of folders of dependencies
# keys and certificates in a package are public, and programs need them (certifi, pytest-httpbin)
_SHIPPED = re.compile(
    rf"{_ANY_DEPENDENCIES}[^./][^/]*/(?:.*/)?(?:[^/]*\.(?:pem|key|p12|pfx|ppk|kdbx|jks|keystore)|id_[^/.]*)$"
)
_PATTERNS = (*_NAMES, "id_*", *(f"**/{name}/**" for name in sorted(_FOLDERS)), *(f"**{path}" for path in _PATHS))
_MAX_RULE = 500
_MAX_STARS = 4  # the time to match grows with the length of the name to the power of the number of stars
_MAX_FILES = 10_000

Rules = Callable[[str], bool]


def secret_rules(root: Path) -> Rules:
    """A predicate on paths relative to the root, with `/`: whether the file looks like a secret. Ignores case.

    `.fairleadignore` at the root has the format of a `.gitignore`; a line with `!` exempts files.
    """
    return _rules(_read_rules(root))


@dataclass(frozen=True, slots=True)
class Secrets:
    """What a command must not read below a root. Paths are relative to it, with `/`."""

    names: frozenset[str] = frozenset()
    """The files and links that look like secrets."""
    outside: frozenset[str] = frozenset()
    """Those that are links to something outside of the root."""
    repositories: frozenset[str] = frozenset()
    """The folders and files that Git takes for a repository; their settings may contain tokens."""


class SecretFinder:
    """Finds the files and links below a root that look like secrets, including ignored files; at most 10,000.

    Searches folders of dependencies at the first call and then once a minute, because they are large. Skips keys and
    certificates of installed packages, links in folders of dependencies, and `.git`.
    """

    def __init__(self, root: Path, clock: Callable[[], float] = monotonic) -> None:
        self._root, self._clock = root, clock
        self._in_dependencies: frozenset[str] = frozenset()
        self._next_search = float("-inf")

    async def find(self) -> Secrets:
        """Searches now.

        Raises:
            WorkspaceError: the search failed.
        """
        started = self._clock()
        with_dependencies = started >= self._next_search
        files, (links, repositories) = await asyncio.gather(
            _secret_files(self._root, in_dependencies=with_dependencies),
            asyncio.to_thread(_links_and_repositories, self._root),
        )
        if with_dependencies:
            self._in_dependencies = frozenset(filter(_IN_DEPENDENCIES.search, files))
            self._next_search = started + _SEARCH_INTERVAL
        outside = frozenset(link for link, inside in links.items() if not inside)
        return Secrets(files | self._in_dependencies | frozenset(links), outside, repositories)


async def _secret_files(root: Path, *, in_dependencies: bool) -> frozenset[str]:
    is_secret = secret_rules(root)
    globs = [] if in_dependencies else [part for name in _DEPENDENCIES for part in ("--glob", f"!{name}")]
    if not _lines(_read_rules(root)):  # lets ripgrep skip other names quickly
        globs += [part for pattern in _PATTERNS for part in ("--iglob", pattern)]
    found: set[str] = set()
    listing = records(["--files", "--null", "--no-ignore", *globs, "--", "."], root, end=b"\0")
    async with aclosing(listing) as output:
        async for record in output:
            name = plain_name((record or b"").decode("utf-8", "surrogateescape"))
            if name and is_secret(name) and not _SHIPPED.search(name.casefold()):
                found.add(name)
            if len(found) >= _MAX_FILES:
                break
    return frozenset(found)


def _links_and_repositories(root: Path) -> tuple[dict[str, bool], frozenset[str]]:
    """What ripgrep does not list: the links whose own names look like secrets, each with whether its target is inside
    the root, and the repositories."""
    is_secret, real = secret_rules(root), Path(os.path.realpath(root))
    links: dict[str, bool] = {}
    repositories: set[str] = set()
    folders = [""]
    while folders:
        folder = folders.pop()
        with contextlib.suppress(OSError), os.scandir(root / folder) as scanned:
            entries = {entry.name: entry for entry in scanned}
            if folder and is_git_folder(entries.__contains__):
                repositories.add(folder.removesuffix("/"))
                continue
            for name, entry in entries.items():
                if name == ".git":
                    repositories.add(f"{folder}{name}")
                elif entry.is_dir(follow_symlinks=False):
                    if name not in _DEPENDENCIES:
                        folders.append(f"{folder}{name}/")
                elif entry.is_symlink():
                    path = f"{folder}{name}"
                    # a link to a folder counts if every file in a folder of its name would
                    if is_secret(f"{path}/x" if os.path.isdir(entry.path) else path):
                        target = Path(os.path.realpath(entry.path))
                        links[path] = target != real and target.is_relative_to(real)
    return links, frozenset(repositories)


def _read_rules(root: Path) -> bytes:
    """The bytes of `.fairleadignore`, empty if there is none."""
    try:
        return read_bytes(root / RULES) or b""
    except WorkspaceError as error:
        log.warning("%s is not used: %s", RULES, error)
        return b""


@lru_cache(maxsize=16)
def _lines(data: bytes) -> tuple[str, ...]:
    return tuple(line for line in data.decode("utf-8", "replace").casefold().splitlines() if _is_rule(line))


@lru_cache(maxsize=16)
def _rules(data: bytes) -> Rules:
    lines = _lines(data)
    if not lines:
        return lambda name: _by_name(name.casefold())
    import pathspec  # noqa: PLC0415  slow to import, and rarely needed

    spec = pathspec.GitIgnoreSpec.from_lines(lines)

    def is_secret(name: str) -> bool:
        name = name.casefold()
        match = spec.check_file(name).include
        return _by_name(name) if match is None else match

    return is_secret


def _by_name(name: str) -> bool:
    folders, _, last = name.rpartition("/")
    if last.endswith(_HARMLESS):
        return False
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
        pathspec.GitIgnoreSpec.from_lines([line])
    except ValueError:
        is_usable = False
    else:
        stars = max(len(re.findall(r"\*+", part)) for part in line.split("/"))
        is_usable = len(line) <= _MAX_RULE and stars <= _MAX_STARS and line.count("**") <= _MAX_STARS
    if not is_usable:
        log.warning("a line of %s is not used: %s", RULES, line[:100])
    return is_usable
