"""A storage folder that cannot be written, is full or has unreadable files is reported, and no session is lost."""

import asyncio
import os
import re
import shutil
import sys
from pathlib import Path

import pytest
from watchfiles import awatch

from lsp.restarts import Json, Replay, edits, listed
from support.client import Client

SCRIPTED = Path(__file__).parents[1] / "tool_servers" / "scripted.py"

pytestmark = pytest.mark.slow


async def with_small_storage(workspace: Path, settings: Json, storage: Path, options: str) -> Client:
    """A client whose server has its storage on a file system of its own, in memory, with these options of `mount`."""
    if sys.platform != "linux" or shutil.which("unshare") is None:
        pytest.skip("needs a small file system")
    storage.mkdir()
    mount = f"mount -t tmpfs -o {options} small {storage}"
    probe = await asyncio.create_subprocess_exec("unshare", "-rm", "sh", "-c", mount, stderr=asyncio.subprocess.DEVNULL)
    if await probe.wait() != 0:
        pytest.skip("no small file system can be mounted here")
    client = Client(workspace, settings=settings, storage=storage)
    client.command = ["unshare", "-rm", "sh", "-c", f'{mount} && exec "$@"', "sh", *client.command]
    return client


async def test_fault_56_a_full_disk(workspace: Path, replay: Replay, tmp_path: Path) -> None:
    """docs/faults.md 56: a storage that becomes full during a run is reported once. The run continues, and the server
    ends cleanly."""
    (workspace / "a.txt").write_text("one\n")
    big = "x" * 400_000
    turns = [{"calls": [{"write_file": {"path": f"f{n}.txt", "content": f"{n}{big}"}}]} for n in range(6)]
    settings = replay(*turns, {"text": "."})
    async with await with_small_storage(workspace, settings, tmp_path / "small", "size=1m") as client:
        assert (await client.run())["stopReason"] == "end_turn"
        assert len(client.last("agent/edits")["files"]) == 6
        messages = [one["message"] for one in client.all("window/showMessage")]
        assert ["cannot be saved: No space left on device" in text for text in messages] == [True]


@pytest.mark.parametrize(
    ("options", "fill"),
    [("size=2m", "head -c 9000000 /dev/zero > big.o"), ("nr_inodes=60", "for n in $(seq 99); do echo > $n.o; done")],
    ids=["space", "inodes"],
)
async def test_fault_56_a_command_fills_the_sandbox(
    workspace: Path, replay: Replay, tmp_path: Path, options: str, fill: str
) -> None:
    """docs/faults.md 56: a command uses up all the space, or all the inodes. The next command is not run, and its error
    says why. The command after it runs.
    """
    (workspace / ".gitignore").write_text("*.o\n")
    # the next command needs space for this file in its sandbox
    see = [{"write_file": {"path": "a.txt", "content": "x" * 9000}}]
    calls = [[{"bash": {"command": line}}] for line in (f"{fill}; echo filled", "echo two", "cat a.txt; ls")]
    turns = [{"calls": call} for call in (calls[0], see, *calls[1:])]
    settings = replay(*turns, {"text": "."})
    client = await with_small_storage(workspace, settings, tmp_path / "small", options)
    client.answers["agent/approve"] = lambda _: {"option": "reject_once"}  # there is no sandbox, so nothing to fill
    async with client:
        assert (await client.run())["stopReason"] == "end_turn"
        filled, _, refused, ran = client.events("tool_finished")
        if filled["isError"]:
            pytest.skip(filled["text"])
        # whichever comes first: the full disk, or the guard that ends the command before
        assert re.search("No space left on device|has become almost full", filled["text"])
        assert refused["isError"]
        assert "The command was not run: no space, or no inode, is left for its sandbox" in refused["text"]
        assert (ran["isError"], ran["text"].splitlines()[0]) == (False, "x" * 9000 + "a.txt")


async def test_fault_212_a_tool_server_fills_the_disk(workspace: Path, replay: Replay, tmp_path: Path) -> None:
    """docs/faults.md 212: it is ended while there is still space, what it wrote is removed, and the session is saved.

    What it writes is slow enough for a check between two files, and ends before the disk is full.
    """
    fill = "for n in $(seq 45); do head -c 1000000 /dev/zero >> big; sleep 0.05; done; sleep 3600"
    calls = [
        {"files__run": {"command": fill}},
        {"files__run": {"command": "ls; df --block-size=1M --output=avail . | tail -1"}},
    ]
    settings = replay(*({"calls": [call]} for call in calls), {"text": "."})
    settings["mcpServers"] = {"files": {"command": sys.executable, "args": [str(SCRIPTED)]}}
    client = await with_small_storage(workspace, settings, tmp_path / "small", "size=60m")
    client.answers["agent/approve"] = lambda _: {"option": "reject_once"}  # there is no sandbox, so nothing to fill
    async with client:
        assert (await client.run())["stopReason"] == "end_turn"
        if client.all("agent/approve"):
            pytest.skip("no sandbox on a small file system")
        filled, after = client.events("tool_finished")
        assert filled["isError"]
        assert "Ended: a disk to which the command can write has become almost full" in filled["text"]
        assert not after["isError"]
        assert "big" not in after["text"]
        assert int(re.findall(r"^ *(\d+)$", after["text"], re.MULTILINE)[-1]) > 50
        assert not any("cannot be saved" in each["message"] for each in client.all("window/showMessage"))


