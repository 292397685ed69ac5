"""The relay: a program on the machine that connects a box's network to what its command may reach (docs/sandbox.md).

In the box's network, every address leads to the box itself, where sockets listen (`network.py`). The relay accepts
their connections, asks `Policy` whether the address may be reached, and copies the bytes. A name that may be reached
has an address of its own in the box (`names.py`), and is looked up for each connection. The relay answers questions for
these names, and passes others to the machine's name servers if the internet may be reached. It ends when its standard
input is closed, and so with the server.
"""

import asyncio
import contextlib
import fcntl
import ipaddress
import json
import os
import resource
import socket
import struct
import sys
from collections.abc import Collection, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from fairlead.shell.network import leads_elsewhere
from fairlead.shell.sandbox.box.names import NO_SUCH_NAME, Question

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
AddressRange = ipaddress.IPv4Network | ipaddress.IPv6Network

DNS = 53
LOOPBACK = frozenset(("127.0.0.1", "::1"))
# addresses that lead to this machine, to its surroundings, or nowhere (IANA's registries of special-purpose addresses);
# of IPv6, only global unicast is public (RFC 4291)
SPECIAL = tuple(
    ipaddress.ip_network(text)
    for text in (
        *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"),
        *("192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24"),
        *("203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4"),
        "168.63.129.16/32",  # Azure's metadata, at an address that is otherwise public
        *("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"),
    )
)
_GLOBAL_UNICAST = ipaddress.IPv6Network("2000::/3")
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")  # an IPv4 address in its last 32 bits (RFC 6052)
_CHUNK = 1 << 16
_DNS_SECONDS = 5.0
_LOOKUP_SECONDS, _LOOKUPS = 20.0, 16  # how long a name is looked up, and how many are at once
_SPARE_DESCRIPTORS = 64
_MAX_CONNECTIONS, _MAX_QUESTIONS = 4000, 500  # at once: a command must not use up the machine's memory and ports
_MAX_DATAGRAM = 1 << 16
_SIOCGIFADDR, _SIOCGIFNETMASK = 0x8915, 0x891B
_MIN_PREFIX = 8
_RESET = struct.pack("ii", 1, 0)


class RelaySpec(TypedDict):
    """What the relay needs to know. Sent as JSON."""

    sockets: int
    """The descriptor over which the listening sockets arrive."""
    uid: int
    gid: int
    """The account that it runs as."""
    internet: bool
    services: list[tuple[str, int]]
    """Addresses or names, and ports."""
    names: dict[str, str]
    """The names of services by the addresses that stand for them in the box."""
    private: list[str]
    """The names that may lead to networks around this machine, because they did so when they were allowed."""
    nameservers: list[str]
    """The addresses of the machine's name servers. Empty: only `names` are known."""


@dataclass(frozen=True)
class Policy:
    """What may be reached."""

    internet: bool
    services: Collection[tuple[str, int]]
    local: Collection[AddressRange] = ()
    """This machine's networks."""
    private: Collection[str] = ()
    """See `RelaySpec.private`."""

    def allows(self, host: str, port: int) -> bool:
        """Whether a connection to an address may be made."""
        if (host, port) in self.services:
            return True
        return self.internet and is_public(host, self.local) and not _is_own(host)

    def allows_of(self, name: str, host: str, port: int) -> bool:
        """Whether a connection to a name may be made at this one of its addresses, which its owner decides."""
        if not leads_elsewhere(host) or _is_own(host):
            return False
        is_allowed = self.internet or (name, port) in self.services
        is_private = not is_public(host, self.local)
        return is_allowed and (not is_private or ((name, port) in self.services and name in self.private))


def is_public(host: str, local: Collection[AddressRange] = ()) -> bool:
    """Whether an address is in the internet: neither special nor in one of the networks `local`."""
    address: Address = ipaddress.ip_address(host)
    if isinstance(address, ipaddress.IPv6Address):
        if address in _NAT64:
            return is_public(str(ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)), local)
        if address not in _GLOBAL_UNICAST:
            return False
    return not any(address.version == each.version and address in each for each in (*SPECIAL, *local))


