"""Several sessions of one server: their list, two runs at once, opening, deleting, and messages to a run."""

import asyncio
import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from support.client import EDITOR, Client
from support.conversations import shown_texts
from support.fake_api import Call, FakeApi, Text, Turn, Wait

Json = dict[str, Any]
Replay = Callable[..., Json]
Connect = Callable[..., Client]

SHOWING = {**EDITOR, "experimental": {"agent": {"questions": True, "sessions": True}}}


def todo(content: str, status: str) -> Json:
    return {"todo": {"items": [{"content": content, "status": status, "activeForm": ""}]}}


def edit(old: str, new: str) -> Json:
    return {"edit_file": {"path": "a.txt", "old_text": old, "new_text": new}}


def ask(question: str) -> Json:
    return {"ask_user": {"question": question}}


class Gate:
    """The user's answers to questions. Each waits for its gate, so a run stops at a known point."""

    def __init__(self) -> None:
        self._open: dict[str, asyncio.Event] = {}
        self._asked: dict[str, asyncio.Event] = {}

    def of(self, question: str) -> asyncio.Event:
        return self._open.setdefault(question, asyncio.Event())

    async def until_asked(self, question: str) -> None:
        await self._asked.setdefault(question, asyncio.Event()).wait()

    async def answer(self, params: Json) -> Json:
        self._asked.setdefault(params["question"], asyncio.Event()).set()
        await self.of(params["question"]).wait()
        return {"answer": "Yes"}


def rows(client: Client) -> dict[str, Json]:
    """The last list that was sent, by title."""
    notification = client.last("agent/sessions")
    return {row["title"]: row for row in notification["sessions"]} if notification else {}


def states(client: Client) -> dict[str, str]:
    return {title: row["phase"] for title, row in rows(client).items()}


def script(tmp_path: Path, name: str, *turns: Json) -> Json:
    path = tmp_path / f"{name}.replay.yaml"
    path.write_text(json.dumps({"replay": 1, "turns": turns}))
    return {"replay": str(path)}


async def test_a_title_is_cut_after_a_word(workspace: Path, tmp_path: Path) -> None:
    """docs/protocol.md, `title`: the first line of the prompt. In the list and the record, `…` marks the cut."""
    prompt = "Drop the legacy tables, and everything that reads them, from the schema and the reports\nCarefully."
    async with Client(workspace, settings=script(tmp_path, "one", {"text": "Done."}), capabilities=SHOWING) as client:
        session = (await client.run(prompt))["sessionId"]
        title = "Drop the legacy tables, and everything that reads them, from the schema and the…"
        await client.until(lambda: list(rows(client)) == [title])
        record = (await client.request("agent/record", {"sessionId": session}))["markdown"]
        assert title in record


async def test_p11_two_sessions_at_once_do_not_mix(workspace: Path, tmp_path: Path) -> None:
    """docs/plan.md P11: while both run, each notification carries its own session's plan and proposals and nothing of
    the other's; the list shows the state of each; one ends, the other continues."""
    (workspace / "a.txt").write_text("one\ntwo\n")
    first = script(tmp_path, "first", {"calls": [todo("First step", "in_progress"), edit("one", "ONE"), ask("First?")]},
                   {"calls": [todo("First step", "completed")]}, {"text": "First done."})  # fmt: skip
    second = script(tmp_path, "second", {"calls": [todo("Second step", "in_progress"), ask("Second?")]},
                    {"calls": [edit("two", "TWO")]}, {"text": "Second done."})  # fmt: skip
    gate = Gate()
    answers = {"agent/ask": gate.answer}
    async with Client(workspace, settings=first, capabilities=SHOWING, answers=answers) as client:
        one = asyncio.ensure_future(client.run("The first"))
        await gate.until_asked("First?")
        client.notify("workspace/didChangeConfiguration", {"settings": second})
        two = asyncio.ensure_future(client.run("The second"))
        await gate.until_asked("Second?")
        await client.until(lambda: states(client) == {"The first": "running", "The second": "running"})
        assert [row["title"] for row in client.last("agent/sessions")["sessions"]] == ["The second", "The first"]
        gate.of("Second?").set()
        ended = await two
        await client.until(lambda: states(client) == {"The first": "running", "The second": "idle"})
        gate.of("First?").set()
        begun = await one
        row = await client.until(lambda: (found := rows(client)["The first"])["phase"] == "idle" and found)
        assert (row["completed"], row["total"], row["pendingFiles"]) == (1, 1, 1)
        assert [one["title"] for one in client.last("agent/sessions")["sessions"]] == ["The first", "The second"]
        plans = {(plan["sessionId"], item["content"]) for plan in client.all("agent/plan") for item in plan["items"]}
        assert plans == {(begun["sessionId"], "First step"), (ended["sessionId"], "Second step")}
        proposed = {
            (state["sessionId"], hunk["newStart"])
            for state in client.all("agent/edits")
            for file in state["files"]
            for hunk in file["hunks"]
        }
        assert proposed == {(begun["sessionId"], 1), (ended["sessionId"], 2)}
        assert (await client.request("agent/sessions/list", {})) == client.last("agent/sessions")
        command = {"command": "fairlead.server.sessions", "arguments": [{}]}
        assert (await client.request("workspace/executeCommand", command)) == client.last("agent/sessions")


