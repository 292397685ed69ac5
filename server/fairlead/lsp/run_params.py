"""Converts the params of `agent/runTask`: the prompt or continuation, the context items, and the editor's state."""

from base64 import b64decode
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fairlead.lsp.editor_diagnostics import read_diagnostics
from fairlead.lsp.params import read_path
from fairlead.session.context.context_item import ContextItem
from fairlead.session.context.surroundings import ChangedFile, GitState, Lines, Surroundings
from fairlead.session.errors import WrongRequest
from fairlead.session.run.prompt import CONTINUATION_PROMPTS, RunTask
from fairlead.uris import file_path
from fairlead.wire import params as wire
from fairlead.wire.states import RangeWire

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


def read_run(params: wire.RunTaskParams) -> RunParams:
    """The task of `agent/runTask`.

    Raises:
        WrongRequest: a value is wrong, or two values cannot be combined.
    """
    session_id, continues, prompt = params.get("sessionId"), params.get("continue"), params.get("prompt")
    # without them, a paused run is continued in the mode and by the agent that it had
    mode = params.get("mode") or (None if continues == "paused" else "agent")
    agent = params.get("agent", None if continues == "paused" else "")
    if continues is not None:
        if prompt is not None:
            raise WrongRequest("params.prompt and params.continue cannot be combined; send one of them")
        if session_id is None:
            raise WrongRequest("params.continue needs params.sessionId")
        if continues == "plan" and mode != "agent":
            raise WrongRequest(f"params.continue 'plan' runs the plan, but mode {mode!r} does not")
        prompt = CONTINUATION_PROMPTS[continues]
    if prompt is None:
        raise WrongRequest("params.prompt is missing; it must be a string")
    items = [_read_item(item, f"params.context[{index}]") for index, item in enumerate(params.get("context", ()))]
    surroundings = _read_surroundings(params.get("editor", {}))
    task = RunTask(prompt, items, surroundings, mode, continues, agent, params.get("hosted"))
    return RunParams(task, session_id, params.get("workDoneToken"))


def _read_item(item: wire.ContextItem, where: str) -> ContextItem:
    """Something that the user mentions or attaches."""
    if "data" in item:
        return ContextItem(kind="image", name=item["name"], data=_read_base64(item["data"], f"{where}.data"))
    path = read_path(item["uri"], f"{where}.uri") if "uri" in item else None
    if "kind" in item and item["kind"] == "problems":
        return ContextItem(path, kind="problems")
    if "kind" in item and item["kind"] == "changes":
        return ContextItem(kind="changes", text=item["text"])
    if "server" in item and "text" in item:
        return ContextItem(kind="serverPrompt", server=item["server"], name=item["name"], text=item["text"])
    if "resource" in item:
        return ContextItem(kind="resource", server=item["server"], name=item["resource"])
    if "command" in item:
        code = item.get("exitCode")
        return ContextItem(kind="terminal", text=item["output"], name=item["command"], exit_code=code)
    first, last = _lines(item.get("range")) or (None, None)
    if "text" in item:
        return ContextItem(path, first, last, "selection", text=item["text"], name=item["name"])
    return ContextItem(path, first, last, item.get("kind", "file"))


def _read_base64(text: str, where: str) -> bytes:
    try:
        return b64decode(text, validate=True)
    except ValueError as error:
        raise WrongRequest(f"{where} must be base64") from error


def _lines(range_: RangeWire | None) -> Lines | None:
    """The lines of a range, counted from 1; None if there is no range.

    If a range of several lines ends at the start of a line, that line is not included.
    """
    if range_ is None:
        return None
    first, last = range_["start"]["line"], range_["end"]["line"]
    if range_["end"]["character"] == 0 and last > first:
        last -= 1
    return first + 1, last + 1


def _read_surroundings(editor: wire.EditorContextWire) -> Surroundings:
    """What the user is looking at."""
    problems, git = editor.get("problems"), editor.get("git")
    return Surroundings(
        active=file_path(editor.get("activeFile") or ""),
        visible=_lines(editor.get("visibleRange")),
        selected=_lines(editor.get("selection")),
        tabs=tuple(_files(editor.get("openFiles", ()))),
        errors=problems["errors"] if problems is not None else 0,
        warnings=problems["warnings"] if problems is not None else 0,
        worst=tuple(read_diagnostics(problems["files"])) if problems is not None else (),
        git=_read_git(git) if git is not None else None,
    )


def _files(uris: Sequence[str]) -> Sequence[Path]:
    """The paths of those URIs that are files on this machine. Reads only the first MAX_FILES."""
    return [path for uri in uris[:MAX_FILES] if (path := file_path(uri)) is not None]


def _read_git(git: wire.GitStateWire) -> GitState:
    files = [(file_path(file["uri"]), file["state"]) for file in git["files"][:MAX_FILES]]
    changed = tuple(ChangedFile(path, state) for path, state in files if path is not None)
    return GitState(git["branch"], git["changed"], changed)
