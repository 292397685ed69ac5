"""Ranks the runs of a race (docs/plan.md P25), in a real server and sandbox."""

from pathlib import Path

import pytest

from lsp.test_check_requests import INVALID_PARAMS, REFUSED
from lsp.test_together import ABLE, WAITING, propose
from support.calls import bash, edit
from support.client import Client, Json
from support.other_program import replace_text
from support.sandbox import needs_sandbox


@pytest.fixture(autouse=True)
def sandboxed() -> None:
    needs_sandbox()


async def test_p25_only_what_the_checks_need_counts(workspace: Path) -> None:
    """Both runs are proved. The one whose smallest set is smaller is first, although it changes more lines."""
    (workspace / "a.txt").write_text("one\n\n\n\nmore\n")
    both = "grep -q two a.txt && test -e new.txt || test -e b.txt"
    async with Client(workspace, capabilities=ABLE, settings={"checks": [both]}) as client:
        new: Json = {"write_file": {"path": "new.txt", "content": "1\n"}}
        two = await propose(client, "Two files", edit("a.txt", "one", "two"), new)
        long: Json = {"write_file": {"path": "b.txt", "content": "1\n" * 20}}
        one = await propose(client, "One file", long)
        result = await client.request("agent/race/rank", {"sessionIds": [two, one]})
        found = [(each["sessionId"], each["proof"], each["needed"], each["lines"]) for each in result["standings"]]
        assert found == [(one, "proved", 1, 20), (two, "proved", 2, 3)]
        assert result["why"] == "The first run needs 1 change to pass; the second one needs 2 changes to pass."


async def test_p25_without_checks_the_runs_own_commands_count(workspace: Path) -> None:
    """Nothing verified these steps. A run that proposes nothing has failed."""
    (workspace / "a.txt").write_text("one\n")
    async with Client(workspace, capabilities=ABLE) as client:
        nothing = await propose(client, "Nothing")
        changed = await propose(client, "Changed", edit("a.txt", "one", "two"))
        result = await client.request("agent/race/rank", {"sessionIds": [nothing, changed]})
        assert [(each["sessionId"], each["proof"]) for each in result["standings"]] == [
            (changed, "unverified"),
            (nothing, "failed"),
        ]


async def test_p25_what_cannot_be_ranked_is_refused(workspace: Path) -> None:
    """One session is no race, and a run must have ended."""
    (workspace / "gate").write_text("closed\n")
    async with Client(workspace, capabilities=ABLE) as client:
        one = await propose(client, "One")
        error = await client.error("agent/race/rank", {"sessionIds": [one, one]})
        assert error.code == INVALID_PARAMS
        other = (await client.request("agent/sessions/create", {"title": "Other"}))["sessionId"]
        recording = workspace.parent / "Waiting.replay.yaml"
        turns = [{"calls": [bash(WAITING)]}, {"text": "Done."}]
        recording.write_text(str({"replay": 1, "turns": turns}).replace("'", '"'))
        client.notify("workspace/didChangeConfiguration", {"settings": {"replay": str(recording)}})
        _, answer = client.begin("agent/runTask", {"sessionId": other, "prompt": "Wait."})
        await client.event("command", sessionId=other)
        error = await client.error("agent/race/rank", {"sessionIds": [one, other]})
        assert error.code == REFUSED and "still going on" in error.message
        replace_text(workspace / "gate", "open\n")
        await answer
