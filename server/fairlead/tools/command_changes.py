"""Turns proposals into files for a command's layer, and the command's changes into proposals."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from fairlead.display import escape_to_one_line
from fairlead.edits.changeset import Changeset
from fairlead.edits.diff import hunks
from fairlead.edits.origins import Author
from fairlead.edits.proposal import Proposal, Raw
from fairlead.shell.layer import Change, Changes, Entry
from fairlead.tools.folders import propose_folders
from fairlead.workspace.disk import DiskText, Encoding, decode_or_describe, new_file, read_bytes
from fairlead.workspace.emptied_folders import emptied_folders
from fairlead.workspace.errors import WorkspaceError
from fairlead.workspace.files import Files
from fairlead.workspace.long_work import Yielder, compute
from fairlead.workspace.paths import Roots
from fairlead.workspace.user_files import encoded

MAX_NAMED = 40
MAX_IGNORED_NAMED = 5


class KnownEntries:
    """What `proposed_entries` has returned, so that the next call makes only what has changed.

    An entry depends on its proposal, on the user's file and, for its encoding, on the open documents.
    """

    def __init__(self) -> None:
        self._entries: dict[str, tuple[Proposal, object, Entry | None]] = {}
        """By the path of the proposal, with the proposal and what else the entry depends on."""

    def of(self, files: Files, proposal: Proposal, make: Callable[[], Entry | None]) -> Entry | None:
        """The entry of a proposal with a text."""
        state = files.user_files.signature(Path(proposal.path)), files.user_files.change_token
        known = self._entries.get(proposal.path)
        if known is None or known[0] is not proposal or known[1] != state:
            known = self._entries[proposal.path] = (proposal, state, make())
        return known[2]

    def keep(self, changes: Changeset) -> None:
        """Forgets the entries of other proposals."""
        self._entries = {path: known for path, known in self._entries.items() if path in changes.files}


def proposed_entries(
    files: Files, changes: Changeset | None = None, roots: Roots | None = None, known: KnownEntries | None = None
) -> dict[str, Entry | None]:
    """The files that differ from the disk: the proposed ones and those with unsaved changes.

    Args:
        changes: the proposals to include; None: all. Unsaved changes are always included.
        roots: the folders to include, to which the names are relative; None: the workspace's folders now.
        known: what earlier calls with the same files have returned.

    Returns:
        The files by name (`Roots.relative`). None for a file that the proposals delete or move away.
    """
    changes = files.changes if changes is None else changes
    roots = files.roots if roots is None else roots
    entries: dict[str, Entry | None] = {}
    for path, text in files.texts_not_on_disk(changes):
        if not roots.contains(path):
            continue
        entry = None if text is None else _entry(files, changes, path, text, known)
        if text is None or entry is not None:
            entries[roots.relative(path)] = entry
    for proposal in changes:
        if proposal.raw.data is not None and roots.contains(Path(proposal.target)):
            entries[roots.relative(Path(proposal.target))] = Entry(proposal.raw.data, proposal.raw.mode)
    if known is not None:
        known.keep(changes)
    return entries


def _entry(files: Files, changes: Changeset, path: Path, text: str, known: KnownEntries | None) -> Entry | None:
    """The file at a path with this text. None if the command can use the file on disk.

    It can if the text and the permissions are the same, or if nothing is proposed and the open document is saved.
    """
    proposal = changes.for_target(str(path))
    if proposal is None or known is None:
        return _new_entry(files, proposal, path, text)
    return known.of(files, proposal, lambda: _new_entry(files, proposal, path, text))


def _new_entry(files: Files, proposal: Proposal | None, path: Path, text: str) -> Entry | None:
    source = Path(proposal.path) if proposal is not None else path
    mode = proposal.raw.mode if proposal is not None else None
    try:
        disk = files.user_files.on_disk(source)
    except WorkspaceError:
        disk = None
    if disk is None:
        return Entry(encoded(text, new_file(proposal is not None and proposal.raw.bom)), mode)
    if source != path and mode is None:
        mode = source.stat().st_mode & 0o777
    if proposal is None and files.user_files.is_shown_as_saved(path):
        return None
    if disk.text == text:
        if source == path and mode is None:
            return None
        return Entry(read_bytes(source) or b"", mode)
    return Entry(encoded(text, disk), mode)


@dataclass(frozen=True, slots=True)
class ProposedChanges:
    """The result of proposing a command's changes."""

    report: Sequence[str]
    """Lines for the model: what is proposed, and what is not and why."""
    not_reviewed: Sequence[str]
    """Those of these lines that the user reads with the output, because the review does not show what they say."""
    paths: Sequence[str]
    """The absolute paths of the files that were proposed; for a renamed file, both paths."""


