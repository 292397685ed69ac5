"""The routes and sockets with which the network of a session's boxes leads to the relay (`network.py`)."""

import errno
import os
import resource
import socket
import struct
from collections.abc import Iterator, Sequence

from fairlead.shell.sandbox.box.spec import Listening, NetworkSpec, Route

# rtnetlink(7)
_RTM_NEWROUTE, _REQUEST, _ACK, _REPLACE, _CREATE = 24, 0x1, 0x4, 0x100, 0x400
_LOCAL, _UNREACHABLE, _HOST, _EVERYWHERE, _BOOT = 2, 7, 254, 0, 3
_TABLE = 255  # one for all routes, in which the longest prefix decides
_DESTINATION, _INTERFACE = 1, 4
_RTM_NEWADDR, _LOCAL_ADDRESS = 20, 2
_DUMMY = bytes((192, 0, 0, 8))  # an address that belongs to nobody (RFC 7600)
_NO_IPV6 = (errno.EAFNOSUPPORT, errno.EOPNOTSUPP, errno.ENODEV)
_AT_ONCE = 250  # descriptors in one message (SCM_MAX_FD is 253)
_BACKLOG = 128


def lead_out(spec: NetworkSpec) -> None:
    """Makes this network namespace lead to the relay."""
    _add_address()
    _add_routes(spec["routes"])
    _send(spec["sockets"], list(_opened(spec["listen"])))


def _add_address() -> None:
    """Gives this network namespace an IPv4 address beside its loopback's.

    Without one, the C library finds no IPv4 address for a program that asks only for those that it can use
    (AI_ADDRCONFIG).
    """
    loopback = socket.if_nametoindex("lo")
    body = struct.pack("4BI", socket.AF_INET, 32, 0, _HOST, loopback)
    body += struct.pack("HH4s", 8, _LOCAL_ADDRESS, _DUMMY)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as netlink:
        netlink.send(struct.pack("IHHII", 16 + len(body), _RTM_NEWADDR, _REQUEST | _ACK | _CREATE, 1, 0) + body)
        netlink.recv(4096)  # if it failed, few programs notice


def _add_routes(routes: Sequence[Route]) -> None:
    """Adds routes to this network namespace."""
    loopback = socket.if_nametoindex("lo")
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as netlink:
        for is_local, is_ipv6, address, prefix in routes:
            family = socket.AF_INET6 if is_ipv6 else socket.AF_INET
            kind, scope = (_LOCAL, _HOST) if is_local else (_UNREACHABLE, _EVERYWHERE)
            body = struct.pack("8BI", family, prefix, 0, 0, _TABLE, _BOOT, scope, kind, 0)
            if prefix:
                body += struct.pack("HH", 4 + len(address), _DESTINATION) + address
            if is_local:
                body += struct.pack("HHI", 8, _INTERFACE, loopback)
            flags = _REQUEST | _ACK | _REPLACE | _CREATE
            netlink.send(struct.pack("IHHII", 16 + len(body), _RTM_NEWROUTE, flags, 1, 0) + body)
            number = -struct.unpack_from("i", netlink.recv(4096), 16)[0]
            if number and not (is_ipv6 and number in _NO_IPV6):
                raise OSError(number, f"a route: {os.strerror(number)}")


def _opened(wanted: Sequence[Listening]) -> Iterator[socket.socket]:
    """Opens the sockets, as many as the limit on descriptors allows in this process and in the relay."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    for kind, address, port in wanted[: hard // 2]:
        family = socket.AF_INET6 if ":" in address and socket.has_ipv6 else socket.AF_INET
        try:
            made = socket.socket(family, socket.SOCK_DGRAM if kind == "datagram" else socket.SOCK_STREAM)
            if family == socket.AF_INET6:
                made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            made.bind((address, port))
        except OSError as error:
            if address != "::":
                continue  # a service that no socket can stand for, or two that are one, must not keep the others away
            if error.errno not in (*_NO_IPV6, errno.EADDRNOTAVAIL):
                raise
            made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
            made.bind(("0.0.0.0", port))
        if kind == "stream":
            made.listen(_BACKLOG)
        yield made


def _send(descriptor: int, sockets: Sequence[socket.socket]) -> None:
    """Sends the sockets over a socket, and closes that."""
    with socket.socket(fileno=descriptor) as outgoing:
        for start in range(0, len(sockets), _AT_ONCE):
            socket.send_fds(outgoing, [b"s"], [each.fileno() for each in sockets[start : start + _AT_ONCE]])
