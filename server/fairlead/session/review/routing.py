"""Who makes an accepted edit: the editor, or Fairlead itself. Decided here and nowhere else; pure."""

from dataclasses import dataclass
from typing import Literal

from fairlead.workspace.editor import EditAbilities, FileEdit, FileOperation
from fairlead.workspace.user_files import DocumentState

CANNOT_EDIT = "This editor cannot edit open files. Close {name} there, then try again."
UNSAVED = "{name} is not saved, and this editor cannot {operation} files. Save or close it there, then try again."
OCCUPIED = "{name} is open in the editor, with another text. Close it there, then try again."
OWN: dict[FileOperation, str] = {
    "create": "Created by Fairlead itself: this editor cannot create files.",
    "rename": "Renamed by Fairlead itself: this editor cannot rename files.",
    "delete": "Deleted by Fairlead itself: this editor cannot delete files.",
}
STILL_OPEN = " {name} is still open in the editor. Close it there: saving it would bring the file back."


@dataclass(frozen=True, slots=True)
class Place:
    """What an edit meets in the editor.

    Attributes:
        document: the file's document.
        occupied: a document that is not the file's is open where the edit puts the file, and says something else.
        odd: an editor would not keep each byte of the file.
    """

    document: DocumentState = "closed"
    occupied: bool = False
    odd: bool = False


@dataclass(frozen=True, slots=True)
class Route:
    """`writer` None: nobody can, and `message` says why and what to do. Else `message` is what the user should know."""

    writer: Literal["editor", "fairlead"] | None
    message: str = ""


EDITOR = Route("editor")
FAIRLEAD = Route("fairlead")


def route(edit: FileEdit, able: EditAbilities, place: Place) -> Route:
    """Open documents are the editor's. A closed file is, if the editor checks its bytes and would keep them all."""
    name, operation = edit.path.name, edit.operation
    if place.occupied and operation == "create" and able.edits and edit.data is None:
        return EDITOR  # the new file's text goes into the document that waits for it
    if place.occupied:
        return Route(None, OCCUPIED.format(name=edit.target.name))
    if edit.data is not None or edit.is_permissions_only:
        return FAIRLEAD
    can = able.edits and (operation is None or operation in able.operations)
    own = Route("fairlead", OWN[operation] if operation and operation not in able.operations else "")
    match place.document:
        case "closed" | "stray":
            return EDITOR if can and able.checks and not place.odd and place.document == "closed" else own
        case "new" if operation == "delete" and able.edits:
            return EDITOR  # what is in no file goes with its text
        case "new" if operation:
            return Route(None, UNSAVED.format(name=name, operation=operation))
        case _ if can:
            return EDITOR
        case _ if operation is None:
            return Route(None, CANNOT_EDIT.format(name=name))
        case "unsaved":
            return Route(None, UNSAVED.format(name=name, operation=operation))
        case _:
            return Route("fairlead", own.message + STILL_OPEN.format(name=name))
