"""The launcher: a separate program that makes the box of one command and ends with it (docs/sandbox.md).

The server starts it with the descriptor of a `BoxSpec`. There are three processes:

    the launcher    waits for the init, and forwards SIGTERM and the exit code; when it dies, the box dies
    the init        process 1 of the box's pid namespace: mounts the layers, watches the limits (`limits.py`), and kills
                    all processes of the box before it exits
    the command     bash, in the view that bubblewrap or `view.py` makes

On SIGTERM, all processes of the command get a SIGTERM, and are killed a second later or at the next SIGTERM. If a step
fails before bash starts, the error is written to the status pipe. The launcher runs isolated (`python -I -S`) and
imports little, because every command waits for it. It decides nothing: the `BoxSpec` contains all decisions.
"""

import marshal
import os
import sys
import time

from fairlead.shell.sandbox.box import kernel, limits, view

TYPE_CHECKING = False  # importing `typing` takes longer than all the rest
if TYPE_CHECKING:
    from fairlead.shell.sandbox.box.reads import Recording
    from fairlead.shell.sandbox.box.spec import BoxSpec

# the exit code of the launcher and the init if the command was not started
FAILED = 125
# seconds for processes to end after SIGTERM
GRACE = 1.0
# seconds between checks that the server is alive, because the kernel's signal may not come (docs/faults.md 28, 73)
_SERVER_CHECK = 1.0
# seconds for the init to kill its box
_INIT_GRACE = 2.0
# seconds between the launcher's attempts to kill what is left after that
_KILL_INTERVAL = 0.1
# processes to reap before the next check of the limits: in a fork loop they end as fast as they are reaped
_REAPED_AT_ONCE = 100
# as in `reaper.py`, which imports too much: the variable with the descriptor of the report, how many processes that a
# command left running are reported, and how many bytes of each command line
_REPORT = "FAIRLEAD_REPORT"
_MAX_LEFT, _MAX_COMMAND_LINE = 10, 200
# bubblewrap's own session is out of reach of Ctrl-C, which would end it, but it has no terminal
_TAKE_TERMINAL = 'command -v setsid >/dev/null && exec setsid -c "$@"; exec "$@"'
_KILLED = 128 + kernel.SIGKILL


def main() -> None:
    """`python -I -S -c "..." SERVER_FOLDER SPEC_FD`. Does not return."""
    with open(int(sys.argv[2]), "rb") as sent:
        spec: BoxSpec = marshal.load(sent)
    for descriptor in (
        spec["status"],
        *([spec["reads"]] if spec["reads"] >= 0 else []),
        *([int(os.environ[_REPORT])] if _REPORT in os.environ else []),
    ):
        os.set_inheritable(descriptor, False)
    try:
        code = _launch(spec)
    except OSError as error:
        code = _failed(spec, error)
    os._exit(code)


def _launch(spec: "BoxSpec") -> int:
    kernel.block_signals()
    recording = None
    if spec["reads"] >= 0:
        from fairlead.shell.sandbox.box.reads import Recording  # noqa: PLC0415  few commands need it

        recording = Recording(spec)  # here, because another user may be unable to read the module
    if os.geteuid() != spec["uid"]:
        kernel.switch_user(spec["uid"], spec["gid"])
    if spec["machine"]:
        view.mount_machine_view(spec)
    kernel.die_with_parent()  # after all changes to the user id, which would cancel it
    if os.getppid() != spec["server"]:
        return FAILED
    limits.raise_session_priority()
    if recording is not None:
        recording.start()
    _new_namespaces(spec)
    proc = os.open("/proc", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)  # before the init mounts the box's own
    wait, go = os.pipe()
    init = os.fork()
    if init == 0:
        try:
            os.close(go)
            code = _init(spec, wait, recording)
        except OSError as error:
            code = _failed(spec, error)
        os._exit(code)
    os.close(wait)
    if recording is not None:
        recording.close()
    os.write(spec["status"], b"init %d\n" % init)
    os.write(go, b"g")
    code = _exit_code(_wait_for_init(init, proc, spec["server"], recording))
    if recording is not None:
        recording.wait()
    os.write(spec["status"], b"done\n")
    return code


def _wait_for_init(init: int, proc: int, server: int, recording: "Recording | None") -> int:
    """Waits for the init and forwards SIGTERM to it; returns its status.

    Kills the box if the server or the supervisor of its recording has died, or if the init does not end in time after a
    SIGTERM.
    """
    deadline = None
    while True:
        arrived = kernel.next_signal(_SERVER_CHECK if deadline is None else max(0.0, deadline - time.monotonic()))
        ended, status = os.waitpid(init, os.WNOHANG)
        if ended:
            return status
        if arrived == kernel.SIGTERM:
            os.kill(init, kernel.SIGTERM)
            deadline = time.monotonic() + _INIT_GRACE + (GRACE if deadline is None else 0.0)
        elif recording is not None and recording.has_failed():
            limits.kill_tree(init, proc)
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
    map_account(spec["uid"], spec["gid"])


def map_account(uid: int, gid: int) -> None:
    """Maps the account to itself in a new user namespace, and no other account."""
    limits.write_file("/proc/self/setgroups", "deny")
    limits.write_file("/proc/self/uid_map", f"{uid} {uid} 1")
    limits.write_file("/proc/self/gid_map", f"{gid} {gid} 1")


