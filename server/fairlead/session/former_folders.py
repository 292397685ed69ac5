"""The sessions of folders that no longer exist, for example because the user renamed them."""

import asyncio
import logging
import os
from collections.abc import Collection, Sequence

from fairlead.session.store.journal import Journals
from fairlead.session.store.lock import Locked
from fairlead.session.store.reader import JournalInfo

log = logging.getLogger(__name__)


def former_folders(
    journals: Journals, known: Collection[str], open_folders: Collection[str]
) -> dict[str, list[JournalInfo]]:
    """The sessions of each folder that no longer exists, the most recently written first.

    Args:
        known: the ids of journals to leave out.
        open_folders: the folders of the workspace, whose sessions are left out too.
    """
    found: dict[str, list[JournalInfo]] = {}
    for info in journals.scan(known):
        if not set(open_folders).isdisjoint(info.folders):
            continue
        for folder in info.folders:
            if not os.path.lexists(folder):
                found.setdefault(folder, []).append(info)
    return found


def why_nothing_to_adopt(folder: str) -> str:
    """The reason, for the user, why a folder is not among `former_folders`."""
    if os.path.lexists(folder):
        return f"{folder} exists, so its sessions stay with it."
    return f"No saved session belongs to {folder}."


async def move_sessions(journals: Journals, infos: Sequence[JournalInfo], former: str, folder: str) -> int:
    """Moves the sessions of a folder to another one. Returns how many it moved.

    Those that another process has open, and those that cannot be read or written, stay.
    """
    moved = 0
    for info in infos:
        try:
            await asyncio.to_thread(_move, journals, info, former, folder)
            moved += 1
        except (Locked, OSError, ValueError) as error:
            log.warning("a session was not moved to %s: %s", folder, error)
    return moved


def _move(journals: Journals, info: JournalInfo, former: str, folder: str) -> None:
    """Raises Locked, OSError or ValueError if the session stays where it is."""
    journal, state = journals.open(info)
    try:
        journal.move_folder(former, folder, state)
        if journal.retry_delay is not None:
            raise OSError("its file cannot be written")
    finally:
        journal.close()
