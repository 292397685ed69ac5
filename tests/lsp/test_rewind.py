"""docs/protocol.md, `agent/sessions/rewind`: a session as it was before a prompt."""

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from faults.test_review_faults import parts
from support.calls import edit
from support.client import Client
from support.conversations import shown_texts
from support.fake_api import Call, FakeApi, Text, Turn, Wait

Json = dict[str, Any]
Connect = Callable[..., Client]
Replay = Callable[..., Json]

ONE = "one\n" + "same\n" * 8 + "two\n"


def says(text: str) -> Turn:
    return Turn((Text(text),))


def todo(content: str, status: str = "in_progress") -> Turn:
    return Turn((Call("todo", {"items": [{"content": content, "status": status, "activeForm": ""}]}),))


def replaced(old: str, new: str, path: str = "a.txt") -> Turn:
    return Turn((Call("edit_file", {"path": path, "old_text": old, "new_text": new}),))


async def prompts(client: Client, session: str) -> dict[str, int]:
    """The checkpoint before each prompt of the conversation."""
    opened = await client.request("agent/sessions/open", {"sessionId": session})
    return {item["text"]: item["checkpoint"] for item in opened["transcript"] if item["kind"] == "prompt"}


async def rewind(client: Client, session: str, prompt: str, scope: str = "everything") -> Json:
    checkpoint = (await prompts(client, session))[prompt]
    params = {"sessionId": session, "checkpoint": checkpoint, "scope": scope}
    return await client.request("agent/sessions/rewind", params)


async def opened(client: Client, session: str) -> Json:
    return await client.request("agent/sessions/open", {"sessionId": session})


async def test_everything_is_as_it_was_before_the_prompt(workspace: Path, connect: Connect) -> None:
    """Conversation, plan and proposals are restored; changes accepted since are undone, changes accepted before stay.
    Versions increase, step ids are not reused, spent tokens still count, and the conversation begins as before."""
    (workspace / "a.txt").write_text(ONE)
    (workspace / "b.txt").write_text("three\n")
    turns = [
        *(todo("Count"), replaced("one", "1"), says("First.")),
        *(todo("Write", "completed"), replaced("two", "2"), replaced("three", "3", "b.txt"), says("Second.")),
        *(todo("Again"), says("Third.")),
    ]
    with FakeApi(turns=turns) as api:
        async with connect(api) as client:
            session = (await client.run("One."))["sessionId"]
            await client.request("agent/edits/accept", {"sessionId": session, "target": {"all": True}})
            before = await opened(client, session)
            await client.run("Two.", sessionId=session)
            await client.request("agent/edits/accept", {"sessionId": session, "target": {"all": True}})
            assert (workspace / "a.txt").read_text() == ONE.replace("one", "1").replace("two", "2")
            later = await opened(client, session)
            spent = total_tokens(await client.request("agent/record", {"sessionId": session}))

            result = await rewind(client, session, "Two.")

            assert result == {"sessionId": session, "prompt": "Two.", "kept": []}
            after = await opened(client, session)
            assert (workspace / "a.txt").read_text() == ONE.replace("one", "1")
            assert (workspace / "b.txt").read_text() == "three\n"
            assert after["transcript"] == before["transcript"]
            assert after["plan"]["items"] == before["plan"]["items"]
            assert after["edits"]["files"] == [] == before["edits"]["files"]
            assert (after["edits"]["undoLabel"], after["edits"]["redoLabel"]) == ("Accept a.txt", None)
            for state in ("plan", "edits"):
                assert after[state]["version"] > later[state]["version"]
            assert after["plan"]["revision"] > later["plan"]["revision"]
            assert total_tokens(await client.request("agent/record", {"sessionId": session})) == spent

            ended = await client.run("Two, differently.", sessionId=session)
            assert "1 step" in ended["record"] and "Write" not in ended["record"]
            again = await opened(client, session)
            assert [item["id"] for item in again["plan"]["items"]] == ["3"]
            sent = api.requests[7].body["messages"]
            assert sent[:-1] == api.requests[3].body["messages"][:-1]
            assert "accepted: a.txt" in str(sent[-1])
        assert api.refusals == []


def total_tokens(record: Json) -> int:
    return record["record"]["tokens"]


