"""Why there is no sandbox and what can be done, by what failed when one was tried. Importable on every system."""

import errno
import os
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

# what the launcher calls the steps that the system may forbid (`kernel.py`, `launcher.py`)
_STEPS = re.compile(r"namespaces: |/proc/self/\w+: |\bmount |open_tree |move_mount |mount_setattr|bubblewrap gave up")
_SETTINGS = {
    "/proc/sys/kernel/apparmor_restrict_unprivileged_userns": ("1", "AppArmor keeps programs from it"),
    "/proc/sys/kernel/unprivileged_userns_clone": ("0", "they are switched off for ordinary users"),
    "/proc/sys/user/max_user_namespaces": ("0", "they are switched off"),
}
_CONTAINERS = ("/.dockerenv", "/run/.containerenv")
NEEDED = "It takes a kernel of 5.12 or newer, with user namespaces and overlayfs."
NO_ANSWER = "a command in it gave no answer in time"


def is_full(reason: str) -> bool:
    """Whether a disk, or what the user may have of it, is full. Too many namespaces have the same error."""
    full = any(os.strerror(number) in reason for number in (errno.ENOSPC, errno.EDQUOT))
    return full and "namespaces: " not in reason


def may_pass(reasons: Sequence[str]) -> bool:
    """Whether a later try may succeed on the same machine."""
    return any(is_full(reason) or NO_ANSWER in reason for reason in reasons)


def explained(reasons: Sequence[str], root: Path) -> str:
    """For people. `reasons` are what failed, one for each place and program that was tried."""
    closed = _closed_to_owner(root)
    if closed is not None:
        return (
            f"Commands run as the owner of the workspace (user {root.stat().st_uid}), who cannot enter {closed}. "
            f"Work as that user, move the workspace, or let others pass (chmod o+x {closed})."
        )
    if any(map(is_full, reasons)):
        return "No space is left for the sandbox's files. Free some space, then start the task again."
    forbidden = next((reason for reason in reasons if _STEPS.search(reason)), None)
    if forbidden is None:
        first = reasons[0] if reasons else "there is no folder for its files"
        return f"Trying it failed: {first.rstrip('.')}. {'' if may_pass(reasons) else NEEDED}".rstrip()
    for path, (value, why) in _SETTINGS.items():
        if _text(path) == value:
            name = path.removeprefix("/proc/sys/").replace("/", ".")
            return f"User namespaces cannot be made: {why} ({name} = {value}). An administrator can change it."
    refused = any(os.strerror(number) in forbidden for number in (errno.EPERM, errno.EACCES))
    if refused and any(map(os.path.exists, _CONTAINERS)):
        return f"This container does not allow it ({forbidden}). It must be started with the right to make namespaces."
    return f"The system {'does not allow it' if refused else 'cannot do it'} ({forbidden}). {NEEDED}"


def _closed_to_owner(root: Path) -> Path | None:
    """The outermost folder on the way to a workspace that its owner cannot enter, where commands run as its owner."""
    owner = root.stat()
    if os.geteuid() != 0 or owner.st_uid == 0:
        return None
    for folder in (*reversed(root.parents), root):
        enter = ["/bin/sh", "-c", 'cd -- "$1"', "sh", str(folder)]
        account = {"user": owner.st_uid, "group": owner.st_gid, "extra_groups": list[int]()}
        try:
            tried = subprocess.run(enter, check=False, capture_output=True, cwd="/", **account)
        except (OSError, subprocess.SubprocessError):
            return None
        if tried.returncode:
            return folder
    return None


def _text(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""
