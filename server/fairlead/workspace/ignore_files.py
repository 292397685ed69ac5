"""Finds the files with ignore rules that `rg` must not read, because it would not end or use up the memory.

Git does not follow a link that is named `.gitignore` and takes it for absent; `rg` follows it, and reads whatever has
the name (docs/faults.md 191).
"""

import os
import stat
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from fairlead.workspace.paths import real_path
from fairlead.workspace.repositories import git_folder, named_path, read_start

MAX_BYTES = 1_000_000
"""The size of the largest file with rules that is read. Git reads larger ones, but nobody writes them."""
MAX_OF_SLOW = 100_000
"""The same once `rg` needs too much time or memory."""
SECONDS = 10.0
"""How long a search for such files may take."""
NO_GIT_RULES, NO_OTHER_RULES = "--no-ignore-vcs", "--no-ignore-dot"
"""The options of `rg` that leave out the rules of all `.gitignore` files, and of all others."""
_GIT_FILE = ".git"  # in a worktree or submodule, a file that names the repository, whose rules `rg` uses
_OPTIONS = {
    ".gitignore": NO_GIT_RULES,
    ".ignore": NO_OTHER_RULES,
    ".rgignore": NO_OTHER_RULES,
    _GIT_FILE: NO_GIT_RULES,
}
# where the kernel shows files that look regular but may be endless, or block
_OF_THE_KERNEL = ("/proc/", "/sys/", "/dev/")


def unusable_around(folder: Path) -> dict[Path, str]:
    """The unusable files that `rg` reads for any search in a folder, each with the option that leaves them out.

    They are in the folder itself, above it and in its repository.
    """
    found = {path: _OPTIONS[path.name] for above in (folder, *folder.parents) for path in _unusable(str(above))}
    link = next((above / ".git" for above in (folder, *folder.parents) if os.path.lexists(above / ".git")), None)
    if link is not None:
        own = git_folder(link)
        shared = own / "commondir"
        files = [shared, own / "info/exclude"]
        if not _is_unusable(str(shared)):
            files.append(named_path(own, read_start(shared)) / "info/exclude")
        found |= {path: NO_GIT_RULES for path in files if _is_unusable(str(path))}
    return found


def unusable_below(folder: Path, seconds: float = SECONDS) -> dict[Path, str]:
    """The unusable files in a folder and below it, for an `rg` that needs too much. As from `unusable_around`.

    Blocks for at most about `seconds`.
    """
    deadline, found, folders = time.monotonic() + seconds, dict[Path, str](), [str(folder)]
    while folders and time.monotonic() < deadline:
        current = folders.pop()
        found |= {path: _OPTIONS[path.name] for path in _unusable(current, MAX_OF_SLOW)}
        try:
            with os.scandir(current) as entries:
                folders += [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]
        except OSError:
            continue
    return found


def still_unusable(found: Mapping[Path, str]) -> dict[Path, str]:
    """Those of the files that are still there and unusable."""
    return {path: option for path, option in found.items() if _is_unusable(str(path), MAX_OF_SLOW)}


def _unusable(folder: str, max_bytes: int = MAX_BYTES) -> Iterator[Path]:
    return (Path(folder, name) for name in _OPTIONS if _is_unusable(os.path.join(folder, name), max_bytes))


def _is_unusable(path: str, max_bytes: int = MAX_BYTES) -> bool:
    """Whether reading a file might not end, or take too much memory. A folder, or nothing, gives `rg` an error only."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return False
    if stat.S_ISDIR(status.st_mode):
        return False
    if not stat.S_ISREG(status.st_mode):
        return os.path.basename(path) != _GIT_FILE  # which `rg` reads only if it is regular
    if status.st_size > max_bytes:
        return True
    return os.path.islink(path) and str(real_path(path)).startswith(_OF_THE_KERNEL)
