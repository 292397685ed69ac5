"""What a box shows of the machine: all of it read-only, without the places in which secrets and doors to others are.

The home is an empty folder in memory, on which the tools that live there are put back by a list; so are `/tmp`, `/run`
and their like. Never here: a mount; this says which there shall be.
"""

import os
import re
import shutil
import stat
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from fairlead.shell.sandbox import installed
from fairlead.workspace.repositories import text_of

# a source, where it is seen, and whether it can be written
Bind = tuple[str, str, bool]

_ENVIRONMENTS = (".venv", "venv", "env", ".env")
_PASSED = (
    *("PATH", "LANG", "LANGUAGE", "TZ", "SHELL", "USER", "LOGNAME", "COLUMNS", "EDITOR"),
    *("VIRTUAL_ENV", "CONDA_PREFIX", "CONDA_DEFAULT_ENV", "PYENV_ROOT", "PYENV_VERSION", "PYTHONPATH", "PYTHONUTF8"),
    *("NODE_PATH", "NODE_ENV", "NODE_OPTIONS", "NVM_DIR", "NVM_BIN", "VOLTA_HOME", "FNM_DIR", "PNPM_HOME"),
    *("JAVA_HOME", "M2_HOME", "MAVEN_HOME", "GRADLE_HOME", "ANDROID_HOME", "ANDROID_SDK_ROOT", "SDKMAN_DIR"),
    *("GOPATH", "GOROOT", "GOFLAGS", "GOTOOLCHAIN", "CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN", "DOTNET_ROOT"),
    *("GEM_HOME", "GEM_PATH", "RBENV_ROOT", "RBENV_VERSION", "ASDF_DIR", "ASDF_DATA_DIR", "CI", "SOURCE_DATE_EPOCH"),
    *("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL", "PKG_CONFIG_PATH"),
    *("LD_LIBRARY_PATH", "CC", "CXX", "CFLAGS", "CXXFLAGS", "LDFLAGS", "MAKEFLAGS", "CMAKE_PREFIX_PATH"),
)
_OWN = ("/proc", "/sys", "/dev")  # each box has its own, or sees the kernel's
_SET = {
    "TERM": "dumb",
    "TMPDIR": "/tmp",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",  # else `git status` copies the index into the layer
}
# where nobody answers: else these programs ask again for a minute, and some hold their end back for it
_ONCE = {
    "npm_config_fetch_retries": "0",
    "npm_config_update_notifier": "false",
    "PIP_RETRIES": "0",
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "CARGO_NET_RETRY": "0",
}


@dataclass(frozen=True, slots=True)
class PrivateFolder:
    """A folder that the box has for itself, empty: where, under which name in the scratch file system, its mode."""

    path: Path
    name: str
    mode: int


def command_environment(environment: Mapping[str, str], *, network: bool) -> dict[str, str]:
    """What a command in a box gets of an environment; by a list, so that no key is ever in it (docs/faults.md 40)."""
    kept = {name: text for name, text in environment.items() if name in _PASSED or name.startswith("LC_")}
    return {**kept, **_SET, **({} if network else _ONCE), "HOME": str(home())}


def home() -> Path:
    return Path(os.path.expanduser("~")).resolve()


def private_folders(inside: Iterable[Path] = ()) -> list[PrivateFolder]:
    """The folders that a box has for itself, outer ones before what is in them.

    Among them those that are closed to others and have one of `inside` in them, which could not be reached else.
    """
    wanted = {"/tmp": 0o1777, "/var/tmp": 0o1777, "/run": 0o755, "/dev/shm": 0o1777, "/home": 0o755, "/root": 0o700}
    found = {Path(path).resolve(): mode for path, mode in wanted.items() if os.path.isdir(path)}
    found.setdefault(home(), 0o700)
    for path in inside:
        closed = next((folder for folder in reversed(path.parents) if not anyone_may_enter(folder)), path)
        if closed != path and found.keys().isdisjoint((closed, *closed.parents)):
            found[closed] = 0o755
    return [PrivateFolder(path, f"blank-{n}", found[path]) for n, path in enumerate(sorted(found))]