async def test_a_rejection_is_undone_although_the_agent_proposed_something_else_since(
    workspace: Path, connect: Connect
) -> None:
    """After the rewind, the agent can propose the rejected change again. Its other proposal is discarded."""
    (workspace / "a.txt").write_text(ONE)
    change = replaced("one", "1")
    turns = [says("First."), change, says("Second."), replaced("one", "uno"), says("Third."), change, says("Fourth.")]
    with FakeApi(turns=turns) as api:
        async with connect(api) as client:
            session = (await client.run("One."))["sessionId"]
            await client.run("Two.", sessionId=session)
            before = await opened(client, session)
            await client.request("agent/edits/reject", {"sessionId": session, "target": {"all": True}})
            await client.run("Three.", sessionId=session)
            assert (await rewind(client, session, "Two."))["kept"] == []
            await client.run("Two, again.", sessionId=session)
            [hunk] = (await opened(client, session))["edits"]["files"][0]["hunks"]
            [rejected] = before["edits"]["files"][0]["hunks"]
            assert hunk == {**rejected, "toolCallIds": hunk["toolCallIds"]}
        assert api.refusals == []


async def test_text_that_the_user_changed_since_stays(workspace: Path, replay: Replay) -> None:
    """Accepted text that cannot be undone stays, with the reason; the other files of the decision are undone."""
    (workspace / "a.txt").write_text("one\n")
    (workspace / "b.txt").write_text("two\n")
    settings = replay({"calls": [edit("a.txt", "one", "1"), edit("b.txt", "two", "2")]}, {"text": "."})
    async with Client(workspace, settings=settings) as client:
        session = (await client.run("One."))["sessionId"]
        await client.request("agent/edits/accept", {"sessionId": session, "target": {"all": True}})
        (workspace / "a.txt").write_text("1\nmine\n")
        result = await rewind(client, session, "One.")
        assert [(each["uri"], each["outcome"]) for each in result["kept"]] == [
            ((workspace / "a.txt").as_uri(), "failed")
        ]
        assert "a.txt has changed since" in result["kept"][0]["message"]
        assert (workspace / "a.txt").read_text() == "1\nmine\n"
        assert (workspace / "b.txt").read_text() == "two\n"
        after = await opened(client, session)
        assert (after["transcript"], after["edits"]["files"], after["edits"]["undoLabel"]) == ([], [], None)


async def test_the_conversation_alone_can_be_rewound(workspace: Path, connect: Connect) -> None:
    """The plan and the proposals stay. With the next prompt, the model reads the plan and a note about the rewind."""
    (workspace / "a.txt").write_text(ONE)
    turns = [says("First."), todo("Count"), replaced("one", "1"), says("Second."), says("Third.")]
    with FakeApi(turns=turns) as api:
        async with connect(api) as client:
            session = (await client.run("One."))["sessionId"]
            await client.run("Two.", sessionId=session)
            before = await opened(client, session)
            await rewind(client, session, "Two.", "conversation")
            after = await opened(client, session)
            for state in ("plan", "edits"):
                assert {**after[state], "version": 0} == {**before[state], "version": 0}
            assert after["transcript"] == before["transcript"][: len(after["transcript"])]
            assert shown_texts(after, "prompt", "text") == ["One.", "First."]
            await client.run("Three.", sessionId=session)
            last = api.requests[-1].body["messages"]
            assert [message["content"][0]["text"] for message in last] == ["One.", "First.", "Three."]
            assert "rewound the conversation" in str(last[-1])
            assert "Count" in str(last[-1])
        assert api.refusals == []


