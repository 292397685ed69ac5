"""Decides what a box shows of the machine: everything read-only, without secrets and other programs' sockets.

The home, `/tmp`, `/run` and similar folders are empty and private to the box. Of the machine's files in them, only
the user's tools are mounted again (`tools.py`). This module mounts nothing.
"""

import os
import re
import shutil
import stat
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fairlead.shell.environment import named_variables
from fairlead.shell.layer import NON_INTERACTIVE
from fairlead.shell.network import Network, proxy_variables
from fairlead.workspace.paths import real_path

# (source, target, writable)
Bind = tuple[str, str, bool]

_PASSED_VARIABLES = (
    *("PATH", "LANG", "LANGUAGE", "TZ", "SHELL", "USER", "LOGNAME", "COLUMNS", "EDITOR"),
    *("VIRTUAL_ENV", "CONDA_PREFIX", "CONDA_DEFAULT_ENV", "PYENV_ROOT", "PYENV_VERSION", "PYTHONPATH", "PYTHONUTF8"),
    *("NODE_PATH", "NODE_ENV", "NODE_OPTIONS", "NVM_DIR", "NVM_BIN", "VOLTA_HOME", "FNM_DIR", "PNPM_HOME"),
    *("JAVA_HOME", "M2_HOME", "MAVEN_HOME", "GRADLE_HOME", "ANDROID_HOME", "ANDROID_SDK_ROOT", "SDKMAN_DIR"),
    *("GOPATH", "GOROOT", "GOFLAGS", "GOTOOLCHAIN", "CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN", "DOTNET_ROOT"),
    *("GEM_HOME", "GEM_PATH", "RBENV_ROOT", "RBENV_VERSION", "ASDF_DIR", "ASDF_DATA_DIR", "CI", "SOURCE_DATE_EPOCH"),
    *("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL", "PKG_CONFIG_PATH"),
    *("COREPACK_HOME", "PLAYWRIGHT_BROWSERS_PATH", "CYPRESS_CACHE_FOLDER", "PUPPETEER_CACHE_DIR"),
    *("LD_LIBRARY_PATH", "CC", "CXX", "CFLAGS", "CXXFLAGS", "LDFLAGS", "MAKEFLAGS", "CMAKE_PREFIX_PATH"),
)
# the part of NODE_OPTIONS with which a terminal of VS Code attaches the debugger to Node
_AUTO_ATTACH = re.compile(r'\s*--require[ =](?:"[^"]*js-debug[^"]*bootloader[^"]*"|[^\s"]*js-debug\S*bootloader\S*)')
_SYSTEM = ("/proc", "/sys", "/dev")  # a box has its own, or sees the kernel's
_SET_VARIABLES = {
    **NON_INTERACTIVE,
    "TMPDIR": "/tmp",
    "COREPACK_DEFAULT_TO_LATEST": "0",  # otherwise it fails to write a newer version to lastKnownGood.json
    "GIT_OPTIONAL_LOCKS": "0",  # otherwise `git status` copies the index into the layer
}
# without a network: otherwise these programs retry for a minute, and some exit only then
_NO_RETRIES = {
    "npm_config_fetch_retries": "0",
    "npm_config_update_notifier": "false",
    "PIP_RETRIES": "0",
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "CARGO_NET_RETRY": "0",
}


@dataclass(frozen=True, slots=True)
class PrivateFolder:
    """A folder that is private to the box, and empty at first."""

    path: Path
    name: str
    """Its name in the scratch file system."""
    mode: int


def paths_of(folders: Iterable[PrivateFolder]) -> set[Path]:
    """The paths of private folders."""
    return {folder.path for folder in folders}


def command_environment(
    environment: Mapping[str, str], patterns: Sequence[str] = (), *, network: Network, terminal: str = ""
) -> dict[str, str]:
    """The environment of a command in a box.

    Passes only listed variables and those that the user's `patterns` name, and so no API keys (docs/faults.md 40).

    Args:
        terminal: as in `ProgramBox`.
    """
    passed = {name: text for name, text in environment.items() if name in _PASSED_VARIABLES or name.startswith("LC_")}
    passed |= named_variables(environment, patterns)[0]
    if "NODE_OPTIONS" in passed:  # Node does not start without the debugger's file, which a box hides
        passed["NODE_OPTIONS"] = _AUTO_ATTACH.sub("", passed["NODE_OPTIONS"]).strip()
    passed |= proxy_variables(environment) if network.internet else _NO_RETRIES
    passed |= {**_SET_VARIABLES, "HOME": str(home())}
    if terminal:
        passed = {name: text for name, text in passed.items() if name not in NON_INTERACTIVE} | {"TERM": terminal}
    return passed


