"""Recognizes commands that failed because they could not reach something outside of the sandbox."""

import re

# what common programs print when a name cannot be resolved, or no server answers
_NETWORK = re.compile(
    "could not resolve|name resolution|name or service not known|no address associated with hostname|"
    "network is unreachable|getaddrinfo|enotfound|eai_again|enetunreach|"
    "connection ?refused|econnrefused|could ?n[o']t connect to server",
    re.IGNORECASE,
)
# what the clients of Docker, PostgreSQL and MySQL, and Node print about Unix sockets
_SOCKET = re.compile(
    r"docker daemon|docker api at unix:|docker\.sock|podman\.sock|connections on (?:that|unix domain) socket|"
    r"mysql server through socket|(?:enoent|econnrefused|eacces) /\S+\.sock",
    re.IGNORECASE,
)
_HINTS = {
    "network": (
        "(The sandbox has no network, and on its localhost only the session's background commands. If the command "
        "needs another server, `network` reaches it, if the user allows it.)"
    ),
    "socket": (
        "(The sandbox does not show Docker's and other programs' Unix sockets. If the command needs one, `unsandboxed` "
        "reaches it, if the user allows it.)"
    ),
}
_CHECK_HINTS = {
    "network": (
        " Checks have no network and their own localhost, without the machine's servers. If this one needs them, run "
        "the same command with bash and `network`, which asks the user; if it passes, complete the item."
    ),
    "socket": (
        " Checks cannot reach Docker's and other programs' Unix sockets. If this one needs them, run the same command "
        "with bash and `unsandboxed`, which asks the user and does not see proposals."
    ),
}


def unreachable_hint(output: str, *, network: bool, of_check: bool = False) -> str:
    """A sentence for the model if the output of a failed sandboxed command names something unreachable, else empty.

    Args:
        network: whether the command had the machine's network.
        of_check: whether the command was a check. The sentence then begins with a space.
    """
    kind = "socket" if _SOCKET.search(output) else "network" if not network and _NETWORK.search(output) else ""
    return (_CHECK_HINTS if of_check else _HINTS)[kind] if kind else ""
