"""Owns a session's proposals: adds and changes them, and rebases them when the user's files change."""

import asyncio
import copy
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from pathlib import Path

from fairlead.edits import changeset as cs
from fairlead.edits.bad_bytes import added_bad_bytes
from fairlead.edits.changeset import Changeset
from fairlead.edits.merge import MergeConflict
from fairlead.edits.origins import Author
from fairlead.edits.proposal import PLAIN, Proposal, Raw
from fairlead.workspace.editor import Buffers, FileEdit
from fairlead.workspace.errors import WorkspaceError
from fairlead.workspace.file_view import FileView
from fairlead.workspace.long_work import Yielder, is_long
from fairlead.workspace.paths import Roots
from fairlead.workspace.proposed_paths import check_parents, check_place
from fairlead.workspace.read_tracker import ReadTracker
from fairlead.workspace.rejections import Rejections
from fairlead.workspace.reread_queue import RereadQueue

MAX_THREAD_ATTEMPTS = 2
"""How often a proposal is rebased in a thread if the proposals change meanwhile.

The next attempt runs on the event loop, where nothing interrupts it.
"""

CHANGED = "The user changed {name} at the same moment, so nothing was proposed. Read it again, then edit it."


_Change = Callable[[Changeset], Changeset]
"""A change of the proposals. Pure, because it may run in a thread, and again on the event loop."""


