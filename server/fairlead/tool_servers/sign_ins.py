"""The user's sign-ins to remote tool servers (OAuth): tokens and registrations. They are only in memory."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from fairlead.json_values import fields_of
from fairlead.tool_servers.definition import Definition
from fairlead.tool_servers.pipes import ServerFailed
from fairlead.tool_servers.variables import Values, expanded

NO_SDK = "Fairlead's Python lacks the package mcp. Install fairlead[mcp]"
MAX_SIGN_INS, MAX_SIGN_IN = 100, 100_000
"""How many are held, and how long each may be as JSON, in characters."""


Authorize = Callable[[str], Awaitable[str | None]]
"""Opens an address in the user's browser. Returns the address that the browser was sent back to; None: they gave up."""


class SignInNeeded(ServerFailed):
    """A remote server answers only after the user has signed in, or has signed in again."""


class SignIns:
    """The sign-ins of a process, by a key for the server's definition and the origin of its address.

    A front end saves them where it saves secrets, and returns them at the next start.
    """

    def __init__(self) -> None:
        self.on_change: Callable[[str, str | None], None] = lambda key, value: None
        """Called when this process has changed a sign-in: with its key and its new value; None: it was removed."""
        self.version = 0
        """Differs after each change."""
        self._values: dict[str, str] = {}
        self._locks: dict[str, asyncio.Lock] = {}

    def get(self, key: str) -> dict[str, Any]:
        """A sign-in; empty if there is none."""
        try:
            return fields_of(json.loads(self._values.get(key, "{}")))
        except (ValueError, RecursionError):
            return {}

    def put(self, key: str, value: Mapping[str, Any]) -> None:
        """Replaces a sign-in; an empty one removes it."""
        text = json.dumps(value) if value else None
        self._values.pop(key, None)
        if text is not None:
            self._values[key] = text
        self.version += 1
        self.on_change(key, text)

    def replace(self, values: Mapping[str, str]) -> None:
        """Takes over what the front end has saved, in place of everything else."""
        if values != self._values:
            self._values = {key: text for key, text in values.items() if len(text) <= MAX_SIGN_IN}
            self._values = dict(list(self._values.items())[-MAX_SIGN_INS:])
            self.version += 1

    def lock(self, key: str) -> asyncio.Lock:
        """Held while tokens are refreshed, because a refresh token may hold only once."""
        return self._locks.setdefault(key, asyncio.Lock())


async def sign_in(
    sign_ins: SignIns, definition: Definition, values: Values, redirect: str, authorize: Authorize
) -> None:
    """Signs the user in to a remote server.

    Args:
        redirect: the address that the browser is sent back to.

    Raises:
        ServerFailed: it did not work, or the server does not want a sign-in.
        MissingValue: as `expanded`.
    """
    try:
        from fairlead.tool_servers import oauth  # noqa: PLC0415  imports the SDK, which is optional and slow to import
    except ImportError as error:
        raise ServerFailed(NO_SDK) from error
    known = expanded(definition, values)
    await oauth.sign_in(sign_ins, oauth.key_of(definition, known.url), known, redirect, authorize)
