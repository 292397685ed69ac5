"""Makes the networks of a session's boxes. Each has a loopback interface, and what leads out of it goes to the relay.

Boxes with the same permissions share a network, so that one reaches another's servers.
"""

import contextlib
import ipaddress
import json
import marshal
import os
import re
import socket
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairlead.shell.network import LOCALHOST, Network, Service
from fairlead.shell.sandbox.box.names import STAND_INS, hosts_without
from fairlead.shell.sandbox.box.relay import DNS, LOOPBACK, SPECIAL, AddressRange, RelaySpec, is_public, local_networks
from fairlead.shell.sandbox.box.spec import Listening, NetworkSpec, Route, program_argv
from fairlead.shell.sandbox.layer.upper_layer import Owner

# ports below 1024 are those of the internet's services; a box's own servers cannot use them
PORTS = range(1, 1024)
_USUAL_PORTS = (443, 80, 22)  # first, because a low limit on descriptors leaves out the last
RESOLVER = "nameserver 127.0.0.1\n"
"""The first line of /etc/resolv.conf in a box: questions go to the relay."""
_RESOLV_CONF = Path("/etc/resolv.conf")
_MAX_RESOLV_CONF = 100_000
HOSTS = Path("/etc/hosts")
_MAX_NAMESERVERS = 3  # as many as the C library asks


@dataclass(frozen=True)
class OpenNetwork:
    """A network that boxes can join."""

    namespaces: Sequence[int]
    """Descriptors of a user namespace and of its network namespace.

    A namespace exists as long as there is a descriptor of it or a process in it. So no process needs to stay in it, and
    none can be left behind.
    """
    relay: "subprocess.Popen[bytes] | None" = None
    """The program that connects it to the machine's network; None if nothing outside is reachable."""

    @property
    def has_failed(self) -> bool:
        """Whether the relay has ended, for example because the machine ran out of memory."""
        return self.relay is not None and self.relay.poll() is not None

    def close(self) -> None:
        """Ends the relay. The network exists until the last box in it ends."""
        for descriptor in self.namespaces:
            os.close(descriptor)
        if self.relay is not None:
            self.relay.kill()
            with self.relay:
                pass


def open_network(network: Network, owner: Owner) -> OpenNetwork:
    """Makes a network. Blocks while the names of services are looked up.

    Raises:
        OSError: it cannot be made.
    """
    spec = NetworkSpec(uid=owner.uid, gid=owner.gid, sockets=-1, routes=[], listen=[])
    if not network:
        return OpenNetwork(_namespaces(spec))
    names, addresses = _stand_ins(network), _addresses(network)
    nameservers = _nameservers() if network.internet else []
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, theirs:
        relay = _start_relay(
            RelaySpec(
                sockets=theirs.fileno(),
                uid=owner.uid,
                gid=owner.gid,
                internet=network.internet,
                services=[*addresses, *((_plain(each.host), each.port) for each in _named(network))],
                names={address: name for name, address in names.items()},
                private=[name for name in names if _is_private(name)],
                nameservers=nameservers,
            )
        )
        try:
            spec["sockets"] = ours.fileno()
            reached = [*addresses, *((names[_plain(each.host)], each.port) for each in _named(network))]
            spec["routes"] = _routes(network, reached)
            spec["listen"] = _listening(network, reached, resolves=network.internet or bool(names))
            return OpenNetwork(_namespaces(spec), relay)
        except BaseException:
            relay.kill()
            with relay:
                raise


def resolver_text() -> str:
    """What /etc/resolv.conf contains in a box that resolves names: the machine's, with the relay as the name server."""
    lines = _resolv_conf().splitlines(keepends=True)
    return RESOLVER + "".join(line for line in lines if not line.lstrip().startswith("nameserver"))


def _nameservers() -> list[str]:
    found = re.findall(r"(?m)^\s*nameserver\s+(\S{1,100})(?!\S)", _resolv_conf())
    return found[:_MAX_NAMESERVERS] or ["127.0.0.1"]


def _resolv_conf() -> str:
    try:
        with _RESOLV_CONF.open(encoding="utf-8", errors="replace") as file:
            return file.read(_MAX_RESOLV_CONF)
    except OSError:
        return ""


def hosts_text(network: Network) -> str | None:
    """What /etc/hosts contains in a box: the machine's, without the names that the relay looks up.

    None: the same as outside.
    """
    names = _stand_ins(network)
    try:
        text = HOSTS.read_text("utf-8", "surrogateescape") if names else ""
    except OSError:
        return None
    without = hosts_without(text, names)
    return without if without != text else None


