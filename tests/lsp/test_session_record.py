"""`agent/record` as JSON: what a session did, for others to verify (docs/record.md)."""

import json
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from support.client import Client
from support.fake_api import Call, FakeApi, Text, Turn
from support.sandbox import needs_sandbox

Json = dict[str, Any]
Replay = Callable[..., Json]

CHECK = "cat b.txt > /dev/null && test $(cat a.txt) = ONE"


def todo(status: str, **more: str) -> Json:
    return {"todo": {"items": [{"content": "Shout", "status": status, **more}], "reason": "Because"}}


def edit(path: str, old: str, new: str) -> Json:
    return {"edit_file": {"path": path, "old_text": f"{old}\n", "new_text": f"{new}\n"}}


def content(text: str) -> Json:
    return {"sha256": sha256(text.encode()).hexdigest(), "executable": False}


async def recorded(client: Client, session: str) -> Json:
    return (await client.request("agent/record", {"sessionId": session}))["record"]


@pytest.fixture
def sandbox() -> None:
    """Skips the test without a sandbox, because only sandboxed checks see the proposed files."""
    needs_sandbox()


@pytest.mark.usefixtures("sandbox")
async def test_a_record_has_prompts_plan_decisions_checks_and_digests(workspace: Path, replay: Replay) -> None:
    """The session has an approval, a completion that its check refuses, a fix, a passed check, an accepted file and a
    rejected hunk.
    """
    lines = "".join(f"line {number}\n" for number in range(1, 21))
    (workspace / "a.txt").write_text("one\n")
    (workspace / "b.txt").write_text(lines)
    (workspace / ".env").write_text("KEY=1\n")
    settings = replay(
        {"calls": [{"read_file": {"path": ".env"}}, todo("in_progress", check=CHECK)]},
        {"calls": [edit("b.txt", "line 2", "LINE 2"), edit("b.txt", "line 19", "LINE 19")]},
        {"calls": [todo("completed")]},
        {"calls": [edit("a.txt", "one", "ONE"), todo("completed")]},
        {"text": "Done."},
    )
    async with Client(
        workspace, settings=settings, answers={"agent/approve": lambda _: {"option": "allow_once"}}
    ) as client:
        session = (await client.run(prompt="Shout\nplease"))["sessionId"]
        named = {"sessionId": session}
        edits = client.last("agent/edits")
        [other] = [file for file in edits["files"] if file["uri"].endswith("b.txt")]
        whole_file = {"uri": (workspace / "a.txt").as_uri()}
        await client.request("agent/edits/accept", {**named, "target": whole_file})
        second = {"uri": other["uri"], "hunk": other["hunks"][1]["id"]}
        await client.request("agent/edits/reject", {**named, "target": second})
        record = await recorded(client, session)

    assert (record["format"], record["prompts"], record["title"]) == (1, ["Shout\nplease"], "Shout")
    assert record["models"] == ["replay (script.replay.yaml)"]
    assert [(version["by"], version["summary"], version["reason"]) for version in record["plan"]] == [
        ("model", "1 added", "Because"),
        ("model", "1 completed", "Because"),
    ]
    [step] = record["steps"]
    assert (step["check"], step["status"], step["verification"], step["changedSince"]) == (
        CHECK,
        "completed",
        "stale",
        ["b.txt"],
    )
    assert [(run["exitCode"], run["withoutChanges"]) for run in step["work"]["commands"]] == [
        (1, False),
        (0, False),
        (1, True),
    ]
    position = {"oldStart": 2, "oldLines": 1, "newStart": 2, "newLines": 1}
    changes = [(change["path"], change["decision"], change["step"]) for change in record["changes"]]
    assert changes == [("a.txt", "accepted", "1"), ("b.txt", "rejected", "1"), ("b.txt", "review", "1")]
    assert record["changes"][2]["hunk"] == {"id": other["hunks"][0]["id"], **position}
    [check] = record["verifications"]
    assert (check["command"], check["exitCode"], check["step"], check["failsWithoutChanges"]) == (CHECK, 0, "1", True)
    both = lines.replace("line 2\n", "LINE 2\n").replace("line 19", "LINE 19")
    assert check["differs"] == {"b.txt": content(both)}
    assert record["files"] == [
        {"path": "a.txt", "before": content("one\n"), "after": content("ONE\n")},
        {"path": "b.txt", "before": content(lines), "after": content(lines)},
    ]
    assert str(workspace) not in json.dumps(record)


