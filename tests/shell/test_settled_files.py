"""Collecting reads again only what has changed since the last time (`layer/settled_files.py`)."""

import asyncio
import base64
import io
import itertools
import os
import shlex
import sys
import tarfile
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fairlead.shell.layer import Change, Entry, View

if sys.platform != "linux":
    pytest.skip("the sandbox needs Linux", allow_module_level=True)

from fairlead.shell.sandbox.layer.settled_files import SettledFiles
from shell.boxes import write
from shell.service_shell import Shell, shell
from support.sandbox import needs_sandbox

ON_DISK = {"a": "1", "b": "2", "d/a": "1", "d/e/b": "22", "f/a": "3"}
PATHS = st.sampled_from(["a", "b", "c", "d", "d/a", "d/c", "d/e/b", "f/a", "n/o/a"])
# few texts of few sizes, so that a file often gets another text of the same size, or one that it had before
TEXTS = st.sampled_from(["1", "2", "3", "22", "33", ""])
SAME_SIZE_AND_TIME = "touch -r {0} /tmp/t && printf %s {1} > {0} && touch -r /tmp/t {0}"
PARENT = 'mkdir -p "$(dirname {0})" && '


def line(operation: str, *names: str) -> str:
    """A line of the shell that does an operation if it can."""
    return operation.format(*map(shlex.quote, names))


WROTE = st.builds(lambda path, text: line(PARENT + "printf %s {1} > {0}", path, text), PATHS, TEXTS)
OPERATIONS = st.one_of(
    WROTE,
    WROTE,
    st.builds(lambda path, text: line(PARENT + "printf %s {1} >> {0}", path, text), PATHS, TEXTS),
    st.builds(lambda path, text: line(SAME_SIZE_AND_TIME, path, text), PATHS, TEXTS),
    st.builds(lambda path: line("cp -a {0} /tmp/t && mv -T /tmp/t {0}", path), PATHS),
    st.builds(lambda path: line("rm -rf {0}", path), PATHS),
    st.builds(lambda path, new: line("mv {0} {1}", path, new), PATHS, PATHS),
    st.builds(lambda path, new: line("cp -rT {0} {1}", path, new), PATHS, PATHS),
    st.builds(
        lambda path, mode: line("test -f {0} && chmod {1} {0}", path, mode), PATHS, st.sampled_from(["+x", "-x"])
    ),
    st.builds(lambda path: line("mkdir -p {0}", path), PATHS),
)
SHOWN = st.dictionaries(st.sampled_from(["a", "c", "d/a", "d/e/b"]), st.none() | TEXTS, max_size=2)
STEPS = st.lists(st.tuples(st.lists(OPERATIONS, max_size=3), SHOWN), max_size=8)
Seen = dict[str, tuple[bytes, bool]]
"""The content of each file, and whether it can be executed."""


async def seen_by(process: Shell) -> Seen:
    """What the process sees."""
    archive = base64.b64decode(await process.run("tar c . | base64 -w0"))
    with tarfile.open(fileobj=io.BytesIO(archive)) as opened:
        found = {member.name: (opened.extractfile(member), member.mode) for member in opened if member.isfile()}
        return {
            os.path.normpath(name): (file.read() if file is not None else b"", bool(mode & 0o100))
            for name, (file, mode) in found.items()
        }


def with_change(seen: Seen, change: Change) -> Seen:
    """What is seen after a change."""
    assert not change.not_proposed
    others = {name: each for name, each in seen.items() if name != change.path}
    before, _ = seen.get(change.path, (None, False))
    assert before == (change.before.data if change.before is not None else None)
    if change.after is None:
        return others
    mode = change.after.mode if change.after.mode is not None else change.before and change.before.mode
    return {**others, change.path: (change.after.data, bool((mode or 0) & 0o100))}


def is_around(name: str, other: str) -> bool:
    """Whether one of two files is where the other has a folder: to show it deletes files, which counts as a change."""
    return name.startswith(f"{other}/") or other.startswith(f"{name}/")


@settings(max_examples=12, derandomize=True)
@given(STEPS)
@example(
    [(["echo 1 > c"], {}), ([line(SAME_SIZE_AND_TIME, "c", "22")], {}), ([line(SAME_SIZE_AND_TIME, "c", "33")], {})]
)
@example([(["echo 1 > c; rm b"], {"c": "2", "b": "3"}), (["rm c"], {"c": "1"}), (["chmod +x a"], {"a": None})])
def test_what_is_collected_is_what_the_process_did(steps: list[tuple[list[str], dict[str, str | None]]]) -> None:
    """All changes together lead from what the process saw at first to what it sees, whatever it and the user do."""
    needs_sandbox()
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(play(Path(folder), steps))


async def play(folder: Path, steps: list[tuple[list[str], dict[str, str | None]]]) -> None:
    write(folder / "ws", ON_DISK)
    async with shell(folder / "ws", View({"a": Entry(b"proposed")})) as process:
        known = await seen_by(process)
        for operations, shown in [*steps, ([], {})]:
            await process.run("; ".join(f"({each}) 2>/dev/null" for each in operations) or ":")
            # twice, as when a call ends and nothing has happened since: the second search is the one that reads little
            for _ in range(2):
                for change in (await process.started.take_changes()).files:
                    known = with_change(known, change)
            now = await seen_by(process)
            assert known == now
            places = [name for name in shown if not any(is_around(name, each) for each in known)]
            wanted = {name: None if (text := shown[name]) is None else text.encode() for name in places}
            await process.started.show(wanted)
            known = await seen_by(process)


async def test_ignored_files_are_collected_when_they_are_ignored_no_longer(workspace: Path) -> None:
    """They are not looked at again in each search, however many a build has left, until the rules change."""
    needs_sandbox()
    write(workspace, {".gitignore": "gen/\n", "gen/k": "old"})
    async with shell(workspace, View()) as process:
        await process.run("echo 1 > gen/k; echo 2 > gen/n")
        changes = [await process.started.take_changes() for _ in range(3)]
        assert [len(each.files) for each in changes] == [0, 0, 0]
        assert ["gen/k" in str(each.warnings) for each in changes] == [True, False, False]
        await process.run("echo 3 > gen/o")
        assert await process.contents() == {}
        await process.run("echo > .gitignore")
        found = await process.contents()
        assert {**found, **await process.contents()} == {
            ".gitignore": b"\n",
            "gen/k": b"1\n",
            "gen/n": b"2\n",
            "gen/o": b"3\n",
        }


def test_a_file_that_was_changed_during_a_search_is_read_again(tmp_path: Path) -> None:
    """Another change in the same tick of the clock would leave no trace."""
    files, path = SettledFiles(), tmp_path / "a"
    files.begin()
    path.write_text("1")
    status = path.stat()
    files.add("a", status, None, stays=True)
    files.begin()
    assert files.find("a", status, lambda: None) is None
    for _ in itertools.takewhile(lambda _: time.clock_gettime_ns(5) <= status.st_ctime_ns, itertools.count()):
        os.sched_yield()
    files.begin()
    files.add("a", status, None, stays=True)
    files.begin()
    assert files.find("a", status, lambda: None) is not None
    assert files.find("a", status, lambda: Entry(b"1")) is None
    path.write_text("2")
    assert files.find("a", path.stat(), lambda: None) is None
