"""Applies the edits of accepts and undos to the user's files, through the editor or directly (`routing.py` decides).

Unseen text is never overwritten. The editor gets the document version or the digest that an edit is based on, and its
answer is checked against the files. The server overwrites only the bytes that it expects.
"""

import contextlib
import errno
import hashlib
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fairlead.edits.merge import MergeConflict, merged
from fairlead.edits.proposal import PLAIN, Raw
from fairlead.sentences import Sentence
from fairlead.session.review.routing import Route, TargetState, choose_route
from fairlead.session.timed_editor import TimedEditor
from fairlead.workspace.disk import DiskText, new_file, read_bytes
from fairlead.workspace.editor import Claims, FileEdit
from fairlead.workspace.errors import WorkspaceError
from fairlead.workspace.long_work import Yielder
from fairlead.workspace.user_files import UserFiles, encoded, is_blank
from fairlead.workspace.write import FileChange, FileWriter

WRITTEN_BY_SERVER = "Fairlead wrote the file directly, because an editor would not preserve {what}."
BYTES_RESTORED = "Fairlead wrote the file directly, byte for byte."
NOT_APPLIED = "The editor reported success, but {name} is unchanged. Try again."
APPLIED_DIFFERENTLY = (
    "The editor changed {name} differently than requested. Check the file; use the editor's undo if lines are missing."
)

READ_ONLY_FOLDER = Sentence("The file's folder is read-only. Make it writable, then try again.")
READ_ONLY = Sentence("This file is read-only. Make it writable, then try again.")

# how long to wait until an editor has reported the documents that it changed, and how often to check, in seconds
REPORT_TIMEOUT = 2.0
CHECK_INTERVAL = 0.02


@dataclass(frozen=True, slots=True)
class EditResult:
    """The outcome of one edit."""

    done: bool
    message: str = ""
    """For the user: why the edit failed, or what to know about a successful one."""
    retryable: bool = True
    """Whether another attempt may succeed. Meaningful only for a failed edit."""
    actual_text: str | None = None
    """The file's text after the edit, if it is not the requested one (`_EditCheck.actual_text`)."""


async def apply_edits(
    user_files: UserFiles, editor: TimedEditor, label: str, edits: Sequence[FileEdit]
) -> list[EditResult]:
    """Applies the edits; returns one result per edit, in the same order.

    The editor gets its edits as one workspace edit. If any of them fails, the server writes none of its own. An edit
    that neither can apply fails alone. A cancellation has no effect after the editor has answered or the server has
    begun to write, so that the caller can record what was applied.
    """
    claims = await _claims(user_files, editor, edits)
    yielder = Yielder()
    routes: list[tuple[FileEdit, Route]] = []
    for edit in edits:
        await yielder.yield_if_due()
        routes.append((edit, _route(user_files, editor, edit, claims)))
    results = {
        id(edit): EditResult(False, route.message, retryable=False) for edit, route in routes if route.writer is None
    }
    for_editor = [edit for edit, route in routes if route.writer == "editor"]
    editor_results = await _apply_in_editor(user_files, editor, label, for_editor)
    results |= dict(zip(map(id, for_editor), editor_results, strict=True))
    failed = next((replace(result, retryable=True) for result in editor_results if not result.done), None)
    for_server = [edit for edit, route in routes if route.writer == "server"]
    writer, yielder = FileWriter(user_files.roots), Yielder(ignores_cancellation=True)
    # deletions first, new files last: a new file may need the path of a deleted or moved one, or of a folder for it
    for edit in sorted(for_server, key=lambda edit: (edit.new is not None, edit.old is None)):
        await yielder.yield_if_due()
        results[id(edit)] = failed or _write_file(user_files, editor, writer, edit, claims)
    return [results[id(edit)] for edit in edits]


def raw_on_disk(user_files: UserFiles, edit: FileEdit) -> Raw:
    """What an undo or redo of the edit must restore besides text: permissions, and bytes if the edit replaces them.

    Call it before the edit for an undo, and afterwards for a redo. `PLAIN` if the edit changes only text or moves the
    file, or if the file does not exist or cannot be read. Unsaved changes count as saved.
    """
    replaces_bytes = edit.operation in ("create", "delete") or edit.data is not None
    if not replaces_bytes and edit.mode is None:
        return PLAIN
    try:
        mode = edit.path.stat().st_mode & 0o7777
        return Raw(_bytes_as_saved(user_files, edit.path) if replaces_bytes else None, mode)
    except (WorkspaceError, OSError):
        return PLAIN


