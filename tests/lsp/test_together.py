"""The proposals of all sessions, checked together (docs/plan.md P24), in a real server and sandbox."""

import asyncio
import json
from pathlib import Path

import pytest

from lsp.test_check_requests import REFUSED
from lsp.test_checks import BEGIN, todo
from lsp.test_verification import review
from support.calls import edit, write
from support.client import EDITOR, Client, Json, WireError
from support.other_program import replace_text
from support.sandbox import needs_sandbox

ABLE: Json = {**EDITOR, "experimental": {"agent": {"sessions": True}}}
TOTAL = 'python3 -B -c "from a import x, v; from b import y, w; assert x + y < 4"'
"""Passes with the changes of either session, and fails with both."""


@pytest.fixture(autouse=True)
def sandboxed() -> None:
    needs_sandbox()


@pytest.fixture
def files(workspace: Path) -> Path:
    """Two modules with values far from each other."""
    (workspace / "a.py").write_text("x = 1\n\n\n\nv = 1\n")
    (workspace / "b.py").write_text("y = 1\n\n\n\nw = 1\n")
    return workspace


async def propose(client: Client, title: str, *calls: Json, check: str = "") -> str:
    """Lets a new session propose something, with a recording of its own. Returns its id."""
    assert client.workspace is not None
    path = client.workspace.parent / f"{title}.replay.yaml"
    turns = [{"calls": [todo(*BEGIN, check=check), *calls]}, {"text": "Done."}]
    path.write_text(json.dumps({"replay": 1, "turns": turns}))
    client.notify("workspace/didChangeConfiguration", {"settings": {"replay": str(path)}})
    session = (await client.request("agent/sessions/create", {"title": title}))["sessionId"]
    await client.run(sessionId=session)
    return session


async def together(client: Client) -> Json:
    return await client.request("agent/checks/together", {})


def state(client: Client) -> Json:
    return client.last("agent/together")


async def propose_pair(client: Client, check: str = TOTAL) -> tuple[str, str]:
    """Two sessions with two changes each. One change of each makes the check fail together."""
    one = await propose(client, "One", edit("a.py", "x = 1", "x = 2"), edit("a.py", "v = 1", "v = 2"), check=check)
    other = await propose(client, "Other", edit("b.py", "y = 1", "y = 2"), edit("b.py", "w = 1", "w = 2"))
    return one, other


async def test_p24_the_smallest_pair_across_sessions_is_named(files: Path) -> None:
    """The result holds until a proposal or a file changes, also one that another program writes. The checks of the
    settings and of the steps run once each. The runs are evidence for no step.
    """
    async with Client(files, capabilities=ABLE, settings={"checks": ["true", TOTAL]}) as client:
        one, other = await propose_pair(client)
        found = await together(client)
        assert (found["outcome"], found["conflicts"]) == ("fails", [])
        assert [(each["title"], each["changes"]) for each in found["sessions"]] == [("Other", 2), ("One", 2)]
        passed, failed = found["checks"]
        assert (passed["command"], passed["outcome"], passed["runs"]) == ("true", "passes", 1)
        assert (failed["command"], failed["outcome"]) == (TOTAL, "minimal")
        assert {(each["sessionId"], each["name"]) for each in failed["changes"]} == {
            (one, "a.py, line 1"),
            (other, "b.py, line 1"),
        }
        assert failed["message"] == (
            f"`{TOTAL}` fails with these 2 changes together, and passes if either of them is missing: "
            "b.py, line 1 (“Other”); a.py, line 1 (“One”)."
        )
        assert state(client) == {"running": None, "result": found}
        runs = [each["running"]["runs"] for each in client.all("agent/together") if each["running"]]
        assert runs == [1, *range(1, failed["runs"] + 1)]
        assert client.last("agent/plan")["items"][0]["evidence"]["commands"] == []
        replace_text(files / "b.py", "# mine\n" + (files / "b.py").read_text())
        await client.until(lambda: state(client)["result"] is None)


async def test_p24_checks_pass_together(files: Path) -> None:
    """A decision about a proposal ends the result."""
    async with Client(files, capabilities=ABLE, settings={"checks": ["grep -q 2 a.py && grep -q 2 b.py"]}) as client:
        one, _ = await propose_pair(client, check="")
        found = await together(client)
        assert (found["outcome"], found["message"]) == ("passes", "The check passes with the changes of 2 sessions.")
        assert state(client)["result"] == found
        await review(client, "reject", sessionId=one, target={"all": True})
        await client.until(lambda: state(client)["result"] is None)


async def test_p24_changes_of_the_same_lines_are_a_conflict(files: Path) -> None:
    """Both sides are named, and nothing runs."""
    async with Client(files, capabilities=ABLE, settings={"checks": ["true"]}) as client:
        one = await propose(client, "One", edit("a.py", "v = 1", "v = 2"), edit("a.py", "x = 1", "x = 2"))
        other = await propose(client, "Other", edit("a.py", "v = 1", "v = 3"))
        found = await together(client)
        assert (found["outcome"], found["checks"]) == ("conflict", [])
        [conflict] = found["conflicts"]
        assert [(each["sessionId"], each["name"]) for each in conflict["sides"]] == [
            (other, "a.py, line 5"),
            (one, "a.py, line 5"),
        ]
        assert not [each for each in client.all("agent/together") if each["running"]]
        assert all(each["hunk"] for each in conflict["sides"])


