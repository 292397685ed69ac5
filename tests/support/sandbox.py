"""Whether this machine has a sandbox: tests that need one are skipped elsewhere, with the product's own reason."""

import asyncio
import tempfile
from functools import cache
from pathlib import Path

import pytest

from fairlead.shell.sandbox.probe import Capability, probe


@cache
def capability() -> Capability:
    """What the product finds for a workspace in the folder for temporary files."""
    with tempfile.TemporaryDirectory() as folder:
        workspace = Path(folder, "ws")
        workspace.mkdir()
        return asyncio.run(probe(workspace, Path(folder, "state")))


def needs_sandbox() -> None:
    """Skips the test where there is none."""
    found = capability()
    if found.layers_folder is None:
        pytest.skip(found.reason)