def _bytes_as_saved(user_files: UserFiles, path: Path) -> bytes | None:
    """The bytes of a file, or those that saving its unsaved changes would write; None if there is no file.

    Raises:
        WorkspaceError: the file cannot be read.
    """
    root = user_files.roots.folder_of(path)
    buffer, disk = user_files.buffer(path), user_files.on_disk(path)
    if buffer is None or disk is None or disk.encoding == "binary" or user_files.is_shown_as_saved(path):
        return read_bytes(path, root and root.path)
    return encoded(buffer.text, disk)


async def _claims(user_files: UserFiles, editor: TimedEditor, edits: Sequence[FileEdit]) -> Claims:
    """What the editor says about the edited files that it has not reported as open."""
    state = user_files.document_state
    paths = dict.fromkeys(path for edit in edits for path in (edit.path, edit.target) if state(path) == "closed")
    return await editor.claims(list(paths)) if paths else Claims()


def _route(user_files: UserFiles, editor: TimedEditor, edit: FileEdit, claims: Claims) -> Route:
    claimed, lossy = not {edit.path, edit.target}.isdisjoint(claims.claimed), False
    if claimed and edit.new is not None and edit.old != edit.new:
        with contextlib.suppress(WorkspaceError):
            lossy = user_files.needs_own_write(edit.path, edit.new)
    refusal = claims.refused.get(edit.path) or claims.refused.get(edit.target) or _read_only_reason(edit)
    occupied = _is_occupied(user_files, edit)
    state = TargetState(user_files.document_state(edit.path), occupied, lossy, claimed, refusal)
    return choose_route(edit, editor.edit_capabilities, state)


def _changed(edit: FileEdit) -> Sentence:
    return Sentence("{0} changed at the same time. Review the change again.", edit.path.name)


def _not_written(edit: FileEdit, error: OSError) -> Sentence:
    reason = error.strerror or error
    return Sentence("{0} could not be written: {1}. It is unchanged.", edit.path.name, reason)


def _read_only_reason(edit: FileEdit) -> str:
    """Why an existing file cannot be deleted, moved or changed where it is; empty if it can be."""
    if edit.vacates_path and edit.path.parent.is_dir() and not os.access(edit.path.parent, os.W_OK):
        return READ_ONLY_FOLDER
    changes_content = edit.data is not None or edit.old != edit.new
    if edit.old is None or edit.new is None or not changes_content or edit.mode is not None:
        return ""
    try:
        is_writable = edit.path.stat().st_mode & 0o222 and _opens_for_writing(edit.path)
    except OSError:  # there is no file, which the writer reports
        return ""
    return "" if is_writable else READ_ONLY


def _opens_for_writing(path: Path) -> bool:
    """Whether the system would let a file be written. `os.access` does not know append-only files and Windows' rights.

    Raises:
        OSError: the answer is unknown, for example because a program runs the file.
    """
    try:
        os.close(os.open(path, os.O_WRONLY | getattr(os, "O_NONBLOCK", 0)))
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            return False
        raise
    return True


def _is_occupied(user_files: UserFiles, edit: FileEdit) -> bool:
    """Whether a document that represents no file and has other text is open at the path that the edit adds."""
    if edit.new is None or not edit.adds_path or user_files.document_state(edit.target) != "stray":
        return False
    document = user_files.document(edit.target)
    return document is not None and document.text != edit.new and not (is_blank(document.text) and is_blank(edit.new))


async def _apply_in_editor(
    user_files: UserFiles, editor: TimedEditor, label: str, edits: Sequence[FileEdit]
) -> list[EditResult]:
    if not edits:
        return []
    try:
        requested: list[FileEdit] = []
        yielder = Yielder()
        for edit in edits:
            await yielder.yield_if_due()
            requested.append(_against_document(user_files, _with_byte_order_mark(_with_digest(user_files, edit))))
    except WorkspaceError as error:
        return [EditResult(False, str(error)) for _ in edits]
    with user_files.expecting({edit.target: edit.new for edit in edits}):
        applied = await editor.apply(label, requested)
        if not applied.ok:
            # an editor may fail halfway without a rollback, so each file is checked
            reason = applied.reason or "The editor did not apply the edit."
            refused = EditResult(False, reason, retryable=not applied.timed_out)
            results = [_set_permissions(edit) if _is_applied(user_files, edit) else refused for edit in edits]
        else:
            results = await _confirm_edits(user_files, editor, edits)
    for edit, result in zip(edits, results, strict=True):
        if result.done and edit.new_path is not None:
            user_files.note_move(edit.path, edit.new_path)
            user_files.note_removal(edit.path)
    return results


