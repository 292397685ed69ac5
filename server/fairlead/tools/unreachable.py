"""Recognizes commands that failed because they needed something that the sandbox does not have."""

import re

from fairlead.shell.network import Network

# messages of common programs if a name cannot be resolved, or no server answers
_NETWORK = re.compile(
    "could not resolve|name resolution|name or service not known|no address associated with hostname|"
    "network is unreachable|getaddrinfo|enotfound|eai_again|enetunreach|"
    "no route to host|ehostunreach|connection ?reset|econnreset|"
    "connection ?refused|econnrefused|could ?n[o']t connect to server",
    re.IGNORECASE,
)
# messages about Unix sockets: those of Node, and of the clients of Docker, PostgreSQL and MySQL
_SOCKET = re.compile(
    r"docker daemon|docker api at unix:|docker\.sock|podman\.sock|connections on (?:that|unix domain) socket|"
    r"mysql server through socket|(?:enoent|econnrefused|eacces) /\S+\.sock",
    re.IGNORECASE,
)
# messages of the launcher of snaps if it lacks the privileges that it needs
_SNAP = re.compile(r"snap-confine (?:is packaged|has elevated)|is not a snap cgroup")
_HINTS = {
    "network": (
        "(The sandbox has no network, and its localhost has only the session's background commands. If the user allows "
        "it, `network` reaches the internet, and `services` a server of this machine or the local network.)"
    ),
    "service": (
        "(`network` reaches public addresses at ports below 1024, by TCP. If the user allows it, `services` reaches "
        "anything else, such as localhost:5432.)"
    ),
    "socket": (
        "(The sandbox does not show Docker's and other programs' Unix sockets. If the command needs one, `unsandboxed` "
        "reaches it, if the user allows it.)"
    ),
    "snap": (
        "(Programs that were installed as a snap do not start in the sandbox. Use another installation, or "
        "`unsandboxed`, if the user allows it.)"
    ),
}
_CHECK_HINTS = {
    "network": (
        " Checks have no network, and reach no servers of this machine except those in the user's setting "
        "bash.services. If this check needs more, run the same command with bash and `network` or `services`, which "
        "asks the user; if it passes, complete the item."
    ),
    "socket": (
        " Checks cannot reach Docker's and other programs' Unix sockets. If this one needs them, run the same command "
        "with bash and `unsandboxed`, which asks the user and does not see proposals."
    ),
    "snap": (
        " Checks cannot start programs that were installed as a snap. If there is no other installation, run the same "
        "command with bash and `unsandboxed`, which asks the user and does not see proposals."
    ),
}


def unreachable_hint(output: str, *, network: Network, of_check: bool = False) -> str:
    """A sentence for the model if the output of a failed sandboxed command names something missing, else empty.

    Args:
        network: what the command could reach.
        of_check: whether the command was a check. The sentence then begins with a space.
    """
    found = {
        "snap": _SNAP.search(output),
        "socket": _SOCKET.search(output),
        "service" if network.internet else "network": _NETWORK.search(output),
    }
    kind = next((kind for kind, match in found.items() if match), None)
    return "" if kind is None else (_CHECK_HINTS if of_check else _HINTS)[kind]
