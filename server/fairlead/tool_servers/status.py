"""What the user sees of tool servers."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from fairlead.tool_servers.connection import ListedTool
from fairlead.tool_servers.definition import Definition
from fairlead.tool_servers.known import KnownServers
from fairlead.tool_servers.offers import Offer

State = Literal["disabled", "stopped", "starting", "running", "failed", "notAllowed", "signIn"]
"""`signIn`: the user must sign in to a remote server."""


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """What the user sees of a server."""

    definition: Definition
    state: State
    problem: str
    """Why it cannot be used; empty if it can."""
    output: str
    """The last lines that it wrote beside its messages."""
    tools: Sequence[ListedTool]
    """Those that the model may see, and those that are switched off."""


def resting_statuses(definitions: Iterable[Definition], known: KnownServers) -> list[ServerStatus]:
    """The servers of a workspace without a session: none of them runs."""
    return [
        ServerStatus(each, "stopped" if each.is_enabled else "disabled", "", "", known.tools(each.digest) or ())
        for each in definitions
    ]


def resting_offers(definitions: Iterable[Definition], known: KnownServers) -> list[Offer]:
    """What the servers of a workspace without a session offer."""
    return [Offer(each.name, known.prompts(each.digest), ()) for each in definitions if each.is_enabled]
