"""Reads and checks the params of requests. Errors name the field that is wrong."""

from base64 import b64decode
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import unquote

from fairlead.edits.selection import Change
from fairlead.json_values import is_object
from fairlead.lsp import protocol
from fairlead.plan import PlanOp
from fairlead.session.errors import WrongRequest
from fairlead.session.review.target import Target
from fairlead.uris import file_path

_Choice = TypeVar("_Choice", bound=str)


class Params:
    """A JSON object with checked access. An empty list counts as an empty object.

    The constructor raises WrongRequest for any other value. The getters raise it if the field is wrong, or if it is
    required and absent. `where` is the object's name in the messages.
    """

    def __init__(self, value: Any, where: str = "params") -> None:
        if value == []:  # an empty table in Lua
            value = {}
        if not is_object(value):
            raise WrongRequest(f"{where} must be an object")
        self._value = value
        self._where = where

    def text(self, name: str) -> str:
        """A string that must be present."""
        value = self.optional_text(name)
        if value is None:
            raise WrongRequest(f"{self._where}.{name} is missing; it must be a string")
        return value

    def optional_text(self, name: str) -> str | None:
        """A string; None if the field is absent or null."""
        return self._typed(name, str, "a string")

    def optional_integer(self, name: str) -> int | None:
        """A whole number; None if the field is absent or null."""
        value = self._typed(name, int, "an integer")
        if isinstance(value, bool):
            raise WrongRequest(f"{self._where}.{name} must be an integer")
        return value

    def data(self, name: str) -> bytes:
        """The bytes of a base64 string that must be present."""
        text = self.text(name)
        try:
            return b64decode(text, validate=True)
        except ValueError as error:
            raise WrongRequest(f"{self._where}.{name} must be base64") from error

    def token(self, name: str) -> int | str | None:
        """A work-done token (LSP 3.18, `ProgressToken`); None if the field is absent or null."""
        value = self._value.get(name)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | str)):
            raise WrongRequest(f"{self._where}.{name} must be a string or an integer")
        return value

    def boolean(self, name: str) -> bool:
        """A boolean that must be present."""
        value = self._typed(name, bool, "true or false")
        if value is None:
            raise WrongRequest(f"{self._where}.{name} is missing; it must be true or false")
        return value

    def child(self, name: str) -> "Params":
        """An object that must be present. Errors about its fields name the whole path, such as `params.target.uri`."""
        return Params(self._value.get(name), f"{self._where}.{name}")

    def texts(self, name: str) -> list[str]:
        """A list of strings; empty if the field is absent or null."""
        values: list[Any] = self._typed(name, list, "a list") or []
        if not all(isinstance(value, str) for value in values):
            raise WrongRequest(f"{self._where}.{name} must be a list of strings")
        return values

    def children(self, name: str) -> list["Params"]:
        """A list of objects; empty if the field is absent or null."""
        values: list[Any] = self._typed(name, list, "a list") or []
        return [Params(value, f"{self._where}.{name}[{index}]") for index, value in enumerate(values)]

    def integer(self, name: str) -> int:
        """A whole number that must be present."""
        value = self.optional_integer(name)
        if value is None:
            raise WrongRequest(f"{self._where}.{name} is missing; it must be an integer")
        return value

    def __contains__(self, name: str) -> bool:
        """Whether the field is present, even if it is null."""
        return name in self._value

    def has(self, name: str) -> bool:
        """Whether the field is present and not null."""
        return self._value.get(name) is not None

    def raw(self, name: str) -> Any:
        """The unchecked JSON of a field; None if it is absent."""
        return self._value.get(name)

    def path(self, name: str = "uri") -> Path:
        """The path of a `file:` URI that must be present."""
        uri = self.text(name)
        path = file_path(uri)
        if path is None:
            raise WrongRequest(f"{self._where}.{name} must be the URI of a file on this machine, not {uri[:200]!r}")
        return path

    def unknown_value_message(self, name: str, given: str, choices: Sequence[str]) -> str:
        """The error message for a value that is not one of the choices."""
        return f"{self._where}.{name} {given!r} is unknown; use {', '.join(choices[:-1])} or {choices[-1]}"

    def _typed(self, name: str, kind: type, what: str) -> Any:
        value = self._value.get(name)
        if value is not None and not isinstance(value, kind):
            raise WrongRequest(f"{self._where}.{name} must be {what}")
        return value


def read_target(params: Params) -> Target:
    """Reads the field `target` (docs/protocol.md, `Target`). A mixture of its forms is refused."""
    target = params.child("target")
    everything = target.has("all") and target.boolean("all")
    given = {name for name in ("item", "uri", "hunk", "changes") if target.has(name)}
    if everything and not given:
        return Target()
    if given == {"item"} and not everything:
        return Target(item_id=target.text("item"))
    if given in ({"uri"}, {"uri", "hunk"}) and not everything:
        return Target((_read_change(target),))
    if given == {"changes"} and not everything:
        return Target(tuple(map(_read_change, target.children("changes"))))
    raise WrongRequest("params.target must be one of {all: true}, {uri}, {uri, hunk}, {changes} and {item}")


def _read_change(change: Params) -> Change:
    return Change(str(change.path()), change.optional_text("hunk"))


def read_ops(params: Params) -> list[PlanOp]:
    """Reads the field `ops`, a list of `PlanOp` (docs/protocol.md).

    `add` inserts the new item after the item that `after` names; as the first item if `after` is null, and as the last
    one if it is absent. For `move`, an absent `after` counts as null.
    """
    return [_read_op(op) for op in params.children("ops")]


def _read_op(op: Params) -> PlanOp:
    match op.text("op"):
        case "add":
            return PlanOp("add", content=op.text("content"), after=op.optional_text("after"), at_end="after" not in op)
        case "update":
            held = op.boolean("held") if op.has("held") else None
            content, status = op.optional_text("content"), op.optional_text("status")
            check = op.optional_text("check")
            return PlanOp("update", op.text("id"), content=content, status=status, held=held, check=check)
        case "remove":
            return PlanOp("remove", op.text("id"))
        case "move":
            return PlanOp("move", op.text("id"), after=op.optional_text("after"))
        case other:
            raise WrongRequest(f"params.ops[].op {other!r} is unknown; use add, update, remove or move")


def read_choice(params: Params, name: str, choices: Sequence[_Choice]) -> _Choice | None:
    """One of the choices; None if the field is absent or null."""
    given = params.optional_text(name)
    for choice in choices:
        if given == choice:
            return choice
    if given is None:
        return None
    raise WrongRequest(params.unknown_value_message(name, given, choices))


@dataclass(frozen=True)
class ContentUri:
    """The URI of a side of a diff: `scheme://session/abs/path`.

    `?item=ID` limits the proposed side to the hunks of that plan item, and has no effect on the base.
    """

    scheme: str
    session_id: str
    path: Path
    item_id: str | None


def parse_content_uri(uri: str) -> ContentUri | None:
    """Parses a `fairlead-base:` or `fairlead-proposed:` URI. None for other schemes, and for an impossible path."""
    scheme, _, rest = uri.partition("://")
    rest, _, query = rest.partition("?")
    session_id, slash, path = rest.partition("/")
    if scheme not in (protocol.BASE_SCHEME, protocol.PROPOSED_SCHEME) or not slash:
        return None
    found = file_path(f"file:///{path}")
    # an editor may percent-encode the "=" of the query
    name, _, item_id = unquote(query).partition("=")
    return ContentUri(scheme, session_id, found, item_id if name == "item" else None) if found else None