async def test_a_session_in_which_nothing_happened_has_the_same_record_after_a_restart(
    workspace: Path, replay: Replay, tmp_path: Path
) -> None:
    storage = tmp_path / "storage"
    async with Client(workspace, settings=replay({"text": "Hello."}), storage=storage) as client:
        session = (await client.run(prompt="Hello"))["sessionId"]
        record = await recorded(client, session)
    async with Client(workspace, settings=replay({"text": "Hello."}), storage=storage) as client:
        assert await recorded(client, session) == record
    assert record["models"] == ["replay (script.replay.yaml)"]
    empty = ("plan", "steps", "outside", "changes", "verifications", "files")
    assert [record[name] for name in empty] == [[]] * len(empty)
    assert (record["prompts"], record["costUsd"], record["tokens"]) == (["Hello"], None, 0)


async def test_the_cost_is_divided_among_the_changes(workspace: Path, connect: Callable[..., Client]) -> None:
    """A step's cost is that of its changes; all changes share the rest. Each request costs 3 dollars here."""
    (workspace / "a.txt").write_text("one\n")
    (workspace / "b.txt").write_text("".join(f"line {number}\n" for number in range(1, 21)))

    def plan(*statuses: str) -> Call:
        items = [{"content": f"Step {number}", "status": status} for number, status in enumerate(statuses)]
        return Call("todo", {"items": items})

    def change(path: str, old: str, new: str) -> Call:
        return Call("edit_file", edit(path, old, new)["edit_file"])

    rounds = [
        (Call("read_file", {"path": "a.txt"}), plan("in_progress", "pending", "pending")),
        (change("b.txt", "line 2", "2"), change("b.txt", "line 19", "19"), plan("completed", "in_progress", "pending")),
        (change("a.txt", "one", "ONE"), plan("completed", "completed", "in_progress")),
        (Call("read_file", {"path": "a.txt"}),),
        (Text("Done."),),
    ]
    usage = {"input_tokens": 1_000_000, "output_tokens": 0}
    models = {"local": {"inputPrice": 3, "outputPrice": 9}}
    with FakeApi([Turn(blocks, usage=usage) for blocks in rounds]) as api:
        settings = {"model": "local", "endpoints": {"anthropic": {"models": models}}}
        async with connect(api, settings=settings) as client:
            session = (await client.run())["sessionId"]
            named = {"sessionId": session}
            hunks = {Path(file["uri"]).name: file["hunks"] for file in client.last("agent/edits")["files"]}
            uris = {name: (workspace / name).as_uri() for name in hunks}
            await client.request("agent/edits/accept", {**named, "target": {"uri": uris["a.txt"]}})
            second = {"uri": uris["b.txt"], "hunk": hunks["b.txt"][1]["id"]}
            await client.request("agent/edits/reject", {**named, "target": second})
            result = await client.request("agent/record", named)
    record = result["record"]
    assert (record["tokens"], record["costUsd"]) == (5_000_000, pytest.approx(15))
    assert {each["decision"]: (each["changes"], each["tokens"], each["costUsd"]) for each in record["costs"]} == {
        "accepted": (1, 2_000_000, pytest.approx(3 + 9 / 3)),
        "rejected": (1, 1_500_000, pytest.approx(3 / 2 + 9 / 3)),
        "review": (1, 1_500_000, pytest.approx(3 / 2 + 9 / 3)),
    }
    assert "$6.00 (2,000,000 tokens) for 1 change accepted" in result["markdown"]
