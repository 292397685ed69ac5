"""What a forked server finds in memory: the modules of a server, and what it makes from them once per process."""

import json
from importlib import import_module

from fairlead.lsp.features import register
from fairlead.lsp.server import AgentServer
from fairlead.models.anthropic import load_sdk
from support.client import Client

for module in (
    "fairlead.cli.main",
    "fairlead.lsp.serve",
    "fairlead.models.replay",
    "fairlead.shell.sandbox.overlay",
    "anyio._backends._asyncio",
    "cli.forked_command",
    "support.server_process",
):
    import_module(module)
load_sdk()


class _Nowhere:
    """Takes the answers to the messages below."""

    def write(self, _: bytes) -> None: ...


# The functions that write and read these messages are compiled at their first use; those of a class that holds a list
# are forgotten again while the list's is registered, and stay the second time.
for _ in range(2):
    server = AgentServer()
    register(server)
    server.protocol.set_writer(_Nowhere())  # type: ignore[arg-type]
    for method, params in (("initialize", Client(None).initialize_params()), ("shutdown", None)):
        message = {"jsonrpc": "2.0", "id": method, "method": method, "params": params}
        server.protocol.receive(json.dumps(message).encode())
