"""The plan over the wire: the user steers the agent with it, and it records the work (docs/plan.md P13 to P15)."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.calls import bash, edit
from support.client import Client

Replay = Callable[..., dict[str, Any]]
Json = dict[str, Any]


def todo(*items: tuple[str, str], reason: str = "") -> Json:
    listed = [{"content": content, "status": status} for content, status in items]
    return {"todo": {"items": listed, **({"reason": reason} if reason else {})}}


ALLOW = {"agent/approve": lambda _: {"option": "allow_once"}}


async def test_p15_work_is_recorded_under_its_step(workspace: Path, replay: Replay) -> None:
    """A drifting model: work before the plan, a step with evidence, one without, one whose last command failed, work
    between steps, one that stays open. Checks what the user sees in each case, and the record as text.
    """
    (workspace / "a.txt").write_text("one\n")
    settings = replay(
        {"calls": [{"read_file": {"path": "a.txt"}}]},
        {"calls": [todo(("Edit", "in_progress"), ("Check", "pending"), ("Think", "pending"), ("Later", "pending"))]},
        {"calls": [edit("a.txt", "one", "two"), bash("true")]},
        {"calls": [todo(("Edit", "completed"), ("Check", "in_progress"), ("Think", "pending"), ("Later", "pending"))]},
        {"calls": [bash("true"), bash("exit 3")]},
        {"calls": [todo(("Edit", "completed"), ("Check", "completed"), ("Think", "completed"), ("Later", "pending"))]},
        {"calls": [edit("a.txt", "two", "three")]},
        {"text": "Done."},
    )
    async with Client(workspace, settings=settings, answers=ALLOW) as client:
        result = await client.run()
        plan = client.last("agent/plan")
        steps = {item["content"]: item for item in plan["items"]}
        assert {name: item["verification"] for name, item in steps.items()} == {
            "Edit": "unverified", "Check": "unverified", "Think": "noEvidence", "Later": "none",
        }  # fmt: skip
        assert steps["Edit"]["evidence"]["files"] == [(workspace / "a.txt").as_uri()]
        runs = [(run["command"], run["exitCode"]) for run in steps["Check"]["evidence"]["commands"]]
        assert runs == [("true", 0), ("exit 3", 3)]
        outside = {place["id"]: place["evidence"] for place in plan["outside"]}
        assert outside["before"]["looks"] == 1
        assert outside["unplanned"]["files"] == [(workspace / "a.txt").as_uri()]
        assert "3 of 4 steps, 1 file to review, 3 commands (1 failed)." in result["record"]
        assert "Not done: Later." in result["record"]
        assert "Unverified: Edit, Check. Without evidence: Think." in result["record"]
        page = (await client.request("agent/record", {"sessionId": result["sessionId"]}))["markdown"]
        assert "- [x] Edit (unverified)\n  - To review: `a.txt`\n  - Ran `true`: exit code 0" in page
        assert "- [ ] Later (not done)" in page


async def test_p13_the_user_edits_the_plan_while_the_agent_works(workspace: Path, replay: Replay) -> None:
    """The model reads the edits after the results of the round. Its rewrite with the dropped step is refused, and it
    continues without the step. The history shows who changed what, with the model's reason."""
    asked = asyncio.Event()
    allowed = asyncio.Event()

    async def approve(_: Json) -> Json:
        asked.set()
        await allowed.wait()
        return {"option": "allow_once"}

    plan = todo(("One", "in_progress"), ("Two", "pending"), ("Three", "pending"))
    settings = replay(
        {"calls": [plan]},
        {"calls": [bash("true")]},
        {"calls": [todo(("One", "completed"), ("Two", "in_progress"), ("Three", "pending"))]},
        {"calls": [todo(("One", "completed"), ("Three", "pending"), ("Four", "pending"), reason="Two was dropped")]},
        {"text": "Done."},
        approvals="ask",
    )
    async with Client(workspace, settings=settings, answers={"agent/approve": approve}) as client:
        running = asyncio.ensure_future(client.run())
        await asked.wait()
        shown = client.last("agent/plan")
        ops = [
            {"op": "remove", "id": "2"},
            {"op": "add", "content": "Four", "after": "3"},
            {"op": "update", "id": "3", "held": True},
        ]
        params = {"sessionId": shown["sessionId"], "revision": shown["revision"], "ops": ops}
        edited = (await client.request("agent/plan/edit", params))["plan"]
        assert [(item["id"], item["held"], item["byUser"]) for item in edited["items"]] == [
            ("1", False, False), ("3", True, False), ("4", False, True),
        ]  # fmt: skip
        assert (await client.error("agent/plan/edit", params)).code == -32801
        wrong = {**params, "revision": edited["revision"], "ops": [{"op": "remove", "id": "9"}]}
        assert (await client.error("agent/plan/edit", wrong)).code == -32602
        allowed.set()
        result = await running
        [feedback] = client.events("feedback")
        assert "- dropped #2: Two\n- added #4: Four\n- holds #3: do not start it" in feedback["text"]
        assert "[ ] #3: Three (held by the user)" in feedback["text"]
        refused = [event["text"] for event in client.events("tool_finished") if event["isError"]]
        assert refused == ["Error: Item 5: the user dropped this step (Two). Leave it out."]
        assert [item["content"] for item in client.last("agent/plan")["items"]] == ["One", "Three", "Four"]
        page = (await client.request("agent/plan/history", {"sessionId": result["sessionId"]}))["markdown"]
        assert "You: 1 added, 1 dropped, 1 held." in page
        assert "The agent: 1 completed.\n\nReason: Two was dropped" in page


