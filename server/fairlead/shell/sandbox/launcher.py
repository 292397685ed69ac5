"""The launcher: a process of its own that makes the box of one command and ends with it (docs/sandbox.md).

The server starts it with the descriptor of an `BoxSpec`. Three processes come of it:

    the launcher    waits, and hands on the exit code and a SIGTERM; its death is the box's
    the init        first of the box's pid namespace: mounts the layers, watches the limits (`limits.py`), and ends
                    whatever the box holds before it ends itself
    the command     bash, in the view that bubblewrap or `_view` makes

On SIGTERM whatever runs in the box is told, and has a second until it is ended; a second SIGTERM cuts that short.
What goes wrong before bash is written to the spec's status pipe, and bash is not started. Isolated (`python -I -S`)
and small, because every command waits for its start. Never here: a decision; the spec says it all.
"""

import marshal
import os
import sys
import time

from fairlead.shell.sandbox import kernel, limits

TYPE_CHECKING = False  # importing `typing` takes longer than all the rest
if TYPE_CHECKING:
    from fairlead.shell.sandbox.spec import BoxSpec, OverlaySpec

FAILED = 125
# for what is asked to end, in seconds
GRACE = 1.0
# how often the launcher looks whether its server is there; one was seen to live on without (docs/faults.md 28)
_LOOK = 1.0
# for an init to end the rest; one that takes longer is ended with them, again and again at this distance
_PATIENCE, _AGAIN = 2.0, 0.1
# how many that ended are taken in before the next look: a fork loop may end them as fast as they are taken in
_AT_ONCE = 100
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
# of /proc: what belongs to the machine and not to a process
_MACHINE = ("sys", "irq", "bus", "fs", "acpi", "scsi", "mtrr", "sysrq-trigger")


def main() -> None:
    """`python -I -S -c "..." SERVER_FOLDER ORDER_FD`; ends the process."""
    with open(int(sys.argv[2]), "rb") as sent:
        spec: BoxSpec = marshal.load(sent)
    os.set_inheritable(spec["status"], False)
    try:
        code = _launch(spec)
    except OSError as error:
        code = _failed(spec, error)
    os._exit(code)


def loopback() -> None:
    """`... SERVER_FOLDER UID GID`: a new user namespace with a network, for as long as standard input is open."""
    uid, gid = map(int, sys.argv[2:])
    if os.geteuid() != uid:
        kernel.switch_user(uid, gid)
    kernel.unshare(kernel.CLONE_NEWUSER | kernel.CLONE_NEWNET)
    _map_account(uid, gid)
    kernel.loopback_up()
    os.write(1, b"ready\n")
    os.read(0, 1)


def _launch(spec: "BoxSpec") -> int:
    kernel.block_signals()
    if os.geteuid() != spec["uid"]:
        kernel.switch_user(spec["uid"], spec["gid"])
    if spec["machine"]:
        _machine(spec)
    kernel.die_with_parent()  # a change of the account, for files too, would forget it
    if os.getppid() != spec["server"]:
        return FAILED
    limits.raise_session_priority()
    _new_namespaces(spec)
    proc = os.open("/proc", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)  # the init puts another one in its place
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
    code = _exit_code(_ended(init, proc, spec["server"]))
    os.write(spec["status"], b"done\n")
    return code


def _ended(init: int, proc: int, server: int) -> int:
    """Waits for the init, and hands a SIGTERM on to it; returns its status."""
    until = None
    while True:
        arrived = kernel.next_signal(_LOOK if until is None else max(0.0, until - time.monotonic()))
        ended, status = os.waitpid(init, os.WNOHANG)
        if ended:
            return status
        if arrived == kernel.SIGTERM:
            os.kill(init, kernel.SIGTERM)
            until = time.monotonic() + _PATIENCE + (GRACE if until is None else 0.0)
        elif arrived is None and (until is not None or os.getppid() != server):
            limits.kill_tree(init, proc)
            until = time.monotonic() + _AGAIN


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
    """In a new user namespace an account is who it was, and there is nobody else."""
    limits.write_file("/proc/self/setgroups", "deny")
    limits.write_file("/proc/self/uid_map", f"{uid} {uid} 1")
    limits.write_file("/proc/self/gid_map", f"{gid} {gid} 1")


