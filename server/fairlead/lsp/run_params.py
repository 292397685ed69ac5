"""Reads the params of `agent/runTask`: the prompt or continuation, the context items, and the editor's state."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from fairlead.agent.tool import Mode
from fairlead.lsp.editor_diagnostics import MALFORMED, read_diagnostics
from fairlead.lsp.params import Params, read_choice
from fairlead.session.context.context_item import ContextItem, ItemKind
from fairlead.session.context.surroundings import ChangedFile, GitState, Lines, Surroundings
from fairlead.session.errors import WrongRequest
from fairlead.session.run.prompt import CONTINUATION_PROMPTS, Continuation, RunTask
from fairlead.uris import file_path
from fairlead.workspace.editor import Diagnostic

MAX_FILES = 1000
"""How many open files are read, and how many changed ones. The model is shown far fewer."""


@dataclass(frozen=True)
class RunParams:
    """The params of `agent/runTask`."""

    task: RunTask
    session_id: str | None
    """None: a new session."""
    work_done_token: int | str | None
    """None: the client does not ask for progress under a token of its own."""


def read_run(params: Params) -> RunParams:
    """Reads the params of `agent/runTask`.

    Raises:
        WrongRequest: a value is wrong, or two values cannot be combined.
    """
    session_id, continues = params.optional_text("sessionId"), _read_continuation(params)
    mode = _read_mode(params, continues)
    if continues is not None and session_id is None:
        raise WrongRequest("params.continue needs params.sessionId")
    if continues == "plan" and mode != "agent":
        raise WrongRequest(f"params.continue 'plan' runs the plan, but mode {mode!r} does not")
    prompt = params.text("prompt") if continues is None else CONTINUATION_PROMPTS[continues]
    items = [_read_item(item) for item in params.children("context")]
    surroundings = _read_surroundings(params.child("editor")) if params.has("editor") else Surroundings()
    task = RunTask(prompt, items, surroundings, mode, continues)
    return RunParams(task, session_id, params.token("workDoneToken"))


def _read_item(item: Params) -> ContextItem:
    """Something that the user mentions or attaches. Without a `kind`, it is a file."""
    kind: ItemKind = read_choice(item, "kind", get_args(ItemKind)) or "file"
    if kind == "changes":
        return ContextItem(kind=kind, text=item.text("text"))
    if kind == "image":
        return ContextItem(kind=kind, name=item.text("name"), data=item.data("data"))
    if kind == "problems" and not item.has("uri"):
        return ContextItem(kind=kind)
    first, last = _read_lines(item, "range") or (None, None)
    if kind == "selection" and item.has("text"):
        path = item.path() if item.has("uri") else None
        return ContextItem(path, first, last, kind, text=item.text("text"), name=item.text("name"))
    return ContextItem(item.path(), first, last, kind)


def _read_lines(params: Params, name: str) -> Lines | None:
    """The lines of a range, counted from 1; None if the field is absent.

    If a range of several lines ends at the start of a line, that line is not included.
    """
    if not params.has(name):
        return None
    start, end = params.child(name).child("start"), params.child(name).child("end")
    first, last = start.integer("line"), end.integer("line")
    if end.optional_integer("character") == 0 and last > first:
        last -= 1
    return first + 1, last + 1


def _read_surroundings(editor: Params) -> Surroundings:
    """What the user is looking at (docs/protocol.md, `EditorContext`)."""
    problems = editor.child("problems") if editor.has("problems") else None
    return Surroundings(
        active=file_path(editor.text("activeFile")) if editor.has("activeFile") else None,
        visible=_read_lines(editor, "visibleRange"),
        selected=_read_lines(editor, "selection"),
        tabs=tuple(_files(editor.texts("openFiles"))),
        errors=problems.integer("errors") if problems is not None else 0,
        warnings=problems.integer("warnings") if problems is not None else 0,
        worst=tuple(_read_problems(problems)) if problems is not None else (),
        git=_read_git(editor.child("git")) if editor.has("git") else None,
    )


def _files(uris: Sequence[str]) -> Sequence[Path]:
    """The paths of those URIs that are files on this machine. Reads only the first MAX_FILES."""
    return [path for uri in uris[:MAX_FILES] if (path := file_path(uri)) is not None]


def _read_problems(problems: Params) -> Sequence[Diagnostic]:
    try:
        return list(read_diagnostics({"files": problems.raw("files") or []}))
    except MALFORMED as error:
        raise WrongRequest("params.editor.problems.files must be FileDiagnostics[]") from error


def _read_git(git: Params) -> GitState:
    files = [(file_path(file.text("uri")), file.text("state")) for file in git.children("files")[:MAX_FILES]]
    changed = tuple(ChangedFile(path, state) for path, state in files if path is not None)
    return GitState(git.text("branch"), git.integer("changed"), changed)


def _read_mode(params: Params, continues: Continuation | None) -> Mode | None:
    """The mode. If the params have none: None (see `RunTask`) if the run continues a paused one, otherwise `agent`."""
    return read_choice(params, "mode", get_args(Mode)) or (None if continues == "paused" else "agent")


def _read_continuation(params: Params) -> Continuation | None:
    """What to continue instead of sending a prompt; None: nothing."""
    if params.has("continue") and params.has("prompt"):
        raise WrongRequest("params.prompt and params.continue cannot be combined; send one of them")
    return read_choice(params, "continue", tuple(CONTINUATION_PROMPTS))
