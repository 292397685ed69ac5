"""What a sandboxed command may reach: nothing, the internet, and single services of this machine and around it."""

import contextlib
import ipaddress
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

_SERVICE = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([^\s:/@\[\]]+)):([0-9]{1,5})")
_NAME = re.compile(r"(?!-)[A-Za-z0-9_-]{1,63}(?:\.[A-Za-z0-9_-]{1,63})*\.?")
LOCALHOST = "localhost"


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
        if not found or not host or not 0 < int(found[3]) < 1 << 16 or not (_is_address(host) or _NAME.fullmatch(host)):
            raise BadService(f"`{text}` is not a service. Write host:port, such as localhost:5432 or [::1]:8080.")
        return cls(host, int(found[3]))

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


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