def _init(spec: "BoxSpec", wait: int) -> int:
    """The first process of the pid namespace; returns the command's exit code."""
    kernel.die_with_parent()
    os.setpgid(0, 0)  # a signal to the launcher's group is the launcher's to hand on
    if os.read(wait, 1) != b"g":  # the launcher died before the line above held
        return FAILED
    os.close(wait)
    kernel.mount(None, "/", None, kernel.MS_REC | kernel.MS_PRIVATE)
    for layer in spec["layers"]:
        _overlay(layer)
    monitor = limits.BoxMonitor(spec, _scratch(spec))
    kernel.mount("proc", "/proc", "proc", kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC)
    limits.limit_pids(spec)
    if spec["bubblewrap"]:
        for source, target, _ in _outside(spec):  # bubblewrap gives up where one has no place any more
            if os.path.lexists(target):
                tree = kernel.clone_tree(source)
                kernel.restrict(tree, writable=False)
                _attach(tree, target)
    else:
        limits.write_file("/proc/sys/user/max_user_namespaces", "0")
        _view(spec)
    told, tell = os.pipe()
    command = os.fork()
    if command == 0:
        try:
            _command(spec, tell)
        except (OSError, ValueError) as error:  # no system call takes a NUL, or half a character
            _failed(spec, error)
        os._exit(FAILED)
    os.close(tell)
    code = _command_ended(command, {1, command} if spec["bubblewrap"] else {1}, monitor)
    limits.kill_all()
    if spec["bubblewrap"] and code < 128 and code != FAILED and not _was_started(told):
        os.write(spec["status"], f"error bubblewrap gave up with {code}; the output says why\n".encode())
    return code


def _command_ended(command: int, ours: set[int], monitor: limits.BoxMonitor) -> int:
    """Takes in all that ends in the box until the command does, or must; returns its exit code."""
    until = None
    while until is None or time.monotonic() < until:
        if kernel.next_signal(limits.TICK) == kernel.SIGTERM:
            if until is not None:
                break
            until = time.monotonic() + GRACE
            _tell_to_end(ours)
        reason = monitor.check()
        if reason:
            limits.kill_all()  # first, so that nothing is written after the reason
            _say(f"\nEnded: {reason}.\n")
            break
        for _ in range(_AT_ONCE):
            ended, status = os.waitpid(-1, os.WNOHANG)  # orphans too: this is their parent now
            if ended == command:
                return _exit_code(status)
            if not ended:
                break
    return _KILLED


def _say(text: str) -> None:
    """Behind the command's output."""
    try:  # noqa: SIM105  the import takes longer than all of this
        os.write(1, text.encode())
    except OSError:  # nobody reads it any more
        pass


def _tell_to_end(ours: set[int]) -> None:
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) not in ours:
            try:  # noqa: SIM105  the import takes longer than all of this
                os.kill(int(name), kernel.SIGTERM)
            except ProcessLookupError:
                pass


def _was_started(told: int) -> bool:
    """Whether bubblewrap came as far as the command: only of that it tells the exit code."""
    os.set_blocking(told, False)
    try:
        return b"exit-code" in os.read(told, 4096)
    except BlockingIOError:
        return False


