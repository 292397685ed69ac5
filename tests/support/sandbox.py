"""Skips tests that need a sandbox on machines without one, with the product's own reason."""

import asyncio
import tempfile
from functools import cache
from pathlib import Path

import pytest

from fairlead.shell.sandbox.probe import Capability, probe
from fairlead.workspace.paths import Roots


@cache
def capability() -> Capability:
    """What the product finds for a workspace in the temporary folder."""
    with tempfile.TemporaryDirectory() as folder:
        workspace = Path(folder, "ws")
        workspace.mkdir()
        return asyncio.run(probe(Roots.of(workspace), Path(folder, "state")))


def needs_sandbox() -> None:
    """Skips the test if there is no sandbox."""
    found = capability()
    if found.layers_folder is None:
        pytest.skip(found.reason)
