"""Converts the params of requests to values of the core. An error names the field that is wrong."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from fairlead.edits.selection import Change
from fairlead.plan import PlanOp
from fairlead.session.errors import WrongRequest
from fairlead.session.review.target import Target
from fairlead.uris import file_path
from fairlead.wire import params as wire
from fairlead.wire import protocol
from fairlead.wire.states import ChangeIdWire


def read_path(uri: str, where: str) -> Path:
    """The path of a `file:` URI. `where` is the name of the field in the message of the WrongRequest."""
    path = file_path(uri)
    if path is None:
        raise WrongRequest(f"{where} must be the URI of a file on this machine, not {uri[:200]!r}")
    return path


def read_target(target: wire.Target) -> Target:
    """The target of a decision."""
    if "item" in target:
        return Target(item_id=target["item"])
    if "changes" in target:
        changes = enumerate(target["changes"])
        read = tuple(_read_change(change, f"params.target.changes[{index}]") for index, change in changes)
        return Target(read, is_selection=True)
    if "uri" in target:
        return Target((_read_change(target, "params.target"),))
    return Target(weakened_tests="weakenedTests" in target)


def _read_change(change: ChangeIdWire | wire.FileTarget | wire.HunkTarget, where: str) -> Change:
    return Change(str(read_path(change["uri"], f"{where}.uri")), change.get("hunk"))


def read_ops(ops: Sequence[wire.PlanOp]) -> list[PlanOp]:
    """The user's changes of the plan. For `move`, an absent `after` counts as null."""
    return [_read_op(op) for op in ops]


def _read_op(op: wire.PlanOp) -> PlanOp:
    if op["op"] == "add":
        return PlanOp("add", content=op["content"], after=op.get("after"), at_end="after" not in op)
    if op["op"] == "update":
        content, status, held, check = op.get("content"), op.get("status"), op.get("held"), op.get("check")
        return PlanOp("update", op["id"], content=content, status=status, held=held, check=check)
    if op["op"] == "remove":
        return PlanOp("remove", op["id"])
    if op["op"] == "restore":
        return PlanOp("restore", op["id"], after=op.get("after"), at_end="after" not in op)
    return PlanOp("move", op["id"], after=op.get("after"))


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