def _init(spec: "BoxSpec", wait: int, recording: "Recording | None") -> int:
    """Runs as the first process of the pid namespace.

    Returns the command's exit code, or FAILED if the launcher died early.
    """
    kernel.die_with_parent()
    os.setpgid(0, 0)  # a SIGTERM to the launcher's group must arrive here only once: when the launcher forwards it
    if os.read(wait, 1) != b"g":  # the launcher died before `die_with_parent` took effect
        return FAILED
    os.close(wait)
    kernel.mount(None, "/", None, kernel.MS_REC | kernel.MS_PRIVATE)
    disks = limits.Disks(view.written_folders(spec))  # before the first layer covers one of them
    view.mount_overlays(spec["layers"])
    monitor = limits.BoxMonitor(spec, view.mount_scratch(spec), disks)
    kernel.mount("proc", "/proc", "proc", kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC)
    limits.limit_pids(spec)
    view.mount_masks(spec)  # not by bubblewrap, which limits their number and fails if a target is gone by then
    if not spec["bubblewrap"]:
        limits.write_file("/proc/sys/user/max_user_namespaces", "0")
        view.make_view(spec)
    status_read, status_write = os.pipe()
    command = os.fork()
    if command == 0:
        try:
            _run_command(spec, status_write, recording)
        except (OSError, ValueError) as error:  # ValueError: a NUL or half of a surrogate pair in an argument
            _failed(spec, error)
        os._exit(FAILED)
    os.close(status_write)
    if recording is not None:
        recording.close()
    code = _wait_for_command(command, {1, command} if spec["bubblewrap"] else {1}, monitor)
    if code != _KILLED and _REPORT in os.environ:
        _report_left_running(spec["bubblewrap"])
    limits.kill_all()
    if spec["bubblewrap"] and code < 128 and code != FAILED and not _was_started(status_read):
        os.write(spec["status"], f"error bubblewrap failed with exit code {code}; see the output\n".encode())
    return code


def _wait_for_command(command: int, spared: set[int], monitor: limits.BoxMonitor) -> int:
    """Reaps processes of the box until the command ends or must be ended; returns its exit code.

    If the command must be ended, the exit code is 128 + SIGKILL, and the caller must kill the remaining processes.
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


def _report_left_running(bubblewrap: str) -> None:
    """Writes the command lines of processes that are still running to the report, as the reaper does."""
    found = [limits.command_line(name) for name in os.listdir("/proc") if name.isdigit() and name != "1"]
    left = [words for words in found if words and words[0] != os.fsencode(bubblewrap)]
    for words in left[:_MAX_LEFT]:
        os.write(int(os.environ[_REPORT]), b" ".join(words)[:_MAX_COMMAND_LINE].replace(b"\n", b" ") + b"\n")


def _write_output(text: str) -> None:
    """Appends to the command's output."""
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
    """Whether bubblewrap started the command. Only then does it report an exit code."""
    os.set_blocking(status, False)
    try:
        return b"exit-code" in os.read(status, 4096)
    except BlockingIOError:
        return False


def _run_command(spec: "BoxSpec", status: int, recording: "Recording | None") -> None:
    kernel.restore_default_signals()
    limits.lower_priority()
    limits.set_limits(spec)
    argv = spec["argv"]
    if spec["bubblewrap"]:
        take = [argv[0], "-c", _TAKE_TERMINAL, *argv[:1]] if spec["terminal"] else []
        argv = [*_bubblewrap(spec, status), *take, *argv]
        if recording is not None:  # bubblewrap cannot hand out the descriptor of a filter
            recording.install()
    else:
        os.setsid()
        if spec["terminal"]:
            _take_terminal()
        os.chdir(spec["cwd"])
        kernel.drop_privileges()
        if recording is not None:
            recording.install()
        if spec["seccomp"]:
            kernel.install_seccomp_filter(spec["seccomp"])
    os.execve(argv[0], argv, spec["env"])


def _take_terminal() -> None:
    """Makes the terminal on the standard streams the one of this session, so that Ctrl-C and the like arrive here."""
    import fcntl  # noqa: PLC0415  few commands need it
    import termios  # noqa: PLC0415

    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def _bubblewrap(spec: "BoxSpec", status: int) -> list[str]:
    # in a user namespace of its own, because as root in ours, bubblewrap would keep every capability
    user = ["--unshare-user", "--uid", str(spec["uid"]), "--gid", str(spec["gid"]), "--disable-userns"]
    # without --die-with-parent: the init reports what the command left running before it kills everything
    arguments = [spec["bubblewrap"], *user, "--cap-drop", "ALL", "--unshare-pid", "--new-session"]
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
    for name in view.MACHINE_PROC:
        arguments += ["--ro-bind-try", f"/proc/{name}", f"/proc/{name}"]
    for name in view.HIDDEN_PROC:
        if os.path.lexists(f"/proc/{name}"):
            arguments += ["--ro-bind", "/dev/null", f"/proc/{name}"]
    for source, target, writable in view.other_binds(spec):
        arguments += ["--bind" if writable else "--ro-bind", source, target]
    for link_target, path in spec["links"]:
        arguments += ["--symlink", link_target, path]
    arguments += ["--remount-ro", "/dev"]  # files in /dev use memory, but the box's limit would not count them
    return [*arguments, "--chdir", spec["cwd"], "--"]