async def test_a_new_session_can_begin_before_the_prompt(workspace: Path, replay: Replay) -> None:
    """The new session has the conversation, plan and proposals from before the prompt; the old one does not change."""
    (workspace / "a.txt").write_text(ONE)
    settings = replay(
        {"calls": [edit("a.txt", "one", "1")]},
        *({"text": "First."}, {"calls": [edit("a.txt", "two", "2")]}, {"text": "Second."}),
    )
    async with Client(workspace, settings=settings) as client:
        session = (await client.run("One."))["sessionId"]
        first = await opened(client, session)
        await client.run("Two.", sessionId=session)
        before = await opened(client, session)
        forked = await rewind(client, session, "Two.", "fork")
        assert forked["sessionId"] != session
        fork = await opened(client, forked["sessionId"])
        assert shown_texts(fork, "prompt", "text") == shown_texts(first, "prompt", "text") == ["One.", "First."]
        assert fork["edits"]["files"] == first["edits"]["files"]
        assert await opened(client, session) == before
        assert list(await prompts(client, forked["sessionId"])) == ["One."]
        await client.run("Two, elsewhere.", sessionId=forked["sessionId"])
        assert list(await prompts(client, forked["sessionId"])) == ["One.", "Two, elsewhere."]


async def test_a_message_during_a_run_has_no_checkpoint(connect: Connect) -> None:
    """This holds even if the message has the text of an earlier prompt. That prompt's checkpoint does not change."""
    released = threading.Event()
    turns = [says("First."), Wait(says("Second."), released, before=4), says("Third.")]
    with FakeApi(turns=turns) as api:
        async with connect(api) as client:
            session = (await client.run("Go on."))["sessionId"]
            _, running = client.begin("agent/runTask", {"prompt": "Two.", "sessionId": session})
            await client.event("run_started", checkpoint=2)
            await client.request("agent/steer", {"sessionId": session, "text": "Go on."})
            released.set()
            await running
            items = (await opened(client, session))["transcript"]
            said = [item for item in items if item["kind"] in ("prompt", "steered")]
            assert [(item["text"], item.get("checkpoint")) for item in said] == [
                ("Go on.", 1),
                ("Two.", 2),
                ("Go on.", None),
            ]
        assert api.refusals == []


async def test_text_that_was_accepted_in_the_new_session_is_undone(workspace: Path, connect: Connect) -> None:
    """A rewind within the new session undoes what was accepted there, and nothing that was accepted in the old one."""
    (workspace / "a.txt").write_text(ONE)
    turns = [replaced("one", "1"), *map(says, ("First.", "Second.", "Third.")), replaced("two", "2"), says("Fourth.")]
    everything = {"all": True}
    with FakeApi(turns=turns) as api:
        async with connect(api) as client:
            session = (await client.run("One."))["sessionId"]
            await client.request("agent/edits/accept", {"sessionId": session, "target": everything})
            for prompt in ("Two.", "Three."):
                await client.run(prompt, sessionId=session)
            fork = (await rewind(client, session, "Three.", "fork"))["sessionId"]
            await client.run("Four.", sessionId=fork)
            await client.request("agent/edits/accept", {"sessionId": fork, "target": everything})
            assert (workspace / "a.txt").read_text() == ONE.replace("one", "1").replace("two", "2")
            assert (await rewind(client, fork, "Two."))["kept"] == []
            assert (workspace / "a.txt").read_text() == ONE.replace("one", "1")
            after = await opened(client, fork)
            assert (after["edits"]["files"], after["edits"]["undoLabel"]) == ([], None)
        assert api.refusals == []


@pytest.mark.parametrize("redoes", [False, True])
async def test_an_undo_in_some_files_counts_only_for_those(workspace: Path, replay: Replay, redoes: bool) -> None:
    """The editor undoes a decision from before a prompt in only one of two files. After a rewind, only this file has a
    proposal. If the user redoes the decision before the rewind, neither file has a proposal."""
    files = [workspace / name for name in "ab"]
    for file in files:
        file.write_text("1\n")
    settings = replay({"calls": [edit(file.name, "1", "2") for file in files]}, {"text": "."}, {"text": "."})
    async with Client(workspace, settings=settings) as client:

        def apply(params: Json) -> Json:
            client.apply_edit(parts(params)[0][1])
            return {"applied": False, "failureReason": "b is locked"}

        session = (await client.run("One."))["sessionId"]
        await client.request("agent/edits/accept", {"sessionId": session, "target": {"all": True}})
        await client.run("Two.", sessionId=session)
        client.answers["workspace/applyEdit"] = apply
        await client.request("agent/edits/undo", {"sessionId": session})
        assert [file.read_text() for file in files] == ["1\n", "2\n"]
        client.answers["workspace/applyEdit"] = client.apply_edit
        if redoes:
            await client.request("agent/edits/redo", {"sessionId": session})
        texts = [file.read_text() for file in files]
        assert (await rewind(client, session, "Two."))["kept"] == []
        assert [file.read_text() for file in files] == texts == ["2\n" if redoes else "1\n", "2\n"]
        pending = (await opened(client, session))["edits"]["files"]
        assert [file["uri"] for file in pending] == ([] if redoes else [files[0].as_uri()])


