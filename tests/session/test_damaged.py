"""docs/faults.md 65: a damaged journal is reported and stays unchanged, and the other sessions are loaded."""

import asyncio
import json
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fairlead.lsp import convert, convert_events
from fairlead.lsp.publish import Notifier
from fairlead.models.common.endpoint import Endpoint
from fairlead.models.factory import ModelChoice
from fairlead.plan.history import history_page
from fairlead.session.errors import RequestRefused
from fairlead.session.model_selection import ModelSelection
from fairlead.session.report.summary import record_page
from fairlead.session.server_context import ServerContext
from fairlead.session.sessions import Sessions
from fairlead.session.settings import Settings
from fairlead.session.store.journal import Journals
from fairlead.shell.layers import CommandLayers
from fairlead.workspace.paths import Roots
from session.states import Change, changes, planning, proposing, recording, saying, states
from tools.stand_ins import Documents, ScriptedUser

GOOD, BAD = "00000000900d", "000000000bad"
INFINITY, HUGE = float("inf"), 10**400
ODD: list[Any] = [
    *(None, True, -1, 0, 0.5, 2**63, HUGE, 1e300, INFINITY, -INFINITY, float("nan"), 10**12),
    *("", "x", "\ud800", "a\0b", "9" * 5000, [], {}, [[]], [None], {"a": 1}, [10**12, None], {"type": "text"}),
]
deep = json.loads("[" * 900 + "]" * 900)


def no_model(_: ModelSelection) -> ModelChoice:
    """A model that refuses each request, because it has no key."""
    return ModelChoice(Endpoint("none", 1, None, None, None, None))


