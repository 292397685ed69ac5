"""A language server in this process.

In its language, a line that begins with `error` or `warning` is a problem, and equal lines refer to each other.
"""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from fairlead.code.provider import LanguageServer, MissingServer
from fairlead.errors import ToolError


class LineServer:
    """Knows the shown texts. `unchecked` are texts that it never checks in time."""

    name, encoding, unfinished = "lines", "utf-16", ""

    def __init__(self) -> None:
        self.texts: Mapping[Path, str] = {}
        self.shown: list[Mapping[Path, str]] = []
        self.unchecked: set[str] = set()
        self.requests: list[str] = []

    def supports(self, method: str) -> bool:
        return method == "textDocument/references"

    async def request(self, method: str, params: dict[str, Any]) -> Any:
        self.requests.append(method)
        wanted = self._lines(params)
        return [
            {"uri": path.as_uri(), "range": _range(row)}
            for path, text in sorted(self.texts.items())
            for row, line in enumerate(text.splitlines())
            if line == wanted
        ]

    def _lines(self, params: dict[str, Any]) -> str:
        uri, row = params["textDocument"]["uri"], params["position"]["line"]
        return next(text for path, text in self.texts.items() if path.as_uri() == uri).splitlines()[row]

    async def show(self, texts: Mapping[Path, str]) -> None:
        self.texts = {path: text for path, text in texts.items() if path.suffix == ".x"}
        self.shown.append(self.texts)

    async def diagnostics(self, paths: Sequence[Path]) -> Mapping[Path, Sequence[Any]]:
        checked = [path for path in paths if self.texts.get(path) not in {None, *self.unchecked}]
        return {path: _problems(self.texts[path]) for path in checked}


class LineServers:
    """Has only one language server, for `*.x`. It starts when `allowed` is set, which is initially the case.

    `failure` is the error with which its start fails.
    """

    def __init__(self) -> None:
        self.only = LineServer()
        self.failure: ToolError | None = None
        self.started = asyncio.Event()
        self.allowed = asyncio.Event()
        self.allowed.set()

    def name_for(self, path: Path) -> str:
        return self.only.name if path.suffix == ".x" else ""

    async def server(self, path: Path) -> LanguageServer:
        if self.failure is not None:
            raise self.failure
        await self.allowed.wait()
        await asyncio.to_thread(bool)  # like a real server, it is never ready at once
        self.started.set()
        return self.only

    async def start(self, path: Path) -> None:
        await self.server(path)

    def suffixes(self) -> Collection[str]:
        return [".x"]

    def missing(self) -> Collection[MissingServer]:
        return ()

    async def aclose(self) -> None:
        """Does nothing, because there is no process to end."""


def _range(row: int) -> dict[str, Any]:
    return {"start": {"line": row, "character": 0}, "end": {"line": row, "character": 5}}


def _problems(text: str) -> list[dict[str, Any]]:
    return [
        {"range": _range(row), "severity": 1 if line.startswith("error") else 2, "message": line, "source": "lines"}
        for row, line in enumerate(text.splitlines())
        if line.startswith(("error", "warning"))
    ]
