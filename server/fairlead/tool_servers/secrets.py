"""What the user has told tool servers in confidence."""

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import Any

from fairlead.json_values import fields_of

MAX_SECRETS, MAX_SECRET = 100, 100_000
"""How many are held, and how long each may be as JSON, in characters."""


class Secrets:
    """What the user has entered for tool servers, and their sign-ins (OAuth): JSON objects, by keys of their own.

    They are only in memory. A front end saves them where it saves secrets, and returns them at the next start.
    """

    def __init__(self) -> None:
        self.on_change: Callable[[str, str | None], None] = lambda key, value: None
        """Called when this process has changed one: with its key and its new value; None: it was removed."""
        self.version = 0
        """Differs after each change."""
        self._values: dict[str, str] = {}
        self._locks: dict[str, asyncio.Lock] = {}

    def get(self, key: str) -> dict[str, Any]:
        """One of them; empty if there is none."""
        try:
            return fields_of(json.loads(self._values.get(key, "{}")))
        except (ValueError, RecursionError):
            return {}

    def put(self, key: str, value: Mapping[str, Any]) -> None:
        """Replaces one of them; an empty one removes it."""
        text = json.dumps(value) if value else None
        self._values.pop(key, None)
        if text is not None:
            self._values[key] = text
        self.version += 1
        self.on_change(key, text)

    def replace(self, values: Mapping[str, str]) -> None:
        """Takes over what the front end has saved, in place of everything else."""
        if values != self._values:
            self._values = {key: text for key, text in values.items() if len(text) <= MAX_SECRET}
            self._values = dict(list(self._values.items())[-MAX_SECRETS:])
            self.version += 1

    def lock(self, key: str) -> asyncio.Lock:
        """Held while tokens are refreshed, because a refresh token may hold only once."""
        return self._locks.setdefault(key, asyncio.Lock())
