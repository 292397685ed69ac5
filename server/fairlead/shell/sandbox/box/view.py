"""Makes the file system of a box: its layers, its own folders in memory, and the command's view of both.

Runs in the launcher (`launcher.py`), so it imports as little as possible.
"""

import os

from fairlead.shell.sandbox.box import kernel

TYPE_CHECKING = False  # importing `typing` takes longer than all the rest
if TYPE_CHECKING:
    from fairlead.shell.sandbox.box.spec import BoxSpec, OverlaySpec

_OVERLAY = "userxattr,volatile,index=off,xino=off,lowerdir={},upperdir={},workdir={}"
_MACHINE_OVERLAY = "index=off,xino=off,redirect_dir=nofollow,metacopy=off,lowerdir=/proc/self/fd/{}:/proc/self/fd/{}"
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
_DEVICE_LINKS = {
    "fd": "/proc/self/fd",
    "stdin": "/proc/self/fd/0",
    "stdout": "/proc/self/fd/1",
    "stderr": "/proc/self/fd/2",
    "ptmx": "pts/ptmx",
}
# entries of /proc that belong to the machine and not to a process
MACHINE_PROC = ("sys", "irq", "bus", "fs", "acpi", "scsi", "mtrr", "sysrq-trigger")
# files of /proc that show root the keys and processes outside of the box; containers hide them too (OCI's maskedPaths)
HIDDEN_PROC = ("keys", "key-users", "kcore", "kmsg", "latency_stats", "sched_debug", "timer_list", "timer_stats")


