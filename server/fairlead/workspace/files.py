"""What a file says to the agent: the proposal first, then what the person has. The owner of the changeset."""

import asyncio
import os
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

from fairlead.agent.errors import ToolError
from fairlead.edits import changeset as cs
from fairlead.edits.changeset import Changeset, Proposal, Raw
from fairlead.edits.merge import MergeConflict
from fairlead.edits.origins import Author
from fairlead.workspace.disk import BinaryFile
from fairlead.workspace.editor import Buffers
from fairlead.workspace.long_work import Yielder, is_long
from fairlead.workspace.names import plain_parts
from fairlead.workspace.paths import Root
from fairlead.workspace.protected import is_repository
from fairlead.workspace.read_tracker import ReadTracker
from fairlead.workspace.rejections import Rejections
from fairlead.workspace.repositories import in_git_folder
from fairlead.workspace.secrets import secret_rules
from fairlead.workspace.user_files import UserFiles

OBSERVED_ASIDE = 2  # times, if the proposals change meanwhile; who types all the time would never let it end

CHANGED = "{name} was changed by the user at the same moment, so nothing was proposed. Read it again, then edit it."


class Files:
    """One session's view of the workspace. Writing here proposes; nothing of the person's changes.

    `on_interest` hears of each file that was read or proposed, so that it can be watched.
    """

    def __init__(self, root: Root, buffers: Buffers, on_interest: Callable[[Path], None] = lambda _: None) -> None:
        self.root = root
        self.user_files = UserFiles(root.path, buffers)
        self.read_tracker = ReadTracker(self.read, self.user_files.preload)
        self.rejections = Rejections()
        self._on_interest = on_interest
        self._changes = Changeset()
        self._changed_at: dict[str, int] = {}
        self.version = 0

    @property
    def changes(self) -> Changeset:
        return self._changes

    @changes.setter
    def changes(self, changes: Changeset) -> None:
        old = self._changes
        if changes is old:
            return
        self._changes = changes
        self.version += 1
        for path in _different(old, changes):
            self._changed_at[path] = self.version

    async def restore(self, changes: Changeset, version: int) -> None:
        """Goes on with proposals that another process made, on the files as they are now."""
        self._changes = changes
        self.version = version
        for proposal in changes:
            self._on_interest(Path(proposal.path))
        await asyncio.to_thread(_show_all, changes)
        await self.observe_all()

    def changed_since(self, version: int, paths: Collection[Path] | None) -> bool:
        """Whether any of the files' proposals (None: any at all) changed after a version."""
        if paths is None:
            return self.version > version
        return any(self._changed_at.get(str(path), 0) > version for path in paths)

    @property
    def change_token(self) -> tuple[int, int, int]:
        """Changes with the proposals, with what the editor tells of the person's files and what was said of both."""
        return self.version, self.user_files.change_token, self.rejections.warnings

    def proposal(self, path: Path) -> Proposal | None:
        return self._changes.get(str(path))

    def is_proposed(self, path: Path) -> bool:
        """Whether the agent proposes something that a path says."""
        return self._changes.for_target(str(path)) is not None

    def secret_filter(self) -> Callable[[str], bool]:
        """Tells of a path relative to the root whether its file looks like a secret, by the name that it has now."""
        rules = secret_rules(self.root.path)
        moved = [proposal for proposal in self._changes if proposal.new_path is not None]
        renamed = {self.root.relative(Path(one.target)): self.root.relative(Path(one.path)) for one in moved}
        return lambda name: rules(name) or (name in renamed and rules(renamed[name]))

    def secret_path(self, given: str) -> Path | None:
        """The path that a given one means, if the person has a file there that looks like a secret.

        By the name that it was given, the one that links lead to, and other spellings of both.

        Raises:
            ToolError: as `Root.resolve`.
        """
        path = self.root.resolve(given)
        proposal = self._changes.for_target(str(path))
        there = os.path.lexists(path) or self.user_files.buffer(path) is not None
        if not (there if proposal is None else proposal.base is not None):
            return None
        names = {self.root.relative(one) for one in (path, Path(os.path.normpath(self.root.path / given)))}
        names |= {"/".join(plain_parts(name)) for name in names}
        return path if any(map(self.secret_filter(), names)) else None

    def read(self, path: Path) -> str | None:
        """What the agent sees in a file, None where there is none.

        Raises:
            ToolError: there is something, but no text that can be worked on.
        """
        proposal = self._changes.for_target(str(path))
        if proposal is not None:
            if proposal.raw.data is not None:
                raise BinaryFile(f"{path.name} is proposed with bytes that are no text.")
            if proposal.kind == "rename" and proposal.base == proposal.proposed:
                self.current(Path(proposal.path))  # a binary file can be moved, and is not read for that
            return proposal.proposed
        return None if self.proposal(path) else self.current(path)

    async def read_for_agent(self, path: Path) -> str | None:
        """As `read`; from now on the agent knows what the file says, and hears when another hand changes it."""
        await self.user_files.preload(path)
        text = self.read(path)
        self.read_tracker.note(path, text)
        self._on_interest(path)
        return text

    def current(self, path: Path) -> str | None:
        """What the person's file says.

        Raises:
            ToolError: as `read`.
        """
        return self.user_files.text(path)

    def resolves_to_itself(self, path: Path) -> bool:
        """Whether a path still means the file that it meant; a symbolic link may lead it elsewhere meanwhile."""
        try:
            return self.root.resolve(str(path)) == path
        except ToolError:
            return False

    def texts_not_on_disk(self) -> Iterator[tuple[Path, str | None]]:
        """The files whose text is not (or may not be) what the disk says: proposals and open buffers."""
        seen: set[Path] = set()
        for proposal in self._changes:
            if proposal.new_path is not None:
                seen.add(Path(proposal.path))
                yield Path(proposal.path), None
            seen.add(Path(proposal.target))
            if proposal.raw.data is None:
                yield Path(proposal.target), proposal.proposed
        for path in self.user_files.open_paths():
            if path not in seen and path.is_relative_to(self.root.path):
                text = self.current(path)
                if text is not None:
                    yield path, text

    async def propose(self, path: Path, text: str, author: Author, over: str | None = None) -> None:
        """Proposes a text for a file; equal to what is there already, nothing is proposed.

        Args:
            over: what the file said (see `read`) when the text was made from it.

        Raises:
            ToolError: the file cannot be worked on or says something else by now, the text cannot be its content, or
                the person rejected this.
        """
        if "\0" in text:
            raise ToolError("The content holds a NUL character; only text files can be written.")
        self._check_no_repository(path)
        self._check_place(path)
        known = self._changes.for_target(str(path))
        source = Path(known.path) if known else path
        await self.user_files.preload(source)
        text = self._without_mark(source, text)
        if known is None or known.base is not None:
            self.user_files.check_can_hold(source, text)
        current = self.current(path) if known is None and not self.proposal(path) else None
        await self._take(path, cs.propose, current, text, author, over=over)

    async def capture(self, path: Path, before: str | None, after: str | None, raw: Raw, author: Author) -> None:
        """Proposes what a command left in a file that said `before` when the command began; None: no file.

        What the person or the agent did to the file in the meantime is kept. Long texts are compared in a thread.

        Raises:
            ToolError: both changed the same lines of a proposal, or the person rejected this.
        """
        self._check_no_repository(path)
        given = (str(path), before, after, raw, author)
        try:
            left = await self._worked_out(cs.capture, *given)
        except MergeConflict as error:
            raise ToolError("the same lines were changed otherwise while the command ran") from error
        if after is not None:
            self._check_place(path)
        known = self._changes.for_target(str(path))
        self._check_rejections(left)
        self.changes = left
        self.read_tracker.acknowledge(path, before)
        self._on_interest(path)
        await self.observe([Path(known.path) if known is not None else path])

    async def delete(self, path: Path, author: Author) -> None:
        """Proposes that a file shall be no more.

        Raises:
            ToolError: there is no such file, or the person rejected this.
        """
        self._check_no_repository(path)
        await self.user_files.preload(path)
        await self._take(path, cs.delete, self._existing(path), author)

    async def rename(self, path: Path, new_path: Path, author: Author) -> None:
        """Proposes another path for a file.

        Raises:
            ToolError: there is no such file, the new path is taken, or the person rejected this.
        """
        for one in (path, new_path):
            self._check_no_repository(one)
            await self.user_files.preload(one)
        current = self._existing(path)
        self._check_place(new_path)
        own = self._changes.for_target(str(path))
        back = own is not None and own.path == str(new_path)
        if not back and (self.read(new_path) is not None or self.user_files.text(new_path, binary=True) is not None):
            raise ToolError(
                f"{self.root.relative(new_path)} exists. Choose another name, or write its new content with "
                f"write_file and delete {self.root.relative(path)}."
            )
        await self._take(path, cs.rename, str(new_path), current, author)
        self.read_tracker.note(new_path, self._known(new_path))
        if path in self.user_files.new_with_bom:
            self.user_files.new_with_bom.add(new_path)

    def describe_removal(self, path: Path) -> str:
        """What became of a file that the person has and the agent has not, a sentence; empty where that is not so."""
        proposal = self.proposal(path)
        if proposal is None or self._changes.for_target(str(path)) not in (None, proposal):
            return ""
        if proposal.new_path is not None:
            return f"It was renamed to {self.root.relative(Path(proposal.new_path))} (as a proposal)."
        return "It was deleted (as a proposal)." if proposal.kind == "delete" else ""

    def _existing(self, path: Path) -> str:
        """The text, or of a binary file its line, of a file that is there for the agent."""
        proposal = self._changes.for_target(str(path))
        if proposal is not None:
            text = proposal.proposed
        else:
            text = None if self.proposal(path) else self.user_files.text(path, binary=True)
        if text is None:
            gone = self.describe_removal(path)
            raise ToolError(f"No such file: {self.root.relative(path)}{gone and f'. {gone}'}")
        return text

    async def _worked_out(self, change: Callable[..., Changeset], path: str, *given: Any) -> Changeset:
        """The proposals with a change of a file's made to them; nothing is taken over. In a thread where it is long."""
        before = self._changes
        if not self._is_long(path, *given):
            return change(before, path, *given)
        changes = await asyncio.to_thread(_with_all_shown, change, before, path, *given)
        if before is self._changes:
            return changes
        return change(self._changes, path, *given)  # not in a thread again: who types all the time would not let it end

    def _is_long(self, path: str, *given: Any) -> bool:
        known = self._changes.get(path) or self._changes.for_target(path)
        return is_long(*given, *((known.base, known.current, known.proposed) if known is not None else ()))

    async def _take(self, path: Path, change: Callable[..., Changeset], *given: Any, over: str | None = None) -> None:
        """Takes over what a tool proposed, unless the person said no to it before."""
        changes = await self._worked_out(change, str(path), *given)
        if over is not None and self.read(path) != over:
            raise ToolError(CHANGED.format(name=self.root.relative(path)))
        self._check_rejections(changes)
        self.changes = changes
        self.read_tracker.note(path, self._known(path))
        self._on_interest(path)

    def _check_rejections(self, changes: Changeset) -> None:
        for path in _different(self._changes, changes):
            proposal = changes.get(path)
            if proposal is not None:
                self.rejections.check(self._changes.get(path), proposal)

    def _known(self, path: Path) -> str | None:
        try:
            return self.read(path)
        except ToolError:
            return None

    def _without_mark(self, path: Path, text: str) -> str:
        """A byte order mark is no part of a text: a file keeps the one that it has, only a new one can get one."""
        if not text.startswith("\ufeff"):
            return text
        disk = self.user_files.on_disk(path)
        if disk is None:
            self.user_files.new_with_bom.add(path)
        elif not disk.mark:
            raise ToolError("The content begins with a byte order mark (U+FEFF), which the file has not. Leave it out.")
        return text[1:]

    def _check_no_repository(self, path: Path) -> None:
        if is_repository(self.root.relative(path)) or in_git_folder(self.root.path, path):
            raise ToolError(
                f"{self.root.relative(path)} belongs to the repository itself (.git) and is not edited. "
                "If it must change, tell the user how."
            )

    def _check_place(self, path: Path) -> None:
        """A file cannot be below a file, on the disk or among the proposals."""
        for folder in path.parents:
            leading = self._changes.for_target(str(folder))
            is_file = leading.proposed is not None if leading else folder.is_file() and not self.proposal(folder)
            if is_file:
                raise ToolError(f"{self.root.relative(folder)} is a file, so nothing can be put below it.")
            if folder.is_dir():
                break
        below = (proposal.target for proposal in self._changes if proposal.proposed is not None)
        inside = next((target for target in below if target.startswith(f"{path}{os.sep}")), None)
        if inside is not None:
            name = self.root.relative(Path(inside))
            raise ToolError(f"{self.root.relative(path)} is a folder: {name} is proposed in it.")

    async def observe(self, paths: Iterable[Path], allowed: Callable[[], bool] = lambda: True) -> None:
        """Looks at the person's files again: a proposal for one moves along with what they changed.

        In steps, and in a thread where a file is long. Ends where it is not `allowed` any more.
        """
        yielder = Yielder()
        for path in paths:
            await yielder.checkpoint()
            for attempt in range(OBSERVED_ASIDE + 1):
                if self.proposal(path) is not None:
                    await self.user_files.preload(path)
                before, proposal = self._changes, self.proposal(path)
                if proposal is None:
                    break
                given = before, str(path), self._said(path)
                if attempt < OBSERVED_ASIDE and self._is_long(*given[1:]):
                    changes = await asyncio.to_thread(_with_all_shown, cs.observe, *given)
                else:
                    changes = cs.observe(*given)
                if not allowed():
                    return
                if before is self._changes:
                    self.changes = changes
                    break

    def _said(self, path: Path) -> str | None:
        try:
            return self.user_files.text(path, binary=True)
        except ToolError:
            return None

    async def observe_all(self) -> None:
        """Looks at all of them, at the very bytes of those that are closed."""
        paths = [Path(proposal.path) for proposal in self._changes]
        for path in paths:
            self.user_files.invalidate(path)
        await self.observe(paths)


def _with_all_shown(change: Callable[..., Changeset], before: Changeset, *given: Any) -> Changeset:
    """The proposals with a change made to them, and what is shown of those worked out."""
    after = change(before, *given)
    _show_all(after.get(path) for path in _different(before, after))
    return after


def _show_all(proposals: Iterable[Proposal | None]) -> None:
    for proposal in proposals:
        if proposal is not None:
            proposal.precompute()


def _different(old: Changeset, new: Changeset) -> list[str]:
    """The paths for which two changesets do not propose the same."""
    before, after = old.files, new.files
    made = [path for path, proposal in after.items() if before.get(path) is not proposal]
    return [*made, *(path for path in before if path not in after)]
