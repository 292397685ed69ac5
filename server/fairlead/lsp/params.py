"""Reads the params of requests: what is wrong is said by name, and every request gets its answer."""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args
from urllib.parse import unquote

from pygls.uris import to_fs_path

from fairlead.agent.tool import Mode
from fairlead.lsp import protocol
from fairlead.plan import PlanOp
from fairlead.session.host import WrongRequest
from fairlead.session.prompt import ContextItem, RunTask
from fairlead.session.review.target import Target


class Params:
    """A JSON object with checked access; every getter raises WrongRequest."""

    def __init__(self, value: Any, where: str = "params") -> None:
        if value == []:  # Lua's empty table
            value = {}
        if not isinstance(value, dict):
            raise WrongRequest(f"{where} must be an object")
        self._value: dict[str, Any] = value
        self._where = where

    def text(self, name: str) -> str:
        value = self.optional_text(name)
        if value is None:
            raise WrongRequest(f"{self._where}.{name} is missing: a string")
        return value

    def optional_text(self, name: str) -> str | None:
        return self._typed(name, str, "a string")

    def optional_integer(self, name: str) -> int | None:
        value = self._typed(name, int, "an integer")
        if isinstance(value, bool):
            raise WrongRequest(f"{self._where}.{name} must be an integer")
        return value

    def token(self, name: str) -> int | str | None:
        """A work-done token (LSP 3.18, `ProgressToken`)."""
        value = self._value.get(name)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | str)):
            raise WrongRequest(f"{self._where}.{name} must be a string or an integer")
        return value

    def boolean(self, name: str) -> bool:
        value = self._typed(name, bool, "true or false")
        if value is None:
            raise WrongRequest(f"{self._where}.{name} is missing: true or false")
        return value

    def child(self, name: str) -> "Params":
        return Params(self._value.get(name), f"{self._where}.{name}")

    def children(self, name: str) -> list["Params"]:
        values = self._typed(name, list, "a list") or []
        return [Params(value, f"{self._where}.{name}[{index}]") for index, value in enumerate(values)]

    def integer(self, name: str) -> int:
        value = self.optional_integer(name)
        if value is None:
            raise WrongRequest(f"{self._where}.{name} is missing: an integer")
        return value

    def __contains__(self, name: str) -> bool:
        """Whether it is given at all, be it null."""
        return name in self._value

    def has(self, name: str) -> bool:
        return self._value.get(name) is not None

    def raw(self, name: str) -> Any:
        return self._value.get(name)

    def path(self, name: str = "uri") -> Path:
        uri = self.text(name)
        path = file_path(uri)
        if path is None:
            raise WrongRequest(f"{self._where}.{name} must be the URI of a file on this machine, not {uri[:200]!r}")
        return path

    def _typed(self, name: str, kind: type, what: str) -> Any:
        value = self._value.get(name)
        if value is not None and not isinstance(value, kind):
            raise WrongRequest(f"{self._where}.{name} must be {what}")
        return value


def file_path(uri: str) -> Path | None:
    """The path of a `file:` URI, None for others and for one that can be no file's."""
    if not _is_local(uri):
        return None
    try:
        found = to_fs_path("file:" + re.sub(r"^//localhost(?=/)", "//", uri.partition(":")[2], flags=re.IGNORECASE))
    except ValueError:  # brackets that are no address
        return None
    path = Path(found or "")
    return None if _malformed(path) else path


def _is_local(uri: str) -> bool:
    return uri.partition(":")[0].lower() == "file"


def _malformed(path: Path) -> str:
    """Why no file can have a path, on whichever disk; "" where one can."""
    if not path.is_absolute():
        return "it is not an absolute path"
    if "\0" in str(path):
        return "it holds a NUL character"
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        return "it holds characters that are no valid Unicode"
    return ""


def _unusable(path: Path) -> str:
    """Why no folder can be at a path; "" where one can."""
    why = _malformed(path)
    if not why:
        try:
            path.is_dir()
        except OSError as error:  # such as a name that is too long; a missing folder is none
            why = error.strerror or str(error)
    return why


def read_storage(given: Any) -> tuple[Path | None, str]:
    """The client's storage folder, and what is wrong with it, for the user."""
    if given is None or given == "":
        return None, ""
    why = _unusable(Path(given)) if isinstance(given, str) else "it is not a string"
    if not why:
        return Path(given), ""
    shown = repr(given)[:200]
    return None, f"The storage folder {shown} cannot be used: {why}. Sessions are not saved. Choose another storageDir."


