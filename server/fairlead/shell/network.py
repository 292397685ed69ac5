"""What a sandboxed command may reach: nothing, the internet, and single services of this machine and around it."""

import contextlib
import ipaddress
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

_SERVICE = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([^\s:/@\[\]]+)):([0-9]{1,5})")
_NAME = re.compile(r"(?!-)[A-Za-z0-9_-]{1,63}(?:\.[A-Za-z0-9_-]{1,63})*\.?")
# resolvers read a name whose last label is a number as an IPv4 address: 2130706433, 127.1, 0x7f000001 are 127.0.0.1
_NUMBER = re.compile(r"(?:.*\.)?(?:[0-9]+|0x[0-9a-f]*)\.?")
LOCALHOST = "localhost"
HTTPS = 443


class BadService(ValueError):
    """The text does not name a service. The message says what to write."""


@dataclass(frozen=True, slots=True, order=True)
class Service:
    """One TCP port of a host."""

    host: str
    """A name in lower case, or an address."""
    port: int

    @classmethod
    def parse(cls, text: str) -> "Service":
        """Parses `host:port`. An IPv6 address is in brackets.

        Raises:
            BadService: the text is something else.
        """
        found = _SERVICE.fullmatch(text.strip())
        host = found and (found[1] or found[2]).lower()
        if not found or not host or not 0 < int(found[3]) < 1 << 16 or not _is_host(host):
            raise BadService(f"`{text}` is not a service. Write host:port, such as localhost:5432 or [::1]:8080.")
        return cls(host, int(found[3]))

    @classmethod
    def parse_host(cls, text: str) -> "Service":
        """Parses `host:port` or `host`, which means the port of HTTPS.

        Raises:
            BadService: the text is something else.
        """
        _, colon, port = text.strip().rpartition(":")
        return cls.parse(text if colon and port.isdecimal() else f"{text.strip()}:{HTTPS}")

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def is_of_this_machine(self) -> bool:
        """Whether its host is certainly this machine."""
        return self.host == LOCALHOST or (_is_address(self.host) and ipaddress.ip_address(self.host).is_loopback)


@dataclass(frozen=True, slots=True)
class Network:
    """What a command in the sandbox reaches, apart from the session's background commands."""

    internet: bool = False
    """Public addresses, at ports below 1024, but nothing of this machine and of its local networks."""
    services: frozenset[Service] = frozenset()
    """Anything else, one by one."""

    def __bool__(self) -> bool:
        return self.internet or bool(self.services)

    def with_services(self, services: Iterable[Service]) -> "Network":
        """The same with more services."""
        return Network(self.internet, self.services.union(services))

    @property
    def service_names(self) -> list[str]:
        """The services as text, in a stable order."""
        return [str(service) for service in sorted(self.services)]


NO_NETWORK = Network()

PROXY_VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")
_PROXY_PORTS = {"http": 80, "https": 443, "socks": 1080, "socks4": 1080, "socks5": 1080, "socks5h": 1080}


def proxy_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that name the user's proxies, in both spellings. Leaves out those with a password."""
    names = [spelling for name in PROXY_VARIABLES for spelling in (name, name.lower())]
    return {name: value for name in names if (value := environment.get(name)) and "@" not in value}


def proxies(environment: Mapping[str, str]) -> frozenset[Service]:
    """The proxies that `proxy_variables` names: without them, a machine may have no way to the internet."""
    found = set[Service]()
    for name, value in proxy_variables(environment).items():
        if name.upper() != "NO_PROXY":
            with contextlib.suppress(ValueError):
                url = urlsplit(value if "://" in value else f"http://{value}")
                host, port = url.hostname or "", url.port or _PROXY_PORTS.get(url.scheme, 0)
                found.add(Service.parse(str(Service(host, port))))
    return frozenset(found)


def leads_elsewhere(host: str) -> bool:
    """Whether an address belongs to one host, and not to this machine or to whatever is on the same wire.

    A name may only lead to such addresses: whoever owns it decides its address, and the question shows the name.
    """
    address = ipaddress.ip_address(host)
    return _is_of_one_host(address) and not address.is_loopback and not address.is_link_local


def _is_host(text: str) -> bool:
    if not _is_address(text):
        return _NAME.fullmatch(text) is not None and not _NUMBER.fullmatch(text)
    return _is_of_one_host(ipaddress.ip_address(text))


def _is_of_one_host(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    """Whether a connection to an address leads to it. IPv4 addresses must be written as such."""
    if address.version == 6 and int(address) >> 32 in (0, 0xFFFF) and not address.is_loopback:
        return False
    return not address.is_unspecified and not address.is_multicast and str(address) != "255.255.255.255"


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
