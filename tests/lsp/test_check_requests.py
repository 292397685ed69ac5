"""Checks that the user runs (docs/plan.md P18), in a real server and sandbox."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from fairlead.tools.check_run import WITHOUT_RETAINED
from lsp.test_checks import BEGIN, TICK, results, todo
from lsp.test_verification import bash, review, write_workspace
from support.calls import edit
from support.client import Client, Json
from support.sandbox import needs_sandbox

Replay = Callable[..., Json]
BOTH = "grep -q two a.txt && grep -q two b.txt"
WAITING = "echo started; while [ ! -e go ]; do sleep 0.05; done"
GATED = "echo started; while grep -q closed gate; do sleep 0.05; done"
INVALID_PARAMS, REFUSED = -32602, -32803


@pytest.fixture(autouse=True)
def sandboxed() -> None:
    needs_sandbox()


async def run_checks(client: Client, **params: object) -> list[Json]:
    return (await client.request("agent/checks/run", {"sessionId": session(client), **params}))["results"]


def session(client: Client) -> str:
    return client.last("agent/plan")["sessionId"]


def item(client: Client) -> Json:
    return client.last("agent/plan")["items"][0]


def proposes_both(check: str = BOTH) -> list[Json]:
    """One step that changes both files. Nothing but the user's requests runs its check."""
    edits = [edit("a.txt", "one", "two"), edit("b.txt", "one", "two")]
    return [{"calls": [todo(*BEGIN, check=check), *edits]}, {"text": "Done."}]


async def test_p18_a_check_runs_with_and_without_the_changes(workspace: Path, replay: Replay) -> None:
    """The results are events and evidence. After both runs, the step that the model completes is proved without a third
    run.
    """
    write_workspace(workspace)
    async with Client(workspace, settings=replay(*proposes_both(), {"calls": [TICK]}, {"text": "Done."})) as client:
        await client.run()
        [passed] = await run_checks(client)
        assert (passed["changes"], passed["passed"], passed["itemId"]) == ("all", True, "1")
        assert passed["message"].startswith(f"`{BOTH}` passes (exit code 0, ")
        [failed] = await run_checks(client, base=True)
        assert (failed["changes"], failed["passed"]) == ("none", False)
        assert failed["message"].endswith("With them it passes, so it proves them.")
        assert (failed["proves"], failed["accepted"], failed["total"]) == (True, 0, 2)
        assert client.last("agent/edits")["checked"] is None  # nothing was accepted
        assert client.events("check_finished")[-1] | failed == client.events("check_finished")[-1]
        await client.run(sessionId=session(client))
        assert item(client)["verification"] == "proved"
        assert [run["withoutChanges"] for run in item(client)["evidence"]["commands"]] == [False, True]


async def test_p18_accepted_changes_are_checked(workspace: Path, replay: Replay) -> None:
    """The message names the file without which the check fails. The result is shown with the proposals until one of
    them is decided.
    """
    write_workspace(workspace)
    async with Client(workspace, settings=replay(*proposes_both())) as client:
        await client.run()
        only_a = {"uri": (workspace / "a.txt").as_uri()}
        [failed] = await run_checks(client, target=only_a)
        assert failed["message"].startswith(f"With 1 of 2 undecided changes: `{BOTH}` fails")
        assert item(client)["evidence"]["commands"][0]["verifies"] is False
        await review(client, "accept", target=only_a)
        [failed] = await run_checks(client, base=True)
        assert failed["message"] == f"1 of 2 changes accepted: `{BOTH}` fails without b.txt."
        assert client.last("agent/edits")["checked"] == failed
        await review(client, "accept", target={"all": True})
        assert client.last("agent/edits")["checked"] is None
        [passed] = await run_checks(client, base=True)
        assert passed["message"].startswith(f"2 of 2 changes accepted: `{BOTH}` passes")


async def test_p18_missing_lines_are_named_unless_the_check_fails_anyway(workspace: Path, replay: Replay) -> None:
    write_workspace(workspace)
    (workspace / "c.txt").write_text("".join(f"{number}\n" for number in range(1, 31)))
    edits = [edit("c.txt", "2\n3\n4", "x\ny\n4"), edit("c.txt", "20\n", "z\n")]
    turns = [{"calls": [todo(*BEGIN, check="grep -q z c.txt"), *edits]}, {"text": "Done."}]
    async with Client(workspace, settings=replay(*turns)) as client:
        await client.run()
        [file] = client.last("agent/edits")["files"]
        await review(client, "accept", target={"uri": file["uri"], "hunk": file["hunks"][0]["id"]})
        [failed] = await run_checks(client, base=True)
        assert failed["message"] == "1 of 2 changes accepted: `grep -q z c.txt` fails without c.txt, line 20."
        [failed] = await run_checks(client, base=True, check="false")
        assert failed["message"].startswith("1 of 2 changes accepted: `false` fails (exit code 1, ")
        assert failed["message"].endswith("It fails with all of them, too.")