def read_workspace(uris: Sequence[str], path: str | None) -> tuple[Path | None, str]:
    """The first folder that is on this machine, else `path`; and what the user should know where there is none.

    Raises:
        WrongRequest: no folder can have its address.
    """
    local = next(filter(_is_local, uris), None)
    if uris and local is None:
        where = f"The workspace is not a folder on this machine ({uris[0][:200]!r})"
        return None, f"{where}, so the agent cannot work in it. Open a local folder."
    if local is None and not path:
        return None, ""
    found = file_path(local) if local is not None else Path(path or "")
    why = "it is not the path of a folder" if found is None else _unusable(found)
    if found is None or why:
        shown = (local or path or "")[:200]
        raise WrongRequest(f"The workspace folder {shown!r} cannot be used: {why}. Open another folder.")
    return found, ""


def read_target(params: Params) -> Target:
    """A `Target` (docs/protocol.md): `{all: true}`, `{uri}`, `{uri, hunk}` or `{item}`; what is two at once is none."""
    target = params.child("target")
    everything = target.has("all") and target.boolean("all")
    given = {name for name in ("item", "uri", "hunk") if target.has(name)}
    if everything and not given:
        return Target()
    if given == {"item"} and not everything:
        return Target(item_id=target.text("item"))
    if given in ({"uri"}, {"uri", "hunk"}) and not everything:
        return Target(path=target.path(), hunk_id=target.optional_text("hunk"))
    raise WrongRequest("params.target must be one of {all: true}, {uri}, {uri, hunk} and {item}")


def read_ops(params: Params) -> list[PlanOp]:
    """A list of `PlanOp` (docs/protocol.md). `after` left out in an add is the end, null is the first place."""
    return [_read_op(op) for op in params.children("ops")]


def _read_op(op: Params) -> PlanOp:
    match op.text("op"):
        case "add":
            return PlanOp("add", content=op.text("content"), after=op.optional_text("after"), at_end="after" not in op)
        case "update":
            held = op.boolean("held") if op.has("held") else None
            content, status = op.optional_text("content"), op.optional_text("status")
            return PlanOp("update", op.text("id"), content=content, status=status, held=held)
        case "remove":
            return PlanOp("remove", op.text("id"))
        case "move":
            return PlanOp("move", op.text("id"), after=op.optional_text("after"))
        case other:
            raise WrongRequest(f"params.ops[].op {other!r} is no operation; use add, update, remove or move")


@dataclass(frozen=True)
class RunParams:
    """The params of `agent/runTask`."""

    task: RunTask
    session_id: str | None
    work_done_token: int | str | None


def read_run(params: Params) -> RunParams:
    task = RunTask(params.text("prompt"), _read_context(params), _read_mode(params))
    return RunParams(task, params.optional_text("sessionId"), params.token("workDoneToken"))


def _read_context(params: Params) -> list[ContextItem]:
    """The context as `[{uri, range?}]`, with lines from 0 as in LSP."""
    items: list[ContextItem] = []
    for entry in params.children("context"):
        first = last = None
        if entry.has("range"):
            span = entry.child("range")
            start, end = (
                span.child("start").optional_integer("line"),
                span.child("end").optional_integer("line"),
            )
            if start is None or end is None:
                raise WrongRequest("params.context[].range needs start.line and end.line")
            first, last = start + 1, end + 1
        items.append(ContextItem(entry.path(), first, last))
    return items


def _read_mode(params: Params) -> Mode:
    """The mode, `agent` by default."""
    given = params.optional_text("mode")
    for mode in get_args(Mode):
        if given == mode:
            return mode
    if given is not None:
        raise WrongRequest(f"params.mode {given!r} is unknown; use {', '.join(get_args(Mode))}")
    return "agent"


@dataclass(frozen=True)
class ContentUri:
    """A side of a diff: `scheme://session/abs/path`, with `?item=ID` of the one plan item's hunks only."""

    scheme: str
    session_id: str
    path: Path
    item_id: str | None


def content_uri(uri: str) -> ContentUri | None:
    """A `fairlead-base:` or `fairlead-proposed:` URI taken apart, None for others."""
    scheme, _, rest = uri.partition("://")
    rest, _, query = rest.partition("?")
    session_id, slash, path = rest.partition("/")
    if scheme not in (protocol.BASE_SCHEME, protocol.PROPOSED_SCHEME) or not slash:
        return None
    found = file_path(f"file:///{path}")
    # an editor may encode the "=" too
    name, _, item_id = unquote(query).partition("=")
    return ContentUri(scheme, session_id, found, item_id if name == "item" else None) if found else None
