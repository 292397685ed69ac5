"""All sessions of a server, by id."""

import asyncio
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path

from fairlead.session.events import SessionEvent
from fairlead.session.host import Host, WrongRequest
from fairlead.session.session import Session

TYPING = 0.03  # seconds


class Sessions:
    """Makes and finds sessions. `subscribe(session_id)` gives the sink for a new session's events."""

    def __init__(self, host: Host, subscribe: Callable[[str], Callable[[SessionEvent], None]]) -> None:
        self._host = host
        self._subscribe = subscribe
        self._sessions: dict[str, Session] = {}
        self._due: dict[Path, asyncio.TimerHandle] = {}

    def __iter__(self) -> Iterator[Session]:
        return iter(self._sessions.values())

    def create(self, title: str = "") -> Session:
        """A new session on the open workspace.

        Raises:
            RequestRefused: no folder is open, or it is not trusted.
        """
        root = self._host.workspace()
        # lower case and digits only: the id is the authority of URIs, and those are lower-cased
        session_id = secrets.token_hex(6)
        session = Session(session_id, title, root, self._host, self._subscribe(session_id))
        self._sessions[session_id] = session
        return session

    def restore(self) -> None:
        """Brings back the sessions of this workspace that were kept."""
        root = self._host.workspace()
        for snapshot in self._host.kept.load():
            if Path(snapshot.root) == root.path and snapshot.id not in self._sessions:
                session = Session(snapshot.id, snapshot.title, root, self._host, self._subscribe(snapshot.id))
                self._sessions[snapshot.id] = session
                session.restore(snapshot)

    def get(self, session_id: str) -> Session:
        """Raises WrongRequest for an id that is not there."""
        session = self._sessions.get(session_id)
        if session is None:
            raise WrongRequest(f"Unknown session: {session_id}")
        return session

    def told(self, path: Path) -> None:
        """The editor told something new of a file. Proposals move along a little later: a person types many letters."""
        for session in self:
            session.files.person.release(path)
        if path not in self._due:
            self._due[path] = asyncio.get_running_loop().call_later(TYPING, self._typed, path)

    def _typed(self, path: Path) -> None:
        del self._due[path]
        self.observe(path)

    def observe(self, path: Path) -> None:
        """A file may say something else by now."""
        for session in self:
            session.observe(path)

    async def close(self) -> None:
        for session in self:
            await session.close()
