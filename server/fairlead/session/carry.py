"""Carrying decisions out in the person's files: through the editor, or by Fairlead where an editor would not keep all.

What is done is what the files say afterwards; an editor's answer alone only counts where it is a yes.
"""

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fairlead.agent.errors import ToolError
from fairlead.session.session import Session
from fairlead.workspace.disk import BOM, DiskText, read_bytes
from fairlead.workspace.editor import FileEdit
from fairlead.workspace.write import FileChange, write_files

OWN_WRITE = "Written by Fairlead itself: an editor would not keep {what} as it is."
BYTES = "Written by Fairlead itself, byte for byte."


@dataclass(frozen=True, slots=True)
class Carried:
    """What came of one edit: done or not, and what a person should know of it."""

    done: bool
    message: str = ""


async def carry_out(session: Session, label: str, edits: Sequence[FileEdit]) -> list[Carried]:
    """Makes the edits, those of the editor as one; the result has one entry for each edit, in the same order.

    Where the editor refuses or fails, what it does not do is not done otherwise either.
    """
    own = [edit for edit in edits if _is_own(session, edit)]
    shared = [edit for edit in edits if edit not in own]
    results: dict[int, Carried] = {}
    reason = ""
    if shared:
        applied = await session.editor.apply(label, [_marked(session, edit) for edit in shared])
        reason = "" if applied.ok else applied.reason or "The editor did not apply the edit."
        for edit in shared:
            # an editor may fail half-way without undoing what it did, so each file is looked at
            done = applied.ok or _says(session, edit)
            results[id(edit)] = Carried(done, "" if done else reason)
            if done:
                _hold(session, edit)
                results[id(edit)] = _permitted(edit)
    for edit in own:
        results[id(edit)] = Carried(False, reason) if reason else _write(session, edit)
    return [results[id(edit)] for edit in edits]


def _is_own(session: Session, edit: FileEdit) -> bool:
    if edit.data is not None or _only_permissions(edit):
        return True
    if edit.new is None or edit.old == edit.new:
        return False
    try:
        return session.files.person.needs_own_write(edit.path, edit.new)
    except ToolError:
        return False


def _only_permissions(edit: FileEdit) -> bool:
    return edit.mode is not None and edit.old == edit.new and edit.data is None and edit.new_path is None


def _marked(session: Session, edit: FileEdit) -> FileEdit:
    """A new file's byte order mark is for the editor a part of its text."""
    if edit.old is None and edit.new is not None and edit.path in session.files.person.marked:
        return replace(edit, new=f"\ufeff{edit.new}")
    return edit


def _says(session: Session, edit: FileEdit) -> bool:
    if edit.new_path is not None and _text(session, edit.path) is not None:
        return False
    return _text(session, edit.target) == edit.new


def _text(session: Session, path: Path) -> str | None:
    try:
        session.files.person.forget(path)
        return session.files.person.text(path, binary=True)
    except ToolError as error:
        return f"({error})"


def _permitted(edit: FileEdit) -> Carried:
    """An editor knows no permissions."""
    if edit.mode is not None and edit.new is not None:
        try:
            edit.target.chmod(edit.mode)
        except OSError as error:
            return Carried(True, f"The permissions could not be set: {error.strerror or error}.")
    return Carried(True)


def _hold(session: Session, edit: FileEdit) -> None:
    person = session.files.person
    if edit.new_path is not None:
        person.moved(edit.path, edit.new_path)
        person.hold(edit.path, edit.old, None)
        person.hold(edit.new_path, None, edit.new)
    else:
        person.hold(edit.path, edit.old, edit.new)


def _write(session: Session, edit: FileEdit) -> Carried:
    """Writes a closed file, if it says what it should."""
    if _only_permissions(edit):
        return _permitted(edit)
    try:
        if edit.data is not None:
            _clear(edit.path)
        session.files.person.forget(edit.path)
        known, data = session.files.person.on_disk(edit.path), read_bytes(edit.path, session.root.path)
        disk = known or DiskText("", mark=BOM if edit.path in session.files.person.marked else b"")
        says = disk.text if known is not None else None
        same = known is None or known.encoding == "binary" or data == known.encode(known.text)
        if says != edit.old or not same or (known is None) != (data is None):
            return Carried(False, f"{edit.path.name} changed at the same moment.")
        text = edit.new or ""
        what = disk.oddity or DiskText(text).oddity
        after = edit.data if edit.data is not None else disk.encode(text, edit.path.name)
        moved = edit.path if edit.new_path is None else edit.new_path
        changes = [FileChange(moved, data if moved == edit.path else None, after, _mode(edit))]
        if moved != edit.path:
            changes.append(FileChange(edit.path, data, None))
        write_files(changes, session.root.path)
    except ToolError as error:
        return Carried(False, str(error))
    except OSError as error:
        return Carried(False, f"{edit.path.name} could not be written: {error.strerror or error}. It is as it was.")
    session.files.person.moved(edit.path, moved)
    if edit.data is None:
        session.files.person.wrote(moved, after, replace(disk, text=text))
    return Carried(True, BYTES if edit.data is not None else OWN_WRITE.format(what=what))


def _clear(path: Path) -> None:
    """A folder that took a deleted file's place goes again, where no file is in it."""
    if not path.is_dir() or path.is_symlink():
        return
    inside = sorted(path.rglob("*"), reverse=True)
    if all(one.is_dir() and not one.is_symlink() for one in inside):
        with contextlib.suppress(OSError):
            for folder in (*inside, path):
                folder.rmdir()


def _mode(edit: FileEdit) -> int | None:
    if edit.mode is not None or edit.new_path is None:
        return edit.mode
    return edit.path.stat().st_mode & 0o7777
