"""`npm run bench` shows what failed, and measures the rest."""

from pathlib import Path

import pytest

from fairlead.shell.direct import DirectLayer
from fairlead.workspace.paths import Roots
from speed.figures import Figures
from speed.sandbox import compare, show

ONCE = "mkdir made 2> /dev/null || { echo it exists; exit 3; }"


async def test_failed_runs_are_shown_and_the_others_are_measured(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A run that fails is listed with its exit code and output, and its row is marked. Only the others count."""
    rows = await compare(workspace, {"box": DirectLayer(Roots.of(workspace))}, ONCE, runs=2)
    assert (rows["bare"].mark, rows["box"].mark) == ("1 of 2 runs failed", "2 of 2 runs failed")
    figures = Figures()
    show(figures, rows, 100, ONCE)
    assert "exit code 3, output 'it exists\\n'" in capsys.readouterr().out
    assert [line.partition("files, ")[2] for line in figures.failed] == [
        "bare: 1 of 2 runs failed",
        "box: 2 of 2 runs failed",
    ]
    figures.compare("a figure", rows["bare"].medians[0], "ms", "a box", rows["box"].medians[0], 1, rows["bare"].mark)
    assert figures.table().endswith("| missed, 1 of 2 runs failed |")


def test_an_error_in_one_part_loses_no_figure_of_another(capsys: pytest.CaptureFixture[str]) -> None:
    """The error is printed, and the part is listed as not measured."""
    figures = Figures()
    with figures.measuring("the first"):
        raise AssertionError("the box is gone")
    with figures.measuring("the second"):
        figures.add("a figure", 1, "ms", 2)
    assert "the box is gone" in capsys.readouterr().out
    assert (figures.failed, [figure.name for figure in figures.all]) == (["the first"], ["a figure"])
