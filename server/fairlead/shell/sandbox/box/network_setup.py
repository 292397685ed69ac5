"""Makes the network of a session's boxes, in a program of its own. It decides nothing: `NetworkSpec` does.

Imports little, because the first command of a session waits for it.
"""

import marshal
import os
import sys

from fairlead.shell.sandbox.box import kernel
from fairlead.shell.sandbox.box.launcher import map_account

TYPE_CHECKING = False  # importing `typing` takes longer than all the rest
if TYPE_CHECKING:
    from fairlead.shell.sandbox.box.spec import NetworkSpec


def main() -> None:
    """`python -I -S -c "..." SERVER_FOLDER`: makes the namespaces, and keeps them while standard input is open.

    Reads the spec from there.
    """
    spec: NetworkSpec = marshal.load(sys.stdin.buffer)
    lead_out = None
    if spec["sockets"] >= 0:  # before the switch, after which Python's files may be unreadable
        from fairlead.shell.sandbox.box.network_sockets import lead_out  # noqa: PLC0415  rarely needed
    if os.geteuid() != spec["uid"]:
        kernel.switch_user(spec["uid"], spec["gid"])
    kernel.unshare(kernel.CLONE_NEWUSER | kernel.CLONE_NEWNET)
    map_account(spec["uid"], spec["gid"])
    kernel.enable_loopback()
    if lead_out is not None:
        lead_out(spec)
    os.write(1, b"ready\n")
    os.read(0, 1)