@pytest.mark.parametrize("how", ["while it is quiet", "as it ends"])
async def test_after_a_full_disk_everything_is_saved(workspace: Path, replay: Replay, tmp_path: Path, how: str) -> None:
    """docs/faults.md 22, 56: saving is tried again when the server ends, and even while nothing happens in the session.
    In the second case, a message says that the session is saved again.
    """
    (workspace / "a.txt").write_text("one\n")
    blocked = tmp_path / "file"
    blocked.write_text("")
    settings = replay({"calls": edits(("one", "1"))}, {"text": "."})
    client = Client(workspace, settings=settings, storage=blocked)
    async with client:
        session = (await client.run())["sessionId"]
        blocked.unlink()
        if how == "while it is quiet":
            async for _ in awatch(tmp_path, rust_timeout=200, yield_on_timeout=True):
                if list(blocked.glob("sessions/*.jsonl")):
                    break
            await client.until(lambda: "is saved again" in client.all("window/showMessage")[-1]["message"])
            client.process.kill()
            await client.process.wait()
    async with Client(workspace, settings=settings, storage=blocked) as again:
        opened = await again.request("agent/sessions/open", {"sessionId": session})
        assert len(opened["edits"]["files"]) == 1


async def test_fault_65_an_unreadable_file_is_reported_once(workspace: Path, replay: Replay, storage: Path) -> None:
    """docs/faults.md 65: only the first of the servers that find it reports it, until it changes."""
    folder = storage / "sessions"
    folder.mkdir(parents=True)
    damaged = folder / "damaged.jsonl"
    damaged.write_text(f'{{"format":2,"id":"damaged","root":"{workspace}"}}\n{{"plan": 3}}\n')
    later = folder / "later.jsonl"
    later.write_text('{"format": 99}\n')
    assert await reported(workspace, replay({"text": "."}), storage) == ["later", "damaged"]
    assert await reported(workspace, replay({"text": "."}), storage) == []
    later.write_text('{"format": 100}\n')
    assert await reported(workspace, replay({"text": "."}), storage) == ["later"]
    later.unlink()
    os.utime(folder / "later.reported", (0, 1))
    assert await reported(workspace, replay({"text": "."}), storage) == []
    assert [path.name for path in sorted(folder.iterdir())] == ["damaged.jsonl", "damaged.lock", "damaged.reported"]


async def reported(workspace: Path, settings: Json, storage: Path) -> list[str]:
    """The ids of the sessions that a new server reports as unreadable."""
    async with Client(workspace, settings=settings, storage=storage) as client:
        assert await listed(client) == {}
        messages = [one["message"] for one in client.all("window/showMessage")]
    return [match[1] for text in messages if (match := re.search(r"The session (\w+) cannot be read", text))]


async def test_files_that_cannot_be_read_are_left_alone(workspace: Path, replay: Replay, storage: Path) -> None:
    """Foreign files, later formats and unknown entries: the server starts, and messages name the files, which do not
    change. The messages contain no titles, because a file may belong to another workspace. A torn last line is dropped.
    """
    folder = storage / "sessions"
    folder.mkdir(parents=True)
    head = f'{{"format":2,"id":"torn","root":"{workspace}"}}\n'
    torn = head + '{"at":1.0,"patch":[["/title","Torn"],["/phase","running"]]}\n{"at":2.0,"patch":[["/title","Th'
    later = '{"format": 99}\n{"patch":[["/title","Hidden"]]}\n'
    odd = {"list.jsonl": "[1]\n", "later.jsonl": later, "bad.jsonl": head + '{"plan": 3}\n'}
    for name, text in {**odd, "torn.jsonl": torn}.items():
        (folder / name).write_text(text)
    async with Client(workspace, settings=replay({"text": "Fine."}), storage=storage) as client:
        found = await listed(client)
        assert {title: row["phase"] for title, row in found.items()} == {"Torn": "paused"}
        assert (await client.run())["stopReason"] == "end_turn"
        messages = " ".join(message["message"] for message in client.all("window/showMessage"))
        assert [name for name in ("bad", "later", "list", "torn") if f"session {name} " in messages] == [
            "bad",
            "later",
            "list",
        ]
        assert "Hidden" not in messages
    assert {name: (folder / name).read_text() for name in odd} == odd
