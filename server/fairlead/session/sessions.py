"""All sessions of a server, by id."""

import asyncio
import contextlib
import logging
import secrets
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from fairlead.agent.events import RunFinished, RunStarted
from fairlead.session.errors import RequestRefused, WrongRequest
from fairlead.session.events import EditsChanged, PlanChanged, SessionEvent
from fairlead.session.former_folders import former_folders, move_sessions, why_nothing_to_adopt
from fairlead.session.report.listing import Row, rows, settled_row, unsettled_row
from fairlead.session.server_context import ServerContext
from fairlead.session.session import Session
from fairlead.session.store.journal import Journal
from fairlead.session.store.lock import Locked
from fairlead.session.store.reader import JournalInfo
from fairlead.workspace.paths import Roots

log = logging.getLogger(__name__)

TYPING_DELAY = 0.03  # seconds; changes of a document within this time update its proposal once
LIST_DELAY = 0.05  # seconds; changes of the list within this time are sent together
LOCK_CHECK_INTERVAL = 1.0  # seconds between attempts to load the sessions that another process has open
LEFTOVER_AGE = 86_400  # seconds after which a lock file or an incomplete file without its journal is removed
MAX_SETTLED = 200  # how many settled sessions that began with the same folders stay saved; the oldest are removed

OPEN_ELSEWHERE = "This session is open in another window or terminal. Continue there, or close it there first."
FOLDER_REMOVED = "No folder of this session is open in this window anymore. Add {folders} again."

NOT_OPEN = "{folder} is not open. Open it first."


