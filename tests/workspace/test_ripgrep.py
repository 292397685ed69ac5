"""How ripgrep ends: when the rest of its results is not needed, or when its input never ends."""

import asyncio
import os
import sys
from contextlib import aclosing
from pathlib import Path

import pytest

from fairlead.workspace.ripgrep import file_names, records, take_without_large, unusable_rules


async def test_a_search_that_is_closed_early_ends_although_its_pipe_is_full(workspace: Path) -> None:
    """Closing the search does not wait for a process whose full pipe nobody reads."""
    (workspace / "a.txt").write_text("needle\n" * 200_000)
    async with asyncio.timeout(30):
        for turns in range(0, 200, 20):
            async with aclosing(records(["needle", "."], workspace)) as output:
                assert await anext(output) == b"./a.txt:needle"
                for _ in range(turns):  # each turn reads more, until the full buffer stops the reading
                    await asyncio.sleep(0)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has neither such links nor pipes with names")
@pytest.mark.parametrize("kind", ["endless", "pipe", "sparse"])
@pytest.mark.parametrize("name", [".gitignore", ".ignore", "inner/.gitignore", "inner/.rgignore", ".git/info/exclude"])
async def test_files_with_ignore_rules_that_do_not_end_are_left_out(workspace: Path, kind: str, name: str) -> None:
    """docs/faults.md 191: `rg` ends, with the files that it finds without such rules."""
    for folder in ("inner", ".git/info", ".git/objects", ".git/refs"):
        (workspace / folder).mkdir(parents=True)
    (workspace / ".git/HEAD").write_text("ref: refs/heads/main\n")
    (workspace / "a.txt").write_text("x")
    (workspace / "inner/b.txt").write_text("x")
    rules = workspace / name
    if kind == "endless":
        rules.symlink_to("/dev/zero")
    elif kind == "pipe":
        os.mkfifo(rules)
    else:
        with rules.open("wb") as file:
            file.truncate(1 << 40)

    names = await file_names(".", workspace, 1000)

    assert {"a.txt", "inner/b.txt"} <= names
    assert unusable_rules(workspace) == [rules]

    rules.unlink()
    rules.write_text("b.txt\n")
    assert "inner/b.txt" not in await file_names(".", workspace, 1000)
    assert unusable_rules(workspace) == []


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits the memory")
async def test_a_line_that_is_too_long_for_the_memory_leaves_out_large_files(workspace: Path) -> None:
    """docs/faults.md 190: the process does not get the memory that it asks for, and runs again without them."""
    (workspace / "a.txt").write_text("needle\n")
    with (workspace / "long.txt").open("wb") as file:
        for _ in range(400):
            file.write(b"needle " * 150_000)
    assert set(await _all(["needle", "."], workspace)) == {b"./a.txt:needle"}
    assert take_without_large(workspace)
    assert await _all(["needle", "a.txt"], workspace) == [b"needle"]
    assert not take_without_large(workspace)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits the memory")
async def test_a_large_file_of_short_lines_is_not_left_out(workspace: Path) -> None:
    """docs/faults.md 190: what several threads find in a log does not fit into the memory, what one finds does."""
    (workspace / "a.log").write_text("".join(f"2026-11-29 line {number} of the log\n" for number in range(1_000_000)))
    async with aclosing(records(["--json", "line", "."], workspace)) as output:
        records_of_log = [record async for record in output if record and b"a.log" in record]
    assert len(records_of_log) > 1_000_000
    assert not take_without_large(workspace)


async def _all(arguments: list[str], cwd: Path) -> list[bytes | None]:
    async with aclosing(records(arguments, cwd)) as output:
        return [record async for record in output]
