"""Reads the params of requests: what is wrong is said by name, and every request gets its answer."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args
from urllib.parse import unquote

from pygls.uris import to_fs_path

from fairlead.agent.tool import Mode
from fairlead.lsp import protocol
from fairlead.plan import PlanOp
from fairlead.session.host import WrongRequest
from fairlead.session.prompt import ContextItem
from fairlead.session.target import Target


class Params:
    """A JSON object with checked access; every getter raises WrongRequest."""

    def __init__(self, value: Any, where: str = "params") -> None:
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
            raise WrongRequest(f"{self._where}.{name} must be a file URI, not {uri!r}")
        return path

    def _typed(self, name: str, kind: type, what: str) -> Any:
        value = self._value.get(name)
        if value is not None and not isinstance(value, kind):
            raise WrongRequest(f"{self._where}.{name} must be {what}")
        return value


def file_path(uri: str) -> Path | None:
    """The path of a `file:` URI, None for others."""
    scheme, _, rest = uri.partition(":")
    if scheme.lower() != "file":
        return None
    path = to_fs_path("file:" + re.sub(r"^//localhost(?=/)", "//", rest, flags=re.IGNORECASE))
    return Path(path) if path else None


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


def read_context(params: Params) -> list[ContextItem]:
    """What the person points to: `[{uri, range?}]`, lines from 0 as LSP has them."""
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


def read_mode(params: Params) -> Mode:
    """`mode`, `agent` where it is left out."""
    given = params.optional_text("mode")
    for mode in get_args(Mode):
        if given == mode:
            return mode
    if given is not None:
        raise WrongRequest(f"params.mode {given!r} is none; use {', '.join(get_args(Mode))}")
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
    fs_path = to_fs_path(f"file:///{path}")
    # an editor may encode the "=" too
    name, _, item_id = unquote(query).partition("=")
    return ContentUri(scheme, session_id, Path(fs_path), item_id if name == "item" else None) if fs_path else None