def places(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of each value in a JSON value, and in the JSON in which a proposal is saved as a text."""
    yield place
    value = json.loads(value) if is_proposal(value) else value
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inside:
        yield from places(one, (*place, key))


def is_proposal(value: Any) -> bool:
    return isinstance(value, str) and value.startswith('["/')


def put(value: Any, place: tuple[Any, ...], odd: Any) -> Any:
    """A copy of the value in which `odd` is at this path."""
    if not place:
        return odd
    if is_proposal(value):
        return json.dumps(put(json.loads(value), place, odd))
    key, *rest = place
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[key] = put(value[key], tuple(rest), odd)
    return copy


def cut(data: bytes, number: int) -> bytes:
    return data[: number % (len(data) + 1)]


def without_a_line(data: bytes, number: int) -> bytes:
    lines = data.splitlines(keepends=True)
    del lines[number % len(lines)]
    return b"".join(lines)


def with_another_byte(data: bytes, number: int) -> bytes:
    at = number % len(data)
    return data[:at] + bytes([number % 256]) + data[at + 1 :]


def with_an_odd_value(data: bytes, number: int, odd: Any) -> bytes:
    lines = [json.loads(line) for line in data.splitlines()]
    found = [(at, place) for at, line in enumerate(lines) for place in places(line)]
    at, place = found[number % len(found)]
    lines[at] = put(lines[at], place, odd)
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


damages: st.SearchStrategy[Callable[[bytes, int], bytes]] = st.one_of(
    st.sampled_from([*ODD, deep]).map(lambda odd: lambda data, number: with_an_odd_value(data, number, odd)),
    st.sampled_from([cut, without_a_line, with_another_byte]),
)


def write(folder: Path, session_id: str, root: Path, changes_made: list[Change]) -> Path:
    """Writes a journal as a server does."""
    journals = Journals(folder, warn=pytest.fail)
    journal = journals.new(session_id, str(root))
    for state in states(changes_made):
        journal.write(replace(state, updated=state.updated + time.time() - 100))
    journal.close()
    return folder / f"{session_id}.jsonl"


class Wire:
    """Encodes notifications as the server does, so that a value that cannot be encoded is noticed."""

    def send_notification(self, method: str, params: Any) -> None:
        json.dumps(params).encode()


def encoding_publisher(session_id: str, roots: Roots) -> Notifier:
    return Notifier(session_id, lambda: roots, Wire(), lambda: None, 0)


async def open_all(folder: Path, workspace: Path, *, restores: bool) -> tuple[set[str], list[str]]:
    """Opens all sessions, as a new server does. Returns the ids of those that can be opened, and the warnings."""
    warnings: list[str] = []
    root = Roots.of(workspace)
    journals = Journals(folder, warnings.append)
    context = ServerContext(
        Documents(),
        ScriptedUser("reject"),
        no_model,
        Settings(),
        CommandLayers(folder),
        journals=journals,
        roots=root,
        restores_sessions=restores,
    )
    sessions = Sessions(context, lambda session_id, _: encoding_publisher(session_id, root), lambda _: None)
    sessions.restore()
    rows = await sessions.rows_when_loaded()
    json.dumps(convert.sessions(rows)).encode()
    opened: set[str] = set()
    for row in rows:
        try:
            session = await sessions.get(row.id)
        except RequestRefused as error:
            warnings.append(str(error))
            continue
        json.dumps(convert_events.transcript(session.id, root, session.conversation.entries)).encode()
        json.dumps(
            [
                record_page(session.snapshot(), root, session.evidence.support_by_item),
                history_page(session.title, session.plan.history),
            ]
        ).encode()
        opened.add(row.id)
    await sessions.close()
    sessions.close_journals()
    for session in sessions:
        session.journal_writer.journal.close()
    return opened, warnings


@settings(max_examples=150)
@given(st.lists(changes, min_size=1, max_size=8), damages, st.integers(0, 10**6), st.booleans())
@example([proposing("/ws/a.txt", "x")], lambda data, _: data + b'{"at":Infinity,"patch":[]}\n', 0, True)
@example([proposing("/ws/a.txt", "x")], lambda data, _: data + b'{"at":1,"patch":[["/eventsSent",1e999]]}\n', 0, True)
@example(
    [saying("x")],
    lambda data, _: data + b'{"row":{"title":"t","updated":1.0,"completed":Infinity,"total":0}}\n',
    0,
    True,
)
@example(
    [saying("x")],
    lambda data, _: data + b'{"at":1.0,"patch":[["/messages/0",99]],"values":{"99":["user",{}]}}\n',
    0,
    False,
)
@example([saying("x")], lambda data, _: data.replace(b'["Prompt","x"', b'["Prompt","x",true'), 0, False)
@example([proposing("/ws/a.txt", "x")], lambda data, _: data.replace(b"[],[[1", b"[],[[1e9"), 0, True)
@example([saying("x")], lambda data, _: data + b"[" * 100_000 + b"\n", 0, True)
@example(
    [planning(["", ""]), planning([""]), recording("1", "")], lambda data, n: with_an_odd_value(data, n, None), 2, False
)
def test_fault_65_a_damaged_journal_hides_no_other_session(
    changes_made: list[Change], damage: Callable[[bytes, int], bytes], number: int, restores: bool
) -> None:
    """docs/faults.md 65: the other session is listed and can be opened. The damaged one can be opened too, or it now
    belongs to another workspace, or a warning names its file and what to do, and the file does not change."""
    with TemporaryDirectory() as temporary:
        folder, workspace = Path(temporary, "sessions"), Path(temporary, "ws")
        workspace.mkdir()
        write(folder, GOOD, workspace, [saying("good"), proposing(f"{workspace}/good.txt", "text")])
        bad = write(folder, BAD, workspace, changes_made)
        damaged = damage(bad.read_bytes(), number)
        bad.write_bytes(damaged)
        now = time.time()
        os.utime(bad, (now, now + 100 * (number % 3 - 1)))  # read before or after the other one
        opened, warnings = asyncio.run(open_all(folder, workspace, restores=restores))
        assert GOOD in opened
        if BAD in opened or (not warnings and not _is_of_workspace(damaged, workspace)):
            return
        assert len(warnings) == 1
        assert BAD in warnings[0] and str(bad) in warnings[0] and "move the file away" in warnings[0]
        assert bad.read_bytes() == damaged


def _is_of_workspace(data: bytes, workspace: Path) -> bool:
    """Whether a journal belongs to this workspace. The sessions of other workspaces are not listed."""
    head = json.loads(data.split(b"\n")[0])
    return head["root"] == str(workspace)


@pytest.mark.parametrize("what", ["a folder", "a pipe", "a device"])
def test_fault_65_a_journal_that_is_no_regular_file_is_not_read(tmp_path: Path, what: str) -> None:
    """docs/faults.md 65: the user is warned, and the other sessions are still opened."""
    folder, workspace = tmp_path / "sessions", tmp_path / "ws"
    workspace.mkdir()
    write(folder, GOOD, workspace, [saying("good")])
    odd = folder / f"{BAD}.jsonl"
    match what:
        case "a folder":
            odd.mkdir()
        case "a pipe":
            os.mkfifo(odd)
        case _:
            odd.symlink_to("/dev/zero")
    opened, warnings = asyncio.run(open_all(folder, workspace, restores=True))
    assert opened == {GOOD}
    assert [BAD in one for one in warnings] == [True]
