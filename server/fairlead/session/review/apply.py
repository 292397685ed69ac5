"""Making accepted edits in the user's files: through the editor, or by Fairlead itself, as `routing.py` says.

Nobody changes text that nobody has seen: an editor gets the version or the digest of what an edit is made for, Fairlead
writes over exactly the bytes that it expects, and an editor's yes counts once the files agree.
"""

import asyncio
import contextlib
import hashlib
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fairlead.agent.errors import ToolError
from fairlead.edits.merge import MergeConflict, merged
from fairlead.session.review.routing import Place, Route, route
from fairlead.session.session import Session
from fairlead.workspace.disk import BOM, DiskText
from fairlead.workspace.editor import FileEdit
from fairlead.workspace.pieces import Turns
from fairlead.workspace.user_files import is_blank
from fairlead.workspace.write import FileChange, write_files

OWN_WRITE = "Written by Fairlead itself: an editor would not keep {what} as it is."
BYTES = "Written by Fairlead itself, byte for byte."
CHANGED = "{name} changed at the same moment."
NOTHING = "The editor says that it changed {name}, but {name} is as it was. The change is still proposed."
OTHERWISE = (
    "The editor did something else with {name} than what you accepted. Look at {name}, and use the editor's own undo "
    "where lines are missing. The change is still proposed."
)

# how long an editor may take to tell of what it says it did, and how often to look, in seconds
TELLING = 2.0
LOOK = 0.02


@dataclass(frozen=True, slots=True)
class Carried:
    """What came of one edit: done or not, and what a person should know of it.

    `again`: another try may succeed. `ended`: what the file says, where the editor ended the last line by itself.
    """

    done: bool
    message: str = ""
    again: bool = True
    ended: str | None = None


async def carry_out(session: Session, label: str, edits: Sequence[FileEdit]) -> list[Carried]:
    """Makes the edits, those of the editor as one; the result has one entry for each edit, in the same order.

    Where the editor refuses or fails, what it does not do is not done otherwise either.
    """
    turns = Turns()
    routes: list[tuple[FileEdit, Route]] = []
    for edit in edits:
        await turns.next()
        routes.append((edit, _route(session, edit)))
    results = {id(edit): Carried(False, way.message, again=False) for edit, way in routes if way.writer is None}
    shared = [edit for edit, way in routes if way.writer == "editor"]
    made = await _by_editor(session, label, shared)
    results |= dict(zip(map(id, shared), made, strict=True))
    failed = next((replace(result, again=True) for result in made if not result.done), None)
    own = [edit for edit, way in routes if way.writer == "fairlead"]
    for edit in sorted(own, key=lambda edit: edit.new is not None):  # what is new may take a deleted file's place
        await turns.next()
        results[id(edit)] = failed or _write(session, edit)
    return [results[id(edit)] for edit in edits]


def _route(session: Session, edit: FileEdit) -> Route:
    person = session.files.person
    changed = edit.new is not None and edit.old != edit.new
    try:
        odd = changed and person.needs_own_write(edit.path, edit.new or "")
    except ToolError:
        odd = False
    place = Place(person.document_state(edit.path), _is_occupied(session, edit), odd)
    return route(edit, session.editor.edit_abilities, place)


def _is_occupied(session: Session, edit: FileEdit) -> bool:
    """Whether a document that is not the file's is open where a file is to be, and would hide what it says."""
    person = session.files.person
    comes = edit.old is None or edit.new_path is not None
    if edit.new is None or not comes or person.document_state(edit.target) != "stray":
        return False
    shown = person.document(edit.target)
    return shown is not None and shown.text != edit.new and not (is_blank(shown.text) and is_blank(edit.new))


async def _by_editor(session: Session, label: str, edits: Sequence[FileEdit]) -> list[Carried]:
    if not edits:
        return []
    try:
        asked: list[FileEdit] = []
        turns = Turns()
        for edit in edits:
            await turns.next()
            asked.append(_in_document(session, _marked(session, _with_digest(session, edit))))
    except ToolError as error:
        return [Carried(False, str(error)) for _ in edits]
    with session.files.person.awaiting({edit.target: edit.new for edit in edits}):
        applied = await session.editor.apply(label, asked)
        if not applied.ok:
            # an editor may fail half-way without undoing what it did, so each file is looked at
            reason = applied.reason or "The editor did not apply the edit."
            refused = Carried(False, reason, again=not applied.silent)
            results = [_permitted(edit) if _says(session, edit) else refused for edit in edits]
        else:
            results = await _confirmed(session, edits)
    for edit, result in zip(edits, results, strict=True):
        if result.done and edit.new_path is not None:
            session.files.person.moved(edit.path, edit.new_path)
    return results


