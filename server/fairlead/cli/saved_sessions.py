"""The saved sessions of the workspace: which one is continued, and which are deleted."""

from pathlib import Path

from fairlead.cli.client import AgentClient
from fairlead.cli.program import program_name
from fairlead.errors import FairleadError
from fairlead.uris import file_path
from fairlead.wire import protocol as wire
from fairlead.wire import states

MAX_UNFINISHED = 20
"""The maximum number of saved sessions per folder that are unfinished or have undecided changes."""

DELETED = "Deleted, because only the newest {count} unfinished sessions of a folder are saved: “{title}”"
NOTHING = 'This folder has no saved session to continue. Start one: {program} run "your task"'

FORMER = (
    "\nThese folders no longer exist and have saved sessions: {folders}. If one of them was renamed to this one, add "
    "--adopt with its path."
)
MAX_FORMER = 3
"""The maximum number of former folders in that message."""


class NoSavedSession(FairleadError):
    """There is no session to continue."""


async def newest_session(client: AgentClient) -> states.SessionRowWire:
    """The session of this folder that ran last, even if it is open in another process.

    Raises:
        NoSavedSession: there is none.
        RequestError, ServerExited: as `AgentClient.request`.
    """
    found = await rows(client)
    if not found:
        former: wire.FormerFoldersResult = await client.request(wire.FORMER_FOLDERS, {})
        paths = [str(file_path(folder["uri"])) for folder in former["folders"][:MAX_FORMER]]
        hint = FORMER.format(folders=", ".join(paths)) if paths else ""
        raise NoSavedSession(NOTHING.format(program=program_name()) + hint)
    return found[0]


async def adopt_sessions(client: AgentClient, former: Path, folder: Path) -> None:
    """Moves the sessions of a folder that no longer exists to this one. Raises as `AgentClient.request`."""
    await client.request(wire.ADOPT_SESSIONS, {"former": former.as_uri(), "folder": folder.as_uri()})


async def delete_old_sessions(client: AgentClient) -> list[str]:
    """Deletes the oldest unfinished sessions above `MAX_UNFINISHED`. Returns a message to the user for each of them.

    A session with undecided changes counts as unfinished. Sessions that the server refuses to delete stay, such as one
    that is open in another process. The server itself deletes finished sessions (`sessions.keepDays`).

    Raises:
        RequestError, ServerExited: as `AgentClient.request`.
    """
    unfinished = [row for row in await rows(client) if row["phase"] != "idle" or row["pendingFiles"]]
    messages: list[str] = []
    for row in unfinished[MAX_UNFINISHED:]:
        try:
            await client.request(wire.DELETE_SESSION, {"sessionId": row["sessionId"]})
        except wire.RequestError:
            continue
        messages.append(DELETED.format(count=MAX_UNFINISHED, title=row["title"]))
    return messages


async def rows(client: AgentClient) -> list[states.SessionRowWire]:
    """The saved sessions of this folder, the one that ran last first. Raises as `AgentClient.request`."""
    listed: states.SessionListWire = await client.request(wire.LIST_SESSIONS, {})
    return listed["sessions"]
