"""The short version of the campaign replies.py."""

from pathlib import Path

import pytest

from campaigns.replies import campaign

pytestmark = pytest.mark.slow


def test_fault_91_nonsense_from_the_models_server_is_never_an_internal_error(tmp_path: Path) -> None:
    """docs/faults.md 88 to 92: whatever the model's server sends, the run ends with a message, and the next one works
    with a history that the API accepts."""
    assert campaign(tmp_path, cases=750, number=1).total() >= 1500
