"""How ripgrep is ended when the rest of its results is not needed."""

import asyncio
from contextlib import aclosing
from pathlib import Path

from fairlead.workspace.ripgrep import records


async def test_a_search_that_is_closed_early_ends_although_its_pipe_is_full(workspace: Path) -> None:
    """Closing the search does not wait for a process whose full pipe nobody reads."""
    (workspace / "a.txt").write_text("needle\n" * 200_000)
    async with asyncio.timeout(30):
        for turns in range(0, 200, 20):
            async with aclosing(records(["needle", "."], workspace)) as output:
                assert await anext(output) == b"./a.txt:needle"
                for _ in range(turns):  # each turn reads more, until the full buffer stops the reading
                    await asyncio.sleep(0)