async def test_an_opened_session_has_its_plan_proposals_and_conversation(workspace: Path, replay: Replay) -> None:
    """docs/protocol.md, `agent/sessions/open`: the conversation consists of the events that were sent."""
    (workspace / "a.txt").write_text("one\n")
    settings = replay(
        {
            "text": "I begin.",
            "calls": [
                todo("Step", "in_progress"),
                edit("one", "ONE"),
                edit("two", "TWO"),
                {"bash": {"command": "false"}},
            ],
        },
        {"text": "Done."},
        {"text": "Yes."},
    )
    async with Client(workspace, settings=settings) as client:
        session = (await client.run("Do this."))["sessionId"]
        await client.request("agent/edits/reject", {"sessionId": session, "target": {"all": True}})
        await client.run("And now?", sessionId=session, mode="ask")
        opened = await client.request("agent/sessions/open", {"sessionId": session})
        assert shown_texts(opened, "prompt", "text") == ["Do this.", "I begin.", "Done.", "And now?", "Yes."]
        marks = [item for item in opened["transcript"] if item["kind"] in ("prompt", "run_ended")]
        assert [mark.get("checkpoint") for mark in marks] == [1, None, 2, None]
        assert "1 command (1 failed)" in marks[1]["record"]
        shown = {item["kind"] for item in opened["transcript"]} - {"prompt", "run_ended"}
        kept = [{**event, "seq": 0} for event in client.events() if event["kind"] in shown]
        events = [{**item, "seq": 0} for item in opened["transcript"] if item["kind"] in shown]
        assert shown >= {"tool_started", "tool_finished", "command_ended", "step_began", "usage"}
        assert events == [_as_shown(event) for event in kept]
        assert (opened["sessionId"], opened["phase"]) == (session, "idle")
        assert opened["plan"] == client.last("agent/plan")
        assert opened["edits"] == client.last("agent/edits")
        assert (await client.error("agent/sessions/open", {"sessionId": "x"})).code == -32602
        assert client.all("agent/sessions") == []  # this client did not ask for it


def _as_shown(event: Json) -> Json:
    """An event as a transcript contains it."""
    match event["kind"]:
        case "tool_started":
            return event if event["toolKind"] == "edit" else {**event, "input": {}}
        case "feedback":
            return {**event, "text": ""}
        case _:
            return event


async def test_a_deleted_session_is_gone_and_the_files_stay(workspace: Path, replay: Replay, tmp_path: Path) -> None:
    """docs/protocol.md, `agent/sessions/delete`: the request is refused while the session runs. Deleting the session
    removes its proposals and its journal, and does not change the workspace's file.
    """
    (workspace / "a.txt").write_text("one\n")
    storage = tmp_path / "storage"
    gate = Gate()
    settings = replay({"calls": [edit("one", "ONE")]}, {"calls": [ask("Sure?")]}, {"text": "Done."})
    options: Json = {"settings": settings, "capabilities": SHOWING, "storage": storage}
    async with Client(workspace, answers={"agent/ask": gate.answer}, **options) as client:
        running = asyncio.ensure_future(client.run("Do this."))
        await gate.until_asked("Sure?")
        session = {"sessionId": client.events()[0]["sessionId"]}
        refused = await client.error("agent/sessions/delete", session)
        assert (refused.code, "Stop it first" in refused.message) == (-32803, True)
        await client.until(lambda: states(client) == {"Do this.": "running"})
        gate.of("Sure?").set()
        await running
        assert await client.request("agent/sessions/delete", session) is None
        assert client.last("agent/edits")["files"] == []
        assert (workspace / "a.txt").read_text() == "one\n"
        await client.until(lambda: client.last("agent/sessions") == {"sessions": []})
        assert list((storage / "sessions").iterdir()) == []
        assert (await client.error("agent/sessions/delete", session)).code == -32602
        assert (await client.error("agent/runTask", {"prompt": "x", **session})).code == -32602
    assert list((storage / "sessions").iterdir()) == []


