"""The warm-up imports what the first run needs, and only the SDK of the chosen API: an SDK needs much memory."""

import subprocess
import sys

import pytest

PROGRAM = """
import sys, threading
from fairlead.app.warm_up import start_warm_up

start_warm_up({api!r})
next(thread for thread in threading.enumerate() if thread.name == "warm-up").join()
print(*(name for name in ("anthropic", "jsonschema", "openai", "watchfiles") if name in sys.modules))
"""


@pytest.mark.parametrize(
    ("api", "imported"),
    [
        ("messages", "anthropic jsonschema watchfiles"),
        ("chat", "jsonschema openai watchfiles"),
        ("responses", "jsonschema openai watchfiles"),
        (None, "jsonschema watchfiles"),
    ],
)
def test_only_the_sdk_of_the_chosen_api_is_imported(api: str | None, imported: str) -> None:
    command = [sys.executable, "-c", PROGRAM.format(api=api)]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip() == imported
