"""All sessions of a server, by id."""

import asyncio
import logging
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from fairlead.agent.events import RunFinished, RunStarted
from fairlead.session.events import EditsChanged, PlanChanged, SessionEvent
from fairlead.session.host import Host, RequestRefused, WrongRequest
from fairlead.session.report.listing import Row, kept_row, resting_row, rows
from fairlead.session.session import Session
from fairlead.session.store.journal import Journal
from fairlead.session.store.journal_reading import Found
from fairlead.session.store.lock import Taken
from fairlead.workspace.paths import Root

log = logging.getLogger(__name__)

TYPING = 0.03  # seconds
LISTING = 0.05  # seconds in which changes of the list are one
LOOK_AGAIN = 1.0  # seconds between looks at the sessions that another process has
LEFTOVER = 86_400  # seconds after which the files of a journal that was never made are removed
MAX_RESTING = 200  # sessions with nothing left to decide that are kept

ELSEWHERE = "This task is open in another window or terminal. Go on with it there, or close that one first."


class Sessions:
    """Makes, finds and drops sessions.

    Args:
        subscribe: gives the sink for the events of the session with this id, of which at most so many were told before.
        listed: is told the whole list a moment after it changed.
    """

    def __init__(
        self,
        host: Host,
        subscribe: Callable[[str, int], Callable[[SessionEvent], None]],
        listed: Callable[[tuple[Row, ...]], None],
    ) -> None:
        self._host = host
        self._subscribe = subscribe
        self._listed = listed
        self._sessions: dict[str, Session] = {}
        self._asleep: dict[str, tuple[Found, Row]] = {}  # known by their journals, until somebody asks for them
        self._elsewhere: dict[str, Found] = {}  # another process has them, and they come back when it has ended
        self._waking: dict[str, asyncio.Task[None]] = {}
        self._looking: asyncio.Task[None] | None = None
        self._looked = asyncio.Event()
        self._looked.set()
        self._due: dict[Path, asyncio.TimerHandle] = {}
        self._changed: dict[Path, None] = {}
        self._observing: asyncio.Task[None] | None = None
        self._list_due: asyncio.TimerHandle | None = None
        self._list: tuple[Row, ...] = ()

    def __iter__(self) -> Iterator[Session]:
        return iter(self._sessions.values())

    def create(self, title: str = "") -> Session:
        """A new session on the open workspace.

        Raises:
            RequestRefused: no folder is open, or it is not trusted.
        """
        root = self._host.workspace()
        # lower case and digits only: the id is the authority of URIs, and those are lower-cased
        session_id, journals = secrets.token_hex(6), self._host.journals
        kept = self._host.settings.sessions.keep_days > 0
        journal = journals.new(session_id, str(root.path)) if kept else journals.unkept()
        return self._added(self._made(session_id, title, root, journal, 0))

    def _added(self, session: Session) -> Session:
        self._sessions[session.id] = session
        self._list_soon()
        return session

    def _made(self, session_id: str, title: str, root: Root, journal: Journal, told: int) -> Session:
        sink = self._subscribe(session_id, told)

        def on_event(event: SessionEvent) -> None:
            sink(event)
            if isinstance(event, PlanChanged | EditsChanged | RunStarted | RunFinished):
                self._list_soon()

        return Session(session_id, title, root, self._host, on_event, journal)

    def restore(self) -> None:
        """Brings back the sessions of this workspace that were kept.

        Those with something left to decide, or in the middle of a run, come back whole, a moment later; the others are
        listed, and come back when somebody asks for them. What another process has comes when that has ended. A host
        that wakes none has all of them listed, those of other processes too.

        Raises:
            RequestRefused: as `create`.
        """
        root = self._host.workspace()
        known = {*self._sessions, *self._asleep, *self._elsewhere}
        self._host.journals.sweep(self._host.now() - LEFTOVER)
        found = [one for one in self._host.journals.found() if one.id not in known]
        self._forget_other_workspaces([one for one in found if Path(one.root) != root.path])
        mine = [one for one in found if Path(one.root) == root.path]
        resting = self._pruned([one for one in mine if one.at_rest is not None])
        self._asleep |= {one.id: (one, resting_row(one)) for one in resting}
        self._elsewhere |= {one.id: one for one in mine if one.at_rest is None}
        self._look_elsewhere()
        self._list_soon()

    def _look_elsewhere(self) -> None:
        """Brings back what no other process has, and looks again later for the rest."""
        if self._looking is None and self._elsewhere:
            self._looked.clear()
            self._looking = asyncio.ensure_future(self._look())

    async def _look(self) -> None:
        try:
            while self._elsewhere:
                for found in list(self._elsewhere.values()):
                    await (self._try(found) if self._host.wakes else self._list_asleep(found))
                self._looked.set()
                self._list_soon()
                if self._elsewhere:
                    await asyncio.sleep(LOOK_AGAIN)
        finally:
            self._looked.set()
            self._looking = None

    async def _list_asleep(self, found: Found) -> None:
        try:
            row = kept_row(found.id, await asyncio.to_thread(self._host.journals.read, found))
            if found.id not in self._sessions:
                self._asleep[found.id] = (found, row)
        except FileNotFoundError:  # another process has deleted it
            pass
        except (OSError, ValueError) as error:
            await self._unreadable(found, error)
        self._elsewhere.pop(found.id, None)

    async def _try(self, found: Found) -> None:
        try:
            await self._woken(found)
        except (Taken, RequestRefused):  # the workspace may not be trusted any more
            return
        except (OSError, ValueError) as error:
            if not isinstance(error, FileNotFoundError):
                await self._unreadable(found, error)
        self._elsewhere.pop(found.id, None)
        self._asleep.pop(found.id, None)

    async def _unreadable(self, found: Found, error: Exception) -> None:
        reason = await asyncio.to_thread(self._host.journals.reason, found.id, error)  # it reads the whole file
        self._host.journals.unreadable(found.id, reason)

    async def _woken(self, found: Found) -> None:
        """Brings back a session whole, once however many ask for it.

        Raises:
            Taken: another process has it.
            OSError, ValueError: its journal is gone, or cannot be read.
        """
        if found.id in self._sessions:
            return
        if found.id not in self._waking:
            task = self._waking[found.id] = asyncio.ensure_future(self._wake(found))
            task.add_done_callback(lambda _: self._waking.pop(found.id))
        await asyncio.shield(self._waking[found.id])

    async def _wake(self, found: Found) -> None:
        workspace, journals = self._host.workspace(), self._host.journals
        journal, state = await asyncio.to_thread(journals.open, found)
        try:
            session = self._made(found.id, state.title, workspace, journals.unkept(), state.told)
            await session.restore(state)
        except asyncio.CancelledError:
            journal.close()
            raise
        except Exception as error:  # whatever is wrong with one session, the others come back
            journal.close()  # and is left as it is
            log.warning("a session cannot be restored", exc_info=True)
            raise ValueError(f"what it says does not fit together: {error!r}") from error
        session.keeper.go_on(journal)
        self._added(session)

    def _pruned(self, resting: Sequence[Found]) -> list[Found]:
        """Those that are not too old and not too many; the others are gone for good."""
        days = self._host.settings.sessions.keep_days
        latest = sorted(resting, key=lambda one: one.at_rest.updated if one.at_rest else 0.0, reverse=True)
        kept = [one for one in latest[:MAX_RESTING] if days and not self._is_old(one)]
        for one in latest:
            if one not in kept:
                self._host.journals.remove(one)
        return kept

    def _forget_other_workspaces(self, others: Sequence[Found]) -> None:
        """Nobody may ever open those again. What is undecided stays as long as its folder is there."""
        for one in others:
            if self._is_old(one) and (one.at_rest is not None or not Path(one.root).exists()):
                self._host.journals.remove(one)

    def _is_old(self, found: Found) -> bool:
        """By its row and by its file: a damaged row is no reason to delete a session."""
        latest = max(found.written, found.at_rest.updated if found.at_rest is not None else 0.0)
        return latest < self._host.now() - self._host.settings.sessions.keep_days * 86_400

    async def delete(self, session_id: str) -> None:
        """Drops a session with its proposals and its journal. The person's files stay as they are.

        Raises:
            WrongRequest: there is no such session.
            RequestRefused: it runs, here or elsewhere; or its journal cannot be removed, and would bring it back.
        """
        session = await self.get(session_id)
        if session.running:
            raise RequestRefused("The agent is at work in this session. Stop it first, then delete it.")
        del self._sessions[session_id]
        self._list_soon()
        await session.close()
        async with session.reviewing:
            session.clear()
        try:
            session.keeper.journal.delete()
        except OSError as error:
            reason = error.strerror or error
            raise RequestRefused(f"The session is gone until the next start, but its file stays: {reason}") from error

    def rows(self) -> tuple[Row, ...]:
        """The list, the newest first."""
        return rows(self, (row for _, row in self._asleep.values()))

    def _list_soon(self) -> None:
        if self._list_due is None:
            self._list_due = asyncio.get_running_loop().call_later(LISTING, self._tell_list)

    def _tell_list(self) -> None:
        self._list_due = None
        if not self._looked.is_set():
            return  # those that are about to come back would be missing
        now = self.rows()
        if now != self._list:
            self._list = now
            self._listed(now)

    async def listed(self) -> tuple[Row, ...]:
        """As `rows`, once it is known which of the kept sessions can come back."""
        await self._looked.wait()
        return self.rows()

    async def get(self, session_id: str) -> Session:
        """The session with this id, at once where it is awake; one that is not comes back for it.

        Raises:
            WrongRequest: there is none.
            RequestRefused: another process has it, or its journal cannot be read. In the first case it comes back when
                that process has ended.
        """
        if session_id not in self._sessions:
            await self._come_back(session_id)
        session = self._sessions.get(session_id)
        if session is None:
            raise WrongRequest(f"Unknown session: {session_id}")
        return session

    async def _come_back(self, session_id: str) -> None:
        asleep, found = self._asleep.get(session_id), self._elsewhere.get(session_id)
        if asleep is not None:
            found = asleep[0]
        if found is None:
            return
        try:
            await self._woken(found)
        except Taken as error:
            if self._host.wakes:
                self._elsewhere[session_id] = found
                self._look_elsewhere()
            raise RequestRefused(ELSEWHERE) from error
        except FileNotFoundError:
            self._list_soon()  # another process has deleted it
        except (OSError, ValueError) as error:
            raise RequestRefused(await asyncio.to_thread(self._host.journals.reason, session_id, error)) from error
        self._elsewhere.pop(session_id, None)
        self._asleep.pop(session_id, None)

    def on_document_event(self, path: Path) -> None:
        """Note a change of an open document. Its proposals are merged after `TYPING` seconds, once for many changes."""
        for session in self:
            session.files.user_files.note_document_event(path)
        if path not in self._due:
            self._due[path] = asyncio.get_running_loop().call_later(TYPING, self._typed, path)

    def _typed(self, path: Path) -> None:
        del self._due[path]
        self.observe([path])

    def observe(self, paths: Iterable[Path]) -> None:
        """Files may say something else by now."""
        self._changed.update(dict.fromkeys(paths))
        if self._observing is None:
            self._observing = asyncio.ensure_future(self._observe())

    async def _observe(self) -> None:
        try:
            while self._changed:
                paths, self._changed = self._changed, {}
                for session in list(self):
                    await session.observe(paths)
        finally:
            self._observing = None

    async def close(self) -> None:
        """Ends what runs in all of them; none is brought back any more."""
        for task in (self._looking, self._observing, *self._waking.values()):
            if task is not None:
                task.cancel()
        await asyncio.gather(*(session.close() for session in self))

    def keep(self) -> None:
        """Behind the end of all runs: what is not written yet is written now or never."""
        for session in self:
            session.keeper.close()