def _with_digest(session: Session, edit: FileEdit) -> FileEdit:
    """The edit with the digest of the bytes that it is made for.

    Raises:
        ToolError: a closed file has other bytes.
    """
    person = session.files.person
    is_open = person.buffer(edit.path) is not None
    found = person.read(edit.path) if edit.old is not None else None
    if edit.old is None or (found is None and is_open):
        return edit
    if found is None or (found[1].text != edit.old and not is_open):
        raise ToolError(CHANGED.format(name=edit.path.name))
    data, disk = found
    if disk.text != edit.old and not disk.oddity:  # else an editor shows it otherwise than it is, saved or not
        try:
            data = disk.encode(edit.old)
        except ToolError:
            return edit
    return replace(edit, digest=hashlib.sha256(data).hexdigest())


async def _confirmed(session: Session, edits: Sequence[FileEdit]) -> list[Carried]:
    """What came of edits that the editor says it made: a moment later the files say so, or it is not believed."""
    looks = [_Look(session, edit) for edit in edits]
    waiting = looks
    deadline = time.monotonic() + TELLING
    turns = Turns()
    while True:
        left: list[_Look] = []
        for look in waiting:
            await turns.next()
            if not look.is_done():
                left.append(look)
        waiting = left
        if not waiting or time.monotonic() > deadline:
            break
        await asyncio.sleep(LOOK)
    return [
        Carried(False, look.difference, again=False) if look in waiting else replace(_permitted(edit), ended=look.ended)
        for look, edit in zip(looks, edits, strict=True)
    ]


class _Look:
    """One file, looked at until it says what an edit was to make of it."""

    def __init__(self, session: Session, edit: FileEdit) -> None:
        self._session = session
        self._edit = edit
        self._said: str | None = edit.old
        self.ended: str | None = None

    def is_done(self) -> bool:
        """Whether the edit is in the file, be it among changes that came after it."""
        edit, before = self._edit, self._said
        if edit.new_path is not None and _text(self._session, edit.path) is not None:
            return False
        if self._session.files.person.arrived(edit.target):
            return True
        self._said = _text(self._session, edit.target)
        if self._said == edit.new:
            return True
        if self._said == before or self._said is None or edit.new is None:
            return False
        if self._said in (f"{edit.new}\n", f"{edit.new}\r\n"):  # Neovim ends the last line of each document
            self.ended = self._said
            return True
        try:
            return merged(edit.old or "", self._said, edit.new) == self._said
        except MergeConflict:
            return False

    @property
    def difference(self) -> str:
        """What is wrong with the file, for the user."""
        name = self._edit.path.name
        return (NOTHING if self._said == self._edit.old else OTHERWISE).format(name=name)


def _marked(session: Session, edit: FileEdit) -> FileEdit:
    """A new file's byte order mark is for the editor a part of its text."""
    if edit.old is None and edit.new is not None and edit.path in session.files.person.marked:
        return replace(edit, new=f"\ufeff{edit.new}")
    return edit


def _in_document(session: Session, edit: FileEdit) -> FileEdit:
    """The edit of what an open document shows, where its file says something else or is not there."""
    person = session.files.person
    shown = person.document(edit.path)
    if shown is None:
        return edit
    if edit.new is None and person.document_state(edit.path) == "new":
        return replace(edit, new="")
    if edit.old is None or (is_blank(edit.old) and is_blank(shown.text)):
        return replace(edit, old=shown.text, version=shown.version)
    return edit


def _says(session: Session, edit: FileEdit) -> bool:
    if edit.new_path is not None and _text(session, edit.path) is not None:
        return False
    return _text(session, edit.target) == edit.new


def _text(session: Session, path: Path) -> str | None:
    if path.is_dir():
        return None
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


def _write(session: Session, edit: FileEdit) -> Carried:
    """Writes a file of which nothing is unsaved, if it says what it should."""
    if edit.is_permissions_only:
        return _permitted(edit)
    way = _route(session, edit)
    if way.writer != "fairlead":  # the user has opened or changed it meanwhile
        return Carried(False, CHANGED.format(name=edit.path.name))
    try:
        if edit.data is not None:
            _clear(edit.path)
        found = session.files.person.read(edit.path)
        if (found[1].text if found is not None else None) != edit.old:
            return Carried(False, CHANGED.format(name=edit.path.name))
        data, disk = found or (None, DiskText("", mark=BOM if edit.path in session.files.person.marked else b""))
        after = edit.data
        if after is None and edit.new is not None:
            after = data if edit.new == edit.old else disk.encode(edit.new, edit.path.name)
        changes = [FileChange(edit.target, data if edit.target == edit.path else None, after, _mode(edit))]
        if edit.target != edit.path:
            changes.append(FileChange(edit.path, data, None))
        write_files(changes, session.root.path)
    except ToolError as error:
        return Carried(False, str(error))
    except OSError as error:
        return Carried(False, f"{edit.path.name} could not be written: {error.strerror or error}. It is as it was.")
    session.files.person.moved(edit.path, edit.target)
    if edit.target != edit.path or edit.new is None:
        session.files.person.leave(edit.path)
    if edit.data is not None:
        return Carried(True, BYTES)
    if edit.new is None or after is None:
        return Carried(True, way.message)
    session.files.person.wrote(edit.target, after, replace(disk, text=edit.new))
    what = disk.oddity or DiskText(edit.new).oddity
    return Carried(True, way.message or (OWN_WRITE.format(what=what) if what else ""))


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
