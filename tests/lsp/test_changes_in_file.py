"""`agent/edits/inFile` (docs/protocol.md): the proposed changes as they would change the user's text."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fairlead.lsp.changes_in_file import changes_in_file
from session.harness import harness_with, run_sync
from support.calls import LINES, edit
from support.client import Client

Json = dict[str, Any]
Replay = Callable[..., Json]
LETTERS = st.lists(st.sampled_from("abc"), max_size=8)


def text_of(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def with_changes(text: str, changes: list[Json]) -> str:
    """The user's text after all changes without a conflict, from the last one to the first."""
    lines = text.splitlines()
    for change in reversed([change for change in changes if change["state"] == "pending"]):
        lines[change["line"] : change["line"] + change["removed"]] = change["added"]
    return text_of(lines)


@given(LETTERS, LETTERS, LETTERS)
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_all_changes_together_are_what_an_accept_writes(base: list[str], mine: list[str], theirs: list[str]) -> None:
    """Whatever the agent and the user changed, apart from conflicts."""
    with harness_with({"a.txt": text_of(base)}) as harness:
        harness.call("write_file", path="a.txt", content=text_of(theirs))
        path = harness.folder / "a.txt"
        path.write_text(text_of(mine))
        run_sync(harness.session.observe([path]))
        changes: list[Any] = list(changes_in_file(harness.session, path))
        harness.accept("a.txt")
        assert harness.tree["a.txt"] == with_changes(text_of(mine), changes)


async def test_the_changes_follow_the_users_unsaved_text(workspace: Path, replay: Replay) -> None:
    """Lines that the user inserts above move a change. A conflict has the user's lines, and its changes are one."""
    file = workspace / "a.txt"
    file.write_text(LINES)
    calls = [edit("a.txt", "line 2\n", "2\ntwo\n"), edit("a.txt", "line 5\n", "")]
    async with Client(workspace, settings=replay({"calls": calls}, {"text": "."})) as client:
        uri = client.open(file)
        session = (await client.run())["sessionId"]

        async def shown() -> list[Any]:
            found = await client.request("agent/edits/inFile", {"uri": uri})
            keys = "line", "removed", "added", "number", "count", "state"
            assert {change["sessionId"] for change in found["changes"]} == {session}
            return [found["version"], *([change[key] for key in keys] for change in found["changes"])]

        assert await shown() == [1, [1, 1, ["2", "two"], 1, 2, "pending"], [4, 1, [], 2, 2, "pending"]]
        client.type(file, f"mine\n{LINES}")
        assert await shown() == [2, [2, 1, ["2", "two"], 1, 2, "pending"], [5, 1, [], 2, 2, "pending"]]
        client.type(file, f"mine\n{LINES.replace('line 2', 'my line 2')}")
        assert await shown() == [3, [2, 1, ["2", "two"], 1, 2, "conflict"], [5, 1, [], 2, 2, "pending"]]
        both = LINES.replace("line 2\nline 3\nline 4\nline 5\n", "my\nlines\n")
        client.type(file, both)
        assert await shown() == [4, [1, 2, ["2", "two"], 1, 2, "conflict"]]
        assert (await client.request("agent/edits/inFile", {"uri": (workspace / "b.txt").as_uri()})) == {
            "version": None,
            "changes": [],
        }
