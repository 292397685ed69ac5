"""A strict JSON-RPC layer on pygls: every request is answered, and no traceback reaches the client.

It works around faults of pygls 2.1, which does not answer requests with malformed params or requests after `shutdown`,
does not refuse requests before `initialize`, and logs late answers to cancelled requests as errors. The converter of
pygls drops fields that equal their default, so custom messages are plain dicts in both directions.
"""

# pyright: reportUnknownMemberType=false
# pygls declares some attributes without their types

import asyncio
import itertools
import json
import logging
from collections.abc import Callable, Generator
from typing import Any, cast

from cattrs import Converter
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.protocol import JsonRPCNotification, JsonRPCRequestMessage, LanguageServerProtocol, lsp_method
from pygls.server import JsonRPCServer

from fairlead.json_values import is_object
from fairlead.lsp.initialization import Initialization, read_initialization, server_capabilities
from fairlead.session.errors import WrongRequest
from fairlead.wire import protocol as wire

log = logging.getLogger(__name__)

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
NOT_INITIALIZED = -32002

UNCONVERTED = (
    types.TEXT_DOCUMENT_DID_OPEN,
    types.TEXT_DOCUMENT_DID_CHANGE,
    types.TEXT_DOCUMENT_DID_CLOSE,
    types.TEXT_DOCUMENT_DID_SAVE,
    types.WORKSPACE_TEXT_DOCUMENT_CONTENT,
    types.TEXT_DOCUMENT_CODE_LENS,
    types.TEXT_DOCUMENT_CODE_ACTION,
)
"""Methods whose params stay plain JSON. pygls must not handle those about documents: `Documents` synchronizes them."""