class Files(FileView):
    """The files of one session. A write here is a proposal; the user's files do not change.

    Args:
        on_interest: is called with each file that was read or proposed, so that it can be watched.
    """

    def __init__(
        self,
        roots: Roots,
        buffers: Buffers,
        on_interest: Callable[[Path], None] = lambda _: None,
        opened_secrets: Callable[[], Sequence[str]] = tuple,
    ) -> None:
        super().__init__(roots, buffers, opened_secrets)
        self.read_tracker = ReadTracker(self.read, self._preload, self.user_files.open_paths)
        self._reread_queue = RereadQueue(str)
        self.rejections = Rejections()
        self._on_interest = on_interest
        self._changed_at: dict[str, int] = {}
        self._item_changed_at: dict[str, int] = {}
        """The version in which a proposal of a plan item last changed, by the item's id.

        The proposal may not belong to the item anymore.
        """
        self._touched: dict[Path, None] = {}
        self.version = 0
        """Increases with each change of the proposals."""

    def fork(self) -> "Files":
        """The same files with the proposals of this moment. What is read and proposed there, does not count here."""
        fork = copy.copy(self)
        fork.read_tracker = ReadTracker(fork.read, fork._preload, self.user_files.open_paths)
        fork._reread_queue = RereadQueue(str)
        fork._changed_at, fork._item_changed_at, fork._touched = {}, {}, {}
        return fork

    @property
    def changes(self) -> Changeset:
        """The proposals."""
        return self._changes

    @changes.setter
    def changes(self, changes: Changeset) -> None:
        old = self._changes
        if changes is old:
            return
        self._changes = changes
        self.version += 1
        for path in cs.changed_paths(old, changes):
            self._changed_at[path] = self.version
            self._touched[Path(path)] = None
            before = old.get(path)
            if before is not None:
                self._item_changed_at.update(dict.fromkeys(before.item_ids, self.version))

    def take_touched(self) -> Collection[Path]:
        """The files that the agent has read, or whose content may have changed, since the last call."""
        touched, self._touched = self._touched, {}
        return touched

    async def restore(self, changes: Changeset, version: int) -> None:
        """Restores saved proposals and rebases them on the user's files. `version` becomes at least the given one."""
        self.changes = changes
        self.version = max(self.version, version)
        for proposal in changes:
            self._on_interest(Path(proposal.path))
        await asyncio.to_thread(cs.precompute_all, changes)
        await self.observe_all()

    def changed_since(self, version: int, paths: Collection[Path] | None) -> bool:
        """Whether a proposal for one of the files (None: for any file) changed after a version."""
        if paths is None:
            return self.version > version
        return any(self._changed_at.get(str(path), 0) > version for path in paths)

    def item_changed_since(self, version: int, item_id: str) -> bool:
        """Whether a proposal of a plan item changed after a version, even if it no longer belongs to the item."""
        paths = [Path(proposal.path) for proposal in self._changes if item_id in proposal.item_ids]
        return self._item_changed_at.get(item_id, 0) > version or self.changed_since(version, paths)

    @property
    def change_token(self) -> tuple[int, int, int]:
        """Differs after each change of the proposals or the open documents (docs/plan.md L10).

        Also differs after a proposal was refused because the user had rejected the same change.
        """
        return self.version, self.user_files.change_token, self.rejections.warnings

    async def read_for_agent(self, path: Path) -> str | None:
        """Like `read`. Afterwards, Fairlead tells the model when the file changes, except by the model's own edits."""
        text = await self.preloaded(path)
        self.note_read(path, text)
        return text

    async def preloaded(self, path: Path) -> str | None:
        """Like `read`, but reads a long file in a thread."""
        await self.user_files.preload(path)
        return self.read(path)

    def note_read(self, path: Path, text: str | None) -> None:
        """Records that the model gets a file. `text` is what `read` returned for it."""
        self.read_tracker.note(path, text)
        self._touched[path] = None
        self._on_interest(path)

    async def _preload(self, path: Path) -> None:
        """Reads a long file in a thread, so that the next `read` is quick. Proposed text is in memory already."""
        if not self.is_proposed(path):
            await self.user_files.preload(path)

    async def propose(self, path: Path, text: str, author: Author, over: str | None = None) -> None:
        """Proposes a text for a file.

        Args:
            over: what `read` returned for the file when the new text was made from it. None: not compared.

        Raises:
            WorkspaceError: the file cannot be edited, its text is no longer `over`, it cannot hold the new text, or the
                user rejected the same change before.
        """
        if "\0" in text:
            raise WorkspaceError("The content contains a NUL character. Only text files can be written.")
        check_place(self.roots, path)
        check_parents(self.roots, self._changes, path)
        known = self._changes.for_target(str(path))
        source = Path(known.path) if known else path
        await self.user_files.preload(source)
        raw = None
        if text.startswith("\ufeff"):
            if self._gets_bom(source):
                raw = Raw(None, known.raw.mode if known is not None else None, bom=True)
            text = text[1:]
        if added_bad_bytes(self._read_or_none(path) or "", text):
            raise WorkspaceError("The content contains characters that are not valid Unicode (half a surrogate pair).")
        if known is None or known.base is not None:
            self.user_files.check_can_hold(source, text, known and known.proposed)
        current = self.current(path) if known is None and not self.proposal(path) else None
        change = partial(
            cs.propose,
            path=str(path),
            current=current,
            proposed=text,
            author=author,
            raw=raw,
            moved_raw=self.raw_of_renamed(path),
        )
        await self._apply(path, change, current, text, over=over)
        if known is None:
            self.user_files.note_proposed(source)

    async def capture(
        self,
        path: Path,
        before: str | None,
        after: str | None,
        author: Author,
        raw: Raw = PLAIN,
        *,
        is_text: bool = True,
    ) -> None:
        """Proposes a command's change to a file.

        The text is merged with what the user or the agent changed in the meantime. A deletion and a binary file are not
        merged: they replace what was proposed.

        Args:
            before: the text when the command started, None if there was no file.
            after: the text that the command left, None if it deleted the file.
            raw: the bytes and permissions that the command left, if they are proposed too.
            is_text: false if `after` is the line that identifies a binary file.

        Raises:
            WorkspaceError: the same lines were changed differently in the meantime, or any lines if the text is in
                another encoding; the file cannot be edited, or the user rejected the same change before.
        """
        check_place(self.roots, path)
        change = partial(
            cs.capture,
            path=str(path),
            before=before,
            after=after,
            author=author,
            raw=raw,
            moved_raw=self.raw_of_renamed(path),
            is_text=is_text,
        )
        try:
            changes = await self._compute(path, change, before, after)
        except MergeConflict as error:
            what = "the same lines" if raw.data is None else "the file"
            raise WorkspaceError(f"{what} got another change while the command ran") from error
        if after is not None:
            check_parents(self.roots, self._changes, path)
        known = self._changes.for_target(str(path))
        self._check_rejections(changes)
        self.changes = changes
        if known is None:
            self.user_files.note_proposed(path)
        self.read_tracker.acknowledge(path, before)
        self._on_interest(path)
        await self.observe([Path(known.path) if known is not None else path])

    def set_empty_folders(self, folders: frozenset[str]) -> None:
        """Replaces the folders that commands left empty (`Changeset.empty_folders`)."""
        if folders != self._changes.empty_folders:
            self.changes = self._changes.with_empty_folders(folders)

    def replace_by_decision(self, before: Proposal, after: Proposal) -> None:
        """Replaces a proposal. The model learns of the user's decision through feedback, not as a changed file."""
        self.changes = self.changes.with_proposal(after)
        for path in {before.path, before.target, after.path, after.target}:
            self.read_tracker.acknowledge(Path(path), before.proposed if path == before.target else None)

    async def propose_all(self, edits: Sequence[FileEdit], author: Author) -> None:
        """Proposes changes to several files, all or none.

        Args:
            edits: the `old` of each is what `read` returned.

        Raises:
            WorkspaceError: as for `propose`, `rename` and `delete`, or a file has changed since it was read, or the
                proposals have changed in the meantime.
        """
        before, staged = self._changes, self.fork()
        staged._on_interest = _ignore
        for edit in edits:
            if staged.read(edit.path) != edit.old:
                raise WorkspaceError(CHANGED.format(name=self.roots.relative(edit.path)))
            if edit.new is None:
                await staged.delete(edit.path, author)
                continue
            if edit.new_path is not None:
                await staged.rename(edit.path, edit.new_path, author)
            if edit.new != edit.old:
                await staged.propose(edit.target, edit.new, author)
        for edit in edits:  # the user may have typed while long texts were compared
            if self.read(edit.path) != edit.old:
                raise WorkspaceError(CHANGED.format(name=self.roots.relative(edit.path)))
        if self._changes is not before:
            raise WorkspaceError("The proposals changed at the same moment, so nothing was proposed. Try again.")
        self.changes = staged.changes
        for path in dict.fromkeys(path for edit in edits for path in (edit.path, edit.target)):
            self.read_tracker.note(path, self._read_or_none(path))
            self._on_interest(path)

    async def delete(self, path: Path, author: Author) -> None:
        """Proposes to delete a file.

        Raises:
            WorkspaceError: there is no such file, it cannot be edited, or the user rejected the same deletion before.
        """
        check_place(self.roots, path)
        await self.user_files.preload(path)
        current = self._existing(path)
        await self._apply(path, partial(cs.delete, path=str(path), current=current, author=author), current)

    async def rename(self, path: Path, new_path: Path, author: Author) -> None:
        """Proposes another path for a file.

        Raises:
            WorkspaceError: there is no such file, it cannot be edited, the new path exists or cannot be used, or the
                user rejected the same change before.
        """
        for end in (path, new_path):
            check_place(self.roots, end)
            await self.user_files.preload(end)
        current = self._existing(path)
        check_parents(self.roots, self._changes, new_path)
        own = self._changes.for_target(str(path))
        renames_back = own is not None and own.path == str(new_path)
        if not renames_back and self._is_taken(new_path):
            until = " until the user accepts its removal" if self.describe_removal(new_path) else ""
            raise WorkspaceError(
                f"{self.roots.relative(new_path)} exists{until}. Choose another name, or write its new content with "
                f"write_file and delete {self.roots.relative(path)}."
            )
        change = partial(cs.rename, path=str(path), new_path=str(new_path), current=current, author=author)
        await self._apply(path, change, current)
        self.read_tracker.note(new_path, self._read_or_none(new_path))

    def _is_taken(self, path: Path) -> bool:
        """Whether there is a file at a path: a proposed one, or the user's, even if its removal is proposed.

        Raises:
            WorkspaceError: it cannot be read.
        """
        proposed = self._changes.for_target(str(path))
        if proposed is not None and proposed.proposed is not None:
            return True
        return self.user_files.text(path, binary=True) is not None

    async def _compute(self, path: Path, change: _Change, *texts: str | None) -> Changeset:
        """The changeset after a change to one file. Does not apply it. Runs in a thread if a text is long.

        Args:
            texts: those that the change compares, in addition to the file's proposal.
        """
        before = self._changes
        if not self._is_long(path, *texts):
            return change(before)
        changes = await asyncio.to_thread(cs.precomputed, change, before)
        if before is self._changes:
            return changes
        # not in a thread again: while the user types, that might never succeed
        return change(self._changes)

    def _is_long(self, path: Path, *texts: str | None) -> bool:
        known = self._changes.get(str(path)) or self._changes.for_target(str(path))
        return is_long(*texts, *((known.base, known.current, known.proposed) if known is not None else ()))

    async def _apply(self, path: Path, change: _Change, *texts: str | None, over: str | None = None) -> None:
        """Applies a tool's change.

        Args:
            texts: as for `_compute`.

        Raises:
            WorkspaceError: the file's text is no longer `over`, or the user rejected the same change before.
        """
        changes = await self._compute(path, change, *texts)
        if over is not None and self.read(path) != over:
            raise WorkspaceError(CHANGED.format(name=self.roots.relative(path)))
        self._check_rejections(changes)
        self.changes = changes
        self.read_tracker.note(path, self._read_or_none(path))
        self._on_interest(path)

    def _check_rejections(self, changes: Changeset) -> None:
        for path in cs.changed_paths(self._changes, changes):
            proposal = changes.get(path)
            if proposal is not None:
                self.rejections.check(self._changes.get(path), proposal)

    def _gets_bom(self, path: Path) -> bool:
        """Whether a file gets the byte order mark with which its new text begins.

        Only a new file does: an existing file with a byte order mark keeps its own.

        Raises:
            WorkspaceError: the file exists without a byte order mark.
        """
        disk = self.user_files.on_disk(path)
        if disk is not None and not disk.bom:
            raise WorkspaceError(
                "The content begins with a byte order mark (U+FEFF), but the file has none. Leave it out."
            )
        return disk is None

    async def observe(self, paths: Iterable[Path], allowed: Callable[[], bool] = lambda: True) -> None:
        """Reads the user's files again and rebases their proposals on them.

        Yields between files and compares long ones in a thread. Stops when `allowed` returns false, without applying
        what was just computed.
        """
        yielder = Yielder()
        for path in paths:
            await yielder.yield_if_due()
            if not self.roots.contains(path):  # its folder left the workspace; the proposal stays as it is
                continue
            self._touched[path] = None
            for attempt in range(MAX_THREAD_ATTEMPTS + 1):
                await self.user_files.preload(path)
                before, proposal = self._changes, self.proposal(path)
                if proposal is None:
                    break
                current = self._current_or_none(path)
                change = partial(cs.observe, path=str(path), current=current)
                if attempt < MAX_THREAD_ATTEMPTS and self._is_long(path, current):
                    changes = await asyncio.to_thread(cs.precomputed, change, before)
                else:
                    changes = change(before)
                if not allowed():
                    return
                if before is self._changes:
                    self.changes = changes
                    break

    def paths_to_observe(self) -> list[Path]:
        """Files with proposals whose text may have changed since it was read. `RereadQueue` chooses which to check."""
        proposals = self._changes.files
        paths = self._reread_queue.take(proposals.keys(), self.user_files.open_paths())
        return [path for each in paths if self.user_files.may_differ(path := Path(each), proposals[each].current)]

    def report_changes(self, paths: Iterable[Path] | None) -> None:
        """Notes that files may have changed, so that they are read again before the next round; None: all files."""
        self._reread_queue.report(paths)
        self.read_tracker.reread_queue.report(paths)

    async def observe_all(self) -> None:
        """Like `observe_closely`, for all proposals."""
        await self.observe_closely([Path(proposal.path) for proposal in self._changes])

    async def observe_closely(self, paths: Collection[Path]) -> None:
        """Like `observe`, but reads closed files even if their signatures have not changed."""
        for path in paths:
            self.user_files.invalidate(path)
        await self.observe(paths)


def _ignore(_: Path) -> None: ...
