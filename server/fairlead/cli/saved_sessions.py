"""The tasks of this folder that were kept: which one is gone on with, and which are forgotten."""

from fairlead.agent.errors import FairleadError
from fairlead.cli.client import AgentClient
from fairlead.lsp import protocol as wire

MAX_UNFINISHED = 20
"""Tasks of a folder that are kept though they stand in the middle or have undecided changes: the newest ones."""

FORGOTTEN = "Forgotten, as only the newest {count} unfinished tasks of a folder are kept: “{title}”"
NOTHING = 'No task of this folder is kept, so there is nothing to continue. To start one: fairlead run "your task"'


class NothingKept(FairleadError):
    """There is no task to go on with; the message says so."""


async def newest(client: AgentClient) -> wire.SessionRowWire:
    """The task of this folder that ran last, wherever it is open.

    Raises:
        NothingKept: there is none.
        wire.RequestError, ServerGone: as `AgentClient.request`.
    """
    rows = await _rows(client)
    if not rows:
        raise NothingKept(NOTHING)
    return rows[0]


async def forget_old(client: AgentClient) -> list[str]:
    """Deletes the unfinished tasks that are too many; returns a line for people for each.

    One that another process has stays. Finished ones are the server's business (`sessions.keepDays`).

    Raises:
        wire.RequestError, ServerGone: as `AgentClient.request`.
    """
    unfinished = [row for row in await _rows(client) if row["state"] != "idle" or row["pendingFiles"]]
    told: list[str] = []
    for row in unfinished[MAX_UNFINISHED:]:
        try:
            await client.request(wire.DELETE_SESSION, {"sessionId": row["sessionId"]})
        except wire.RequestError:
            continue
        told.append(FORGOTTEN.format(count=MAX_UNFINISHED, title=row["title"]))
    return told


async def _rows(client: AgentClient) -> list[wire.SessionRowWire]:
    listed: wire.SessionsWire = await client.request(wire.LIST_SESSIONS, {})
    return listed["sessions"]