async def test_the_user_renames_a_session(workspace: Path, replay: Replay, tmp_path: Path) -> None:
    """The title is one line, and is listed and saved. An empty one is refused."""
    storage = tmp_path / "storage"
    settings = replay({"text": "Done."})
    options: Json = {"settings": settings, "capabilities": SHOWING, "storage": storage}
    async with Client(workspace, **options) as client:
        session = {"sessionId": (await client.run("Do this."))["sessionId"]}
        refused = await client.error("agent/sessions/rename", {**session, "title": " \n"})
        assert (refused.code, "must not be empty" in refused.message) == (-32602, True)
        assert await client.request("agent/sessions/rename", {**session, "title": "My name\nfor it"}) is None
        await client.until(lambda: states(client) == {"My name": "idle"})
        assert rows(client)["My name"]["ended"] == "end_turn"
    async with Client(workspace, **options) as client:
        listed = (await client.request("agent/sessions/list", {}))["sessions"]
        assert [(row["title"], row["ended"]) for row in listed] == [("My name", "end_turn")]


async def test_a_run_that_a_shutdown_interrupted_is_paused(connect: Connect, tmp_path: Path) -> None:
    """An orderly shutdown has the same effect on a run as a kill. An idle session is restored as idle."""
    storage = tmp_path / "storage"
    gate = Gate()
    write = Call("write_file", {"path": "new.txt", "content": "new\n"})
    turns = [Turn((write,)), Turn((Text("Done."),)), Turn((write, Call("ask_user", {"question": "Sure?"})))]
    with FakeApi(turns=turns) as api:
        options: Json = {"capabilities": SHOWING, "storage": storage, "answers": {"agent/ask": gate.answer}}
        async with connect(api, **options) as client:
            await client.run("At rest.")
            client.begin("agent/runTask", {"prompt": "At work."})
            await gate.until_asked("Sure?")
            await client.request("shutdown", None)
            client.notify("exit", None)
            await client.process.wait()
        async with connect(api, **options) as client:
            await client.until(lambda: states(client) == {"At rest.": "idle", "At work.": "paused"})
        assert api.refusals == []


async def test_l6_a_message_to_a_run_is_read_at_the_next_boundary(connect: Connect) -> None:
    """docs/plan.md L6: the message follows the results of the round. The event `steered` comes at once. All waiting
    messages are added to the next request, and to no later one."""
    gate = Gate()
    turns = [
        Turn((Call("ask_user", {"question": "Sure?"}),)),
        Turn((Call("ask_user", {"question": "Really?"}),)),
        Turn((Text("Done."),)),
    ]
    with FakeApi(turns=turns) as api:
        async with connect(api, capabilities=SHOWING, answers={"agent/ask": gate.answer}) as client:
            running = asyncio.ensure_future(client.run("Do this."))
            await gate.until_asked("Sure?")
            session = client.events()[0]["sessionId"]
            word = {"sessionId": session, "text": " Use tabs. "}
            assert await client.request("agent/steer", word) == {"queued": 1}
            assert client.events("steered")[-1]["text"] == "Use tabs."
            command = {"command": "fairlead.server.steer", "arguments": [{**word, "text": "And be quick."}]}
            assert await client.request("workspace/executeCommand", command) == {"queued": 2}
            gate.of("Sure?").set()
            gate.of("Really?").set()
            await running
            texts = [block.get("text", block["type"]) for block in api.requests[1].body["messages"][-1]["content"]]
            assert texts == [
                "tool_result",
                "<user_message>\nThe user said while you worked:\nUse tabs.\n</user_message>",
                "<user_message>\nThe user said while you worked:\nAnd be quick.\n</user_message>",
            ]
            assert [block["type"] for block in api.requests[2].body["messages"][-1]["content"]] == ["tool_result"]
            opened = await client.request("agent/sessions/open", {"sessionId": session})
            assert shown_texts(opened, "prompt", "steered") == ["Do this.", "Use tabs.", "And be quick."]
        assert api.refusals == []


