"""The editor as a provider of code intelligence: the server's requests, and how it handles each kind of answer."""

import asyncio
from typing import Any

import pytest

from fairlead.code.provider import NoAnswer
from fairlead.lsp.connection import ClientConnection
from fairlead.lsp.documents import Documents
from fairlead.lsp.editor_code import METHODS, EditorProvider
from fairlead.lsp.editor_diagnostics import EditorDiagnostics
from fairlead.wire import protocol as wire
from protocol.golden import RecordingClient

AT: dict[str, Any] = {"textDocument": {"uri": "file:///a.py"}, "position": {"line": 1, "character": 2}}


class Refusing(RecordingClient):
    """A client that answers each request with an error."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__()
        self._error = wire.RequestError(code, message)

    async def request(self, method: str, params: Any) -> Any:
        await super().request(method, params)
        raise self._error


class Silent(RecordingClient):
    """A client that never answers."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = asyncio.Event()
        self.cancelled = False

    async def request(self, method: str, params: Any) -> Any:
        await super().request(method, params)
        self.asked.set()
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            self.cancelled = True
            raise


def provider(client: RecordingClient, **options: float) -> EditorProvider:
    return EditorProvider(client.protocol, Documents(), **options)


@pytest.mark.parametrize("answer", [None, [], [{"uri": "file:///b.py"}], {"nonsense": 1}, "text"])
async def test_an_answer_is_passed_on_as_it_is(answer: Any) -> None:
    """The caller reads the JSON. The params are those of LSP."""
    client = RecordingClient(answer)
    assert await provider(client).request("textDocument/references", AT) == answer
    assert client.sent == [("agent/editor/references", AT)]


async def test_columns_are_in_the_encoding_of_the_connection() -> None:
    documents = Documents()
    found = EditorProvider(RecordingClient().protocol, documents)
    documents.encoding = "utf-8"
    assert found.encoding == "utf-8"


async def test_a_method_that_the_client_does_not_know_is_requested_once() -> None:
    """After the error -32601, only this method counts as unsupported."""
    client = Refusing(-32601, "Unhandled method agent/editor/rename")
    editor = provider(client)
    assert all(map(editor.supports, METHODS))
    for _ in range(2):
        with pytest.raises(NoAnswer, match=r"^The editor does not answer textDocument/rename\.$"):
            await editor.request("textDocument/rename", AT)
    assert len(client.sent) == 1
    assert not editor.supports("textDocument/rename")
    assert editor.supports("textDocument/hover")


async def test_the_reason_for_a_refusal_reaches_the_model() -> None:
    """Any error other than -32601 applies only to this request."""
    client = Refusing(-32803, "You cannot rename this element.")
    editor = provider(client)
    with pytest.raises(NoAnswer, match=r"^The editor did not answer: You cannot rename this element\.$"):
        await editor.request("textDocument/rename", AT)
    assert editor.supports("textDocument/rename")


async def test_methods_without_a_corresponding_request_are_not_sent() -> None:
    client = RecordingClient()
    assert not provider(client).supports("textDocument/completion")
    with pytest.raises(NoAnswer):
        await provider(client).request("textDocument/completion", AT)
    assert client.sent == []


async def test_a_request_that_the_editor_never_answers_is_cancelled() -> None:
    """The request ends at the time limit, with an error that says so."""
    client = Silent()
    with pytest.raises(NoAnswer, match=r"^The editor did not answer within 0\.01 seconds\.$"):
        await provider(client, answer_seconds=0.01).request("textDocument/hover", AT)
    assert client.cancelled


async def test_a_request_for_diagnostics_that_is_never_answered_is_cancelled() -> None:
    """The request ends at the time limit, so that the tool call that waits for it ends too."""
    client = Silent()
    found = EditorDiagnostics(client.protocol, Documents(), answer_seconds=0.01)
    assert (await found.diagnostics(None), client.cancelled) == (None, True)


async def test_cancelling_the_caller_cancels_the_request() -> None:
    client = Silent()
    asking = asyncio.create_task(provider(client).request("textDocument/hover", AT))
    await client.asked.wait()
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert client.cancelled


async def test_a_request_to_a_client_that_has_disconnected_fails_at_once() -> None:
    """Otherwise, code that waits for the answer would only end with the process."""
    protocol = ClientConnection().protocol
    protocol.disconnected("The client has disconnected.")
    with pytest.raises(wire.RequestError, match=r"has disconnected"):
        await protocol.request("agent/editor/hover", AT)