def _named(network: Network) -> list[Service]:
    """The services that are named, and not given by their addresses."""
    return [service for service in sorted(network.services) if not _is_local(service.host)]


def _is_local(host: str) -> bool:
    """Whether a host needs no name server."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return host == LOCALHOST
    return True


def _plain(name: str) -> str:
    """A name without the dot at its end, which only says that it is complete."""
    return name.removesuffix(".")


def _stand_ins(network: Network) -> dict[str, str]:
    """The addresses that stand for the names of services in the box."""
    taken = {service.host for service in network.services}
    free = (address for each in STAND_INS.hosts() if (address := str(each)) not in taken)
    return dict(zip(dict.fromkeys(_plain(each.host) for each in _named(network)), free, strict=False))


def _is_private(name: str) -> bool:
    """Whether a name leads into a network around this machine now."""
    try:
        found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return False
    local = list(local_networks())
    return any(not is_public(str(each[4][0]).partition("%")[0], local) for each in found)


def _addresses(network: Network) -> list[tuple[str, int]]:
    """The addresses and ports of the services that are given by address, or are on this machine."""
    found: dict[tuple[str, int], None] = {}
    for service in sorted(network.services):
        if service.host == LOCALHOST:
            found |= dict.fromkeys((each, service.port) for each in sorted(LOOPBACK))
        elif _is_local(service.host):
            found[str(ipaddress.ip_address(service.host)), service.port] = None
    return list(found)


def _routes(network: Network, services: Iterable[tuple[str, int]]) -> list[Route]:
    ranges = list[tuple[bool, AddressRange]]()
    if network.internet:
        everything = ["0.0.0.0/0", *(["::/0"] if _has_ipv6_route() else [])]
        ranges += [(True, ipaddress.ip_network(text)) for text in everything]
        # an error at once, instead of a connection that the relay closes
        ranges += [(False, each) for each in SPECIAL if each.version == 4 and not each.is_loopback]
    ranges += [(True, each) for host, _ in services if not (each := ipaddress.ip_network(host)).is_loopback]
    return [(own, each.version == 6, each.network_address.packed, each.prefixlen) for own, each in ranges]


def _has_ipv6_route() -> bool:
    """Whether this machine has a way to the IPv6 internet. Without one, programs must not try it first."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/net/ipv6_route").read_text().splitlines():
            fields = line.split()
            if fields[0] == "0" * 32 and fields[1] == "00" and fields[9] != "lo":
                return True
    return False


def _listening(network: Network, services: Iterable[tuple[str, int]], *, resolves: bool) -> list[Listening]:
    listen: list[Listening] = [("datagram", "127.0.0.1", DNS)] if resolves else []
    if not network.internet:
        listen += [("stream", "127.0.0.1", DNS)] if resolves else []
        return [*dict.fromkeys(listen + [("stream", host, port) for host, port in services])]
    listen += [("stream", host, port) for host, port in services if port not in PORTS]
    return listen + [("stream", "::", port) for port in dict.fromkeys((*_USUAL_PORTS, *PORTS))]


def _start_relay(spec: RelaySpec) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        program_argv("relay", json.dumps(spec)),
        stdin=subprocess.PIPE,  # its end ends the relay
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        pass_fds=[spec["sockets"]],
        start_new_session=True,
        cwd="/",
    )


def _namespaces(spec: NetworkSpec) -> list[int]:
    with subprocess.Popen(
        program_argv("network_setup"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        pass_fds=[spec["sockets"]] if spec["sockets"] >= 0 else [],
    ) as made:
        assert made.stdin is not None and made.stdout is not None
        with contextlib.suppress(BrokenPipeError):  # the output says why
            made.stdin.write(marshal.dumps(dict[Any, Any](spec)))
            made.stdin.flush()
        if made.stdout.readline() != b"ready\n":
            raise OSError(f"no network namespace ({_last_line(made.stdout.read())})")
        with contextlib.ExitStack() as opened:
            found: list[int] = []
            for kind in ("user", "net"):
                found.append(os.open(f"/proc/{made.pid}/ns/{kind}", os.O_RDONLY | os.O_CLOEXEC))
                opened.callback(os.close, found[-1])
            opened.pop_all()
            return found


def _last_line(output: bytes) -> str:
    return output.decode("utf-8", "replace").strip().rpartition("\n")[2]
