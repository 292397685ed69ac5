"""Decides who applies an edit of the user's files: the editor, the server or nobody. No other module decides that.

Does no I/O.
"""

from dataclasses import dataclass
from typing import Literal

from fairlead.workspace.editor import EditCapabilities, FileEdit, FileOperation
from fairlead.workspace.user_files import DocumentState

CANNOT_EDIT = "This editor cannot edit open files. Close {name} there, then try again."
UNSAVED = "{name} is not saved, and this editor cannot {operation} files. Save or close it there, then try again."
OCCUPIED = "{name} is open in the editor with other text. Close it there, then try again."
DIFFERS = "The text of {name} in the editor is not the text on disk. Close it there, then try again."
DONE_BY_SERVER: dict[FileOperation, str] = {
    "create": "Fairlead created the file directly, because this editor cannot create files.",
    "rename": "Fairlead renamed the file directly, because this editor cannot rename files.",
    "delete": "Fairlead deleted the file directly, because this editor cannot delete files.",
}
STILL_OPEN = " {name} is still open in the editor. Close it there: saving it would create the file again."


@dataclass(frozen=True, slots=True)
class TargetState:
    """The state of the edited file, as far as it affects who can edit it."""

    document: DocumentState = "closed"
    occupied: bool = False
    """Whether a document that represents no file and has other text is open at the path that the edit adds."""
    lossy: bool = False
    """Whether an editor would not preserve every byte of the file."""
    claimed: bool = False
    """Whether the editor says that it must write the file, although it has reported no open document (`Claims`)."""
    refusal: str = ""
    """Why nobody can write the file now, for the user; empty if it can be written."""


@dataclass(frozen=True, slots=True)
class Route:
    """Who applies an edit."""

    writer: Literal["editor", "server"] | None
    """None: nobody can apply it now."""
    message: str = ""
    """For the user: without a writer, why and what to do; with one, what to know about the result."""


EDITOR = Route("editor")
SERVER = Route("server")


def choose_route(edit: FileEdit, capabilities: EditCapabilities, target: TargetState) -> Route:
    """Returns who applies an edit.

    The editor edits what is open in it, and the server edits everything else. The server also makes edits of bytes or
    permissions, and file operations on saved documents that the editor cannot do. Nobody applies an edit for which the
    user must first close a document, save it, or make a file writable.
    """
    name, operation = edit.path.name, edit.operation
    if target.refusal and not edit.is_permissions_only:
        return Route(None, target.refusal)
    if target.occupied and operation == "create" and capabilities.edits and edit.data is None:
        return EDITOR  # the text of the new file goes into the open document
    if target.occupied:
        return Route(None, OCCUPIED.format(name=edit.target.name))
    if edit.data is not None and edit.old is not None and target.document in ("unsaved", "new"):
        return Route(None, DIFFERS.format(name=name))
    if edit.data is not None or edit.is_permissions_only:
        return SERVER
    is_supported = operation is None or operation in capabilities.operations
    can_edit = capabilities.edits and is_supported
    match target.document:
        case "closed" | "stray":
            is_for_editor = target.document == "closed" and target.claimed and not target.lossy
            return EDITOR if is_for_editor and can_edit and capabilities.checks else SERVER
        case "new" if operation == "delete" and capabilities.edits:
            return EDITOR  # there is no file yet, so it is enough to empty the document
        case "new" if operation:
            return Route(None, UNSAVED.format(name=name, operation=operation))
        case _ if can_edit:
            return EDITOR
        case _ if operation is None:
            return Route(None, CANNOT_EDIT.format(name=name))
        case "unsaved":
            return Route(None, UNSAVED.format(name=name, operation=operation))
        case _:
            return Route("server", DONE_BY_SERVER[operation] + STILL_OPEN.format(name=name))