async def test_l1_a_message_at_the_end_of_a_turn_starts_one_more_round(connect: Connect) -> None:
    """docs/plan.md L1: the run does not end before the model has read the message and answered it. The message does not
    cut the answer in two that the model was writing."""
    released = threading.Event()
    last = Wait(Turn((Text("All is done."),), chunk=4), released, before=4)
    turns = [last, Turn((Text("Now with tabs."),))]
    with FakeApi(turns=turns) as api:
        async with connect(api) as client:
            running = asyncio.ensure_future(client.run("Do this."))
            session = (await client.event("text"))["sessionId"]
            await client.request("agent/steer", {"sessionId": session, "text": "Use tabs."})
            released.set()
            result = await running
            assert (result["stopReason"], result["message"]) == ("end_turn", "Now with tabs.")
            [block] = api.requests[1].body["messages"][-1]["content"]
            assert "Use tabs." in block["text"]
            kinds = [
                event["kind"] for event in client.events() if event["kind"] in ("steered", "feedback", "run_finished")
            ]
            assert kinds == ["steered", "feedback", "run_finished"]
            opened = await client.request("agent/sessions/open", {"sessionId": session})
            shown = shown_texts(opened, "text", "steered")
            # an answer that was saved meanwhile has several pieces
            assert "".join(shown[: shown.index("Use tabs.")]) == "All is done."
            assert shown[shown.index("Use tabs.") + 1 :] == ["Now with tabs."]
        assert api.refusals == []


async def test_a_message_that_a_stopped_run_did_not_read_is_sent_with_the_next_task(connect: Connect) -> None:
    """docs/protocol.md, `agent/steer`: no message of the user is lost when a run is stopped."""
    gate = Gate()
    turns = [Turn((Call("ask_user", {"question": "Sure?"}),)), Turn((Text("Done."),))]
    with FakeApi(turns=turns) as api:
        async with connect(api, capabilities=SHOWING, answers={"agent/ask": gate.answer}) as client:
            running = asyncio.ensure_future(client.run("Do this."))
            await gate.until_asked("Sure?")
            session = {"sessionId": client.events()[0]["sessionId"]}
            await client.request("agent/steer", {**session, "text": "Use tabs."})
            await client.request("agent/cancel", session)
            assert (await running)["stopReason"] == "cancelled"
            await client.run("Go on.", **session)
            texts = [block["text"] for block in api.requests[1].body["messages"][-1]["content"]]
            assert texts[0] == "Go on."
            assert "Use tabs." in texts[1]
        assert api.refusals == []


async def test_a_message_without_a_run_is_refused(workspace: Path, replay: Replay) -> None:
    """Without a run, the error is -32803. An empty or too long message is always wrong."""
    async with Client(workspace, settings=replay({"text": "Done."})) as client:
        session = (await client.run())["sessionId"]
        for text, code in (("Use tabs.", -32803), ("  ", -32602), ("x" * 400_001, -32602)):
            assert (await client.error("agent/steer", {"sessionId": session, "text": text})).code == code
        assert client.events("steered") == []


async def test_a_message_before_a_run_has_started_is_refused(workspace: Path, replay: Replay) -> None:
    """The run starts after the editor has reported the problems that the prompt mentions. Until then, the error does
    not suggest starting a run, because that would be refused too."""
    asked, answer = asyncio.Event(), asyncio.Event()

    async def diagnostics(_: Json) -> Json:
        asked.set()
        await answer.wait()
        return {"files": []}

    capabilities = {**EDITOR, "experimental": {"agent": {"editor": True}}}
    answers = {"agent/editor/diagnostics": diagnostics}
    settings = replay({"text": "Done."})
    async with Client(workspace, settings=settings, capabilities=capabilities, answers=answers) as client:
        session = await client.request("agent/sessions/create", {})
        running = asyncio.ensure_future(client.run(context=[{"kind": "problems"}], **session))
        await asked.wait()
        refused = await client.error("agent/steer", {**session, "text": "Use tabs."})
        assert (refused.code, refused.message) == (
            -32803,
            "This session's run has not started yet. Try again in a moment.",
        )
        answer.set()
        assert (await running)["message"] == "Done."
        assert client.events("steered") == []
        refused = await client.error("agent/steer", {**session, "text": "Use tabs."})
        assert "Start a run with this text instead" in refused.message


async def test_a_wrong_prompt_creates_no_session(workspace: Path, replay: Replay) -> None:
    """An empty or too long prompt is refused before a session is created, by request and by command."""
    async with Client(workspace, settings=replay({"text": "Done."})) as client:
        for prompt in ("  ", "x" * 400_001):
            assert (await client.error("agent/runTask", {"prompt": prompt})).code == -32602
            command = {"command": "fairlead.server.runTask", "arguments": [{"prompt": prompt}]}
            assert (await client.error("workspace/executeCommand", command)).code == -32602
        assert await client.request("agent/sessions/list", {}) == {"sessions": []}
