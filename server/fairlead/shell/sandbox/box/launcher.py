"""The launcher: a separate program that makes the box of one command and ends with it (docs/sandbox.md).

The server starts it with the descriptor of a `BoxSpec`. There are three processes:

    the launcher    waits for the init, and forwards SIGTERM and the exit code; when it dies, the box dies
    the init        process 1 of the box's pid namespace: mounts the layers, watches the limits (`limits.py`), and kills
                    all processes of the box before it exits
    the command     bash, in the view that bubblewrap or `_make_view` makes

On SIGTERM, all processes in the box get a SIGTERM, and are killed a second later or at the next SIGTERM. If anything
fails before bash starts, the error is written to the status pipe. The launcher runs isolated (`python -I -S`) and
imports little, because every command waits for it. It makes no decisions: the `BoxSpec` contains them.
"""

import marshal
import os
import sys
import time

from fairlead.shell.sandbox.box import kernel, limits

TYPE_CHECKING = False  # importing `typing` takes longer than all the rest
if TYPE_CHECKING:
    from fairlead.shell.sandbox.box.spec import BoxSpec, OverlaySpec

FAILED = 125
# seconds for processes to end after SIGTERM
GRACE = 1.0
# seconds between checks that the server is alive, because the kernel's signal may not come (docs/faults.md 28, 73)
_SERVER_CHECK = 1.0
# seconds for the init to kill its box; after that, the launcher kills what is left at this interval
_INIT_GRACE, _KILL_INTERVAL = 2.0, 0.1
# processes to reap before the next check of the limits: in a fork loop they end as fast as they are reaped
_REAPED_AT_ONCE = 100
_KILLED = 128 + kernel.SIGKILL
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
_MACHINE_PROC = ("sys", "irq", "bus", "fs", "acpi", "scsi", "mtrr", "sysrq-trigger")


def main() -> None:
    """`python -I -S -c "..." SERVER_FOLDER SPEC_FD`. Does not return."""
    with open(int(sys.argv[2]), "rb") as sent:
        spec: BoxSpec = marshal.load(sent)
    os.set_inheritable(spec["status"], False)
    try:
        code = _launch(spec)
    except OSError as error:
        code = _failed(spec, error)
    os._exit(code)


def loopback() -> None:
    """`... SERVER_FOLDER UID GID`: holds a new user namespace with a network while standard input is open."""
    uid, gid = map(int, sys.argv[2:])
    if os.geteuid() != uid:
        kernel.switch_user(uid, gid)
    kernel.unshare(kernel.CLONE_NEWUSER | kernel.CLONE_NEWNET)
    _map_account(uid, gid)
    kernel.enable_loopback()
    os.write(1, b"ready\n")
    os.read(0, 1)


def _launch(spec: "BoxSpec") -> int:
    kernel.block_signals()
    if os.geteuid() != spec["uid"]:
        kernel.switch_user(spec["uid"], spec["gid"])
    if spec["machine"]:
        _mount_machine_view(spec)
    kernel.die_with_parent()  # after all changes of the user id, which would cancel it
    if os.getppid() != spec["server"]:
        return FAILED
    limits.raise_session_priority()
    _new_namespaces(spec)
    proc = os.open("/proc", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)  # before the init mounts the box's own
    wait, go = os.pipe()
    init = os.fork()
    if init == 0:
        try:
            os.close(go)
            code = _init(spec, wait)
        except OSError as error:
            code = _failed(spec, error)
        os._exit(code)
    os.close(wait)
    os.write(spec["status"], b"init %d\n" % init)
    os.write(go, b"g")
    code = _exit_code(_wait_for_init(init, proc, spec["server"]))
    os.write(spec["status"], b"done\n")
    return code


def _wait_for_init(init: int, proc: int, server: int) -> int:
    """Wait for the init and forward SIGTERM to it; returns its status. Kills the box if the server has died."""
    deadline = None
    while True:
        arrived = kernel.next_signal(_SERVER_CHECK if deadline is None else max(0.0, deadline - time.monotonic()))
        ended, status = os.waitpid(init, os.WNOHANG)
        if ended:
            return status
        if arrived == kernel.SIGTERM:
            os.kill(init, kernel.SIGTERM)
            deadline = time.monotonic() + _INIT_GRACE + (GRACE if deadline is None else 0.0)
        elif arrived is None and (deadline is not None or os.getppid() != server):
            limits.kill_tree(init, proc)
            deadline = time.monotonic() + _KILL_INTERVAL


def _failed(spec: "BoxSpec", error: OSError | ValueError) -> int:
    reason = isinstance(error, OSError) and error.strerror
    os.write(spec["status"], f"error {reason or error}\n".encode())
    return FAILED


def _exit_code(status: int) -> int:
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def _new_namespaces(spec: "BoxSpec") -> None:
    for namespace in spec["join"]:
        kernel.join(namespace)
    flags = kernel.CLONE_NEWUSER | kernel.CLONE_NEWNS | kernel.CLONE_NEWPID | kernel.CLONE_NEWIPC | kernel.CLONE_NEWUTS
    kernel.unshare(flags)
    _map_account(spec["uid"], spec["gid"])


