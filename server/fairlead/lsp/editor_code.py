"""Implements the port `Provider` over LSP: asks the editor's language support through the client."""

import asyncio
import logging
from typing import Any

from lsprotocol import types

from fairlead.code.provider import NoAnswer
from fairlead.lsp.documents import Documents
from fairlead.lsp.rpc import METHOD_NOT_FOUND, AgentProtocol
from fairlead.wire import protocol as wire

log = logging.getLogger(__name__)

ANSWER_SECONDS = 30.0

METHODS = {
    types.TEXT_DOCUMENT_DEFINITION: wire.DEFINITION,
    types.TEXT_DOCUMENT_REFERENCES: wire.REFERENCES,
    types.TEXT_DOCUMENT_IMPLEMENTATION: wire.IMPLEMENTATION,
    types.TEXT_DOCUMENT_HOVER: wire.HOVER,
    types.TEXT_DOCUMENT_DOCUMENT_SYMBOL: wire.DOCUMENT_SYMBOLS,
    types.WORKSPACE_SYMBOL: wire.WORKSPACE_SYMBOLS,
    types.TEXT_DOCUMENT_RENAME: wire.RENAME,
    types.TEXT_DOCUMENT_CODE_ACTION: wire.CODE_ACTIONS,
}
"""The request to the client for each LSP method that Fairlead uses. Params and result are those of the LSP method."""


class EditorProvider:
    """Answers requests about the user's files as the editor has them, including unsaved changes.

    Args:
        answer_seconds: how long the editor may take for an answer.
    """

    name = "the editor"

    def __init__(self, protocol: AgentProtocol, documents: Documents, answer_seconds: float = ANSWER_SECONDS) -> None:
        self._protocol = protocol
        self._documents = documents
        self._answer_seconds = answer_seconds
        self._not_found: set[str] = set()
        """The methods that this client does not know."""

    @property
    def encoding(self) -> str:
        return self._documents.encoding

    def supports(self, method: str) -> bool:
        return method in METHODS and method not in self._not_found

    async def request(self, method: str, params: dict[str, Any]) -> Any:
        if not self.supports(method):
            raise NoAnswer(f"The editor does not answer {method}.")
        try:
            async with asyncio.timeout(self._answer_seconds):
                return await self._protocol.request(METHODS[method], params)
        except TimeoutError as error:
            raise NoAnswer(f"The editor did not answer within {self._answer_seconds:g} seconds.") from error
        except wire.RequestError as error:
            log.info("%s not answered: %s", method, error)
            if error.code == METHOD_NOT_FOUND:
                self._not_found.add(method)
                raise NoAnswer(f"The editor does not answer {method}.") from error
            raise NoAnswer(f"The editor did not answer: {error}") from error
