"""Helpers of the tests of saved sessions: proposed edits, the end of a server, the contents of its storage."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.client import EDITOR, Client

Json = dict[str, Any]
Replay = Callable[..., Json]
Connect = Callable[..., Client]

SHOWING = {**EDITOR, "experimental": {"agent": {"approvals": True, "questions": True, "sessions": True}}}
PLAN = {"items": [{"content": "Greet 世界", "status": "in_progress", "activeForm": "Greeting"}]}


def edit(old: str, new: str) -> Json:
    return {"path": "a.txt", "old_text": old, "new_text": new}


def edits(*pairs: tuple[str, str]) -> list[Json]:
    return [{"edit_file": edit(old, new)} for old, new in pairs]


def journals(storage: Path) -> list[Path]:
    return sorted((storage / "sessions").glob("*.jsonl"))


def journal(storage: Path, session: str) -> Path:
    return storage / "sessions" / f"{session}.jsonl"


async def kill(client: Client, *broken_off: asyncio.Future[Any]) -> None:
    client.process.kill()
    await client.process.wait()
    for answer in broken_off:
        with pytest.raises(ConnectionError):
            await answer


async def listed(client: Client) -> dict[str, Json]:
    """The rows of the list of sessions, by title."""
    return {row["title"]: row for row in (await client.request("agent/sessions/list", {}))["sessions"]}


async def open_elsewhere(client: Client) -> dict[str, bool]:
    """Whether another server has each listed session open, by title."""
    return {title: row["openElsewhere"] for title, row in (await listed(client)).items()}
