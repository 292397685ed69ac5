"""What the settings say about the web."""

from collections.abc import Collection
from functools import lru_cache

from fairlead.gate.host_rules import HostPolicy, HostRule
from fairlead.session.settings import Settings
from fairlead.shell.network import Service


def host_policy(settings: Settings) -> HostPolicy:
    """Which hosts are asked without a question, and which never."""
    return HostPolicy(_rules(settings.web.allow), _rules(settings.web.deny))


def private_services(settings: Settings) -> Collection[Service]:
    """What of this machine and the user's networks may be asked."""
    return frozenset(map(Service.parse, settings.web.private_hosts))


@lru_cache(maxsize=4)
def _rules(texts: tuple[str, ...]) -> tuple[HostRule, ...]:
    return tuple(map(HostRule.parse, texts))