def _is_own(host: str) -> bool:
    """Whether an address is one of this machine."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind((host, 0))
        except OSError:
            return False
        return True


def local_networks(routes: Path = Path("/proc/net/route")) -> Iterator[AddressRange]:
    """The networks in which this machine has an address, and those that it reaches otherwise than the internet."""
    yield from _routed_networks(routes)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        for _, name in socket.if_nameindex():
            request = struct.pack("16s24x", os.fsencode(name)[:15])
            with contextlib.suppress(OSError):  # the interface has no such address
                address, mask = (
                    socket.inet_ntoa(fcntl.ioctl(probe, number, request)[20:24])
                    for number in (_SIOCGIFADDR, _SIOCGIFNETMASK)
                )
                yield ipaddress.ip_network(f"{address}/{mask}", strict=False)
    with contextlib.suppress(OSError):
        for line in Path("/proc/net/if_inet6").read_text().splitlines():
            address, _, length = line.split()[:3]
            yield ipaddress.ip_network((bytes.fromhex(address), int(length, 16)), strict=False)


def _routed_networks(routes: Path) -> Iterator[AddressRange]:
    """The destinations of IPv4 routes without a gateway, and through another interface than the internet's: a VPN's."""
    with contextlib.suppress(OSError):
        found = list[tuple[str, bool, ipaddress.IPv4Network]]()
        for line in routes.read_text().splitlines()[1:]:
            interface, to, gateway, *_ = fields = line.split()
            address, mask = (socket.inet_ntoa(struct.pack("=I", int(text, 16))) for text in (to, fields[7]))
            found.append((interface, int(gateway, 16) == 0, ipaddress.IPv4Network(f"{address}/{mask}")))
        # a way to the internet may be in two halves, 0.0.0.0/1 and 128.0.0.0/1
        outward = {interface for interface, _, each in found if each.prefixlen < _MIN_PREFIX}
        for interface, is_direct, each in found:
            if each.prefixlen >= _MIN_PREFIX and (is_direct or interface not in outward):
                yield each


def main() -> None:
    """`python -I -S -c "..." SERVER_FOLDER SPEC`. Does not return."""
    spec: RelaySpec = json.loads(sys.argv[2])
    if os.geteuid() != spec["uid"]:
        os.setgroups([])
        os.setresgid(spec["gid"], spec["gid"], spec["gid"])
        os.setresuid(spec["uid"], spec["uid"], spec["uid"])
    os.nice(5)
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    services = {(host, port) for host, port in spec["services"]}
    policy = Policy(spec["internet"], services, list(local_networks()), spec["private"])
    with socket.socket(fileno=spec["sockets"]) as incoming:
        found = list(received_sockets(incoming))
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_Relay(policy, spec["names"], spec["nameservers"]).serve(found))


def received_sockets(incoming: socket.socket) -> Iterator[socket.socket]:
    """The sockets that the other end sends, until it closes."""
    while True:
        data, descriptors, _, _ = socket.recv_fds(incoming, 1, 253)
        if not data:
            return
        for descriptor in descriptors:
            yield socket.socket(fileno=descriptor)


class _Relay:
    def __init__(self, policy: Policy, names: Mapping[str, str], nameservers: Sequence[str]) -> None:
        self._policy, self._names, self._nameservers = policy, names, nameservers
        self._stand_ins = {name: address for address, name in names.items()}
        self._connections: set[asyncio.Task[None]] = set()
        self._questions: set[asyncio.Task[None]] = set()
        self._max_connections = self._max_questions = 0

    async def serve(self, listening: Sequence[socket.socket]) -> None:
        """Relays what arrives at the sockets, until standard input is closed."""
        loop, ended = asyncio.get_running_loop(), asyncio.Event()
        loop.set_default_executor(ThreadPoolExecutor(_LOOKUPS))
        free = resource.getrlimit(resource.RLIMIT_NOFILE)[0] - len(listening) - _SPARE_DESCRIPTORS
        self._max_questions = min(_MAX_QUESTIONS, free // 4)
        # each connection needs two descriptors
        self._max_connections = min(_MAX_CONNECTIONS, (free - self._max_questions) // 2)
        loop.add_reader(0, ended.set)
        for each in listening:
            each.setblocking(False)
            is_stream = each.type == socket.SOCK_STREAM
            loop.add_reader(each, self._accept if is_stream else self._take_question, each)
        await ended.wait()
        os._exit(0)  # without waiting for lookups

    def _accept(self, listening: socket.socket) -> None:
        with contextlib.suppress(OSError):  # the other end has closed already
            inner, _ = listening.accept()
            if len(self._connections) >= self._max_connections:
                inner.close()
                return
            inner.setblocking(False)
            _start(self._connect(inner), self._connections)

    async def _connect(self, inner: socket.socket) -> None:
        with inner:
            host, port = inner.getsockname()[:2]
            host = host.removeprefix("::ffff:")
            if port == DNS and ipaddress.ip_address(host).is_loopback:
                await self._answer_all(inner)
                return
            for target, number in await self._targets(host, port):
                with contextlib.suppress(OSError):
                    with socket.socket(socket.AF_INET6 if ":" in target else socket.AF_INET) as outer:
                        outer.setblocking(False)
                        await asyncio.get_running_loop().sock_connect(outer, (target, number))
                        await _copy_both(inner, outer)
                    return
            # as if the host had refused, as far as that is possible for a connection that exists already
            inner.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)

    async def _targets(self, host: str, port: int) -> list[tuple[str, int]]:
        if name := self._names.get(host):
            return [(each, port) for each in await _addresses(name) if self._policy.allows_of(name, each, port)]
        # a server may listen on only one of the two addresses that `localhost` has
        hosts = [host, *(LOOPBACK - {host})] if host in LOOPBACK else [host]
        return [(each, port) for each in hosts if self._policy.allows(each, port)]

    async def _answer_all(self, inner: socket.socket) -> None:
        """Answers the questions of a connection (RFC 7766)."""
        reader, writer = await asyncio.open_connection(sock=inner.dup())
        with contextlib.closing(writer), contextlib.suppress(OSError, EOFError):
            while True:
                question = await _read_message(reader)
                answer = self._own_answer(question)
                for each in self._nameservers if answer is None else ():
                    with contextlib.suppress(OSError, EOFError, TimeoutError):
                        answer = await _asked_by_stream(each, question)
                        break
                if answer is None:
                    return
                writer.write(len(answer).to_bytes(2) + answer)
                await writer.drain()

    def _own_answer(self, message: bytes) -> bytes | None:
        """The answer to a question for one of the names, or for any name if there are no others; None: ask for it."""
        question = Question.parse(message)
        if question is None or not (question.name in self._stand_ins or not self._nameservers):
            return None
        address = self._stand_ins.get(question.name)
        return question.answer(address, NO_SUCH_NAME if address is None else 0)

    def _take_question(self, listening: socket.socket) -> None:
        with contextlib.suppress(OSError):
            question, sender = listening.recvfrom(_MAX_DATAGRAM)
            if len(self._questions) < self._max_questions:
                _start(self._answer(listening, question, sender), self._questions)

    async def _answer(self, listening: socket.socket, question: bytes, sender: tuple[str, int]) -> None:
        if (own := self._own_answer(question)) is not None:
            listening.sendto(own, sender)
            return
        for each in self._nameservers:
            with contextlib.suppress(OSError, TimeoutError):
                listening.sendto(await _asked(each, question), sender)
                return


def _start(work: Coroutine[None, None, None], running: set[asyncio.Task[None]]) -> None:
    task = asyncio.ensure_future(work)
    running.add(task)
    task.add_done_callback(running.discard)


async def _asked(nameserver: str, question: bytes) -> bytes:
    """The answer of a name server.

    Raises:
        OSError, TimeoutError: there is none.
    """
    loop = asyncio.get_running_loop()
    with socket.socket(socket.AF_INET6 if ":" in nameserver else socket.AF_INET, socket.SOCK_DGRAM) as asking:
        asking.setblocking(False)
        await loop.sock_connect(asking, (nameserver, DNS))
        async with asyncio.timeout(_DNS_SECONDS):
            await loop.sock_sendall(asking, question)
            return await loop.sock_recv(asking, _MAX_DATAGRAM)


async def _asked_by_stream(nameserver: str, question: bytes) -> bytes:
    """As `_asked`, for a question that was asked over TCP. Also raises EOFError."""
    async with asyncio.timeout(_DNS_SECONDS):
        reader, writer = await asyncio.open_connection(nameserver, DNS)
        with contextlib.closing(writer):
            writer.write(len(question).to_bytes(2) + question)
            return await _read_message(reader)


async def _read_message(reader: asyncio.StreamReader) -> bytes:
    return await reader.readexactly(int.from_bytes(await reader.readexactly(2)))


async def _addresses(name: str) -> list[str]:
    """The addresses of a name now; none if it has none."""
    try:
        async with asyncio.timeout(_LOOKUP_SECONDS):
            # as bytes, because a text needs modules of Python
            found = await asyncio.get_running_loop().getaddrinfo(name.encode(), None, type=socket.SOCK_STREAM)
    except (OSError, TimeoutError):
        return []
    return list(dict.fromkeys(str(address[0]).partition("%")[0] for *_, address in found))


async def _copy_both(one: socket.socket, other: socket.socket) -> None:
    """Copies in both directions until both ends have closed, or one fails."""
    both = [asyncio.ensure_future(_copy(one, other)), asyncio.ensure_future(_copy(other, one))]
    try:
        await asyncio.gather(*both)
    except OSError:
        for each in (one, other):
            with contextlib.suppress(OSError):
                each.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    finally:
        for task in both:
            task.cancel()
        # before the sockets are closed and their numbers used again
        await asyncio.gather(*both, return_exceptions=True)


async def _copy(source: socket.socket, target: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    while data := await loop.sock_recv(source, _CHUNK):
        await loop.sock_sendall(target, data)
    target.shutdown(socket.SHUT_WR)