def _map_account(uid: int, gid: int) -> None:
    """Map the account to itself in a new user namespace, and no other account."""
    limits.write_file("/proc/self/setgroups", "deny")
    limits.write_file("/proc/self/uid_map", f"{uid} {uid} 1")
    limits.write_file("/proc/self/gid_map", f"{gid} {gid} 1")


def _init(spec: "BoxSpec", wait: int) -> int:
    """The first process of the pid namespace; returns the command's exit code."""
    kernel.die_with_parent()
    os.setpgid(0, 0)  # the launcher forwards signals that its group gets
    if os.read(wait, 1) != b"g":  # the launcher died before `die_with_parent` took effect
        return FAILED
    os.close(wait)
    kernel.mount(None, "/", None, kernel.MS_REC | kernel.MS_PRIVATE)
    for layer in spec["layers"]:
        _mount_overlay(layer)
    monitor = limits.BoxMonitor(spec, _mount_scratch(spec))
    kernel.mount("proc", "/proc", "proc", kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC)
    limits.limit_pids(spec)
    if spec["bubblewrap"]:
        for source, target, _ in _outer_masks(spec):  # bubblewrap would fail if a target is gone by then
            if os.path.lexists(target):
                tree = kernel.clone_tree(source)
                kernel.restrict(tree, writable=False)
                _attach(tree, target)
    else:
        limits.write_file("/proc/sys/user/max_user_namespaces", "0")
        _make_view(spec)
    status_read, status_write = os.pipe()
    command = os.fork()
    if command == 0:
        try:
            _run_command(spec, status_write)
        except (OSError, ValueError) as error:  # ValueError: a NUL or half a character in an argument
            _failed(spec, error)
        os._exit(FAILED)
    os.close(status_write)
    code = _wait_for_command(command, {1, command} if spec["bubblewrap"] else {1}, monitor)
    limits.kill_all()
    if spec["bubblewrap"] and code < 128 and code != FAILED and not _was_started(status_read):
        os.write(spec["status"], f"error bubblewrap failed with exit code {code}; see the output\n".encode())
    return code


def _wait_for_command(command: int, spared: set[int], monitor: limits.BoxMonitor) -> int:
    """Reap processes of the box until the command ends or must be ended; returns its exit code.

    `spared` are the pids that get no SIGTERM: the init and bubblewrap.
    """
    deadline = None
    while deadline is None or time.monotonic() < deadline:
        if kernel.next_signal(limits.TICK) == kernel.SIGTERM:
            if deadline is not None:
                break
            deadline = time.monotonic() + GRACE
            _terminate_all(spared)
        reason = monitor.check()
        if reason:
            limits.kill_all()  # first, so that nothing is written after the reason
            _write_output(f"\nEnded: {reason}.\n")
            break
        for _ in range(_REAPED_AT_ONCE):
            ended, status = os.waitpid(-1, os.WNOHANG)  # orphans too: the init is their parent
            if ended == command:
                return _exit_code(status)
            if not ended:
                break
    return _KILLED


def _write_output(text: str) -> None:
    """Append to the command's output."""
    try:  # noqa: SIM105  importing `contextlib` takes too long here
        os.write(1, text.encode())
    except OSError:  # the server has closed the pipe
        pass


def _terminate_all(spared: set[int]) -> None:
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) not in spared:
            try:  # noqa: SIM105  importing `contextlib` takes too long here
                os.kill(int(name), kernel.SIGTERM)
            except ProcessLookupError:
                pass


def _was_started(status: int) -> bool:
    """Whether bubblewrap started the command: only then does it report an exit code."""
    os.set_blocking(status, False)
    try:
        return b"exit-code" in os.read(status, 4096)
    except BlockingIOError:
        return False