class AgentProtocol(LanguageServerProtocol):
    """Receives and sends messages."""

    def __init__(self, server: JsonRPCServer, converter: Converter) -> None:
        super().__init__(server, converter)  # type: ignore[arg-type]  pygls declares the subclass, which it does not need
        for method in UNCONVERTED:
            self.fm.builtin_features.pop(method, None)
        self.exit_code: int | None = None
        """None until the client sends `exit`; then 0 if it sent `shutdown` before, otherwise 1."""
        self.flush_notifications: Callable[[], None] = lambda: None
        """Sends the notifications that are still held.

        Called before each request to the client, and before the answer of each handler.
        """
        self.initialization: Initialization | None = None
        """The params of the successful `initialize` request (`read_initialization`); None before it."""
        self._numbers = itertools.count(1)
        self._waiting: dict[str, asyncio.Future[Any]] = {}
        self._disconnect_reason: str | None = None

    @lsp_method(types.INITIALIZE)
    def lsp_initialize(self, params: types.InitializeParams) -> Generator[Any, Any, types.InitializeResult]:
        """Answers as pygls does, but announces Fairlead's own capabilities (docs/protocol.md, Initialize).

        Refuses the request if the client names local folders but none can be used, or if pygls cannot use the root URI.
        """
        try:
            result = yield from super().lsp_initialize(params)
            initialization = read_initialization(params)
        except WrongRequest as error:
            raise rpc_error(INVALID_PARAMS, str(error)) from error
        except ValueError as error:  # pygls makes its own workspace from the root URI
            shown = str(params.root_uri)[:200]
            message = f"The workspace folder {shown!r} cannot be used: {error}. Open another folder."
            raise rpc_error(INVALID_PARAMS, message) from error
        self.initialization = initialization
        encoding = types.PositionEncodingKind(self.workspace.position_encoding)
        result.capabilities = server_capabilities(initialization.capabilities, encoding)
        return result

    def receive(self, body: bytes) -> None:
        """Handles one message, the body of a frame."""
        try:
            message = json.loads(body)
        except (ValueError, RecursionError):
            return self._refuse(None, PARSE_ERROR, "The message is not valid JSON.")
        if not is_object(message) or message.get("jsonrpc") != "2.0":
            return self._refuse(None, INVALID_REQUEST, "The message is not a JSON-RPC 2.0 object.")
        method, msg_id = message.get("method"), message.get("id")
        if method is None:
            return self._handle_answer(message)
        if not isinstance(method, str) or ("id" in message and not _is_id(msg_id)):
            return self._refuse(None, INVALID_REQUEST, "A request needs a method and an id.")
        if method == types.EXIT:
            self.exit_code = 0 if self._shutdown else 1
            return None
        refusal = self._wrong_phase(method) or self._wrong_kind(method, "id" in message)
        if refusal is not None:
            return self._refuse(msg_id, *refusal) if "id" in message else None
        try:
            structured = self._structured(message, method)
        except Exception as error:
            log.info("unreadable params of %s", method, exc_info=True)
            if "id" in message:
                self._refuse(msg_id, INVALID_PARAMS, f"Wrong params for {method}: {type(error).__name__}")
            return None
        return self.handle_message(structured)

    def send_notification(self, method: str, params: Any) -> None:
        """Sends a notification with plain JSON params."""
        self._send_data({"jsonrpc": "2.0", "method": method, "params": params})

    async def request(self, method: str, params: Any) -> Any:
        """Sends a request to the client and returns its result, however long that takes.

        Cancelling the caller cancels the request.

        Raises:
            RequestError: the client answered with an error, or disconnected before it answered.
        """
        if self._disconnect_reason is not None:
            raise wire.RequestError(INTERNAL_ERROR, self._disconnect_reason)
        msg_id = f"fairlead-{next(self._numbers)}"
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[msg_id] = answer
        self.flush_notifications()
        self._send_data({"jsonrpc": "2.0", "id": msg_id, "method": method, "params": params})
        try:
            return await answer
        except asyncio.CancelledError:
            self.send_notification(types.CANCEL_REQUEST, {"id": msg_id})
            raise
        finally:
            del self._waiting[msg_id]

    def disconnected(self, reason: str) -> None:
        """Fails all unanswered and all later requests to the client. Call it when the client has disconnected."""
        self._disconnect_reason = reason
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(wire.RequestError(INTERNAL_ERROR, reason))

    def _handle_cancel_notification(self, msg_id: Any) -> None:
        """Cancels a request once its handler has started, because only then can the handler clean up."""
        if _is_id(msg_id):  # anything else may be unhashable, or equal to the id of another request
            asyncio.get_running_loop().call_soon(super()._handle_cancel_notification, msg_id)

    def _handle_answer(self, message: dict[str, Any]) -> None:
        answer = self._waiting.get(str(message.get("id")))
        if answer is None or answer.done():
            return
        error = message.get("error")
        if is_object(error):
            code = error.get("code")
            answer.set_exception(wire.RequestError(code if isinstance(code, int) else 0, str(error.get("message", ""))))
        else:
            answer.set_result(message.get("result"))

    def _wrong_phase(self, method: str) -> tuple[int, str] | None:
        """The error for a message before `initialize`, for a second `initialize`, or for a message after `shutdown`.

        Returns its code and its text; None for any other message.
        """
        if self._shutdown:
            return INVALID_REQUEST, "The server is shutting down."
        if method == types.INITIALIZE:
            if self.initialization is not None:
                return INVALID_REQUEST, "The server is already initialized."
        elif self.initialization is None:
            return NOT_INITIALIZED, "The server is not initialized: send 'initialize' first."
        return None

    def _wrong_kind(self, method: str, is_request: bool) -> tuple[int, str] | None:
        """The error for a notification with an id, an `agent/` request without one, or a request for an unknown method.

        Returns its code and its text; None for any other message.
        """
        known = cast("tuple[Any, ...] | None", types.METHOD_TO_TYPES.get(method))
        is_notification = method == wire.TRUST or (known is not None and known[1] is None)
        if is_request and is_notification:
            return INVALID_REQUEST, f"{method} is a notification: send it without an id."
        if is_request and method not in self.fm.builtin_features and method not in self.fm.features:
            return METHOD_NOT_FOUND, f"Method not found: {method}"
        if not is_request and method.startswith("agent/") and not is_notification:
            return INVALID_REQUEST, f"{method} is a request: send it with an id."
        return None

    def _structured(self, message: dict[str, Any], method: str) -> Any:
        """The message as an object of pygls. The params of `agent/` methods and of `UNCONVERTED` stay plain JSON."""
        if method.startswith("agent/") or method in UNCONVERTED:
            params = message.get("params")
            if "id" in message:
                return JsonRPCRequestMessage(message["id"], method, "2.0", params)
            return JsonRPCNotification(method, "2.0", params)
        return self.structure_message(message)

    def _refuse(self, msg_id: Any, code: int, text: str) -> None:
        self._send_data({"jsonrpc": "2.0", "id": msg_id, "error": {"code": code, "message": text}})

    def _send_response(self, msg_id: Any, result: Any = None, error: types.ResponseError | None = None) -> None:
        self.flush_notifications()
        if error is not None and error.code == INTERNAL_ERROR:
            error = types.ResponseError(INTERNAL_ERROR, "Fairlead had an internal error. The log has the details.")
        if error is not None and self.writer is not None:
            return self._refuse(msg_id, error.code, error.message)
        return super()._send_response(msg_id, result, error)


def _is_id(value: Any) -> bool:
    return isinstance(value, int | str) and not isinstance(value, bool)


def rpc_error(code: int, message: str) -> JsonRpcException:
    """The exception that a handler raises to answer with an error."""
    return JsonRpcException(message, code)
