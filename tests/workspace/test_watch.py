"""Watching the folders of known files."""

import asyncio
import os
import sys
from collections.abc import Collection
from pathlib import Path

import pytest

from fairlead.workspace.watch import Watcher


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse the file name")
async def test_a_file_name_that_is_not_utf_8_does_not_end_the_watching(tmp_path: Path) -> None:
    """A file whose name is not UTF-8 makes the library fail. Watching starts again, and later changes are reported."""
    path = tmp_path / "a.txt"
    path.write_text("one")
    reports = asyncio.Queue[Collection[Path]]()
    watcher = Watcher(reports.put_nowait)
    watcher.watch(path)
    try:
        assert list(await reports.get()) == [path]  # each time that watching starts, all files are reported
        Path(tmp_path, os.fsdecode(b"\xff")).write_text("")
        assert list(await reports.get()) == [path]
        path.write_text("two")
        assert list(await reports.get()) == [path]
    finally:
        await watcher.close()
