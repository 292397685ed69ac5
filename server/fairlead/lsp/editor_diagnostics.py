"""Implements the port `DiagnosticsSource` over LSP: requests the editor's diagnostics from the client."""

import asyncio
import logging
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from fairlead.json_reader import WrongValue, read
from fairlead.lsp.documents import Documents
from fairlead.lsp.editor_code import ANSWER_SECONDS
from fairlead.lsp.rpc import AgentProtocol
from fairlead.uris import file_path
from fairlead.wire import protocol as wire
from fairlead.wire.states import FileDiagnosticsWire
from fairlead.workspace.editor import SEVERITIES, Diagnostic

log = logging.getLogger(__name__)


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
            return list(read_diagnostics(read(wire.DiagnosticsResult, answer, "answer")["files"]))
        except WrongValue as error:
            log.warning("malformed diagnostics: %s", error)
            return None


def read_diagnostics(files: Iterable[FileDiagnosticsWire]) -> Iterator[Diagnostic]:
    """Yields the diagnostics of files, except those in documents that are not files."""
    for file in files:
        path = file_path(file["uri"])
        if path is None:  # not a file, such as an untitled document
            continue
        for item in file["diagnostics"]:
            start, severity = item["range"]["start"], SEVERITIES[min(max(item["severity"], 1), 4) - 1]
            yield Diagnostic(
                path, start["line"] + 1, start["character"] + 1, severity, item["message"], item["source"] or ""
            )
