"""Digests of the files that a session knows, and the states of these files that verifications ran on."""

import asyncio
import os
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

from fairlead.plan.file_states import FileStates
from fairlead.plan.inputs import Inputs
from fairlead.session.evidence.change_log import Content
from fairlead.session.evidence.other_inputs import ABSENT as OTHER_ABSENT
from fairlead.session.evidence.other_inputs import OtherInputs, kind_of
from fairlead.session.evidence.workspace_files import ABSENT, EXECUTABLE, ChangedFile, WorkspaceFiles
from fairlead.shell.layer import Where
from fairlead.workspace.disk import DiskText, new_file
from fairlead.workspace.errors import WorkspaceError
from fairlead.workspace.files import Files
from fairlead.workspace.user_files import encoded

_Content = tuple[str | bytes, str, bytes]  # a text with its encoding and byte order mark, or bytes


class KnownFiles:
    """Follows the files that the agent has read, written or proposed, and those that the user edits in an editor.

    Also follows the files that have changed after a state was recorded, whoever changed them (docs/plan.md P16).

    Args:
        now_ns: returns the time in nanoseconds since the epoch.
        on_change: called when a file that was known has changed, with its path, its contents before and after, as
            commands see it, and whether the user's own file has changed too.
    """

    def __init__(
        self,
        files: Files,
        now_ns: Callable[[], int] = time.time_ns,
        on_change: Callable[[str, Content, Content, bool], None] | None = None,
    ) -> None:
        self._files, self._now_ns, self._on_change = files, now_ns, on_change
        self.workspace = WorkspaceFiles(lambda: files.roots, files.secret_filter)
        """The other files."""
        self._recorded_at: list[int] = []  # by state: when it was recorded; 0 for those of earlier processes
        self._compared = 0  # the states below this number were recorded before the last comparison began
        self._digests: dict[str, str] = {}  # by path
        self._last_hashed: dict[str, tuple[_Content, str]] = {}  # by path: what was hashed last, and its digest
        self._contents: dict[str, tuple[Content, Content]] = {}  # by path: with the proposals, and without
        self.others = OtherInputs()
        """What commands read besides the workspace's files."""
        self._changed_since: dict[tuple[int, Inputs | None], tuple[str, ...]] = {}  # until a file changes
        self.states = FileStates()
        self.version = 0
        """Increases when a file changes after a state was recorded."""

    def restore(self, states: FileStates, workspace: str, unseen: Iterable[str]) -> None:
        """Replaces the states with saved ones, and reads their files, which may have changed since.

        Args:
            workspace: the `WorkspaceFiles.saved` of the same moment; the same for `unseen`.
        """
        self.states, self._changed_since = states, {}
        self._recorded_at, self._compared = [0] * len(states.changes), len(states.changes)
        self.workspace.restore(workspace, unseen)
        self.update(map(Path, states.first))

    async def compare(self, inputs: Iterable[Inputs] = ()) -> None:
        """Finds the files that have changed since the states were recorded. They are known from now on.

        Args:
            inputs: what commands depend on. What they read besides the workspace's files is looked at too.

        Raises:
            WorkspaceError: the files of the workspace cannot be listed.
        """
        if not self.states.changes:
            return
        count = len(self._recorded_at)
        if await asyncio.to_thread(self.others.look, [each.others for each in inputs]):
            self._note_change()
        changed = await self.workspace.compare(self._known, self._recorded_at[0])
        if self.workspace.has_cut:
            self.states = replace(self.states, cut=count)
            self._note_change()
        for each in changed:
            await self._files.user_files.preload(Path(each.path))
        for each in changed:
            self._add_changed(each)
        self._compared = count
        self.refresh()

    def _known(self) -> Collection[str]:
        return self.states.first.keys()

    def update(self, paths: Iterable[Path]) -> None:
        """Reads files that may have changed, and the proposed destinations of those that are moved.

        A file that was not known is known from now on.
        """
        for path in paths:
            proposal = self._files.proposal(path)
            moved = [Path(proposal.target)] if proposal is not None and proposal.new_path is not None else []
            for each in (path, *moved):
                self._update(each)

    def _update(self, path: Path) -> None:
        name, digest = str(path), self._digest(path)
        if name not in self.states.first:
            changed = self.workspace.take(path)
            self.states = self.states.with_first(name, self._on_disk(path))
            if changed is not None:
                self._add_changed(changed)
        before, after = self._contents.get(name), self._contents_of(path)
        self._contents[name] = after
        if self._digests.get(name) != digest:
            if self._on_change is not None and before is not None and before[0] != after[0]:
                self._on_change(name, before[0], after[0], before[1] != after[1])
            self._digests[name] = digest
            self._note_change()

    def _note_change(self) -> None:
        self._changed_since = {}
        self.version += bool(self.states.changes)

    def _add_changed(self, changed: ChangedFile) -> None:
        """Notes that the states before a change have the content before it."""
        name = changed.path
        self.states = self.states.with_first(name, self._on_disk(Path(name)))
        states = range(self._compared, len(self._recorded_at))
        until = next((state for state in states if self._recorded_at[state] > changed.at_ns), len(self._recorded_at))
        self.states = self.states.with_earlier(name, changed.before, until)
        self._digests.pop(name, None)  # so that the next `update` notices the change

    def refresh(self) -> None:
        """Reads all known files again."""
        self.update(map(Path, list(self.states.first)))

    def record_state(self, where: Where) -> int:
        """Records the state that a command runs on; returns its number.

        A sandboxed command sees the proposals and unsaved documents; any other command sees only the files on disk.
        """
        self.refresh()
        self.states = self.states.with_state(self._digests if where == "sandboxed" else self.on_disk())
        self._recorded_at.append(self._now_ns())
        return len(self.states.changes) - 1

    def on_disk(self) -> Mapping[str, str]:
        """The digests of the known files on disk, without proposals and unsaved changes, by path."""
        return {name: self._on_disk(Path(name)) for name in self._digests}

    def is_followed(self, path: str) -> bool:
        """Whether a file is known, or would be if it changed."""
        return path in self._digests or self.workspace.follows(path)

    def changed_since(self, state: int, inputs: Inputs | None = None) -> tuple[str, ...]:
        """The paths of what has changed since a state, as of the last `update` and `compare`.

        Compares the content that a sandboxed command would see, even if the state was recorded for a command outside
        the sandbox.

        Args:
            inputs: what the command depends on that ran on the state. Other changes do not count. None: all known files
                count.
        """
        key = state, inputs
        if key not in self._changed_since:
            changed = self.states.changed_since(state, self._digests)
            if inputs is not None:
                others = [path for path, then in inputs.others.items() if self._has_changed(path, then)]
                changed = (*self.that_count(changed, state, inputs, self._digests), *others)
            self._changed_since[key] = changed
        return self._changed_since[key]

    def that_count(
        self, changed: Collection[str], state: int, inputs: Inputs, now: Mapping[str, str]
    ) -> tuple[str, ...]:
        """Those of the files that have changed since a state on which the result of a command depends.

        All, if more files have changed than are known.

        Args:
            now: the digests of the known files now.
        """
        if state < self.states.cut:
            return tuple(changed)
        before = dict(self.states.at(state))
        appeared = {path for path in changed if before.get(path) == ABSENT}
        vanished = {path for path in changed if now[path] == ABSENT}
        moved = appeared | vanished

        def stays(folder: str) -> bool:
            start = os.path.join(folder, "")
            known = (path for path, digest in now.items() if digest != ABSENT and path not in moved)
            return any(path.startswith(start) for path in known) or self.workspace.has_below(folder)

        return tuple(
            path
            for path in changed
            if inputs.depends_on(path, appeared=path in appeared, vanished=path in vanished, stays=stays)
        )

    def _has_changed(self, path: str, then: str) -> bool:
        now = self.others.state(path, kind_of(then))
        if now is None or now == then:
            return False
        return then != OTHER_ABSENT or not self.is_followed(path)

    def _digest(self, path: Path) -> str:
        """The digest of a file as a sandboxed command sees it."""
        files, proposal = self._files, self._files.changes.for_target(str(path))
        if proposal is not None:
            source, raw = Path(proposal.path), proposal.raw
            mode = _mode(source) if raw.mode is None else raw.mode
            if raw.data is not None:
                return self._hash(path, raw.data, None, mode)
            return self._hash(path, proposal.proposed, self._disk_text(source) or new_file(raw.bom), mode)
        if files.proposal(path) is not None:  # the proposal moves or deletes it
            return ABSENT
        if files.user_files.is_shown_as_saved(path):
            return self._on_disk(path)
        try:
            text = files.user_files.text(path, binary=True)
        except WorkspaceError:
            return _signature(path)
        return self._hash(path, text, self._disk_text(path), _mode(path))

    def _contents_of(self, path: Path) -> tuple[Content, Content]:
        """A file as commands see it, and the user's own file. Bytes stand for what cannot be read."""
        proposal = self._files.changes.for_target(str(path))
        if proposal is not None:
            shown = proposal.proposed if proposal.raw.data is None else proposal.raw.data
            return shown, proposal.current
        moved = self._files.proposal(path)
        if moved is not None:
            return None, moved.current
        try:
            text = self._files.user_files.text(path, binary=True)
        except WorkspaceError:
            text = b""
        return text, text

    def _on_disk(self, path: Path) -> str:
        try:
            disk = self._files.user_files.on_disk(path)
        except WorkspaceError:
            return _signature(path)
        return self._hash(path, disk.text if disk is not None else None, disk, _mode(path))

    def _disk_text(self, path: Path) -> DiskText | None:
        try:
            return self._files.user_files.on_disk(path)
        except WorkspaceError:
            return None

    def _hash(self, path: Path, content: str | bytes | None, disk: DiskText | None, mode: int) -> str:
        """The digest of a file with this content, in the encoding of the file on disk.

        Args:
            content: None: there is no file.
            disk: None: nothing is on disk, or it cannot be read. The encoding is then UTF-8.
        """
        if content is None:
            return ABSENT
        digest = disk.binary_sha256 if disk is not None else ""
        if not digest or (disk is not None and disk.text != content):
            encoding, bom = (disk.encoding, disk.bom) if disk is not None else ("utf-8", b"")
            known = self._last_hashed.get(str(path))
            if known is None or known[0][0] is not content or known[0][1:] != (encoding, bom):
                data = content if isinstance(content, bytes) else encoded(content, disk or new_file(bom=False))
                known = self._last_hashed[str(path)] = (content, encoding, bom), sha256(data).hexdigest()
            digest = known[1]
        return digest + EXECUTABLE if mode & 0o100 else digest


def _mode(path: Path) -> int:
    try:
        return path.stat().st_mode
    except OSError:
        return 0


def _signature(path: Path) -> str:
    """The size and time of a file that cannot be read, in place of its digest; `ABSENT` if there is no file."""
    try:
        status = os.stat(path)
    except OSError:
        return ABSENT
    return f"{status.st_size}@{status.st_mtime_ns}"
