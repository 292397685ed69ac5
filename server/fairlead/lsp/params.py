"""Reads the params of requests: what is wrong is said by name, and every request gets its answer."""

import re
from pathlib import Path
from typing import Any

from pygls.uris import to_fs_path

from fairlead.lsp import protocol
from fairlead.session.host import WrongRequest
from fairlead.session.prompt import ContextItem
from fairlead.session.review import Target


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
    """A `Target` (docs/protocol.md): `{all: true}`, `{uri}`, `{uri, hunk}` or `{item}`."""
    target = params.child("target")
    if target.raw("all") is True:
        return Target()
    if target.has("item"):
        return Target(item_id=target.text("item"))
    if target.has("uri"):
        return Target(path=target.path(), hunk_id=target.optional_text("hunk"))
    raise WrongRequest("params.target must be {all: true}, {uri}, {uri, hunk} or {item}")


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


def check_mode(params: Params) -> None:
    """`mode` is `agent`; the other modes are not built yet."""
    mode = params.optional_text("mode")
    if mode not in (None, "agent"):
        raise WrongRequest(f"params.mode {mode!r} is not available in this version; use 'agent'")


def content_uri(uri: str) -> tuple[str, str, Path] | None:
    """`(scheme, session id, path)` of a `fairlead-base:` or `fairlead-proposed:` URI, None for others."""
    scheme, _, rest = uri.partition("://")
    session_id, slash, path = rest.partition("/")
    if scheme not in (protocol.BASE_SCHEME, protocol.PROPOSED_SCHEME) or not slash:
        return None
    fs_path = to_fs_path(f"file:///{path}")
    return (scheme, session_id, Path(fs_path)) if fs_path else None