class Sessions:
    """Creates, loads, finds and deletes sessions.

    A session is loaded (`_sessions`), listed from its journal until a request names it (`_unloaded`), or waiting to be
    loaded (`_to_load`). If another process has it open, it is listed, and may also wait to be loaded.

    A session is settled if no run is unfinished and no proposal is undecided.
    """

    def __init__(
        self,
        context: ServerContext,
        subscribe: Callable[[str, int], Callable[[Sequence[SessionEvent]], None]],
        on_list: Callable[[tuple[Row, ...]], None],
    ) -> None:
        """
        Args:
            subscribe: returns the sink for a session's events, given its id and the number of events sent earlier.
            on_list: called with the whole list shortly after it changed.
        """
        self._context = context
        self._subscribe = subscribe
        self._on_list = on_list
        self._sessions: dict[str, Session] = {}
        self._unloaded: dict[str, tuple[JournalInfo, Row]] = {}
        self._to_load: dict[str, JournalInfo] = {}
        self._loading: dict[str, asyncio.Task[None]] = {}
        self._deleted: set[str] = set()
        self._loader: asyncio.Task[None] | None = None
        self._retry_timer: asyncio.TimerHandle | None = None
        self._loaded_once = asyncio.Event()
        self._loaded_once.set()
        self._typing: dict[Path, asyncio.TimerHandle] = {}
        self._changed: dict[Path, None] = {}
        self._observing: asyncio.Task[None] | None = None
        self._list_timer: asyncio.TimerHandle | None = None
        self._list: tuple[Row, ...] = ()

    def __iter__(self) -> Iterator[Session]:
        """The loaded sessions."""
        return iter(self._sessions.values())

    def create(self, title: str = "") -> Session:
        """Creates a session on the open workspace.

        Args:
            title: empty: the first prompt gives the session its title.

        Raises:
            RequestRefused: the workspace cannot be used (`ServerContext.workspace`).
        """
        roots = self._context.workspace()
        # lower case and digits only: the id is the authority of URIs, which clients may convert to lower case
        session_id, journals = secrets.token_hex(6), self._context.journals
        saved = self._context.settings.sessions.keep_days > 0
        journal = journals.new(session_id, *map(str, roots.paths)) if saved else journals.in_memory()
        return self._add(self._new_session(session_id, title, roots, journal, 0))

    def _add(self, session: Session) -> Session:
        self._sessions[session.id] = session
        self._forget(session.id)
        session.change_folders(self._context.roots)  # they may have changed while the session was loaded
        self._schedule_list()
        return session

    def _new_session(self, session_id: str, title: str, roots: Roots, journal: Journal, events_sent: int) -> Session:
        sink = self._subscribe(session_id, events_sent)

        def on_events(events: Sequence[SessionEvent]) -> None:
            sink(events)
            if any(isinstance(event, PlanChanged | EditsChanged | RunStarted | RunFinished) for event in events):
                self._schedule_list()

        return Session(session_id, title, roots, self._context, on_events, journal, self._schedule_list)

    def restore(self) -> None:
        """Finds the saved sessions of this workspace: those that were created while one of its folders was open.

        Unsettled sessions are loaded shortly afterwards, or as soon as no other process has them open; until then they
        are listed. Settled ones are only listed, and are loaded when a request names them. If
        `ServerContext.restores_sessions` is false, unsettled ones are only listed too.

        Also removes settled sessions that are too old (`SessionsSettings`), including those of other workspaces, and
        the oldest of those with the same folders if there are too many.

        Raises:
            RequestRefused: as `create`.
        """
        self._context.workspace()
        self._context.journals.remove_leftovers(self._context.now() - LEFTOVER_AGE)
        self._find(prune=True)

    def _find(self, *, prune: bool = False) -> None:
        """Finds what other processes have saved, continued or deleted since the last call. Raises as `restore`.

        With `prune`, also removes sessions, but none that is listed: the settings may have changed since.
        """
        roots = self._context.workspace()
        found = list(self._context.journals.scan({*self._sessions, *self._to_load, *self._deleted}))
        paths = set(map(str, roots.paths))
        mine = [info for info in found if not paths.isdisjoint(info.folders)]
        for session_id in self._unloaded.keys() - self._to_load.keys():
            if not self._context.journals.exists(session_id):
                del self._unloaded[session_id]
        listed = [info for info in mine if info.summary is not None and info.id in self._unloaded]
        new = [info for info in mine if info.summary is not None and info.id not in self._unloaded]
        if prune:
            self._prune_other_workspaces([info for info in found if paths.isdisjoint(info.folders)])
            new = self._prune(new)
        self._unloaded |= {info.id: (info, settled_row(info)) for info in (*listed, *new)}
        self._check_locks([*self._unloaded.values()])
        # what another process has continued is read again when that process has ended
        held = {info.id for info, _ in self._open_elsewhere()}
        unsettled = {info.id: info for info in mine if info.summary is None and info.id not in held}
        if unsettled:
            self._to_load |= unsettled
            self._loaded_once.clear()
        if self._to_load or self._open_elsewhere():
            self._start_loader()
        self._schedule_list()

    def _open_elsewhere(self) -> list[tuple[JournalInfo, Row]]:
        """The listed sessions that another process had open when that was last checked."""
        return [(info, row) for info, row in self._unloaded.values() if row.open_elsewhere]

    def _check_locks(self, listed: Iterable[tuple[JournalInfo, Row]]) -> None:
        """Finds out which of these sessions other processes have open now."""
        for info, row in listed:
            self._unloaded[info.id] = (info, replace(row, open_elsewhere=self._is_open_elsewhere(info)))

    def _is_open_elsewhere(self, info: JournalInfo) -> bool:
        # while it is being loaded, this process holds its lock
        return info.id not in self._loading and self._context.journals.is_open_elsewhere(info)

    def _start_loader(self) -> None:
        if self._retry_timer is not None:
            self._retry_timer.cancel()
            self._retry_timer = None
        if self._loader is None:
            self._loader = asyncio.ensure_future(self._load_all())

    async def _load_all(self) -> None:
        """Tries once to load each session in `_to_load`. Drops unreadable ones, with a warning.

        Does so again after a while if some cannot be loaded yet, or if another process has a listed session open.
        """
        tried = set[str]()
        try:
            # `restore` may add sessions meanwhile
            while untried := [info for info in self._to_load.values() if info.id not in tried]:
                for info in untried:
                    await self._try_load(info)
                    tried.add(info.id)
        finally:
            self._loaded_once.set()
            self._loader = None
        held = self._open_elsewhere()
        self._check_locks(held)
        self._schedule_list()
        if len(self._open_elsewhere()) < len(held):
            with contextlib.suppress(RequestRefused):  # the workspace cannot be used now
                self._find()  # the other process may have continued or deleted the session
        if self._loader is None and (self._to_load or self._open_elsewhere()):  # otherwise `_find` has started one
            loop = asyncio.get_running_loop()
            self._retry_timer = loop.call_later(LOCK_CHECK_INTERVAL, self._start_loader)

    async def _try_load(self, info: JournalInfo) -> None:
        """Loads a session that waits for it, or lists it if another process has it open.

        If `ServerContext.restores_sessions` is false, only lists it.
        """
        try:
            if not self._context.restores_sessions:
                await self._list_unsettled(info)
                self._to_load.pop(info.id, None)
                return
            try:
                await self._load(info)
            except Locked:
                if info.id not in self._unloaded:
                    await self._list_unsettled(info)
        except RequestRefused:  # the workspace, or the session's folder, cannot be used now
            pass
        except (OSError, ValueError) as error:
            if not isinstance(error, FileNotFoundError):  # otherwise another process has deleted it
                reason = await self._unreadable_reason(info.id, error)
                self._context.journals.report_unreadable(info.id, reason, error)
            self._forget(info.id)

    async def _list_unsettled(self, info: JournalInfo) -> None:
        """Reads a session from its journal, and lists it unless it was loaded meanwhile.

        Raises:
            OSError, ValueError: its journal does not exist anymore, or cannot be read.
        """
        state = await asyncio.to_thread(self._context.journals.read, info)
        if info.id not in self._sessions:
            row = unsettled_row(info.id, state, open_elsewhere=self._is_open_elsewhere(info))
            self._unloaded[info.id] = (info, row)

    def _forget(self, session_id: str) -> None:
        """Removes a session that is not loaded, because it was loaded or cannot be."""
        self._to_load.pop(session_id, None)
        self._unloaded.pop(session_id, None)

    async def _unreadable_reason(self, session_id: str, error: Exception) -> str:
        return await asyncio.to_thread(self._context.journals.unreadable_reason, session_id, error)

    async def _load(self, info: JournalInfo) -> None:
        """Loads a session, once even if several requests name it.

        Raises:
            Locked: another process has it open.
            RequestRefused: the workspace cannot be used, or none of the session's folders is open anymore.
            OSError, ValueError: its journal does not exist anymore, cannot be read, or cannot be restored.
        """
        if info.id in self._sessions:
            return
        if info.id not in self._loading:
            task = self._loading[info.id] = asyncio.ensure_future(self._load_journal(info))
            task.add_done_callback(lambda _: self._loading.pop(info.id))
        await asyncio.shield(self._loading[info.id])

    async def _load_journal(self, info: JournalInfo) -> None:
        workspace, journals = self._context.workspace(), self._context.journals
        if set(map(str, workspace.paths)).isdisjoint(info.folders):  # its folder was removed from the workspace
            raise RequestRefused(FOLDER_REMOVED.format(folders=" or ".join(info.folders)))
        journal, state = await asyncio.to_thread(journals.open, info)
        try:
            # the journal stays unchanged until all of it is restored
            session = self._new_session(info.id, state.title, workspace, journals.in_memory(), state.events_sent)
            await session.restore(state)
        except asyncio.CancelledError:
            journal.close()
            raise
        except Exception as error:  # a damaged session must not keep the others from loading
            journal.close()
            log.warning("a session cannot be restored", exc_info=True)
            raise ValueError(f"its content is inconsistent: {error!r}") from error
        session.journal_writer.resume(journal)
        self._add(session)

    def _prune(self, settled: Sequence[JournalInfo]) -> list[JournalInfo]:
        """Removes the sessions that are too old or too many; if `keep_days` is 0, all of them. Returns the others."""
        days = self._context.settings.sessions.keep_days
        latest = sorted(settled, key=lambda info: info.summary.updated if info.summary else 0.0, reverse=True)
        counts, remaining = Counter[tuple[str, ...]](), list[JournalInfo]()
        for info in latest:
            counts[info.folders] += 1
            if days and not self._is_old(info) and counts[info.folders] <= MAX_SETTLED:
                remaining.append(info)
            else:
                self._context.journals.remove(info)
        return remaining

    def _prune_other_workspaces(self, others: Sequence[JournalInfo]) -> None:
        """Removes old settled sessions of other workspaces.

        Unsettled ones stay even if their folders do not exist: a drive or a network share may be absent only for now.
        """
        for info in others:
            if info.summary is not None and self._is_old(info):
                self._context.journals.remove(info)

    def _is_old(self, info: JournalInfo) -> bool:
        """Whether the last run and the last write of a session are both older than `keep_days`.

        The time of the last write counts too, so that a damaged summary does not delete a session.
        """
        latest = max(info.written, info.summary.updated if info.summary is not None else 0.0)
        return latest < self._context.now() - self._context.settings.sessions.keep_days * 86_400

    async def delete(self, session_id: str) -> None:
        """Deletes a session with its proposals and its journal. The user's files do not change.

        Raises:
            WrongRequest: there is no such session.
            RequestRefused: as `get`; or it is running; or its journal cannot be removed, so that the session appears
                again after a restart.
        """
        session = await self.get(session_id)
        if session.running:
            raise RequestRefused("This session is running. Stop it first, then delete it.")
        del self._sessions[session_id]
        self._deleted.add(session_id)
        self._schedule_list()
        await session.close()
        async with session.review.lock:
            session.discard_changes()
        try:
            session.journal_writer.journal.delete()
        except OSError as error:
            reason = error.strerror or error
            raise RequestRefused(
                f"The session's file cannot be deleted: {reason}. The session will appear again after a restart."
            ) from error

    def former_folders(self) -> dict[str, list[JournalInfo]]:
        """The sessions of each folder that no longer exists, without those of this workspace. Raises as `create`."""
        paths = set(map(str, self._context.workspace().paths))
        known = {*self._sessions, *self._to_load, *self._unloaded, *self._deleted}
        return former_folders(self._context.journals, known, paths)

    async def adopt(self, former: str, folder: Path) -> int:
        """Moves the sessions of a folder that no longer exists to an open one. Returns how many it moved.

        Raises:
            RequestRefused: `former` exists or has no sessions, or `folder` is not open.
        """
        if folder not in self._context.workspace().paths:
            raise RequestRefused(NOT_OPEN.format(folder=folder))
        infos = self.former_folders().get(former)
        if infos is None:
            raise RequestRefused(why_nothing_to_adopt(former))
        moved = await move_sessions(self._context.journals, infos, former, str(folder))
        self._find()
        return moved

    def change_folders(self) -> None:
        """The loaded sessions continue with the folders that are open now. Proposals in a removed folder stay."""
        for session in self:
            session.change_folders(self._context.roots)

    def rows(self) -> tuple[Row, ...]:
        """The sessions, the one with the latest run first. Omits those that the server has not tried to load yet."""
        found = rows(self, (row for _, row in self._unloaded.values()))
        models = {selection: self._context.resolved(selection) for selection in {row.model for row in found}}
        return tuple(replace(row, model=models[row.model]) for row in found)

    def update_list(self) -> None:
        """Sends the list if it has changed. Call it after a change of the settings or of a session's model."""
        if self._sessions:
            self._schedule_list()

    def update_tool_servers(self) -> None:
        """Sends the tool servers of each session whose servers have changed. Call it after a change of the settings."""
        for session in self:
            session.server_statuses.schedule()

    def _schedule_list(self) -> None:
        if self._list_timer is None:
            self._list_timer = asyncio.get_running_loop().call_later(LIST_DELAY, self._publish_list)

    def _publish_list(self) -> None:
        self._list_timer = None
        if not self._loaded_once.is_set():
            return  # the sessions that are being loaded would be missing
        now = self.rows()
        if now != self._list:
            self._list = now
            self._on_list(now)

    async def rows_when_loaded(self) -> tuple[Row, ...]:
        """Like `rows`, after searching again for sessions that other processes have saved.

        Waits until the server has tried to load each session that it found.
        """
        with contextlib.suppress(RequestRefused):  # nothing can be opened now
            self._find()
        await self._loaded_once.wait()
        return self.rows()

    async def get(self, session_id: str) -> Session:
        """The session with this id; loads it if necessary.

        Raises:
            WrongRequest: there is none.
            RequestRefused: another process has it open, its journal cannot be read, the workspace cannot be used, or
                none of the session's folders is open anymore. In the first case, a server that restores sessions loads
                it as soon as that process has closed it.
        """
        if session_id not in self._sessions:
            await self._load_on_request(session_id)
        session = self._sessions.get(session_id)
        if session is None:
            raise WrongRequest(f"Unknown session: {session_id}. It may have been deleted; start a new one.")
        return session

    async def _load_on_request(self, session_id: str) -> None:
        unloaded, info = self._unloaded.get(session_id), self._to_load.get(session_id)
        if unloaded is not None:
            info = unloaded[0]
        if info is None:
            return
        try:
            await self._load(info)
        except Locked as error:
            if unloaded is not None:
                self._unloaded[session_id] = (info, replace(unloaded[1], open_elsewhere=True))
            if self._context.restores_sessions:
                self._to_load[session_id] = info
            self._start_loader()  # also sends the list
            raise RequestRefused(OPEN_ELSEWHERE) from error
        except FileNotFoundError:
            self._schedule_list()  # another process has deleted it
        except (OSError, ValueError) as error:
            raise RequestRefused(await self._unreadable_reason(session_id, error)) from error
        self._forget(session_id)

    def on_document_event(self, path: Path) -> None:
        """Called when the editor reports a change to a document. Updates proposals at most once in `TYPING_DELAY`."""
        for session in self:
            session.files.user_files.note_document_event()
        if path not in self._typing:
            self._typing[path] = asyncio.get_running_loop().call_later(TYPING_DELAY, self._observe_typing, path)

    def _observe_typing(self, path: Path) -> None:
        del self._typing[path]
        self.observe([path])

    def observe(self, paths: Iterable[Path]) -> None:
        """Lets the loaded sessions read files that may have changed. Returns at once."""
        self._changed.update(dict.fromkeys(paths))
        if self._observing is None:
            self._observing = asyncio.ensure_future(self._observe())

    def compare_files(self) -> None:
        """Lets the loaded sessions find out which verifications still hold. Returns at once.

        Those that are running do so when their runs end.
        """
        for session in self:
            if not session.running:
                session.evidence.compare_in_background()

    async def _observe(self) -> None:
        try:
            while self._changed:
                paths, self._changed = self._changed, {}
                for session in list(self):
                    await session.observe(paths)
        finally:
            self._observing = None

    def flush(self) -> None:
        """Saves and sends the events that the sessions hold (`Outbox`)."""
        for session in self:
            try:
                session.flush()
            except Exception:  # one session that fails must not stop the answer that is about to be sent
                log.exception("the events of the session %s cannot be sent", session.id)

    async def close(self) -> None:
        """Stops everything that runs in the sessions, stops loading others, and closes the spare model.

        The journals stay open.
        """
        for pending in (self._retry_timer, self._loader, self._observing, *self._loading.values()):
            if pending is not None:
                pending.cancel()
        await asyncio.gather(self._context.spare_model.aclose(), *(session.close() for session in self))

    def close_journals(self) -> None:
        """Saves all loaded sessions for the last time. Call it after all runs have ended, before the process ends."""
        self.flush()
        for session in self:
            session.journal_writer.close()

    def release_journals(self) -> None:
        """Lets other processes open the sessions although this one continues. Call it after `close_journals`."""
        for session in self:
            session.journal_writer.journal.close()