async def propose_changes(files: Files, changes: Changes, roots: Roots, author: Author) -> ProposedChanges:
    """Proposes what a command changed.

    Yields between files, so that other requests are answered meanwhile. Each file is therefore compared with its state
    when its turn comes.

    Args:
        roots: the folders to which the names in `changes` are relative.
    """
    proposed: list[str] = []
    paths: list[str] = []
    failed: list[str] = [f"{change.path} ({change.not_proposed})" for change in changes.files if change.not_proposed]
    proposable = [change for change in changes.files if not change.not_proposed]
    renames = {
        old: change
        for old, change in _renames(proposable)
        if _is_free(files, roots.path_of(old), roots.path_of(change.path))
    }
    targets = {change.path for change in renames.values()}
    emptied_before = emptied_folders(files)
    yielder = Yielder()
    # deletions first: a new folder may have the name of a deleted file
    for change in sorted(
        proposable, key=lambda change: (change.after is not None, change.path in renames, change.path)
    ):
        if change.path in targets:
            continue
        await yielder.yield_if_due()
        try:
            if change.path in renames:
                target = renames[change.path].path
                await files.rename(roots.path_of(change.path), roots.path_of(target), author)
                descriptions, changed = [f"renamed {change.path} to {target}"], [change.path, target]
            else:
                descriptions = await _propose_change(files, change, roots.path_of(change.path), author)
                changed = [change.path] if descriptions else []
            proposed += descriptions
            paths += (str(roots.path_of(name)) for name in changed)
        except WorkspaceError as error:
            failed.append(f"{change.path}: {' '.join(str(error).splitlines())}")
    lines: list[str] = []
    if proposed:
        lines.append(f"Proposed for review: {listed(proposed)}.")
    not_reviewed = [f"Not proposed, so these changes are lost: {listed(failed)}."] if failed else []
    not_reviewed += propose_folders(files, changes.folders, roots, emptied_before)
    lines += not_reviewed
    if changes.ignored:
        ignored = listed(changes.ignored, MAX_IGNORED_NAMED)
        lines.append(f"Ignored by git, so they are not proposed, and only later commands see them: {ignored}.")
    return ProposedChanges([*lines, *map(escape_to_one_line, changes.warnings)], not_reviewed, paths)


def _renames(changes: Sequence[Change]) -> Iterator[tuple[str, Change]]:
    """The old path of each renamed file, with the change that creates the same bytes elsewhere. Skips empty files.

    A file that became executable, or no longer is, is not renamed but deleted and created, with its new permissions.
    So is one whose old path is now a folder with files.
    """
    folders = {
        str(parent) for change in changes if change.after is not None for parent in PurePosixPath(change.path).parents
    }
    deleted = {
        (change.before.data, _is_executable(change.before)): change
        for change in changes
        if change.after is None and change.before is not None and change.path not in folders
    }
    for change in changes:
        if change.before is None and change.after is not None and change.after.data:
            old = deleted.pop((change.after.data, _is_executable(change.after)), None)
            if old is not None:
                yield old.path, change


def _is_free(files: Files, path: Path, new_path: Path) -> bool:
    """Whether a rename can be proposed. It cannot if the removal of the user's file at the new path is proposed."""
    own = files.changes.for_target(str(path))
    return not files.describe_removal(new_path) or (own is not None and own.path == str(new_path))


def _is_executable(entry: Entry) -> bool:
    return entry.mode is not None and bool(entry.mode & 0o100)


async def _propose_change(files: Files, change: Change, path: Path, author: Author) -> list[str]:
    """Proposes a command's change to one file. Returns its description, or an empty list if nothing changed."""
    disk = _on_disk(files, path)
    had = None if change.before is None else _decode(change.before.data, disk)
    before = None if had is None else had.text
    if change.after is None:
        await files.capture(path, before, None, author)
        return [f"deleted {change.path}"]
    after = _decode(change.after.data, disk)
    old = files.changes.for_target(str(path))
    _check_seen(change, after, old)
    has_same_format = _has_same_format(after, disk or DiskText("", bom=after.bom))
    if not has_same_format and _is_in_rejected_format(had, after, disk, old):
        files.user_files.check_can_hold(path, after.text)
        has_same_format = True
    document = files.user_files.buffer(path)
    is_shown_differently = disk is not None and document is not None and document.text != disk.text
    if is_shown_differently and files.user_files.is_shown_as_saved(path):  # the command saw the bytes on disk
        files.user_files.check_can_hold(path, after.text)
    raw = Raw(mode=_new_mode(path, old, change.after.mode))
    base = before if old is None else old.base
    # a binary file is also restored if the file on disk has changed since
    is_restored = after == disk or (after.encoding == "binary" and after.text == base)
    if has_same_format:
        raw = replace(raw, bom=disk is None and bool(after.bom))
    elif not is_restored:
        raw = replace(raw, data=change.after.data)
    await files.capture(path, before, after.text, author, raw, is_text=after.encoding != "binary")
    new = files.changes.for_target(str(path))
    if new is old:
        return []
    if new is None:
        return [f"{change.path} (now as on disk)"]
    if after.encoding == "binary":
        summary = "not text, as a whole"
    elif not has_same_format:
        summary = "another encoding, as a whole"
    elif before == after.text:  # only the permissions, or the encoding is that of the file on disk again
        summary = "the text does not change"
    else:
        # counts only the command's own changes: the proposal may contain earlier ones, and the command may undo those
        own_hunks = new.hunks if old is None else await compute(hunks, before or "", after.text)
        summary = f"+{sum(len(hunk.new) for hunk in own_hunks)} -{sum(len(hunk.old) for hunk in own_hunks)}"
    return [f"{'new ' if before is None else ''}{change.path} ({summary})"]


