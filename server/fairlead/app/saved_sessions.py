"""The saved sessions of all workspaces."""

import asyncio
from collections.abc import Collection
from dataclasses import dataclass

from fairlead.session.store.journal import Journals
from fairlead.session.store.reader import JournalInfo


@dataclass(frozen=True, slots=True)
class SavedSession:
    """A session in the folder of the saved sessions."""

    info: JournalInfo
    title: str
    updated: float
    """When its last run began or ended, in seconds since the epoch."""

    @property
    def id(self) -> str:
        return self.info.id


async def saved_sessions(journals: Journals, folder: str | None = None) -> list[SavedSession]:
    """The sessions, the one with the latest run first. Leaves out those that cannot be read.

    Args:
        folder: only those that began in this folder; None: all.
    """
    found = await asyncio.to_thread(_read_all, journals, folder)
    return sorted(found, key=lambda each: (each.updated, each.id), reverse=True)


async def find_saved(journals: Journals, session_id: str) -> JournalInfo | None:
    """The journal of a session; None: there is none that can be read."""
    return await asyncio.to_thread(lambda: next((info for info in journals.scan() if info.id == session_id), None))


def _read_all(journals: Journals, folder: str | None) -> Collection[SavedSession]:
    found: list[SavedSession] = []
    for info in journals.scan():
        if folder is not None and info.folders[0] != folder:
            continue
        if info.summary is not None:
            found.append(SavedSession(info, info.summary.title, info.summary.updated))
            continue
        try:
            state = journals.read(info)
        except (OSError, ValueError):  # deleted meanwhile, or damaged, which opening it reports
            continue
        found.append(SavedSession(info, state.title, state.updated))
    return found
