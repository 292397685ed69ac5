"""All sessions of a server, by id."""

import secrets
from collections.abc import Callable, Iterator
from pathlib import Path

from fairlead.session.events import SessionEvent
from fairlead.session.host import Host, WrongRequest
from fairlead.session.session import Session


class Sessions:
    """Makes and finds sessions. `subscribe(session_id)` gives the sink for a new session's events."""

    def __init__(self, host: Host, subscribe: Callable[[str], Callable[[SessionEvent], None]]) -> None:
        self._host = host
        self._subscribe = subscribe
        self._sessions: dict[str, Session] = {}

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

    def get(self, session_id: str) -> Session:
        """Raises WrongRequest for an id that is not there."""
        session = self._sessions.get(session_id)
        if session is None:
            raise WrongRequest(f"Unknown session: {session_id}")
        return session

    def observe(self, path: Path) -> None:
        """The editor told something new of a file."""
        for session in self:
            session.observe(path)

    async def close(self) -> None:
        for session in self:
            await session.close()
