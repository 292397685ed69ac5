"""Sessions with a real llama.cpp server whose context window is small."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cli.command import run_plain
from local_model.llama import DEADLINE, TOOLS, Llama
from support.client import Client

LINE = "one plum and one pear\n"
"""Six tokens of the tiny model."""


def write_fruit(workspace: Path, name: str, tokens: int) -> None:
    (workspace / name).write_text(LINE * (tokens // 6), encoding="utf-8")


def read(*names: str) -> dict[str, Any]:
    """A turn of a recorded model that reads files."""
    return {"calls": [{"read_file": {"path": name}} for name in names]}


async def test_a_restored_session_learns_the_window(
    api: str, workspace: Path, tmp_path: Path, replay: Callable[..., dict[str, Any]]
) -> None:
    """A restored session whose first request overflows learns the window's size from the refusal and continues."""
    storage, window = tmp_path / "storage", 4096
    write_fruit(workspace, "plums.txt", window)
    (workspace / "pears.txt").write_text("Two pears.\n", encoding="utf-8")
    recorded = replay(read("plums.txt"), {"text": "Done."})
    async with Client(workspace, settings=recorded, storage=storage) as client:
        session = (await client.run("Read plums.txt"))["sessionId"]
    async with (
        Llama(window, TOOLS) as llama,
        Client(workspace, settings=llama.settings(api), storage=storage) as client,
    ):
        outcome = await client.run("Read pears.txt", DEADLINE, sessionId=session)
        assert outcome["stopReason"] == "end_turn", outcome
        assert [ended["text"] for ended in client.events("tool_finished")] == ["Two pears.\n"]
        assert len(client.events("compacted")) == 1
        assert client.events("usage")[-1]["contextLimit"] == window


async def test_a_session_that_no_longer_fits_is_continued(
    workspace: Path, tmp_path: Path, replay: Callable[..., dict[str, Any]]
) -> None:
    """`fairlead run --continue` continues a session that no longer fits the window, and says what was cleared."""
    env: dict[str, Any] = {"XDG_STATE_HOME": str(tmp_path / "state")}
    write_fruit(workspace, "plums.txt", 2048)
    (workspace / "pears.txt").write_text("Two pears.\n", encoding="utf-8")
    recorded = replay(read("plums.txt"), {"text": "Done."})["replay"]
    run_plain("run", "Read plums.txt", "--workspace", workspace, "--replay", recorded, **env)
    async with Llama(2048, TOOLS) as llama:
        command = ("run", "--continue", "Read pears.txt", "--workspace", workspace, "--base-url", llama.url)
        ended = await asyncio.to_thread(run_plain, *command, **env)
    assert ended.code == 0, ended.out + ended.err
    assert "Old tool results were cleared" in ended.out


async def test_a_growing_conversation_continues(workspace: Path) -> None:
    """A conversation that grows past an unknown window is compacted once and continues to the end."""
    window, names = 2048, ("plums.txt", "pears.txt", "figs.txt", "dates.txt")
    for name in names:
        write_fruit(workspace, name, window * 3 // 10)
    async with Llama(window, TOOLS) as llama, Client(workspace, env=llama.env) as client:
        session = (await client.run("Read plums.txt", DEADLINE))["sessionId"]
        for name in names[1:]:
            outcome = await client.run(f"Read {name}", DEADLINE, sessionId=session)
            assert outcome["stopReason"] == "end_turn", (name, outcome)
    assert len(client.events("tool_finished")) == len(names)
    assert len(client.events("compacted")) == 1
    assert client.events("usage")[-1]["contextLimit"] == window


async def test_a_window_that_is_too_small_is_reported(workspace: Path) -> None:
    """A window that is too small for the first request is an error that names its size and says what to do."""
    async with Llama(256) as llama, Client(workspace, env=llama.env) as client:
        outcome = await client.run("Tell me about apples.", DEADLINE)
    assert outcome["error"]["kind"] == "context_overflow"
    assert "256" in outcome["message"]
    assert "larger window" in outcome["message"]
    assert "new task" not in outcome["message"]
    assert not client.events("retry")


async def test_an_answer_that_fills_the_window_ends_the_run(workspace: Path) -> None:
    """The run's message names the window's size, and the user sees the text that arrived before."""
    async with Llama(512, endless=True) as llama, Client(workspace, env=llama.env) as client:
        outcome = await client.run("Tell me about apples.", DEADLINE)
        assert client.text()
        assert outcome["stopReason"] != "end_turn"
        assert "512" in outcome["message"]
