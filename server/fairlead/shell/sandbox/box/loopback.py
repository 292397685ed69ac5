"""The network of a session's boxes: only a loopback interface, shared by all boxes without the machine's network."""

import contextlib
import os
import subprocess

from fairlead.shell.sandbox.box.spec import launcher_argv
from fairlead.shell.sandbox.layer.upper_layer import Owner


def loopback(owner: Owner) -> list[int]:
    """Descriptors of a new user namespace and of its network namespace.

    A namespace exists as long as there is a descriptor of it or a process in it. So no process needs to stay, and none
    can be left behind.

    Raises:
        OSError: the namespaces cannot be made or opened.
    """
    run = launcher_argv("loopback", owner.uid, owner.gid)
    with subprocess.Popen(run, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as made:
        output = made.stdout
        assert output is not None
        if output.readline() != b"ready\n":
            raise OSError(f"no network namespace ({_last_line(output.read())})")
        with contextlib.ExitStack() as opened:
            found: list[int] = []
            for kind in ("user", "net"):
                found.append(os.open(f"/proc/{made.pid}/ns/{kind}", os.O_RDONLY | os.O_CLOEXEC))
                opened.callback(os.close, found[-1])
            opened.pop_all()
            return found


def _last_line(output: bytes) -> str:
    return output.decode("utf-8", "replace").strip().rpartition("\n")[2]
