"""What a forked server finds in memory: the modules of a server, and what it makes from them once per process."""

from importlib import import_module

from lsprotocol.converters import get_converter

from fairlead.models.anthropic import load_sdk

for module in (
    "fairlead.lsp.serve",
    "fairlead.models.replay",
    "fairlead.shell.sandbox.overlay",
    "anyio._backends._asyncio",
    "support.server_process",
):
    import_module(module)
load_sdk()
get_converter()
