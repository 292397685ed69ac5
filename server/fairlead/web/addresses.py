"""Tells the public internet from this machine, its networks and what nobody may reach."""

import re
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Literal

Reach = Literal["public", "private", "forbidden"]
"""`private`: this machine and networks of the user's own. `forbidden`: no setting opens it."""

# in addition to what `ipaddress` of all supported Pythons knows
_NOT_PUBLIC = (IPv4Network("192.0.0.0/24"), IPv4Network("192.88.99.0/24"), IPv6Network("3fff::/20"))
_PRIVATE = (
    *map(IPv4Network, ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "127.0.0.0/8", "100.64.0.0/10")),
    *map(IPv6Network, ("::1/128", "fc00::/7")),
)
_GLOBAL_UNICAST = IPv6Network("2000::/3")
_TRANSLATED = IPv6Network("64:ff9b::/96")
"""IPv4 addresses in networks without IPv4 (NAT64)."""
_LOCAL_SUFFIX = re.compile(r"(?:^|\.)(?:localhost|local|internal|intranet|lan|corp|home|home\.arpa|test)$")


def reach_of(address: str) -> Reach:
    """Where an address leads. An address that contains another one leads where that one does.

    Args:
        address: of IPv4 or IPv6, as a resolver returns it.
    """
    try:
        found = ip_address(address)
    except ValueError:
        return "forbidden"
    if isinstance(found, IPv6Address):
        if found.scope_id is not None:
            return "forbidden"
        inner = _inner(found)
        if inner is not None:
            return reach_of(str(inner))
    if any(found in network for network in _PRIVATE if network.version == found.version):
        return "private"
    return "public" if _is_public(found) else "forbidden"


def _inner(address: IPv6Address) -> IPv4Address | None:
    """The IPv4 address that a connection to an IPv6 address leads to."""
    if address in _TRANSLATED or (int(address) >> 32 == 0 and int(address) > 1):
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour


def _is_public(address: IPv4Address | IPv6Address) -> bool:
    if isinstance(address, IPv6Address) and address not in _GLOBAL_UNICAST:
        return False
    if any(address in network for network in _NOT_PUBLIC if network.version == address.version):
        return False
    return address.is_global and not (address.is_multicast or address.is_reserved or address.is_unspecified)


def is_local_name(host: str) -> bool:
    """Whether a name is one of the user's own network, judged by the name."""
    return "." not in host or _LOCAL_SUFFIX.search(host) is not None