def _with_digest(user_files: UserFiles, edit: FileEdit) -> FileEdit:
    """The edit with the digest of the bytes that it is based on.

    For unsaved text, these are the bytes that saving the text would write.

    Without a digest if the edit creates a file, if the open document has no file, or if the file's encoding cannot
    represent the unsaved text.

    Raises:
        WorkspaceError: a closed file has changed or was removed, or the file cannot be read.
    """
    is_open = user_files.buffer(edit.path) is not None
    on_disk = user_files.read(edit.path) if edit.old is not None else None
    if edit.old is None or (on_disk is None and is_open):
        return edit
    if on_disk is None or (on_disk[1].text != edit.old and not is_open):
        raise WorkspaceError(_changed(edit))
    data, disk = on_disk
    if disk.text != edit.old and not disk.oddity:  # an editor shows a file with an oddity differently, even when saved
        try:
            data = disk.encode(edit.old)
        except WorkspaceError:
            return edit
    return replace(edit, digest=hashlib.sha256(data).hexdigest())


async def _confirm_edits(user_files: UserFiles, editor: TimedEditor, edits: Sequence[FileEdit]) -> list[EditResult]:
    """The results of edits that the editor reported as applied.

    Waits up to `REPORT_TIMEOUT` until the files contain their edits, and sets the permission bits of those that do.
    """
    checks = [_EditCheck(user_files, edit) for edit in edits]
    waiting = checks
    deadline = time.monotonic() + REPORT_TIMEOUT
    yielder = Yielder(ignores_cancellation=True)
    while True:
        unconfirmed: list[_EditCheck] = []
        for check in waiting:
            await yielder.yield_if_due()
            if not check.is_done():
                unconfirmed.append(check)
        waiting = unconfirmed
        if not waiting or time.monotonic() > deadline:
            break
        editor.awaiting_report.set()
        await yielder.sleep(CHECK_INTERVAL)
    editor.awaiting_report.clear()
    return [
        EditResult(False, check.difference, retryable=False)
        if check in waiting
        else replace(_set_permissions(edit), actual_text=check.actual_text)
        for check, edit in zip(checks, edits, strict=True)
    ]


class _EditCheck:
    """Checks repeatedly whether an edit has arrived in its file."""

    def __init__(self, user_files: UserFiles, edit: FileEdit) -> None:
        self._files = user_files
        self._edit = edit
        self._last_text: str | None = edit.old

    def is_done(self) -> bool:
        """Whether the file contains the edit, alone or together with later changes."""
        edit, before = self._edit, self._last_text
        if edit.new_path is not None and _file_exists(edit.path):
            return False
        if self._files.has_arrived(edit.target):
            return True
        self._last_text = _file_text(self._files, edit.target)
        if self._last_text == edit.new:
            return True
        if self._last_text == before or self._last_text is None or edit.new is None:
            return False
        if self._last_text in _with_newline(edit.new):
            return True
        try:
            return merged(edit.old or "", self._last_text, edit.new) == self._last_text
        except MergeConflict:
            return False

    @property
    def actual_text(self) -> str | None:
        """The file's text now, if the editor changed it further; None if it is the requested one or may be the user's.

        An editor may add a newline, or save the document in another form, as formatters do. Text that is not saved may
        be the user's.
        """
        new, path, user_files = self._edit.new, self._edit.target, self._files
        text = _file_text(self._files, path)
        if new is None or text is None or text == new:
            return None
        is_saved = user_files.has_arrived(path) and user_files.document_state(path) in ("closed", "saved")
        return text if is_saved or text in _with_newline(new) else None

    @property
    def difference(self) -> str:
        """What is wrong with the file, for the user."""
        name = self._edit.path.name
        return (NOT_APPLIED if self._last_text == self._edit.old else APPLIED_DIFFERENTLY).format(name=name)


def _with_newline(text: str) -> tuple[str, str]:
    """The texts that a document may get instead of this one, because Neovim adds a newline to each document."""
    return f"{text}\n", f"{text}\r\n"


def _with_byte_order_mark(edit: FileEdit) -> FileEdit:
    """The edit, with the byte order mark in the text (where editors expect it) if it creates a file that gets one."""
    if edit.bom and edit.old is None and edit.new is not None:
        return replace(edit, new=f"\ufeff{edit.new}")
    return edit


def _against_document(user_files: UserFiles, edit: FileEdit) -> FileEdit:
    """The edit, based on the open document's text and version if there is no file, or if file and document are blank.

    Instead of deleting a file that does not exist yet, empties the document.
    """
    document = user_files.document(edit.path)
    if document is None:
        return edit
    if edit.new is None and user_files.document_state(edit.path) == "new":
        return replace(edit, new="")
    if edit.old is None or (is_blank(edit.old) and is_blank(document.text)):
        return replace(edit, old=document.text, version=document.version)
    return edit


