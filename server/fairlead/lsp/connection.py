"""The connection to the client. It can answer `initialize` before the rest of the server is imported."""

# pyright: reportUnknownMemberType=false
# pygls declares some attributes without their types

import functools
import logging
from typing import Any

from cattrs import Converter
from lsprotocol import types
from pygls.exceptions import JsonRpcException, JsonRpcInternalError
from pygls.lsp.server import LanguageServer
from pygls.protocol import default_converter

from fairlead import __version__
from fairlead.lsp.rpc import AgentProtocol

log = logging.getLogger(__name__)


class ClientConnection(LanguageServer):
    """pygls's server with Fairlead's protocol."""

    protocol: AgentProtocol  # pyright: ignore[reportIncompatibleVariableOverride]  pygls makes it from protocol_cls

    def __init__(self) -> None:
        super().__init__("fairlead", __version__, protocol_cls=AgentProtocol, converter_factory=_converter)

    def show_message(self, kind: types.MessageType, text: str) -> None:
        """Shows a message to the user."""
        self.protocol.send_notification(types.WINDOW_SHOW_MESSAGE, {"type": int(kind), "message": text})

    def report_server_error(self, error: Exception, source: Any) -> None:
        """Logs an error. Errors that handlers raise on purpose (`rpc_error`) are logged at the level DEBUG.

        Users see errors in the answers to their requests.
        """
        details = "".join(error.data["traceback"]) if isinstance(error, JsonRpcInternalError) and error.data else ""
        level = logging.ERROR if details or not isinstance(error, JsonRpcException) else logging.DEBUG
        log.log(level, "%s\n%s", error, details)


@functools.cache  # a converter compiles a function for each type, so the servers in one process share one converter
def _converter() -> Converter:
    return default_converter()
