"""The first call of a process may come while another thread still imports what its check needs."""

import subprocess
import sys
from pathlib import Path


def test_fault_200_a_call_waits_for_an_import_of_another_thread() -> None:
    """docs/faults.md 200: the call's input is checked when the import has ended."""
    race = [sys.executable, str(Path(__file__).with_name("import_race.py"))]
    ended = subprocess.run(race, check=False, capture_output=True, text=True, timeout=60)
    assert (ended.stdout, ended.stderr) == ("{'n': 5}\n", "")