@pytest.mark.parametrize(
    ("check", "outcome", "failing"),
    [
        pytest.param("! grep -q 'v = 2' a.py", "alone", ["One"], id="fails with one session alone"),
        pytest.param("false", "without", ["Other", "One"], id="fails without changes"),
    ],
)
async def test_p24_a_check_that_fails_without_the_combination_says_so(
    files: Path, check: str, outcome: str, failing: list[str]
) -> None:
    async with Client(files, capabilities=ABLE, settings={"checks": [check]}) as client:
        await propose_pair(client, check="")
        found = await together(client)
        [result] = found["checks"]
        titles = {each["sessionId"]: each["title"] for each in found["sessions"]}
        assert (result["outcome"], [titles[each] for each in result["failing"]]) == (outcome, failing)
        assert result["changes"] == []


async def test_p24_a_steps_check_is_compared_with_its_own_session(files: Path) -> None:
    """The check of a step needs the session's new file, so it fails with the other session alone. That is no fault."""
    check = "test -e new.py && ! grep -q 'y = 2' b.py"
    async with Client(files, capabilities=ABLE) as client:
        one = await propose(client, "One", write("new.py", "1\n"), check=check)
        other = await propose(client, "Other", edit("b.py", "y = 1", "y = 2"), edit("b.py", "w = 1", "w = 2"))
        [result] = (await together(client))["checks"]
        assert (result["outcome"], result["failing"]) == ("minimal", [])
        assert {(each["sessionId"], each["name"]) for each in result["changes"]} == {
            (one, "new.py"),
            (other, "b.py, line 1"),
        }


async def test_p24_what_cannot_be_checked_together_is_refused(files: Path) -> None:
    async with Client(files, capabilities=ABLE) as client:
        for said in ("No session has proposed changes", "Only one session has proposed changes", "No check is set"):
            error = await client.error("agent/checks/together", {})
            assert error.code == REFUSED and said in error.message
            await propose(client, "One", edit("a.py", "x = 1", "x = 2"))


async def test_p24_a_denied_check_does_not_end_the_others(files: Path) -> None:
    async with Client(
        files, capabilities=ABLE, settings={"checks": ["rm a.py", "true"], "bash": {"deny": ["rm *"]}}
    ) as client:
        await propose_pair(client, check="")
        found = await together(client)
        assert [each["outcome"] for each in found["checks"]] == ["not_run", "passes"]
        assert "Your deny rule blocks it" in found["checks"][0]["message"]
        assert found["outcome"] == "fails"


WAITING = "while grep -q closed gate; do sleep 0.05; done"


async def begin_waiting(client: Client, files: Path) -> tuple[int, asyncio.Future[Json]]:
    """Begins a check that waits for the file `gate`."""
    (files / "gate").write_text("closed\n")
    await propose_pair(client, check="")
    begun = client.begin("agent/checks/together", {})
    await client.until(lambda: client.all("agent/together") and state(client)["running"])
    return begun


async def test_p24_it_can_be_stopped(files: Path) -> None:
    async with Client(files, capabilities=ABLE, settings={"checks": ["true", WAITING]}) as client:
        number, answer = await begin_waiting(client, files)
        await client.until(lambda: state(client)["running"]["number"] == 2)
        client.notify("$/cancelRequest", {"id": number})
        with pytest.raises(WireError):
            await answer
        await client.until(lambda: state(client)["running"] is None)
        stopped = state(client)["result"]
        assert (stopped["outcome"], [each["command"] for each in stopped["checks"]]) == ("stopped", ["true"])
        replace_text(files / "gate", "open\n")
        assert (await together(client))["outcome"] == "passes"


async def test_p24_a_change_meanwhile_ends_it(files: Path) -> None:
    """The result would be about proposals that do not exist anymore."""
    async with Client(files, capabilities=ABLE, settings={"checks": [WAITING]}) as client:
        _, answer = await begin_waiting(client, files)
        client.open(files / "a.py")
        before = len(client.all("agent/edits"))
        client.type(files / "a.py", (files / "a.py").read_text() + "mine\n")
        await client.until(lambda: len(client.all("agent/edits")) > before)
        replace_text(files / "gate", "open\n")
        found = await answer
        assert (found["outcome"], found["checks"]) == ("changed", [])
        assert state(client) == {"running": None, "result": None}


async def test_p24_the_checks_of_a_session_run_first(files: Path) -> None:
    """While the user's check of one session runs, the check of all sessions waits with its next run."""
    async with Client(files, capabilities=ABLE, settings={"checks": ["true"]}) as client:
        (files / "gate").write_text("closed\n")
        one, _ = await propose_pair(client, check="")
        _, first = client.begin("agent/checks/run", {"sessionId": one, "check": WAITING})
        handle = (await client.event("command"))["handle"]
        _, answer = client.begin("agent/checks/together", {})
        await client.until(lambda: client.all("agent/together") and state(client)["running"])
        assert not answer.done()
        await client.request("agent/command/stop", {"sessionId": one, "handle": handle})
        await first
        assert (await answer)["outcome"] == "passes"


async def test_p24_limits_apply(files: Path) -> None:
    async with Client(files, capabilities=ABLE, settings={"check": {"searchMaxRuns": 4}}) as client:
        await propose_pair(client)
        [result] = (await together(client))["checks"]
        assert (result["outcome"], result["runs"]) == ("limit", 4)
        assert "Not all sets could be tried" in result["message"]