@pytest.mark.parametrize("mode", ["plan", "ask"])
async def test_the_modes_plan_and_ask_only_read(workspace: Path, replay: Replay, mode: str) -> None:
    """docs/protocol.md, `mode`: reading works, and edits and commands are refused. The plan can be written in `plan`,
    but not in `ask`. The next run does the work in the same session."""
    (workspace / "a.txt").write_text("one\n")
    calls = [
        {"read_file": {"path": "a.txt"}},
        todo(("Step", "pending")),
        edit("a.txt", "one", "two"),
        bash("touch b.txt"),
    ]
    settings = replay({"calls": calls}, {"text": "So."}, {"calls": [edit("a.txt", "one", "two")]}, {"text": "Done."})
    async with Client(workspace, settings=settings, answers=ALLOW) as client:
        session = (await client.run(mode=mode))["sessionId"]
        errors = [event["isError"] for event in client.events("tool_finished")]
        assert errors == [False, mode == "ask", True, True]
        assert client.last("agent/edits") is None
        assert client.all("agent/approve") == []
        await client.run(sessionId=session)
        assert len(client.last("agent/edits")["files"]) == 1


async def test_a_question_reaches_the_user(workspace: Path, replay: Replay) -> None:
    """The server sends it with `agent/ask` if the client supports this, otherwise as a message if the question has
    options. The model reads the answer, or an error if there is none.
    """
    question = {"ask_user": {"question": "Tabs or blanks?", "options": ["Tabs", "Blanks"]}}
    free = {"ask_user": {"question": "Which name?"}}
    settings = replay({"calls": [question, free]}, {"text": "."})
    able = {"experimental": {"agent": {"questions": True}}}
    answers = {"agent/ask": lambda params: {"answer": "Blanks" if params["options"] else None}}
    async with Client(workspace, settings=settings, capabilities=able, answers=answers) as client:
        await client.run()
        assert client.all("agent/ask")[0]["options"] == ["Tabs", "Blanks"]
        assert [event["text"] for event in client.events("tool_finished")] == [
            "The user answered: Blanks",
            "Error: No answer. Choose what the user most likely wants, and say so at the end.",
        ]
    plain = {"window/showMessageRequest": lambda params: params["actions"][0]}
    async with Client(workspace, settings=settings, capabilities={}, answers=plain) as client:
        await client.run()
        assert client.events("tool_finished")[0]["text"] == "The user answered: Tabs"
        assert client.events("tool_finished")[1]["isError"]


async def test_invisible_characters_of_an_option_are_shown_as_escapes(workspace: Path, replay: Replay) -> None:
    """If the client lacks `questions`, the message's actions contain the escapes. The model reads the original text."""
    question = {"ask_user": {"question": "Which?", "options": ["plain", "x\u202ey"]}}
    settings = replay({"calls": [question]}, {"text": "."})
    plain = {"window/showMessageRequest": lambda params: params["actions"][1]}
    async with Client(workspace, settings=settings, capabilities={}, answers=plain) as client:
        await client.run()
        titles = [action["title"] for action in client.last("window/showMessageRequest")["actions"]]
        assert titles == ["plain", "x\\u202ey"]
        assert client.events("tool_finished")[0]["text"] == "The user answered: x\u202ey"


async def test_a_step_can_be_undone_after_later_changes(workspace: Path, replay: Replay) -> None:
    """Undo removes the accepted changes of one step from the files. Other changes stay. A file in which the same lines
    have changed since then is reported and not changed. The undo can be undone."""
    lines = "".join(f"line {number}\n" for number in range(1, 21))
    for name in ("a.txt", "b.txt"):
        (workspace / name).write_text(lines)
    settings = replay(
        {"calls": [todo(("One", "in_progress"), ("Two", "pending"))]},
        {"calls": [edit("a.txt", "line 3\n", "LINE 3\n"), edit("b.txt", "line 3\n", "LINE 3\n")]},
        {"calls": [{"write_file": {"path": "new.txt", "content": "new\n"}}]},
        {"calls": [todo(("One", "completed"), ("Two", "in_progress"))]},
        {"calls": [edit("a.txt", "line 15\n", "LINE 15\n")]},
        {"text": "."},
    )
    async with Client(workspace, settings=settings) as client:
        session = (await client.run())["sessionId"]
        await client.request("agent/edits/accept", {"sessionId": session, "target": {"all": True}})
        (workspace / "a.txt").write_text((workspace / "a.txt").read_text() + "mine\n")
        (workspace / "b.txt").write_text((workspace / "b.txt").read_text().replace("LINE 3", "LINE THREE"))
        review = await client.request("agent/edits/undo", {"sessionId": session, "item": "1"})
        assert {Path(one["uri"]).name: one["outcome"] for one in review["outcomes"]} == {
            "a.txt": "applied", "b.txt": "failed", "new.txt": "applied",
        }  # fmt: skip
        undone = lines.replace("line 15\n", "LINE 15\n") + "mine\n"
        assert (workspace / "a.txt").read_text() == undone
        assert not (workspace / "new.txt").exists()
        assert "LINE THREE" in (workspace / "b.txt").read_text()
        assert review["edits"]["undoLabel"] == "Undo step 1"
        await client.request("agent/edits/undo", {"sessionId": session})
        assert (workspace / "a.txt").read_text() == undone.replace("line 3\n", "LINE 3\n")
        assert (workspace / "new.txt").read_text() == "new\n"
        none = await client.error("agent/edits/undo", {"sessionId": session, "item": "9"})
        assert (none.code, "no accepted change of this step" in none.message) == (-32803, True)
