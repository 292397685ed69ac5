"""docs/faults.md 66: an impossible path or URI is refused with the reason, wherever one is expected."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.client import Client, WireError
from support.fake_api import FakeApi, Text, Turn

Connect = Callable[..., Client]
NAMES = {"a NUL": "a%00b", "a lone surrogate": "a%ED%A0%80b", "a long name": "x" * 300, "a long path": "x/" * 5000}
ODD_PATHS: dict[str, str] = {
    "a NUL": "/tmp/a\0b",
    "a lone surrogate": "/tmp/a\ud800b",
    "a long name": "/tmp/" + "x" * 300,
    "a long path": "/tmp" + "/x" * 5000,
    "a relative path": "some/where",
    "nobody's home": "~nobody-of-that-name/x",
}
ODD_URIS: dict[str, str] = {
    **{what: f"file:///tmp/{name}" for what, name in NAMES.items()},
    "a lone surrogate, raw": "file:///tmp/a\ud800b",
    "a NUL, raw": "file:///tmp/a\0b",
    "another machine's": "vscode-vfs://github/microsoft/vscode",
    "no address": "//",
    "half an address": "file:",
    "a relative path": "file:some/where",
    "brackets": "file://[/x",
}
REFUSALS = (-32602, -32803)


async def begin(client: Client, **changed: Any) -> WireError | None:
    """Initializes with changed params. Returns the error if the server refuses them, otherwise None."""
    await client.start()
    params = client.initialize_params()
    options = {**params["initializationOptions"], **changed.pop("options", {})}
    try:
        await client.request("initialize", {**params, **changed, "initializationOptions": options})
    except WireError as error:
        return error
    client.notify("initialized", {})
    return None


async def error_code(client: Client, method: str, params: Any) -> int | None:
    """The code of the error that a request is answered with, None for a result."""
    try:
        await client.request(method, params)
    except WireError as error:
        return error.code
    return None


async def end(client: Client) -> None:
    await client.__aexit__(None)


@pytest.mark.parametrize("odd", [*ODD_PATHS.values(), 5, ["/tmp"]], ids=[*ODD_PATHS, "a number", "a list"])
async def test_fault_66_an_odd_storage_folder(connect: Connect, odd: Any) -> None:
    """docs/faults.md 66: a message names the problem, and the server works without the folder."""
    with FakeApi([Turn((Text("Done."),))]) as api:
        client = connect(api)
        assert await begin(client, options={"storageDir": odd}) is None
        assert (await client.run())["message"] == "Done."
        messages = " ".join(one["message"] for one in client.all("window/showMessage"))
        wanted = (
            "storage folder .* not saved"
            if isinstance(odd, str)
            else "storageDir must be a string, .* so it was ignored"
        )
        assert re.search(wanted, messages)
        await end(client)


@pytest.mark.parametrize("uri", ODD_URIS.values(), ids=ODD_URIS)
@pytest.mark.parametrize("place", ["rootUri", "workspaceFolders"])
async def test_fault_66_an_odd_workspace(connect: Connect, uri: str, place: str) -> None:
    """docs/faults.md 66: `initialize` is refused with the reason, or the server works and refuses each task with it."""
    given = {"rootUri": uri, "workspaceFolders": None}
    if place == "workspaceFolders":
        given = {"rootUri": None, "workspaceFolders": [{"uri": uri, "name": "odd"}]}
    with FakeApi() as api:
        client = connect(api)
        error = await begin(client, **given) or await client.error("agent/runTask", {"prompt": "x"})
        assert error.code in REFUSALS, error.message
        assert "folder" in error.message
        client.process.kill()


async def test_fault_66_an_odd_address_in_any_message(connect: Connect, capfd: pytest.CaptureFixture[str]) -> None:
    """docs/faults.md 66: in documents, context, targets and contents, an odd URI is accepted, or refused with an
    expected error code, and the next task runs."""
    with FakeApi([Turn((Text("Done."),))] * (3 * len(ODD_URIS))) as api:
        async with connect(api) as client:
            for uri in ODD_URIS.values():
                await send_everywhere(client, uri)
        assert api.refusals == []
    assert "Traceback" not in capfd.readouterr().err


async def send_everywhere(client: Client, uri: str) -> None:
    """Names the address in each message that takes one, in a session of its own."""
    position = {"line": 0, "character": 0}
    document = {"uri": uri, "languageId": "x", "version": 1, "text": "x"}
    session = (await client.request("agent/sessions/create", {}))["sessionId"]
    client.notify("textDocument/didOpen", {"textDocument": document})
    change = {"range": {"start": position, "end": position}, "text": "y"}
    changed = {"uri": uri, "version": 2}
    client.notify("textDocument/didChange", {"textDocument": changed, "contentChanges": [change]})
    client.notify("textDocument/didSave", {"textDocument": {"uri": uri}})
    requests: list[tuple[str, Any]] = [
        ("agent/runTask", {"prompt": "x", "sessionId": session, "context": [{"uri": uri}]}),
        ("agent/edits/accept", {"sessionId": session, "target": {"uri": uri}}),
        ("agent/edits/reject", {"sessionId": session, "target": {"uri": uri}}),
        ("agent/edits/amend", {"sessionId": session, "uri": uri, "text": "x"}),
        ("workspace/textDocumentContent", {"uri": uri}),
        ("workspace/textDocumentContent", {"uri": f"fairlead-proposed://{session}/{uri.rpartition(':')[2]}"}),
        ("textDocument/codeLens", {"textDocument": {"uri": uri}}),
    ]
    for method, params in requests:
        assert await error_code(client, method, params) in (None, *REFUSALS), (method, uri[:100])
    client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
    assert (await client.run(sessionId=session))["message"] == "Done.", uri[:100]


@pytest.mark.parametrize("path", ODD_PATHS.values(), ids=ODD_PATHS)
async def test_fault_66_an_odd_recording(workspace: Path, path: str) -> None:
    """docs/faults.md 66: the run ends with an error of the kind `replay`."""
    async with Client(workspace, settings={"replay": path}) as client:
        result = await client.run()
        assert (result["stopReason"], result["error"]["kind"]) == ("error", "replay"), result["message"]