def home() -> Path:
    """The user's home, with links resolved."""
    return real_path(os.path.expanduser("~"))


def private_folders(mounted: Iterable[Path] = ()) -> list[PrivateFolder]:
    """The private folders of a box, outer ones first.

    For each path in `mounted`, they include its outermost parent that not every user may enter, because nothing can be
    mounted in such a folder.
    """
    wanted = {"/tmp": 0o1777, "/var/tmp": 0o1777, "/run": 0o755, "/dev/shm": 0o1777, "/home": 0o755, "/root": 0o700}
    found = {real_path(path): mode for path, mode in wanted.items() if os.path.isdir(path)}
    found.setdefault(home(), 0o700)
    for path in mounted:
        closed = next((folder for folder in reversed(path.parents) if not anyone_may_enter(folder)), path)
        if closed != path and found.keys().isdisjoint((closed, *closed.parents)):
            found[closed] = 0o755
    return [PrivateFolder(path, f"blank-{n}", found[path]) for n, path in enumerate(sorted(found))]


def root_only_paths() -> list[Path]:
    """Files and folders that not every user may read, such as password files, in the upper levels of system folders.

    Commands must not read them, even if they run as root.
    """
    found: list[Path] = []
    for top, depth in (("/etc", 4), ("/var", 2), ("/opt", 1), ("/srv", 1), ("/boot", 1)):
        found += _closed_below(top, depth)
    return found


def _closed_below(folder: str, depth: int) -> Iterator[Path]:
    try:
        entries = list(os.scandir(folder))
    except OSError:
        return
    for entry in entries:
        try:
            mode = entry.stat(follow_symlinks=False).st_mode
        except OSError:
            continue
        if stat.S_ISDIR(mode):
            if mode & 0o005 != 0o005:
                yield Path(entry.path)
            elif depth > 1:
                yield from _closed_below(entry.path, depth - 1)
        elif stat.S_ISREG(mode) and not mode & 0o004:
            yield Path(entry.path)


def socket_paths() -> list[Path]:
    """All sockets that have an absolute path in the file system at this moment."""
    try:
        lines = Path("/proc/net/unix").read_bytes().splitlines()[1:]
    except OSError:
        return []
    names = {os.fsdecode(fields[7]) for line in lines if len(fields := line.split(None, 7)) == 8}
    return [Path(name) for name in names if name.startswith("/") and os.path.exists(name)]


def resolver_file() -> Path | None:
    """The file that configures name lookup, which may be in a private folder; None if there is none."""
    real = real_path("/etc/resolv.conf")
    return real if os.path.isfile(real) else None


def find_bash() -> str | None:
    """The path of bash; None if it is not installed."""
    return shutil.which("bash", path="/usr/local/bin:/usr/bin:/bin") or shutil.which("bash")


def anyone_may_enter(folder: Path) -> bool:
    """Whether every user may enter a folder."""
    try:
        return bool(folder.stat().st_mode & 0o001)
    except OSError:
        return False


def is_reachable(path: Path, shown: Collection[Path]) -> bool:
    """Whether every user may enter the parents of a path, up to the nearest one in `shown`."""
    for folder in path.parents:
        if folder in shown:
            return True
        if not anyone_may_enter(folder):
            return False
    return True


def shown_mount_points(private: Collection[Path]) -> list[str]:
    """The mount points that a box shows, outer ones first: `/`, and all outside of private and system folders."""
    own = {*private, *map(Path, _SYSTEM)}
    points = {*mount_points(), Path("/")}
    return [str(point) for point in sorted(points) if own.isdisjoint((point, *point.parents))]


def mount_points() -> Iterator[Path]:
    """The mount points of the machine as this process sees it."""
    for line in Path("/proc/self/mountinfo").read_bytes().splitlines():
        escaped = line.split(b" ")[4]
        yield Path(os.fsdecode(re.sub(rb"\\(\d{3})", lambda found: bytes([int(found[1], 8)]), escaped)))


def is_shown(path: Path, private: Collection[Path], shown: Collection[Path]) -> bool:
    """Whether a path exists and a box shows it.

    Of the path and its parents, the nearest that is in one of the two collections decides. If none is, the box shows
    the path.
    """
    for folder in (path, *path.parents):
        if folder in shown:
            break
        if folder in private:
            return False
    return os.path.exists(path)