async def test_a_rewind_waits_for_an_accept_and_undoes_it(workspace: Path, replay: Replay) -> None:
    """While the rewind waits, the accept discards an undone decision from before the prompt. This changes the
    checkpoint to which the rewind leads.
    """
    (workspace / "a.txt").write_text(ONE)
    settings = replay({"calls": [edit("a.txt", "one", "1")]}, {"text": "."}, {"text": "."})
    asked, answer = asyncio.Event(), asyncio.Event()

    async def apply(params: Json) -> Json:
        asked.set()
        await answer.wait()
        return client.apply_edit(params)

    async with Client(workspace, settings=settings) as client:
        session = (await client.run("One."))["sessionId"]
        accept = {"sessionId": session, "target": {"all": True}}
        await client.request("agent/edits/accept", accept)
        await client.run("Two.", sessionId=session)
        checkpoint = (await prompts(client, session))["Two."]
        await client.request("agent/edits/undo", {"sessionId": session})
        client.answers["workspace/applyEdit"] = apply
        _, accepting = client.begin("agent/edits/accept", accept)
        await asked.wait()
        params = {"sessionId": session, "checkpoint": checkpoint, "scope": "everything"}
        _, rewinding = client.begin("agent/sessions/rewind", params)
        await client.request("agent/sessions/list", {})  # the server has begun the rewind
        client.answers["workspace/applyEdit"] = client.apply_edit
        answer.set()
        assert (await accepting)["outcomes"][0]["outcome"] == "applied"
        assert (await rewinding)["kept"] == []
        assert (workspace / "a.txt").read_text() == ONE


WRONG: list[tuple[Json, str]] = [
    ({"checkpoint": 7, "scope": "everything"}, "cannot be rewound to the message 7"),
    ({"checkpoint": 1, "scope": "files"}, 'params.scope must be everything, conversation or fork, not "files"'),
    ({"checkpoint": "1", "scope": "fork"}, "params.checkpoint must be"),
    ({"scope": "fork"}, "params.checkpoint is missing"),
]


async def test_wrong_params(workspace: Path, replay: Replay) -> None:
    """Wrong params are refused with the reason, and nothing changes."""
    async with Client(workspace, settings=replay({"text": "Done."})) as client:
        session = (await client.run("One."))["sessionId"]
        for params, reason in WRONG:
            error = await client.error("agent/sessions/rewind", {"sessionId": session, **params})
            assert (error.code, reason in error.message) == (-32602, True), error.message
        assert list(await prompts(client, session)) == ["One."]


async def test_a_running_session_is_not_rewound(workspace: Path, connect: Connect) -> None:
    """The error says to stop the session first. A fork at a checkpoint is possible during the run."""
    with FakeApi(turns=[says("First."), Wait(says("Second."), threading.Event(), 0)]) as api:
        async with connect(api) as client:
            session = (await client.run("One."))["sessionId"]
            _, running = client.begin("agent/runTask", {"prompt": "Two.", "sessionId": session})
            checkpoint = (await client.event("run_started", checkpoint=2))["checkpoint"]
            for scope in ("everything", "conversation"):
                params = {"sessionId": session, "checkpoint": checkpoint, "scope": scope}
                error = await client.error("agent/sessions/rewind", params)
                assert (error.code, "Stop it first" in error.message) == (-32803, True)
            forked = await rewind(client, session, "One.", "fork")
            assert (await opened(client, forked["sessionId"]))["transcript"] == []
            await client.request("agent/cancel", {"sessionId": session})
            params = {"sessionId": session, "checkpoint": checkpoint, "scope": "everything"}
            assert (await client.request("agent/sessions/rewind", params))["prompt"] == "Two."
            assert (await running)["stopReason"] == "cancelled"
            assert list(await prompts(client, session)) == ["One."]