async def test_p18_the_setting_checks_after_a_partial_accept(workspace: Path, replay: Replay) -> None:
    """With `check.afterPartialAccept`, a partial accept runs the check, and a failure is shown as a message. No check
    runs after the last proposal is decided.
    """
    write_workspace(workspace)
    settings = {**replay(*proposes_both()), "check": {"afterPartialAccept": True}}
    async with Client(workspace, settings=settings) as client:
        await client.run()
        await review(client, "accept", target={"uri": (workspace / "a.txt").as_uri()})
        await client.until(lambda: client.events("check_finished"))
        said = f"1 of 2 changes accepted: `{BOTH}` fails without b.txt."
        await client.until(lambda: any(said in each["message"] for each in client.all("window/showMessage")))
        await review(client, "accept", target={"all": True})
        await run_checks(client)
        assert len(client.events("check_finished")) == 2


async def test_fault_121_a_check_without_the_changes_uses_no_build_of_them(workspace: Path, replay: Replay) -> None:
    """docs/faults.md 121: the agent has run the check before, so what it built from the change is up to date. The check
    without the change, or with another one, does not use it.
    """
    write_workspace(workspace)
    (workspace / ".gitignore").write_text("built\n")
    check = "test -e built || cp a.txt built; grep -q two built"
    edits = [edit("a.txt", "one", "two"), edit("b.txt", "one", "two")]
    turns = [{"calls": [todo(*BEGIN, check=check), *edits, bash(check)]}, {"calls": [TICK]}, {"text": "Done."}]
    async with Client(workspace, settings=replay(*turns)) as client:
        await client.run()
        [failed] = await run_checks(client, base=True)
        assert failed["message"].endswith("With them it passes, so it proves them.")
        assert item(client)["verification"] == "proved"
        [failed] = await run_checks(client, target={"uri": (workspace / "b.txt").as_uri()})
        assert failed["message"].startswith(f"With 1 of 2 undecided changes: `{check}` fails")
        assert (await run_checks(client))[0]["passed"] is True


async def test_fault_122_a_missing_build_is_no_proof(workspace: Path, replay: Replay) -> None:
    """docs/faults.md 122: the check needs an ignored file that an earlier command made, so it fails without the changes
    for another reason than the changes.
    """
    write_workspace(workspace)
    (workspace / ".gitignore").write_text("built\n")
    check = "test -e built"
    calls = [todo(*BEGIN, check=check), edit("a.txt", "one", "two"), bash("touch built")]
    turns = [{"calls": calls}, {"calls": [TICK]}, {"text": "Done."}]
    async with Client(workspace, settings=replay(*turns)) as client:
        await client.run()
        assert any(text.endswith("So it fails with them too, and proves nothing.") for text in results(client))
        [failed] = await run_checks(client, base=True)
        assert failed["proves"] is False
        assert failed["message"].endswith(f"{WITHOUT_RETAINED} So it fails with all of them, too.")
        assert (item(client)["verification"], item(client)["flaky"]) == ("unverified", False)
        found = await client.request("agent/checks/minimize", {"sessionId": session(client)})
        assert (found["outcome"], WITHOUT_RETAINED in found["message"]) == ("fails", True)
        await review(client, "accept", target={"all": True})
        [failed] = await run_checks(client, base=True)
        assert (failed["passed"], WITHOUT_RETAINED in failed["message"]) == (False, True)
        assert (item(client)["verification"], item(client)["flaky"]) == ("unverified", False)


async def test_p18_a_flaky_check_proves_nothing(workspace: Path, replay: Replay) -> None:
    """The check passes, fails and passes on the same files, because it depends on a cache, which counts as no
    input. Its step stays unverified until these files change.
    """
    write_workspace(workspace)
    (workspace / ".cache").mkdir()
    (workspace / ".gitignore").write_text(".cache/\n")
    check, flag = "test -e a.txt && test -e .cache/flag", workspace / ".cache" / "flag"
    turns = [
        {"calls": [todo(*BEGIN, check=check), edit("a.txt", "one", "two")]},
        {"text": "Done."},
        {"calls": [TICK]},
        {"text": "Done."},
        {"calls": [edit("a.txt", "two", "three"), todo(*BEGIN), TICK]},
        {"text": "Done."},
    ]
    async with Client(workspace, settings=replay(*turns)) as client:
        await client.run()
        flag.touch()
        assert (await run_checks(client))[0]["passed"] is True
        flag.unlink()
        [failed] = await run_checks(client)
        assert failed["message"].endswith(
            "It has passed and failed on the same files, so it is flaky and proves nothing."
        )
        flag.touch()
        await client.run(sessionId=session(client))
        assert (item(client)["verification"], item(client)["flaky"]) == ("unverified", True)
        await client.run(sessionId=session(client))
        assert (item(client)["verification"], item(client)["flaky"]) == ("verified", False)