def _machine(spec: "BoxSpec") -> None:
    """Root's view of the machine, without what only root may read.

    It is made of layers that read with the rights of their maker, and their maker is nobody: so the kernel itself
    decides, by permission, whoever asks. What cannot be shown so is left out.
    """
    os.setgroups([])
    kernel.unshare(kernel.CLONE_NEWNS)
    kernel.mount(None, "/", None, kernel.MS_REC | kernel.MS_PRIVATE)
    kernel.mount("nothing", spec["scratch"], "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, "mode=755")
    nothing = os.open(spec["scratch"], os.O_PATH | os.O_DIRECTORY)  # an overlay takes two layers at least
    for point in spec["mounts"]:
        try:
            _show(point, spec["machine"] + point, nothing)
        except OSError:
            if point == "/":
                raise
    os.close(nothing)
    kernel.unmount(spec["scratch"])


def _show(point: str, target: str, nothing: int) -> None:
    if not os.path.isdir(point):
        if os.stat(point).st_mode & 0o004:
            kernel.attach(kernel.clone_tree(point), target)
        return
    opened = [os.open(folder, os.O_PATH | os.O_DIRECTORY) for folder in (point, target)]
    kernel.drop_file_rights()
    try:
        options = _MACHINE_OVERLAY.format(opened[0], nothing)
        kernel.mount("overlay", f"/proc/self/fd/{opened[1]}", "overlay", kernel.MS_NOSUID | kernel.MS_NODEV, options)
    finally:
        kernel.restore_file_rights()
        for descriptor in opened:
            os.close(descriptor)


def _overlay(layer: "OverlaySpec") -> None:
    folders = (*layer["lower"], layer["upper"], layer["work"])
    opened = [os.open(folder, os.O_PATH | os.O_DIRECTORY) for folder in folders]
    # by descriptor: no name needs to be escaped, and none is too long
    *lower, upper, work = (f"/proc/self/fd/{descriptor}" for descriptor in opened)
    options = _OVERLAY.format(":".join(lower), upper, work)
    kernel.mount("overlay", layer["target"], "overlay", kernel.MS_NOSUID | kernel.MS_NODEV, options)
    for descriptor in opened:
        os.close(descriptor)


def _scratch(spec: "BoxSpec") -> int:
    """Makes the box's file system in memory; returns a descriptor of it."""
    place = spec["scratch"]
    options = f"mode=755,size={spec['scratch_size']}"
    kernel.mount("scratch", place, "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, options)
    for name, mode in spec["scratch_folders"]:
        os.mkdir(f"{place}/{name}")
        os.chmod(f"{place}/{name}", mode)
    return os.open(place, os.O_PATH | os.O_DIRECTORY)


def _binds(spec: "BoxSpec") -> "list[tuple[str, str, bool]]":
    """Without those whose place has gone since they were looked for: a program's socket, say."""
    return [bind for bind in spec["binds"] if os.path.lexists(bind[1])]


def _outside(spec: "BoxSpec") -> "list[tuple[str, str, bool]]":
    """Binds that hide what is in no layer and in no folder of the box's own, so that belongs to others and may go.

    Those over our own folder are not among them: it holds the sources of all others.
    """
    own = [layer["target"] for layer in spec["layers"]]
    own += [target for source, target, _ in spec["binds"] if source.startswith(f"{spec['scratch']}/")]
    binds = [bind for bind in spec["binds"] if not (bind[2] or spec["scratch"].startswith(f"{bind[1]}/"))]
    return [bind for bind in binds if not any(f"{bind[1]}/".startswith(f"{folder}/") for folder in own)]


def _attach(tree: int, target: str) -> None:
    """Puts a tree in its place; where that has gone since it was looked for, there is nothing to hide."""
    try:
        kernel.attach(tree, target)
    except FileNotFoundError:
        os.close(tree)


def _view(spec: "BoxSpec") -> None:
    """The same as bubblewrap makes: everything read-only, on it the spec's binds, an own /dev, and a closed /proc."""
    devices = {name: kernel.clone_tree(f"/dev/{name}") for name in _DEVICES}
    scratch = spec["scratch"]
    binds = [(f"{scratch}/dev", "/dev", True), *_binds(spec)]
    trees = [(kernel.clone_tree(source), source, target, writable) for source, target, writable in binds]
    if spec["machine"]:
        for name in ("/proc", "/sys"):
            kernel.attach(kernel.clone_tree(name), f"{spec['machine']}{name}")
        os.chroot(spec["machine"])
        os.chdir("/")
    kernel.all_read_only()
    kernel.writable_again("/proc")
    for name in _MACHINE:
        if os.path.lexists(f"/proc/{name}"):
            tree = kernel.clone_tree(f"/proc/{name}")
            kernel.restrict(tree, writable=False)
            kernel.attach(tree, f"/proc/{name}")
    outside = _outside(spec)
    for tree, source, target, writable in trees:
        kernel.restrict(tree, writable=writable)
        if (source, target, writable) not in outside:
            _mount_point(tree, target)
        _attach(tree, target)
        if target == "/dev":
            _dev(devices)
    for leads, path in spec["links"]:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        os.symlink(leads, path)


def _dev(devices: dict[str, int]) -> None:
    for name, tree in devices.items():
        os.close(os.open(f"/dev/{name}", os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC))
        kernel.restrict(tree, writable=True, devices=True)
        kernel.attach(tree, f"/dev/{name}")
    for name, leads in _DEVICE_LINKS.items():
        os.symlink(leads, f"/dev/{name}")
    os.mkdir("/dev/pts")
    os.mkdir("/dev/shm")
    flags = kernel.MS_NOSUID | kernel.MS_NOEXEC
    kernel.mount("devpts", "/dev/pts", "devpts", flags, "newinstance,ptmxmode=0666,mode=620")


def _mount_point(tree: int, target: str) -> None:
    """Makes the place where a tree goes, in a folder that the box has for itself."""
    if os.path.lexists(target):
        return
    if os.path.isdir(f"/proc/self/fd/{tree}"):
        os.makedirs(target, exist_ok=True)
    else:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        os.close(os.open(target, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC))


def _command(spec: "BoxSpec", tell: int) -> None:
    kernel.restore_default_signals()
    limits.lower_priority()
    limits.set_limits(spec)
    argv = spec["argv"]
    if spec["bubblewrap"]:
        argv = [*_bubblewrap(spec, tell), *argv]
    else:
        os.setsid()
        os.chdir(spec["cwd"])
        kernel.drop_privileges()
        if spec["calls"]:
            kernel.install_seccomp_filter(spec["calls"])
    os.execve(argv[0], argv, spec["env"])


def _bubblewrap(spec: "BoxSpec", tell: int) -> list[str]:
    # a user namespace within ours: as the root of ours it would keep every capability
    user = ["--unshare-user", "--uid", str(spec["uid"]), "--gid", str(spec["gid"]), "--disable-userns"]
    arguments = [spec["bubblewrap"], *user, "--cap-drop", "ALL", "--unshare-pid", "--new-session", "--die-with-parent"]
    os.set_inheritable(tell, True)
    arguments += ["--json-status-fd", str(tell)]
    if spec["calls"]:
        calls = os.memfd_create("calls", 0)
        os.write(calls, spec["calls"])
        os.lseek(calls, 0, os.SEEK_SET)
        arguments += ["--seccomp", str(calls)]
    arguments += ["--ro-bind", spec["machine"] or "/", "/", "--dev", "/dev", "--proc", "/proc"]
    if spec["machine"]:
        arguments += ["--ro-bind", "/sys", "/sys"]
    for name in _MACHINE:
        arguments += ["--ro-bind-try", f"/proc/{name}", f"/proc/{name}"]
    outside = _outside(spec)
    for source, target, writable in [bind for bind in _binds(spec) if bind not in outside]:
        arguments += ["--bind" if writable else "--ro-bind", source, target]
    for leads, path in spec["links"]:
        arguments += ["--symlink", leads, path]
    arguments += ["--remount-ro", "/dev"]  # a file system in memory, of which the box's limit knows nothing
    return [*arguments, "--chdir", spec["cwd"], "--"]
