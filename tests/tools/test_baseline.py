"""What a check must fail with to prove the proposals (docs/plan.md P23)."""

from pathlib import Path

import pytest
import yaml

from fairlead.edits import changeset as cs
from fairlead.edits.changeset import Changeset
from fairlead.edits.origins import Author
from fairlead.tools.baseline import baseline_of
from fairlead.workspace.paths import Roots

CASES = yaml.safe_load(Path(__file__).with_name("baseline.yaml").read_text(encoding="utf-8"))
AUTHOR = Author("1", "call")


@pytest.mark.parametrize("case", CASES, ids=lambda case: " ".join(case["files"]))
def test_p23_the_tests_are_the_baseline_if_there_are_other_files(tmp_path: Path, case: dict[str, list[str]]) -> None:
    """Only the path within the workspace counts: here, the folder of the workspace is called "tests"."""
    folder = tmp_path / "tests"
    changes = Changeset()
    for name in case["files"]:
        old, _, new = name.partition(" -> ")
        if new:
            changes = cs.rename(changes, str(folder / old), str(folder / new), "text\n", AUTHOR)
        else:
            changes = cs.propose(changes, str(folder / old), "old\n", "new\n", AUTHOR)
    found = baseline_of(changes, Roots.of(folder))
    assert [proposal.path for proposal in found] == [str(folder / name) for name in case["baseline"]]