def tool_paths(root: Path, environment: Mapping[str, str]) -> list[Path]:
    """What is put back, read-only, into the folders that a box has for itself: the outermost of what is shown."""
    found = [(home() / name, parts) for name, parts in installed.IN_HOME.items()]
    found += [
        (Path(environment[name]), parts) for name, parts in installed.BY_VARIABLE.items() if environment.get(name)
    ]
    found += [
        (path, installed.parts_of_path_folder(path))
        for path in map(Path, environment.get("PATH", "").split(os.pathsep))
    ]
    places = [blank.path for blank in private_folders()]
    hidden = [(folder, parts) for folder, parts in found if _is_hidden(folder, places)]
    put_back = {path for folder, parts in hidden for path in installed.shown_paths(folder, parts)} | set(
        _interpreters(root)
    )
    put_back = {path for path in put_back if _can_be_put_back(path, root, places)}
    return sorted(path for path in put_back if put_back.isdisjoint(path.parents))


def _is_hidden(folder: Path, places: list[Path]) -> bool:
    return any(folder != place and folder.is_relative_to(place) for place in places)


def _can_be_put_back(path: Path, root: Path, places: list[Path]) -> bool:
    """A folder or file that a blank one would hide, and not what the blank one is there to hide."""
    if not os.path.exists(path):  # unlike `Path.exists`, also where a folder on the way is closed
        return False
    real = Path(os.path.abspath(path))
    if real.is_relative_to(root) or root.is_relative_to(real) or any(place.is_relative_to(real) for place in places):
        return False
    return any(real.is_relative_to(place) for place in places)


def _interpreters(root: Path) -> Iterator[Path]:
    """The Pythons that the workspace's virtual environments stand on: their programs and libraries, and nothing beside.

    The workspace names the place, so it must look like a Python's and be what it is called, with no link on the way.
    """
    for name in _ENVIRONMENTS:
        named = re.search(r"^home\s*=\s*(.+?)\s*$", text_of(root / name / "pyvenv.cfg"), re.M)
        folder = Path(os.path.abspath(named[1])) if named else None
        if folder is None or folder.name != "bin" or not any(folder.glob("python3*")):
            continue
        libraries = [*folder.parent.glob("lib/python3*"), *folder.parent.glob("lib/libpython3*")]
        if any(map(os.path.isdir, libraries)):
            yield from (path for path in (folder, *libraries, folder.parent / "include") if path.resolve() == path)


def root_only_paths() -> list[Path]:
    """What on this machine only root may read, and root's command shall not: password files, private keys."""
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
    """The doors of other programs: sockets that have a name in the file system, as they are at this moment."""
    try:
        lines = Path("/proc/net/unix").read_bytes().splitlines()[1:]
    except OSError:
        return []
    names = {os.fsdecode(fields[7]) for line in lines if len(fields := line.split(None, 7)) == 8}
    return [Path(name) for name in names if name.startswith("/") and os.path.exists(name)]


def resolver_files() -> list[Path]:
    """Where names of the network are looked up, if that is below a folder that the box has for itself."""
    real = Path("/etc/resolv.conf").resolve()
    return [real] if real.is_file() else []


def find_bash() -> str | None:
    return shutil.which("bash", path="/usr/local/bin:/usr/bin:/bin") or shutil.which("bash")


def anyone_may_enter(folder: Path) -> bool:
    """Whether everybody may pass through a folder."""
    try:
        return bool(folder.stat().st_mode & 0o001)
    except OSError:
        return False


def is_reachable(path: Path, shown: Collection[Path]) -> bool:
    """Whether everybody may pass through the folders above, up to one that is shown of itself."""
    for folder in path.parents:
        if folder in shown:
            return True
        if not anyone_may_enter(folder):
            return False
    return True


def shown_mount_points(blank: Collection[Path]) -> list[str]:
    """Where something is mounted that a box shows, outer ones before what is in them."""
    own = {*blank, *map(Path, _OWN)}
    points = {*mount_points(), Path("/")}
    return [str(point) for point in sorted(points) if own.isdisjoint((point, *point.parents))]


def mount_points() -> Iterator[Path]:
    for line in Path("/proc/self/mountinfo").read_bytes().splitlines():
        escaped = line.split(b" ")[4]
        yield Path(os.fsdecode(re.sub(rb"\\(\d{3})", lambda found: bytes([int(found[1], 8)]), escaped)))


def is_shown(path: Path, blank: Collection[Path], back: Collection[Path]) -> bool:
    """Whether a box shows a path at all: the nearest folder that says something about it decides."""
    for folder in (path, *path.parents):
        if folder in back:
            break
        if folder in blank:
            return False
    return os.path.exists(path)
