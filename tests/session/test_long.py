"""docs/faults.md 75: long work does not block the event loop, so that a stop is answered meanwhile."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from fairlead.agent.model import Reply, Request
from fairlead.models.replay import ReplayModel
from fairlead.session.run.prompt import RunTask
from fairlead.session.server_context import ServerContext
from fairlead.session.sessions import Sessions
from fairlead.session.settings import Settings
from fairlead.session.store.journal import Journals
from fairlead.shell.layers import CommandLayers
from fairlead.workspace.paths import Roots
from session.states import states
from session.test_damaged import GOOD, no_model
from session.test_stop import Desk
from support.fake_api import Call, FakeApi, Text, Turn
from support.messages import assistant, user
from tools.stand_ins import Documents, ScriptedUser

pytestmark = pytest.mark.slow

MAX_BLOCK = 0.5  # seconds of CPU time for which a task may occupy the loop


@asynccontextmanager
async def responsive_loop() -> AsyncIterator[None]:
    """Checks that no task occupies the loop for more than MAX_BLOCK seconds of CPU time."""
    longest = 0.0

    async def watch() -> None:
        nonlocal longest
        last = time.thread_time()
        while True:
            await asyncio.sleep(0.001)
            now = time.thread_time()
            longest, last = max(longest, now - last), now

    watching = asyncio.ensure_future(watch())
    await asyncio.sleep(0)
    yield
    await asyncio.sleep(0.01)
    watching.cancel()
    assert longest < MAX_BLOCK, f"{longest:.3f} s"


async def test_fault_75_long_files_are_read_edited_and_followed_without_blocking_the_loop(tmp_path: Path) -> None:
    """docs/faults.md 75: the agent reads, edits, rewrites, renames and deletes files of several megabytes, and others
    change them, while the loop stays free."""
    long = "".join(f"line {number} of a long file\n" for number in range(200_000))
    other = long.replace("line 7", "LINE 7")
    work = (
        Turn((Call("read_file", {"path": "big.txt"}), Call("read_file", {"path": "one.txt"}))),
        Turn((Call("edit_file", {"path": "big.txt", "old_text": "line 190000 of", "new_text": "LINE 190000 of"}),)),
        Turn((Call("write_file", {"path": "big.txt", "content": "short\n"}),)),
        Turn((Call("rename_file", {"path": "one.txt", "new_path": "two.txt"}),)),
        Turn((Call("delete_file", {"path": "gone.txt"}), Text("Done."))),
        Turn((Text("Done."),)),
        Turn((Text("I see."),)),
    )
    with FakeApi(list(work)) as api:
        desk = Desk(tmp_path, api)
        for name, text in (("big.txt", long), ("one.txt", "x" * 8_000_000), ("gone.txt", other)):
            (desk.session.roots.first.path / name).write_text(text)
        async with responsive_loop():
            outcome = await desk.session.run(RunTask("Work."))
        assert outcome.message == "Done."
        big = desk.session.roots.first.path / "big.txt"
        big.write_text(f"first\n{long}")
        async with responsive_loop():
            await desk.session.observe([big])
            await desk.session.files.observe_all()
        assert desk.session.files.read(big) == "first\nshort\n"
        (desk.session.roots.first.path / "gone.txt").write_text(long)
        async with responsive_loop():
            await desk.session.run(RunTask("Look again."))
        await desk.session.close()


async def test_fault_75_a_long_journal_is_loaded_without_blocking_the_loop(tmp_path: Path) -> None:
    """docs/faults.md 75: a session with a conversation of 4,000 long messages is opened while the loop stays free."""
    workspace, folder = tmp_path / "ws", tmp_path / "sessions"
    workspace.mkdir()
    journal = Journals(folder).new(GOOD, str(workspace))
    messages = (user("word " * 5000), assistant("word " * 5000)) * 2000
    journal.write(replace(states([])[-1], title="long", phase="running", updated=time.time(), messages=messages))
    journal.close()
    context = ServerContext(
        Documents(),
        ScriptedUser("reject"),
        no_model,
        Settings(),
        CommandLayers(tmp_path / "storage"),
        journals=Journals(folder),
        roots=Roots.of(workspace),
    )
    sessions = Sessions(context, lambda _id, _told: lambda _: None, lambda _: None)
    async with responsive_loop():
        sessions.restore()
        session = await sessions.get(GOOD)
    assert len(session.history.messages) == len(messages)
    await sessions.close()


async def test_fault_75_a_long_recording_is_read_without_blocking_the_loop(tmp_path: Path) -> None:
    """docs/faults.md 75: parsing YAML takes about a second for each megabyte or two."""
    recording = tmp_path / "long.yaml"
    turn = {"text": "x", "calls": [{"read_file": {"path": f"{number}.txt"}} for number in range(10)]}
    recording.write_text(json.dumps({"replay": 1, "turns": [turn] * 2000}))
    model = ReplayModel(recording)
    async with responsive_loop():
        events = [event async for event in model.stream(Request("", [], []))]
    assert isinstance(events[-1], Reply)
