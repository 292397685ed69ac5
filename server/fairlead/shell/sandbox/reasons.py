"""Explains to the user why a trial found no sandbox, or only a weaker one, and what to do.

Can be imported on every system.
"""

import errno
import os
import re
import subprocess
from collections.abc import Collection, Sequence
from pathlib import Path

from fairlead.display import end_sentence

# the launcher's names for the steps that the system may forbid (`box/kernel.py`, `box/launcher.py`)
_STEPS = re.compile(r"namespaces: |/proc/self/\w+: |\bmount |open_tree |move_mount |mount_setattr|bubblewrap failed")
_FULL, _REFUSED = (errno.ENOSPC, errno.EDQUOT), (errno.EPERM, errno.EACCES)
# the kernel's settings that forbid user namespaces: the value that does, the errors that it causes, and what it means
_SETTINGS = {
    "kernel.apparmor_restrict_unprivileged_userns": ("1", _REFUSED, "AppArmor restricts them"),
    "kernel.unprivileged_userns_clone": ("0", _REFUSED, "they are disabled for ordinary users"),
    "user.max_user_namespaces": ("0", _FULL, "they are disabled"),
}
_CONTAINERS = (".dockerenv", "run/.containerenv")
NEEDED = "The sandbox needs Linux 5.12 or newer with user namespaces and overlayfs."
TIMED_OUT = "the trial command timed out"


def is_full(reason: str) -> bool:
    """Whether the reason is a full disk or quota. Too many namespaces cause the same error but do not count."""
    return _has_error(reason, _FULL) and "namespaces: " not in reason


def is_temporary(reasons: Sequence[str]) -> bool:
    """Whether a later trial may succeed on the same machine."""
    return any(is_full(reason) or TIMED_OUT in reason for reason in reasons)


def explain(reasons: Sequence[str], root: Path, system: Path = Path("/")) -> str:
    """Why there is no sandbox, and what to do, as text for the user. May run a program, so call it in a thread.

    Args:
        reasons: the errors, one for each kind of box that was tried.
        root: the first folder of the workspace.
        system: the folder with the kernel's settings (`proc/sys`) and the files that mark a container.
    """
    found = _closed_to_owner(root)
    if found is not None:
        owner, closed = found
        return (
            f"Commands run as the owner of the workspace (user {owner}), who cannot enter {closed}. "
            f"Work as that user, move the workspace, or let other users enter the folder (chmod o+x {closed})."
        )
    if any(map(is_full, reasons)):
        return "No space is left for the sandbox's files. Free some space, then send the prompt again."
    forbidden = next((reason for reason in reasons if _STEPS.search(reason)), None)
    if forbidden is None:
        first = reasons[0] if reasons else "there is no folder for its files"
        advice = "The next run tries again." if is_temporary(reasons) else NEEDED
        return f"A trial of the sandbox failed: {end_sentence(first)} {advice}"
    refused = _has_error(forbidden, _REFUSED)
    # before the settings, which are those of the machine and may not apply in the container
    if refused and any((system / mark).exists() for mark in _CONTAINERS):
        advice = "Start it with permission to create user namespaces."
        return f"This container does not allow a sandbox ({forbidden}). {advice}"
    for name, (value, errors, why) in _SETTINGS.items():
        if _has_error(forbidden, errors) and _text(system / "proc/sys" / name.replace(".", "/")) == value:
            return f"User namespaces are not available: {why} ({name} = {value}). Ask an administrator to enable them."
    return f"This system does not {'allow' if refused else 'support'} a sandbox ({forbidden}). {NEEDED}"


def explain_weakness(reason: str) -> str:
    """What the weaker box allows, and what to do, as text for the user.

    `reason` is the error of the box that enforces permissions for root's commands.
    """
    advice = "Work as an ordinary user"
    if _has_error(reason, _REFUSED) and _STEPS.search(reason):
        advice += ", or let root mount file systems (CAP_SYS_ADMIN)"
    return (
        "Commands in the sandbox can read some files that only root may read, because the box that prevents this could "
        f"not be created ({reason.rstrip('.')}). {advice}."
    )


def _has_error(reason: str, numbers: Collection[int]) -> bool:
    return any(os.strerror(number) in reason for number in numbers)


def _closed_to_owner(root: Path) -> tuple[int, Path] | None:
    """A workspace's owner, and the outermost folder among the workspace and its parents that the owner cannot enter.

    None if the owner can enter all of them, if commands do not run as another user, if the workspace is gone, or if
    this cannot be found out.
    """
    try:
        owner = root.stat()
    except OSError:
        return None
    if os.geteuid() != 0 or owner.st_uid == 0:
        return None
    for folder in (*reversed(root.parents), root):
        enter = ["/bin/sh", "-c", 'cd -- "$1"', "sh", str(folder)]
        try:
            entered = subprocess.run(
                enter,
                check=False,
                capture_output=True,
                cwd="/",
                user=owner.st_uid,
                group=owner.st_gid,
                extra_groups=[],
            )
        except (OSError, subprocess.SubprocessError):
            return None
        if entered.returncode:
            return owner.st_uid, folder
    return None


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""
