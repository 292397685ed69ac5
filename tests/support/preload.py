"""Loads into memory what a forked server needs: its modules, and what they create once per process."""

import gc
import json
from contextlib import suppress
from importlib import import_module

import httpx2

from fairlead.lsp.connection import ClientConnection
from fairlead.lsp.features.registry import start_server
from fairlead.models.common.http_model import load_sdk
from fairlead.models.common.prices import price_list
from support import footprint
from support.client import Client

footprint.install()
for module in (
    "fairlead.cli.main",
    "fairlead.cli.acp",
    "fairlead.acp.serve",
    "fairlead.lsp.serve",
    "fairlead.models.replay",
    "fairlead.shell.sandbox.overlay",
    "anyio._backends._asyncio",
    "boto3",
    "botocore.eventstream",
    "botocore.parsers",
    "google.auth.transport.requests",
    "cli.forked_command",
    "support.server_process",
):
    import_module(module)
price_list()
sdk = load_sdk("anthropic")
# the types of error answers are created when the first one arrives
ERROR = {"type": "error", "error": {"type": "authentication_error", "message": "No."}}
refusing = httpx2.MockTransport(lambda _: httpx2.Response(401, json=ERROR))
with suppress(sdk.AuthenticationError), httpx2.Client(transport=refusing) as client:
    sdk.Anthropic(api_key="none", max_retries=0, http_client=client).models.list()


class _Nowhere:
    """Discards the answers to the messages below."""

    def write(self, _: bytes) -> None: ...


# The functions that read and write these messages are compiled at their first use. Those of a class that contains a
# list are discarded while the list's own are registered, so everything is done twice.
for _ in range(2):
    connection = ClientConnection()
    protocol = connection.protocol
    protocol.set_writer(_Nowhere())  # type: ignore[arg-type]
    for method, params in (("initialize", Client(None).initialize_params()), ("shutdown", None)):
        message = {"jsonrpc": "2.0", "id": method, "method": method, "params": params}
        protocol.receive(json.dumps(message).encode())
        if method == "initialize":
            assert protocol.initialization is not None
            start_server(connection, protocol.initialization)

# A collection in a forked process would visit all of this, and so copy the memory that it shares with the fork server.
gc.collect()
gc.freeze()
