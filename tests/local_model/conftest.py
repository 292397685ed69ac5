"""These tests need a real model, which `npm run test:all` and `npm run test:local-model` install."""

import os
from pathlib import Path

import pytest

from local_model.llama import APIS, INSTALLED

NO_WHEEL = "PyPI has no wheel of xllamacpp for this machine"
NOT_INSTALLED = "`npm run test:local-model` installs the model"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    folder = os.environ.get(INSTALLED)
    for item in items:
        item.add_marker(pytest.mark.timeout(300))
        if folder is None or not Path(folder, "xllamacpp").is_dir():
            item.add_marker(pytest.mark.skip(reason=NO_WHEEL if folder else NOT_INSTALLED))


@pytest.fixture(params=APIS)
def api(request: pytest.FixtureRequest) -> str:
    """The API that Fairlead speaks with the server."""
    return request.param
