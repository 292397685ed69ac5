"""Which files look like secrets: not read, searched or listed for the model without asking, hidden in the sandbox.

By name: a list of the usual ones, and what the workspace's `.fairleadignore` says, which goes before the list.
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

from fairlead.agent.errors import ToolError
from fairlead.workspace.disk import read_bytes
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
_WHOLE = frozenset(name for name in _NAMES if "*" not in name)
_ENDS = tuple(name[1:] for name in _NAMES if name.startswith("*"))
_STARTS = {name.split("*")[0]: name.split("*")[1] for name in _NAMES if "*" in name[1:]}
_ANY_START = tuple(_STARTS)
_DEPENDENCIES = ("node_modules", ".venv", "venv", "site-packages", "bower_components", "__pycache__")
_ANY_DEPENDENCIES = rf"(?:^|/)(?:{'|'.join(map(re.escape, _DEPENDENCIES))})/"
_IN_DEPENDENCIES = re.compile(_ANY_DEPENDENCIES)
_SECONDS = 60  # between two looks into folders of dependencies
# keys and certificates that a package ships are published, and programs need them (certifi, pytest-httpbin)
_SHIPPED = re.compile(
    rf"{_ANY_DEPENDENCIES}[^./][^/]*/(?:.*/)?(?:[^/]*\.(?:pem|key|p12|pfx|ppk|kdbx|jks|keystore)|id_[^/.]*)$"
)
_PATTERNS = (*_NAMES, "id_*", *(f"**/{name}/**" for name in sorted(_FOLDERS)), *(f"**{path}" for path in _PATHS))
_MAX_RULE = 500
_MAX_STARS = 4  # matching takes time in the name's length to the power of their number
_MAX_FILES = 10_000

Rules = Callable[[str], bool]


def secret_rules(root: Path) -> Rules:
    """Tells of a path relative to the root, with `/`, whether it looks like a secret; in any case of letters.

    `.fairleadignore` at the root reads like a `.gitignore`; a line with `!` takes files out of the list.
    """
    return _rules(_own(root))


@dataclass(frozen=True, slots=True)
class Secrets:
    """What a command must not read below a root, by paths relative to it with `/`."""

    names: frozenset[str] = frozenset()
    """The files and links that look like secrets."""
    outside: frozenset[str] = frozenset()
    """Those of them that are links and lead out of the root."""
    repositories: frozenset[str] = frozenset()
    """The folders and files that git takes for a repository; their settings may hold tokens."""


class SecretFinder:
    """Finds the files and links below a root that look like secrets, ignored ones too; at most 10,000.

    Files in folders of dependencies are looked up at the first call and then once a minute, because there are many. The
    keys and certificates of an installed package do not count, nor do links in such folders. The version control's own
    folder is not looked through.
    """

    def __init__(self, root: Path, clock: Callable[[], float] = monotonic) -> None:
        self._root, self._clock = root, clock
        self._in_dependencies: frozenset[str] = frozenset()
        self._due = float("-inf")

    async def find(self) -> Secrets:
        """All that are there now.

        Raises:
            ToolError: they cannot be looked for.
        """
        started = self._clock()
        is_due = started >= self._due
        found = await asyncio.gather(
            _secret_files(self._root, in_dependencies=is_due), asyncio.to_thread(_look_through, self._root)
        )
        files, (links, repositories) = found
        if is_due:
            self._in_dependencies = frozenset(filter(_IN_DEPENDENCIES.search, files))
            self._due = started + _SECONDS
        outside = frozenset(link for link, inside in links.items() if not inside)
        return Secrets(files | self._in_dependencies | frozenset(links), outside, repositories)


async def _secret_files(root: Path, *, in_dependencies: bool) -> frozenset[str]:
    is_secret = secret_rules(root)
    globs = [] if in_dependencies else [part for name in _DEPENDENCIES for part in ("--glob", f"!{name}")]
    if not _lines(_own(root)):  # ripgrep passes over the other names quickly
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


def _look_through(root: Path) -> tuple[dict[str, bool], frozenset[str]]:
    """What ripgrep does not list: the links that look like secrets by their own names, with whether each stays inside,
    and the repositories."""
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
                    # a link to a folder is one if all that lies in a folder of its name is
                    if is_secret(f"{path}/x" if os.path.isdir(entry.path) else path):
                        end = Path(os.path.realpath(entry.path))
                        links[path] = end != real and end.is_relative_to(real)
    return links, frozenset(repositories)


def _own(root: Path) -> bytes:
    """What `.fairleadignore` says."""
    try:
        return read_bytes(root / RULES) or b""
    except ToolError as error:
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
    import pathspec  # noqa: PLC0415  a good part of the start-up, and seldom needed

    own = pathspec.GitIgnoreSpec.from_lines(lines)

    def is_secret(name: str) -> bool:
        name = name.casefold()
        said = own.check_file(name).include
        return _by_name(name) if said is None else said

    return is_secret


def _by_name(name: str) -> bool:
    folders, _, last = name.rpartition("/")
    if last.endswith(_HARMLESS):
        return False
    if last in _WHOLE or last.endswith(_ENDS) or f"/{name}".endswith(_PATHS):
        return True
    if last.startswith(_ANY_START) and any(
        last.startswith(start) and last.endswith(end) for start, end in _STARTS.items()
    ):
        return True
    # an id_rsa has no ending; id_map.py is no key
    return (last.startswith("id_") and "." not in last) or (
        "." in folders and not _FOLDERS.isdisjoint(folders.split("/"))
    )


def _is_rule(line: str) -> bool:
    """What would take too long to match, or is no pattern, is passed over as Git passes over what it does not know."""
    import pathspec  # noqa: PLC0415  as above

    if not line.strip() or line.startswith("#"):
        return False
    try:
        pathspec.GitIgnoreSpec.from_lines([line])
    except ValueError:
        fit = False
    else:
        stars = max(len(re.findall(r"\*+", part)) for part in line.split("/"))
        fit = len(line) <= _MAX_RULE and stars <= _MAX_STARS and line.count("**") <= _MAX_STARS
    if not fit:
        log.warning("a line of %s is not used: %s", RULES, line[:100])
    return fit
