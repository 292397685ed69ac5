"""Implements the port `DiagnosticsSource` over LSP: requests the editor's diagnostics from the client."""

import asyncio
import logging
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from fairlead.lsp import protocol as wire
from fairlead.lsp.documents import Documents
from fairlead.lsp.editor_code import ANSWER_SECONDS
from fairlead.lsp.rpc import AgentProtocol
from fairlead.uris import file_path
from fairlead.workspace.editor import SEVERITIES, Diagnostic

log = logging.getLogger(__name__)

MALFORMED = (KeyError, TypeError, ValueError, AttributeError, OverflowError)  # the last for a number such as 1e999
"""The errors that may be raised while iterating over `read_diagnostics` if the value has the wrong shape."""


class EditorDiagnostics:
    """Requests the problems that the editor shows.

    Args:
        answer_seconds: how long the editor may take for an answer.
    """

    def __init__(self, protocol: AgentProtocol, documents: Documents, answer_seconds: float = ANSWER_SECONDS) -> None:
        self._protocol = protocol
        self._documents = documents
        self._answer_seconds = answer_seconds

    async def diagnostics(self, path: Path | None) -> Sequence[Diagnostic] | None:
        uri = self._documents.uri(path) if path is not None else None
        try:
            async with asyncio.timeout(self._answer_seconds):
                answer = await self._protocol.request(wire.DIAGNOSTICS, {"uri": uri})
        except (wire.RequestError, TimeoutError) as error:
            log.info("diagnostics not answered: %r", error)
            return None
        try:
            return list(read_diagnostics(answer))
        except MALFORMED as error:
            log.warning("malformed diagnostics: %r", error)
            return None


def read_diagnostics(answer: Any) -> Iterator[Diagnostic]:
    """Yields the diagnostics of a `DiagnosticsResult`, except those in documents that are not files.

    Raises one of `MALFORMED`, perhaps after some diagnostics, if the value has another shape.
    """
    for file in answer["files"]:
        path = file_path(file["uri"])
        if path is None:  # not a file, such as an untitled document
            continue
        for item in file["diagnostics"]:
            start, severity = item["range"]["start"], SEVERITIES[min(max(int(item["severity"]), 1), 4) - 1]
            line, column = int(start["line"]) + 1, int(start["character"]) + 1
            yield Diagnostic(path, line, column, severity, str(item["message"]), str(item.get("source") or ""))
