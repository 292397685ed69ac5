"""How ripgrep is ended when nobody wants the rest of what it finds."""

import asyncio
from contextlib import aclosing
from pathlib import Path

from fairlead.workspace.ripgrep import records


async def test_a_search_that_is_cut_off_ends_though_its_output_waits(workspace: Path) -> None:
    """Closing the search does not wait for a process whose full pipe nobody reads."""
    (workspace / "a.txt").write_text("needle\n" * 200_000)
    async with asyncio.timeout(30):
        for turns in range(0, 200, 20):
            async with aclosing(records(["needle", "."], workspace)) as output:
                assert await anext(output) == b"./a.txt:needle"
                for _ in range(turns):  # the loop takes more and more in, until the pipe is no longer read
                    await asyncio.sleep(0)
