"""What starts a hosted agent, and what it may use."""

import shlex
from dataclasses import dataclass

from fairlead.shell.network import Service


@dataclass(frozen=True, slots=True)
class ApiKey:
    """How an agent learns its key and the address of its API.

    If the user has the key in a variable, it stays outside of the box: the agent gets another one, and the address of
    the relay (`key_relay.py`).
    """

    variable: str
    address_variable: str
    address: str
    """The address of the API if the user's environment does not name another one."""


@dataclass(frozen=True, slots=True)
class AgentDefinition:
    """An agent of the presets or of the user's settings."""

    name: str
    title: str
    """For the user."""
    command: tuple[str, ...] = ()
    """The program and its arguments."""
    package: tuple[str, ...] = ()
    """The npm packages that contain the program, with versions, the main one first; empty: the user installs it."""
    state: tuple[tuple[str, str], ...] = ()
    """The variables that name where it keeps its settings and its sign-in, each with a folder in its state folder."""
    variables: tuple[tuple[str, str], ...] = ()
    """Further environment variables."""
    hosts: tuple[Service, ...] = ()
    """What it reaches over the network."""
    key: ApiKey | None = None
    """None: it has no key that could stay outside."""
    sign_in: tuple[str, ...] = ()
    """The program and arguments with which the user signs in, in a terminal; empty: there is no such command."""
    mode: str = ""
    """The mode that it is put into, in which it asks before it changes something; empty: its own."""
    ignored: tuple[str, ...] = ()
    """Paths in the workspace that it writes for itself. They are neither proposed nor reported."""
    has_tools: bool = True
    """Whether it gets Fairlead's tools, if it takes tools over HTTP."""

    is_enabled: bool = True

    @property
    def text(self) -> str:
        """The whole command line."""
        return shlex.join(self.command)