def _mount_machine_view(spec: "BoxSpec") -> None:
    """Mount a view of the machine for root's commands, without the files that only root may read.

    It consists of overlays. An overlay reads with the rights of the user who mounted it, and that is nobody here, so
    the kernel enforces the permissions for every reader. Mounts that cannot be shown this way are left out.
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


def _mount_overlay(layer: "OverlaySpec") -> None:
    folders = (*layer["lower"], layer["upper"], layer["work"])
    opened = [os.open(folder, os.O_PATH | os.O_DIRECTORY) for folder in folders]
    # descriptors, because names would have to be escaped and could be too long
    *lower, upper, work = (f"/proc/self/fd/{descriptor}" for descriptor in opened)
    options = _OVERLAY.format(":".join(lower), upper, work)
    kernel.mount("overlay", layer["target"], "overlay", kernel.MS_NOSUID | kernel.MS_NODEV, options)
    for descriptor in opened:
        os.close(descriptor)


def _mount_scratch(spec: "BoxSpec") -> int:
    """Mount the box's file system in memory; returns a descriptor of it."""
    folder = spec["scratch"]
    options = f"mode=755,size={spec['scratch_size']}"
    kernel.mount("scratch", folder, "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, options)
    for name, mode in spec["scratch_folders"]:
        os.mkdir(f"{folder}/{name}")
        os.chmod(f"{folder}/{name}", mode)
    return os.open(folder, os.O_PATH | os.O_DIRECTORY)


def _existing_binds(spec: "BoxSpec") -> "list[tuple[str, str, bool]]":
    """The binds whose targets still exist. A program's socket, for example, may be gone by now."""
    return [bind for bind in spec["binds"] if os.path.lexists(bind[1])]


def _outer_masks(spec: "BoxSpec") -> "list[tuple[str, str, bool]]":
    """The read-only binds outside of the layers and the box's own folders.

    Their targets belong to others and may disappear. Binds over our own folder are left out, because that folder
    contains the sources of all others.
    """
    own = [layer["target"] for layer in spec["layers"]]
    own += [target for source, target, _ in spec["binds"] if source.startswith(f"{spec['scratch']}/")]
    binds = [bind for bind in spec["binds"] if not (bind[2] or spec["scratch"].startswith(f"{bind[1]}/"))]
    return [bind for bind in binds if not any(f"{bind[1]}/".startswith(f"{folder}/") for folder in own)]


def _attach(tree: int, target: str) -> None:
    """Mount a tree. If the target is gone by now, there is nothing to hide."""
    try:
        kernel.attach(tree, target)
    except FileNotFoundError:
        os.close(tree)


def _make_view(spec: "BoxSpec") -> None:
    """Do what bubblewrap does: everything read-only, then the binds, the box's own /dev, and a read-only /proc."""
    devices = {name: kernel.clone_tree(f"/dev/{name}") for name in _DEVICES}
    scratch = spec["scratch"]
    binds = [(f"{scratch}/dev", "/dev", True), *_existing_binds(spec)]
    trees = [(kernel.clone_tree(source), source, target, writable) for source, target, writable in binds]
    if spec["machine"]:
        for name in ("/proc", "/sys"):
            kernel.attach(kernel.clone_tree(name), f"{spec['machine']}{name}")
        os.chroot(spec["machine"])
        os.chdir("/")
    kernel.make_all_read_only()
    kernel.make_writable("/proc")
    for name in _MACHINE_PROC:
        if os.path.lexists(f"/proc/{name}"):
            tree = kernel.clone_tree(f"/proc/{name}")
            kernel.restrict(tree, writable=False)
            kernel.attach(tree, f"/proc/{name}")
    masks = _outer_masks(spec)
    for tree, source, target, writable in trees:
        kernel.restrict(tree, writable=writable)
        if (source, target, writable) not in masks:
            _make_mount_point(tree, target)
        _attach(tree, target)
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
    """Create the mount point of a tree in one of the box's own folders."""
    if os.path.lexists(target):
        return
    if os.path.isdir(f"/proc/self/fd/{tree}"):
        os.makedirs(target, exist_ok=True)
    else:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        os.close(os.open(target, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC))


def _run_command(spec: "BoxSpec", status: int) -> None:
    kernel.restore_default_signals()
    limits.lower_priority()
    limits.set_limits(spec)
    argv = spec["argv"]
    if spec["bubblewrap"]:
        argv = [*_bubblewrap(spec, status), *argv]
    else:
        os.setsid()
        os.chdir(spec["cwd"])
        kernel.drop_privileges()
        if spec["seccomp"]:
            kernel.install_seccomp_filter(spec["seccomp"])
    os.execve(argv[0], argv, spec["env"])


def _bubblewrap(spec: "BoxSpec", status: int) -> list[str]:
    # a user namespace within ours: as root of ours, bubblewrap would keep every capability
    user = ["--unshare-user", "--uid", str(spec["uid"]), "--gid", str(spec["gid"]), "--disable-userns"]
    arguments = [spec["bubblewrap"], *user, "--cap-drop", "ALL", "--unshare-pid", "--new-session", "--die-with-parent"]
    os.set_inheritable(status, True)
    arguments += ["--json-status-fd", str(status)]
    if spec["seccomp"]:
        seccomp = os.memfd_create("seccomp", 0)
        os.write(seccomp, spec["seccomp"])
        os.lseek(seccomp, 0, os.SEEK_SET)
        arguments += ["--seccomp", str(seccomp)]
    arguments += ["--ro-bind", spec["machine"] or "/", "/", "--dev", "/dev", "--proc", "/proc"]
    if spec["machine"]:
        arguments += ["--ro-bind", "/sys", "/sys"]
    for name in _MACHINE_PROC:
        arguments += ["--ro-bind-try", f"/proc/{name}", f"/proc/{name}"]
    masks = _outer_masks(spec)
    for source, target, writable in [bind for bind in _existing_binds(spec) if bind not in masks]:
        arguments += ["--bind" if writable else "--ro-bind", source, target]
    for link_target, path in spec["links"]:
        arguments += ["--symlink", link_target, path]
    arguments += ["--remount-ro", "/dev"]  # a file system in memory that the box's limit does not include
    return [*arguments, "--chdir", spec["cwd"], "--"]
