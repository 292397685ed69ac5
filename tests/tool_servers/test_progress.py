"""What the user sees of the progress of a call."""

import pytest

from fairlead.tool_servers.server import is_shown
from support.sandbox import needs_sandbox
from tool_servers.world import scripted, world


@pytest.fixture
def sandboxed() -> None:
    needs_sandbox()


@pytest.mark.usefixtures("sandboxed")
async def test_each_report_of_progress_is_a_line_of_output() -> None:
    async with world(scripted()) as found:
        await found.call("files__slow")
        assert "".join(found.output) == "step 1 (1 of 3)\nstep 2 (2 of 3)\nstep 3 (3 of 3)\n"


def test_of_a_call_that_reports_without_end_ever_fewer_reports_are_shown() -> None:
    assert [number for number in range(1, 10_100) if is_shown(number)] == [
        *range(1, 1000),
        *range(1000, 10_000, 10),
        10_000,
    ]
