"""Remembers which tool servers the user has allowed, and what they offered."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

from fairlead.gate.remembered import Remembered
from fairlead.json_reader import WrongValue, read, to_json
from fairlead.json_values import is_list
from fairlead.tool_servers.connection import ListedTool
from fairlead.tool_servers.offers import ListedPrompt

_Listed = TypeVar("_Listed", ListedTool, ListedPrompt)


class KnownServers(Remembered):
    """What is remembered of tool servers, by the digests of their definitions."""

    def __init__(self, path: Path | None) -> None:
        super().__init__(path)
        self._tools: dict[str, tuple[Any, Sequence[ListedTool] | None]] = {}
        """The tools that were read last, each with the JSON value from which they were read."""

    def tools(self, digest: str) -> Sequence[ListedTool] | None:
        """The tools that the model may see; None if the server has not listed any yet."""
        given = self.fields(digest).get("tools")
        last, tools = self._tools.get(digest, (None, None))
        if given is not last:
            tools = self._listed(digest, "tools", ListedTool)
            self._tools[digest] = given, tools
        return tools

    def keep_tools(self, digest: str, tools: Sequence[ListedTool]) -> None:
        self.change(digest, {"tools": to_json(tools)})

    def prompts(self, digest: str) -> Sequence[ListedPrompt]:
        """The prompts that a server listed last."""
        return self._listed(digest, "prompts", ListedPrompt) or ()

    def keep_prompts(self, digest: str, prompts: Sequence[ListedPrompt]) -> None:
        self.change(digest, {"prompts": to_json(prompts)})

    def _listed(self, digest: str, field: str, kind: type[_Listed]) -> list[_Listed] | None:
        given = self.fields(digest).get(field)
        try:
            return [read(kind, each, "") for each in given] if is_list(given) else None
        except WrongValue:
            return None


def tool_digest(tool: ListedTool) -> str:
    """Identifies all that a model and the user learn of a tool."""
    return hashlib.sha256(json.dumps(asdict(tool), sort_keys=True).encode()).hexdigest()
