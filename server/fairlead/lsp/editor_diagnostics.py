"""The CodeKnowledge port over LSP: what the editor's language support says, asked for with requests to the client."""

import logging
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from fairlead.lsp import protocol as wire
from fairlead.lsp.documents import Documents
from fairlead.lsp.params import file_path
from fairlead.lsp.rpc import AgentProtocol
from fairlead.workspace.editor import SEVERITIES, Diagnostic

log = logging.getLogger(__name__)


class EditorKnowledge:
    """The language support of the editor at the other end of the wire."""

    def __init__(self, protocol: AgentProtocol, documents: Documents) -> None:
        self._protocol = protocol
        self._documents = documents

    async def diagnostics(self, path: Path | None) -> Sequence[Diagnostic] | None:
        uri = self._documents.uri(path) if path is not None else None
        try:
            answer = await self._protocol.request(wire.DIAGNOSTICS, {"uri": uri})
        except wire.RequestError as error:
            log.info("diagnostics not answered: %s", error)
            return None
        try:
            return list(_diagnostics(answer))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            log.warning("diagnostics that make no sense: %r", error)
            return None


def _diagnostics(answer: Any) -> Iterator[Diagnostic]:
    """Raises KeyError, TypeError, ValueError or AttributeError where the answer has not the shape of the page."""
    for file in answer["files"]:
        path = file_path(file["uri"])
        if path is None:  # no file, as an untitled document
            continue
        for one in file["diagnostics"]:
            start, severity = one["range"]["start"], SEVERITIES[min(max(int(one["severity"]), 1), 4) - 1]
            place = int(start["line"]) + 1, int(start["character"]) + 1
            yield Diagnostic(path, *place, severity, str(one["message"]), str(one.get("source") or ""))
