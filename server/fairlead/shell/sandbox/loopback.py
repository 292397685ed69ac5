"""The network of a session's boxes: a loopback and nothing else, the same one for all that have no other."""

import os
import subprocess

from fairlead.shell.sandbox.spec import launcher
from fairlead.shell.sandbox.upper_layer import Owner


def loopback(owner: Owner) -> list[int]:
    """Descriptors of a new user namespace and of its network. Both live as long as these, or a process in them.

    No process has to mind them, so there is none that could be left. Raises OSError.
    """
    run = launcher("loopback", owner.uid, owner.gid)
    with subprocess.Popen(run, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as made:
        output = made.stdout
        assert output is not None
        if output.readline() != b"ready\n":
            raise OSError(f"no network of its own ({_last_line(output.read())})")
        return [os.open(f"/proc/{made.pid}/ns/{kind}", os.O_RDONLY | os.O_CLOEXEC) for kind in ("user", "net")]


def _last_line(output: bytes) -> str:
    return output.decode("utf-8", "replace").strip().rpartition("\n")[2]
