"""Applies an LSP `WorkspaceEdit` to texts, exactly as it says, so that it can be proposed."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from fairlead.code.provider import NoAnswer
from fairlead.json_values import fields_of, is_list, is_object
from fairlead.positions import apply_text_edits
from fairlead.uris import file_path
from fairlead.workspace.editor import FileEdit


class _Edited:
    """The state of a file while the operations of an edit are applied."""

    def __init__(self, path: Path, old: str | None) -> None:
        """`old` is the text before the edit; None: there is no file."""
        self.path, self.old, self.new = path, old, old
        self.target = path
        """The path after the operations so far."""

    @property
    def is_moved(self) -> bool:
        return self.target != self.path and self.old is not None and self.new is not None


def apply_workspace_edit(edit: Any, read: Callable[[Path], str | None], encoding: str) -> list[FileEdit]:
    """The changes of an edit, one per file that changes, in the order in which the edit first names their final paths.

    Args:
        read: returns the text of a file before the edit; None: there is no file. May raise NoAnswer to refuse the edit.
        encoding: the unit of the edit's columns.

    Raises:
        NoAnswer: it cannot be applied exactly.
        KeyError, TypeError, ValueError, AttributeError: it is not a workspace edit, or its text edits overlap.
    """
    found: dict[Path, _Edited] = {}  # by path after the operations so far

    def file(uri: str) -> _Edited:
        path = file_path(uri)
        if path is None:
            raise NoAnswer(f"The edit concerns something that is not a file ({uri[:100]}), so it was not proposed.")
        if path not in found:
            found[path] = _Edited(path, read(path))
        return found[path]

    for operation in _operations(edit):
        kind = operation.get("kind")
        if kind is None:
            _edit(file(operation["textDocument"]["uri"]), operation["edits"], encoding)
        elif kind == "create":
            _create(file(operation["uri"]), fields_of(operation.get("options")))
        elif kind == "rename":
            moved, target = file(operation["oldUri"]), file(operation["newUri"])
            if moved.new is None:
                raise NoAnswer(f"The edit renames {moved.target.name}, which does not exist, so nothing was proposed.")
            if target.new is not None:
                raise NoAnswer("The edit renames a file to one that exists, so it was not proposed.")
            del found[moved.target]
            if target.old is not None:
                raise NoAnswer("The edit deletes a file and puts another one in its place, so it was not proposed.")
            moved.target, found[target.target] = target.target, moved
        elif kind == "delete":
            file(operation["uri"]).new = None
        else:
            raise NoAnswer(f"The edit contains an unknown operation ({str(kind)[:40]}), so it was not proposed.")
    return [_change(each) for each in found.values() if each.new != each.old or each.is_moved]


def changes_at(edit: Any, path: Path, position: Mapping[str, int]) -> bool:
    """Whether an edit has a change of text that begins at LSP's `position` in a file.

    Raises:
        KeyError, TypeError, AttributeError: it is not a workspace edit.
    """
    return any(
        file_path(operation["textDocument"]["uri"]) == path and each["range"]["start"] == position
        for operation in _operations(edit)
        if operation.get("kind") is None
        for each in operation["edits"]
    )


def _operations(edit: Any) -> list[Any]:
    if not is_object(edit):
        raise TypeError("not a workspace edit")
    changes = edit.get("documentChanges")
    if is_list(changes):
        return changes
    plain: Mapping[str, Any] = edit.get("changes") or {}
    return [{"textDocument": {"uri": uri}, "edits": edits} for uri, edits in plain.items()]


def _edit(file: _Edited, edits: list[Any], encoding: str) -> None:
    if file.new is None:
        raise NoAnswer(f"The edit changes {file.path.name}, which does not exist, so nothing was proposed.")
    if any("newText" not in edit for edit in edits):
        raise NoAnswer("The edit contains snippets, so it was not proposed. Make the change with edit_file.")
    file.new = apply_text_edits(file.new, edits, encoding)


def _create(file: _Edited, options: Mapping[str, Any]) -> None:
    if file.new is not None and not options.get("overwrite"):
        if options.get("ignoreIfExists"):
            return
        raise NoAnswer(f"The edit creates {file.path.name}, which exists, so nothing was proposed.")
    file.new = ""


def _change(file: _Edited) -> FileEdit:
    path = file.path if file.old is not None else file.target
    return FileEdit(path, file.old, file.new, new_path=file.target if file.is_moved else None)