def _on_disk(files: Files, path: Path) -> DiskText | None:
    proposal = files.changes.for_target(str(path))
    try:
        return files.user_files.on_disk(Path(proposal.path) if proposal is not None else path)
    except WorkspaceError:
        return None


def _decode(data: bytes, disk: DiskText | None) -> DiskText:
    """Decodes bytes in the encoding of the file on disk if possible, else in the one that the bytes suggest.

    Bytes in another encoding may look as if they were in the file's: UTF-16 can decode nearly all bytes of an even
    number, and a single-byte encoding all bytes. So the encoding has changed if the bytes lack the file's byte order
    mark, or if they are UTF-8 and not only ASCII, which hardly happens by chance.
    """
    decoded = decode_or_describe(data, "")
    if disk is None or disk.encoding in ("binary", decoded.encoding) or decoded.encoding == "binary":
        return decoded
    if not data.startswith(disk.bom) or (decoded.encoding == "utf-8" and not decoded.text.isascii()):
        return decoded
    try:
        text = data[len(disk.bom) :].decode(disk.encoding, "surrogateescape" if disk.is_damaged else "strict")
    except UnicodeDecodeError:
        return decoded
    return DiskText(text, disk.encoding, disk.bom, is_guess=disk.is_guess)


def _has_same_format(after: DiskText, disk: DiskText) -> bool:
    """Whether a file is text with the encoding and the byte order mark of the file on disk.

    Bytes that are not UTF-8 are another format for a file that has none yet, because only bytes can add them.
    """
    adds_bad_bytes = after.is_damaged and not disk.is_damaged
    return after.encoding != "binary" and not adds_bad_bytes and _format(after) == _format(disk)


def _format(text: DiskText) -> tuple[Encoding, bytes]:
    return text.encoding, text.bom


def _check_seen(change: Change, after: DiskText, old: Proposal | None) -> None:
    """Raises WorkspaceError if a text would replace proposed bytes that the command did not see."""
    data = old.raw.data if old is not None else None
    before = change.before.data if change.before is not None else None
    is_unseen = data is not None and before != data
    if is_unseen and after.encoding != "binary" and change.after is not None and change.after.data != data:
        raise WorkspaceError("the file got another change while the command ran")


def _is_in_rejected_format(
    before: DiskText | None, after: DiskText, disk: DiskText | None, old: Proposal | None
) -> bool:
    """Whether a command left the format that it found, which was proposed then but is not anymore."""
    is_proposed = old is not None and old.raw.data is not None
    is_own = before is None or _format(before) != _format(after) or before.is_damaged != after.is_damaged
    return disk is not None and disk.encoding != "binary" and after.encoding != "binary" and not (is_proposed or is_own)


def _new_mode(path: Path, known: Proposal | None, mode: int | None) -> int | None:
    """The permission bits to propose if they change whether the file is executable: Git ignores the other bits.

    Args:
        known: what is proposed for the file already.
        mode: the permission bits that the command left; None: it did not change them.
    """
    if mode is None:
        return known.raw.mode if known is not None else None
    on_disk = Path(known.path) if known is not None else path
    executable = on_disk.is_file() and bool(on_disk.stat().st_mode & 0o100)
    return mode & 0o777 if bool(mode & 0o100) != executable else None


def listed(names: Sequence[str], limit: int = MAX_NAMED) -> str:
    """Names on one line; those above the limit are only counted."""
    more = len(names) - limit
    return ", ".join(map(escape_to_one_line, names[:limit])) + (f" and {more:,} more" if more > 0 else "")