def _is_applied(user_files: UserFiles, edit: FileEdit) -> bool:
    if edit.new_path is not None and _file_exists(edit.path):
        return False
    return _file_text(user_files, edit.target) == edit.new


def _file_exists(path: Path) -> bool:
    """Whether a file is on disk.

    The open documents do not show this: an editor may close the document of a renamed file much later, or never.
    """
    return os.path.lexists(path) and not path.is_dir()


def _file_text(user_files: UserFiles, path: Path) -> str | None:
    if path.is_dir():
        return None
    try:
        user_files.invalidate(path)
        return user_files.text(path, binary=True)
    except WorkspaceError as error:
        return f"({error})"


def _set_permissions(edit: FileEdit) -> EditResult:
    """Sets the edit's permission bits, which no editor can do. Call it after the text is applied.

    Without permission bits, does nothing. The result is successful even if they could not be set; its message says so.
    """
    if edit.mode is not None and edit.new is not None:
        try:
            edit.target.chmod(edit.mode)
        except OSError as error:
            return EditResult(True, f"The permissions could not be set: {error.strerror or error}.")
    return EditResult(True)


def _write_file(
    user_files: UserFiles, editor: TimedEditor, writer: FileWriter, edit: FileEdit, claims: Claims
) -> EditResult:
    """Applies an edit directly. If only the permissions change, nothing is compared."""
    return (
        _set_permissions(edit) if edit.is_permissions_only else _write_content(user_files, editor, writer, edit, claims)
    )


def _write_content(
    user_files: UserFiles, editor: TimedEditor, writer: FileWriter, edit: FileEdit, claims: Claims
) -> EditResult:
    """Creates, writes, moves or deletes a file directly, with its permissions.

    Fails if the edit is no longer for the server to apply, or if the file does not have the expected text.
    """
    route = _route(user_files, editor, edit, claims)
    if route.writer != "server":  # the user has opened or changed the file meanwhile
        return EditResult(False, _changed(edit))
    try:
        if edit.data is not None:
            _remove_empty_folder(edit.path)
        data, disk = _expected_content(user_files, edit)
        if (None if data is None else disk.text) != edit.old:
            return EditResult(False, _changed(edit))
        after = edit.data
        if after is None and edit.new is not None:
            after = data if edit.new == edit.old else disk.encode(edit.new, edit.path.name)
        before = data if edit.target == edit.path else None
        changes = [FileChange(edit.target, before, after, _permission_bits(edit), _owner(edit))]
        if edit.target != edit.path:
            changes.append(FileChange(edit.path, data, None))
        writer.write(changes)
    except WorkspaceError as error:
        return EditResult(False, str(error))
    except OSError as error:
        return EditResult(False, _not_written(edit, error))
    user_files.note_move(edit.path, edit.target)
    if edit.target != edit.path or edit.new is None:
        user_files.note_removal(edit.path)
    if edit.data is not None:
        return EditResult(True, BYTES_RESTORED)
    if edit.new is None or after is None:
        return EditResult(True, route.message)
    user_files.note_write(edit.target, after, replace(disk, text=edit.new))
    what = disk.oddity or DiskText(edit.new).oddity
    return EditResult(True, route.message or (WRITTEN_BY_SERVER.format(what=what) if what else ""))


def _expected_content(user_files: UserFiles, edit: FileEdit) -> tuple[bytes | None, DiskText]:
    """What the edited file contains: its bytes (None: there is no file) and its text ("" if there is none).

    A text file whose signature has not changed is not read again, because `FileWriter` compares its bytes before it
    replaces them.

    Raises:
        WorkspaceError: the file cannot be read.
    """
    disk = user_files.on_disk(edit.path)
    if disk is None:
        return None, new_file(edit.bom)
    if disk.encoding != "binary":
        return disk.encode(disk.text), disk
    return user_files.read(edit.path) or (None, disk)


def _remove_empty_folder(path: Path) -> None:
    """Removes a folder at the path of a file to be restored, if it contains no files."""
    if not path.is_dir() or path.is_symlink():
        return
    children = sorted(path.rglob("*"), reverse=True)
    if all(child.is_dir() and not child.is_symlink() for child in children):
        with contextlib.suppress(OSError):
            for folder in (*children, path):
                folder.rmdir()


def _permission_bits(edit: FileEdit) -> int | None:
    if edit.mode is not None or edit.new_path is None:
        return edit.mode
    return edit.path.stat().st_mode & 0o7777


def _owner(edit: FileEdit) -> tuple[int, int] | None:
    """The user and the group of a file that the edit moves; None if it stays."""
    if edit.new_path is None:
        return None
    status = edit.path.stat()
    return status.st_uid, status.st_gid