async def test_p18_checks_run_one_at_a_time_beside_the_agent_and_can_be_stopped(
    workspace: Path, replay: Replay
) -> None:
    """A second request waits. A stopped check has no result, and cannot be stopped again; the agent's run continues."""
    write_workspace(workspace)
    turns = [
        {"calls": [todo(*BEGIN, check="sleep 60"), edit("a.txt", "one", "two")]},
        {"calls": [{"bash": {"command": WAITING, "unsandboxed": True}}]},
        {"text": "Done."},
    ]
    answers = {"agent/approve": lambda _: {"option": "allow_once"}}
    able: Json = {"experimental": {"agent": {"approvals": True}}}
    async with Client(workspace, settings=replay(*turns), capabilities=able, answers=answers) as client:
        run = asyncio.ensure_future(client.run())
        await client.until(lambda: client.events("tool_output"))
        first, second = (asyncio.ensure_future(run_checks(client, check=each)) for each in ("sleep 60", "true"))
        await client.until(lambda: any(each["handle"] == "check-1" for each in client.events("command")))
        assert not any(each["handle"] == "check-2" for each in client.events("command"))
        stop: Json = {"sessionId": session(client), "handle": "check-1"}
        await client.request("agent/command/stop", stop)
        [stopped] = await first
        await client.request("agent/command/stop", stop)  # a second click does nothing
        assert (stopped["passed"], stopped["message"]) == (None, "`sleep 60` was stopped. It has no result.")
        [passed] = await second
        assert passed["passed"] is True
        (workspace / "go").touch()
        assert (await run)["stopReason"] == "end_turn"


async def test_p18_a_check_without_the_changes_runs_beside_the_agents_commands(workspace: Path, replay: Replay) -> None:
    """The check sees nothing of the folder that the agent's command works in, which contains the proposals."""
    write_workspace(workspace)
    turns = [
        {"calls": [todo(*BEGIN, check="grep -q one a.txt"), edit("a.txt", "one", "two")]},
        {"calls": [bash(GATED)]},
        {"text": "Done."},
    ]
    gate = workspace / "gate"
    gate.write_text("closed\n")
    async with Client(workspace, settings=replay(*turns)) as client:
        run = asyncio.ensure_future(client.run())
        await client.until(lambda: client.events("tool_output"))
        [result] = await run_checks(client, base=True)
        assert result["passed"] is True
        assert len(client.events("command_ended")) == 1  # the agent's command still runs
        gate.write_text("open\n")
        await run


@pytest.mark.parametrize(
    ("check", "accepted_before"),
    [
        pytest.param(GATED, "a.txt", id="with the accepted changes"),
        pytest.param(f"grep -q two a.txt && {{ {GATED}; }}", "", id="without the changes"),
    ],
)
async def test_p18_a_result_is_for_the_text_that_the_check_saw(
    workspace: Path, replay: Replay, check: str, accepted_before: str
) -> None:
    """If the user accepts a change while a check runs, the result says that files have changed. It does not count for
    the accepted changes, and proves nothing.
    """
    write_workspace(workspace)
    gate = workspace / "gate"
    gate.write_text("closed\n")
    async with Client(workspace, settings=replay(*proposes_both())) as client:
        await client.run()
        if accepted_before:
            await review(client, "accept", target={"uri": (workspace / accepted_before).as_uri()})
        running = asyncio.ensure_future(run_checks(client, check=check, base=True))
        await client.until(lambda: client.events("tool_output"))
        await review(client, "accept", target={"uri": (workspace / "b.txt").as_uri()})
        gate.write_text("open\n")
        [result] = await running
        assert (result["passed"], result["proves"], result["outdated"]) == (bool(accepted_before), False, True)
        assert result["message"].endswith("Files have changed since it started, so run it again.")
        assert client.last("agent/edits")["checked"] is None


REFUSALS: list[tuple[str, Json, int, str]] = [
    ("run", {}, REFUSED, "No check is set."),
    ("run", {"check": "  "}, REFUSED, "No check is set."),
    ("run", {"check": "true", "base": True}, REFUSED, "no proposed changes to leave out"),
    ("run", {"check": "true", "target": {"item": "9"}}, REFUSED, "Nothing is proposed there."),
    ("run", {"check": "true", "base": True, "target": {"all": True}}, INVALID_PARAMS, "cannot be combined"),
    ("run", {"check": 3}, INVALID_PARAMS, "params.check must be a string"),
    ("minimize", {}, REFUSED, "No check is set."),
    ("minimize", {"check": "true"}, REFUSED, "Nothing is proposed, so there is nothing to search."),
    ("minimize", {"check": 3}, INVALID_PARAMS, "params.check must be a string"),
]


async def test_p18_requests_that_cannot_run(workspace: Path, replay: Replay) -> None:
    """docs/plan.md P18 and P19: they are refused with the reason."""
    async with Client(workspace, settings=replay({"text": "Hello."})) as client:
        result = await client.run()
        for method, params, code, said in REFUSALS:
            error = await client.error(f"agent/checks/{method}", {"sessionId": result["sessionId"], **params})
            assert (error.code, said in error.message) == (code, True), (method, params, error.message)