def mount_machine_view(spec: "BoxSpec") -> None:
    """Mounts a view of the machine for root's commands, without the files that only root may read.

    It consists of overlays. An overlay reads with the rights of the user who mounted it, here `nobody`, so the kernel
    enforces the permissions for every reader. Mounts that cannot be shown this way are left out.

    Raises OSError if the root of the file system cannot be shown this way.
    """
    os.setgroups([])
    kernel.unshare(kernel.CLONE_NEWNS)
    kernel.mount(None, "/", None, kernel.MS_REC | kernel.MS_PRIVATE)
    kernel.mount("nothing", spec["scratch"], "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, "mode=755")
    empty = os.open(spec["scratch"], os.O_PATH | os.O_DIRECTORY)  # an overlay needs at least two layers
    for point in spec["mounts"]:
        try:
            _mount_readable(point, spec["machine"] + point, empty)
        except OSError:
            if point == "/":
                raise
    os.close(empty)
    kernel.unmount(spec["scratch"])


def _mount_readable(point: str, target: str, empty: int) -> None:
    if not os.path.isdir(point):
        if os.stat(point).st_mode & 0o004:
            kernel.attach(kernel.clone_tree(point), target)
        return
    opened = [os.open(folder, os.O_PATH | os.O_DIRECTORY) for folder in (point, target)]
    kernel.drop_file_rights()
    try:
        options = _MACHINE_OVERLAY.format(opened[0], empty)
        kernel.mount("overlay", f"/proc/self/fd/{opened[1]}", "overlay", kernel.MS_NOSUID | kernel.MS_NODEV, options)
    finally:
        kernel.restore_file_rights()
        for descriptor in opened:
            os.close(descriptor)


def mount_overlays(layers: "list[OverlaySpec]") -> None:
    """Mounts layers at their targets, in the given order.

    A mounted layer may cover the folders of a later one, so all folders are opened before the first layer is mounted.
    """
    folders = [(*layer["lower"], layer["upper"], layer["work"]) for layer in layers]
    opened = [[os.open(folder, os.O_PATH | os.O_DIRECTORY) for folder in each] for each in folders]
    for layer, descriptors in zip(layers, opened, strict=True):
        # descriptors, because names would have to be escaped and could be too long
        *lower, upper, work = (f"/proc/self/fd/{descriptor}" for descriptor in descriptors)
        options = _OVERLAY.format(":".join(lower), upper, work)
        kernel.mount("overlay", layer["target"], "overlay", kernel.MS_NOSUID | kernel.MS_NODEV, options)
        for descriptor in descriptors:
            os.close(descriptor)


def written_folders(spec: "BoxSpec") -> list[str]:
    """The folders on disk to which the box writes: the upper ones of its layers, and those shown as writable."""
    shown = [source for source, _, writable in spec["binds"] if writable and os.path.isdir(source)]
    return [*(layer["upper"] for layer in spec["layers"]), *shown]


def mount_scratch(spec: "BoxSpec") -> int:
    """Mounts the box's file system in memory; returns a descriptor of it."""
    folder = spec["scratch"]
    options = f"mode=755,size={spec['scratch_size']}"
    kernel.mount("scratch", folder, "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, options)
    for name, mode in spec["scratch_folders"]:
        os.mkdir(f"{folder}/{name}")
        os.chmod(f"{folder}/{name}", mode)
    return os.open(folder, os.O_PATH | os.O_DIRECTORY)


def mount_masks(spec: "BoxSpec") -> None:
    """Mounts the masks, one at a time, because there may be thousands.

    Call it before the view is made, which then contains them. Skips a mask whose target is gone by now, such as a
    program's socket: there is nothing to hide.
    """
    layers = [layer["target"] for layer in spec["layers"]]
    for source, target, _ in _masks(spec):
        path = target if _is_in(target, layers) else spec["machine"] + target
        if os.path.lexists(path):
            tree = kernel.clone_tree(source)
            kernel.restrict(tree, writable=False)
            _attach_if_present(tree, path)


def other_binds(spec: "BoxSpec") -> "list[tuple[str, str, bool]]":
    """The binds that are no masks. Leaves out read-only ones whose targets are gone by now."""
    masks = set(_masks(spec))
    return [bind for bind in spec["binds"] if bind not in masks and (bind[2] or os.path.lexists(bind[1]))]


def _masks(spec: "BoxSpec") -> "list[tuple[str, str, bool]]":
    """The read-only binds in the layers, and those outside of the box's own folders.

    Leaves out binds over folders that contain the scratch file system: they would hide the sources of other binds.
    """
    layers = [layer["target"] for layer in spec["layers"]]
    own = [target for source, target, _ in spec["binds"] if source.startswith(f"{spec['scratch']}/")]
    binds = [bind for bind in spec["binds"] if not (bind[2] or spec["scratch"].startswith(f"{bind[1]}/"))]
    return [bind for bind in binds if _is_in(bind[1], layers) or not _is_in(bind[1], own)]


def _is_in(path: str, folders: list[str]) -> bool:
    return any(f"{path}/".startswith(f"{folder}/") for folder in folders)


def _attach_if_present(tree: int, target: str) -> None:
    """Mounts a detached tree over a target. If the target is gone by now, closes the tree."""
    try:
        kernel.attach(tree, target)
    except FileNotFoundError:
        os.close(tree)


def make_view(spec: "BoxSpec") -> None:
    """Makes the command's view of the file system if bubblewrap is not used.

    Everything becomes read-only except /proc, where only the machine's entries (`MACHINE_PROC`) do, and where
    `HIDDEN_PROC` cannot be read. Then the box's own /dev and the binds are mounted.
    """
    devices = {name: kernel.clone_tree(f"/dev/{name}") for name in _DEVICES}
    hidden = [(name, kernel.clone_tree("/dev/null")) for name in HIDDEN_PROC if os.path.lexists(f"/proc/{name}")]
    scratch = spec["scratch"]
    binds = [(f"{scratch}/dev", "/dev", True), *other_binds(spec)]
    trees = [(kernel.clone_tree(source), target, writable) for source, target, writable in binds]
    if spec["machine"]:
        for name in ("/proc", "/sys"):
            kernel.attach(kernel.clone_tree(name), f"{spec['machine']}{name}")
        os.chroot(spec["machine"])
        os.chdir("/")
    kernel.make_all_read_only()
    kernel.make_writable("/proc")
    for name in MACHINE_PROC:
        if os.path.lexists(f"/proc/{name}"):
            tree = kernel.clone_tree(f"/proc/{name}")
            kernel.restrict(tree, writable=False)
            kernel.attach(tree, f"/proc/{name}")
    for name, tree in hidden:
        kernel.restrict(tree, writable=False)  # without devices, so that opening it fails
        kernel.attach(tree, f"/proc/{name}")
    for tree, target, writable in trees:
        kernel.restrict(tree, writable=writable)
        _make_mount_point(tree, target)
        kernel.attach(tree, target)
        if target == "/dev":
            _fill_dev(devices)
    for link_target, path in spec["links"]:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        os.symlink(link_target, path)


def _fill_dev(devices: dict[str, int]) -> None:
    for name, tree in devices.items():
        os.close(os.open(f"/dev/{name}", os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC))
        kernel.restrict(tree, writable=True, devices=True)
        kernel.attach(tree, f"/dev/{name}")
    for name, link_target in _DEVICE_LINKS.items():
        os.symlink(link_target, f"/dev/{name}")
    os.mkdir("/dev/pts")
    os.mkdir("/dev/shm")
    flags = kernel.MS_NOSUID | kernel.MS_NOEXEC
    kernel.mount("devpts", "/dev/pts", "devpts", flags, "newinstance,ptmxmode=0666,mode=620")


def _make_mount_point(tree: int, target: str) -> None:
    """Creates the mount point of a tree in one of the box's own folders, if it does not exist."""
    if os.path.lexists(target):
        return
    if os.path.isdir(f"/proc/self/fd/{tree}"):
        os.makedirs(target, exist_ok=True)
    else:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        os.close(os.open(target, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC))
