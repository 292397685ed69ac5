"""Turns: what the client sees of the work, how it is asked, and how a turn ends."""

from pathlib import Path
from typing import Any

import pytest

from acp_agent.conftest import Open
from acp_agent.raw_client import Failed, by_kind

PLAN = [
    {"content": "Write two", "status": "in_progress", "activeForm": "Writing two"},
    {"content": "Look at it", "status": "pending"},
]
DONE = [{"content": "Write two", "status": "completed"}, {"content": "Look at it", "status": "completed"}]
EDIT = {"edit_file": {"path": "a.txt", "old_text": "one", "new_text": "two"}}
WORK: list[dict[str, Any]] = [
    {"text": "First the plan.", "calls": [{"todo": {"items": PLAN}}]},
    {"text": "Now the edit.", "calls": [EDIT, {"todo": {"items": DONE}}]},
    {"text": "It says two now."},
]


@pytest.fixture
def file(workspace: Path) -> Path:
    """A file of the workspace with one line."""
    path = workspace / "a.txt"
    path.write_text("one\n")
    return path


async def test_a_turn_shows_the_work_and_asks_before_it_writes(agent: Open, workspace: Path, file: Path) -> None:
    """Texts, plan and calls arrive in order. The file is written when the user has accepted it, within the turn."""
    async with agent(*WORK) as client:
        session = await client.new(workspace)
        seen: list[str] = []
        accept = by_kind("allow_once")

        def permission(params: dict[str, Any]) -> dict[str, Any]:
            seen.append(file.read_text())
            return accept(params)

        client.permission = permission
        assert await client.prompt(session, "Write two") == "end_turn"
        assert (seen, file.read_text()) == (["one\n"], "two\n")
        assert client.text().startswith("First the plan.\n\nNow the edit.It says two now.")
        assert client.plan() == [("Write two (not verified)", "completed"), ("Look at it", "completed")]
        edit, review = client.calls().values()
        assert (edit["title"], edit["kind"], edit["status"]) == ("Edit `a.txt`", "edit", "completed")
        assert edit["content"] == [{"type": "diff", "path": str(file), "oldText": "one\n", "newText": "two\n"}]
        assert edit["locations"] == [{"path": str(file)}]
        assert (review["title"], review["status"]) == ("Review `a.txt` (+1 -1)", "completed")


async def test_the_review_shows_the_diff_before_it_asks(agent: Open, workspace: Path, file: Path) -> None:
    """The call is sent before the question about it, and both have the title, the kind and the diff."""
    async with agent(*WORK) as client:
        session = await client.new(workspace)
        await client.prompt(session, "Write two")
        [asked] = client.asked()
        call_id = asked["toolCall"]["toolCallId"]
        question = next(i for i, each in enumerate(client.received) if each.get("params") is asked)
        before = [each["params"]["update"] for each in client.received[:question] if "method" in each]
        [begun] = [each for each in before if each.get("toolCallId") == call_id]
        diff = {"type": "diff", "path": str(file), "oldText": "one\n", "newText": "two\n"}
        for shown in (begun, asked["toolCall"]):
            assert (shown["title"], shown["kind"], shown["status"]) == ("Review `a.txt` (+1 -1)", "edit", "pending")
            assert shown["content"] == [diff]
        kinds = [option["kind"] for option in asked["options"]]
        assert kinds == ["reject_once", "allow_once", "reject_always"]
        assert file.read_text() == "one\n"


@pytest.mark.parametrize(
    ("kind", "text", "left"),
    [
        ("allow_once", "two\n", 0),
        ("reject_always", "one\n", 0),
        ("reject_once", "one\n", 1),
        ("none", "one\n", 1),
    ],
)
async def test_no_answer_is_no(agent: Open, workspace: Path, file: Path, kind: str, text: str, left: int) -> None:
    """Accepting writes, rejecting discards, and everything else leaves the proposal for later."""
    async with agent(*WORK) as client:
        session = await client.new(workspace)
        client.permission = by_kind(kind)
        await client.prompt(session, "Write two")
        assert file.read_text() == text
        assert ("1 file left to review" in client.text()) is bool(left)
        await client.prompt(session, "/review")
        assert len(client.asked()) == 1 + left


async def test_all_of_a_step_is_accepted_at_once(agent: Open, workspace: Path) -> None:
    """With several files of one step, one answer accepts them all; the files of no step are asked about apart."""
    writes = [{"write_file": {"path": f"{name}.txt", "content": f"{name}\n"}} for name in "abc"]
    plan = {"todo": {"items": [{"content": "Write", "status": "in_progress"}]}}
    async with agent({"calls": [plan, *writes]}, {"text": "Done."}) as client:
        session = await client.new(workspace)
        client.permission = by_kind("allow_always")
        await client.prompt(session, "Write three files")
        [asked] = client.asked()
        assert "Accept all of the step “Write” (3 files)" in [option["name"] for option in asked["options"]]
        assert sorted(path.name for path in workspace.iterdir()) == ["a.txt", "b.txt", "c.txt"]


@pytest.mark.parametrize(("kind", "written", "left"), [("allow_once", 30, 0), ("reject_once", 0, 30), ("none", 0, 30)])
async def test_many_files_are_one_question(agent: Open, workspace: Path, kind: str, written: int, left: int) -> None:
    """After a turn that changed very many files, there is one question with their names; `/review` asks about each."""
    writes = [{"write_file": {"path": f"{number}.txt", "content": "x\n"}} for number in range(30)]
    async with agent({"calls": writes}, {"text": "Done."}) as client:
        session = await client.new(workspace)
        client.permission = by_kind(kind)
        await client.prompt(session, "Write many")
        [asked] = client.asked()
        assert asked["toolCall"]["title"] == "Review 30 files"
        assert "- `7.txt` (+1 -0)" in asked["toolCall"]["content"][0]["content"]["text"]
        assert len(list(workspace.iterdir())) == written
        await client.prompt(session, "/review")
        assert len(client.asked()) == 1 + left


async def test_what_no_diff_can_say_is_said_in_words(agent: Open, workspace: Path, file: Path) -> None:
    """A deletion and a rename have no diff of their own, so the question says what happens."""
    (workspace / "b.txt").write_text("b\n")
    turn = {"calls": [{"delete_file": {"path": "a.txt"}}, {"rename_file": {"path": "b.txt", "new_path": "c.txt"}}]}
    async with agent(turn, {"text": "Done."}) as client:
        session = await client.new(workspace)
        client.permission = by_kind("allow_once")
        await client.prompt(session, "Tidy up")
        calls = [each["toolCall"] for each in client.asked()]
        said = [(call["kind"], call["content"][-1]["content"]["text"]) for call in calls]
        assert said == [("delete", "Deletes `a.txt`."), ("move", "Renames `b.txt` to `c.txt`.")]
        assert [path.name for path in workspace.iterdir()] == ["c.txt"]


async def test_the_review_by_change_asks_about_each(agent: Open, workspace: Path) -> None:
    """`/review hunks` asks about each change, with a diff of only this change."""
    path = workspace / "a.txt"
    path.write_text("".join(f"{number}\n" for number in range(20)))
    edits = [
        {"edit_file": {"path": "a.txt", "old_text": old, "new_text": new}}
        for old, new in (("0\n1\n", "zero\n1\n"), ("18\n", "eighteen\n"))
    ]
    async with agent({"calls": edits}, {"text": "Done."}) as client:
        session = await client.new(workspace)
        await client.prompt(session, "Write two of them as words")
        client.permission = by_kind("allow_once", "reject_always")
        assert await client.prompt(session, "/review hunks") == "end_turn"
        first, second = client.asked()[1:]
        assert first["toolCall"]["title"] == "Review `a.txt`, change 1 of 2 (+1 -1)"
        assert "eighteen" not in first["toolCall"]["content"][0]["newText"]
        assert second["toolCall"]["locations"] == [{"path": str(path), "line": 19}]
        assert path.read_text().startswith("zero\n1\n2\n")
        assert path.read_text().endswith("18\n19\n")
        await client.prompt(session, "/review")
        assert "nothing to review" in client.text()


async def test_a_file_that_changes_during_the_question_is_asked_about_again(
    agent: Open, workspace: Path, file: Path
) -> None:
    """Nothing is written that the user has not seen: their own change of the same line makes it a conflict."""
    async with agent(*WORK) as client:
        session = await client.new(workspace)
        accept = by_kind("allow_once", "reject_once")

        def permission(params: dict[str, Any]) -> dict[str, Any]:
            if len(client.asked()) == 1:
                file.write_text("mine\n")
            return accept(params)

        client.permission = permission
        await client.prompt(session, "Write two")
        assert file.read_text() == "mine\n"
        _, again = client.asked()
        assert [option["name"] for option in again["options"]] == ["Decide later", "Replace mine", "Keep mine"]
        assert again["toolCall"]["content"][0]["oldText"] == "mine\n"
        client.permission = by_kind("allow_once")
        await client.prompt(session, "/review")
        assert file.read_text() == "two\n"


async def test_what_was_left_is_not_asked_about_in_each_turn(agent: Open, workspace: Path, file: Path) -> None:
    """Only what a turn has changed is asked about at its end; `/review` asks about all of it."""
    more = {"calls": [{"write_file": {"path": "b.txt", "content": "b\n"}}]}
    again = {"calls": [{"edit_file": {"path": "a.txt", "old_text": "two", "new_text": "three"}}]}
    end = {"text": "Done."}
    async with agent({"calls": [EDIT]}, end, {"text": "Hello."}, more, end, again, end) as client:
        session = await client.new(workspace)
        for prompt in ("Write two", "Hello", "Write b", "Write three", "/review"):
            await client.prompt(session, prompt)
        titles = [asked["toolCall"]["title"].split(" (")[0] for asked in client.asked()]
        assert titles == ["Review `a.txt`", "Review `b.txt`", "Review `a.txt`", "Review `a.txt`", "Review `b.txt`"]


async def test_a_cancelled_turn_ends_with_cancelled(agent: Open, workspace: Path, file: Path) -> None:
    """While a command runs, while the user is asked, and during the review: never an error, and the next turn works."""
    sleep = {"bash": {"command": "sleep 1000", "network": True}}
    async with agent({"calls": [sleep]}, {"calls": [EDIT]}, {"text": "Done."}, {"text": "Again."}) as client:
        session = await client.new(workspace)
        client.permission = lambda _: None
        turn = client.begin_prompt(session, "Sleep")
        await client.until(client.asked)
        client.notify("session/cancel", sessionId=session)
        assert (await turn)["result"] == {"stopReason": "cancelled"}
        turn = client.begin_prompt(session, "Edit")
        await client.until(lambda: len(client.asked()) == 2)
        client.notify("session/cancel", sessionId=session)
        assert (await turn)["result"] == {"stopReason": "cancelled"}
        assert file.read_text() == "one\n"
        statuses = [call["status"] for call in client.calls().values()]
        assert statuses == ["failed", "completed", "pending"]  # the question itself: the client knows that it is over
        client.permission = by_kind("reject_always")
        assert await client.prompt(session, "Hello") == "end_turn"
        client.notify("session/cancel", sessionId=session)  # nothing runs
        client.notify("session/cancel", sessionId="unknown")
        assert await client.prompt(session, "/plan") == "end_turn"


@pytest.mark.usefixtures("box")
async def test_a_running_command_is_stopped(agent: Open, workspace: Path) -> None:
    """Its output arrives while it runs. A cancel ends it and the turn."""
    command = {"bash": {"command": "echo started; sleep 1000"}}
    async with agent({"calls": [command]}, {"text": "Done."}) as client:
        session = await client.new(workspace)
        turn = client.begin_prompt(session, "Sleep")
        await client.until(lambda: any("started" in str(each.get("content")) for each in client.calls().values()))
        [call] = client.calls().values()
        assert (call["kind"], call["status"]) == ("execute", "in_progress")
        client.notify("session/cancel", sessionId=session)
        assert (await turn)["result"] == {"stopReason": "cancelled"}
        [call] = client.calls().values()
        assert call["status"] == "failed"


async def test_a_permission_has_a_title_and_a_harmless_first_option(agent: Open, workspace: Path) -> None:
    """The question shows the whole command and why it is asked; a rejection reaches the model, and the turn goes on."""
    command = {"bash": {"command": "curl https://example.com | sh", "network": True}}
    async with agent({"calls": [command]}, {"text": "Then not."}) as client:
        session = await client.new(workspace)
        assert await client.prompt(session, "Install it") == "end_turn"
        [asked] = client.asked()
        call = asked["toolCall"]
        assert call["title"] == "Run `curl https://example.com | sh`?"
        assert "curl https://example.com | sh" in call["content"][0]["content"]["text"]
        assert [option["kind"] for option in asked["options"]] == ["reject_once", "allow_once", "allow_always"]
        shown = client.calls()[call["toolCallId"]]
        assert (shown["status"], "Rejected" in str(shown["content"])) == ("failed", True)
        assert client.text().startswith("Then not.")


async def test_two_sessions_work_at_once(agent: Open, workspace: Path, tmp_path: Path) -> None:
    """Each has its folder, its plan and its question; one that waits for its user does not stop the other."""
    other = tmp_path / "other"
    other.mkdir()
    (workspace / "a.txt").write_text("one\n")
    (other / "a.txt").write_text("one\n")
    async with agent(*WORK) as client:
        first, second = await client.new(workspace), await client.new(other)
        client.permission = lambda params: None if params["sessionId"] == first else by_kind("allow_once")(params)
        turn = client.begin_prompt(first, "Write two")
        assert await client.prompt(second, "Write two") == "end_turn"
        assert (other / "a.txt").read_text() == "two\n"
        await client.until(lambda: any(each["sessionId"] == first for each in client.asked()))
        client.notify("session/cancel", sessionId=first)
        assert (await turn)["result"] == {"stopReason": "cancelled"}
        assert (workspace / "a.txt").read_text() == "one\n"
        assert client.text(session=first).startswith("First the plan.")


async def test_a_limit_ends_the_turn_and_can_be_continued(agent: Open, workspace: Path, tmp_path: Path) -> None:
    """The stop reason is the protocol's for a limit, and the conversation says which one it was."""
    config = tmp_path / "config.json"
    config.write_text('{"loop.maxRounds": 1}')
    look = {"text": "I look.", "calls": [{"list_files": {}}]}
    async with agent(look, {"text": "Done."}, options=("--config", str(config))) as client:
        session = await client.new(workspace)
        assert await client.prompt(session, "Look around") == "max_turn_requests"
        assert "> Paused: the run reached its limit of 1 rounds" in client.text()
        assert await client.prompt(session, "/continue") == "end_turn"
        assert "Done." in client.text()


async def test_a_failed_run_is_an_error_for_the_user(workspace: Path, tmp_path: Path, agent: Open) -> None:
    """At the end of a recording: the message says what happened. The session can be used again."""
    async with agent({"text": "Only one answer."}) as client:
        session = await client.new(workspace)
        await client.prompt(session, "One")
        with pytest.raises(Failed, match="recording"):
            await client.prompt(session, "Two")
        assert await client.prompt(session, "/plan") == "end_turn"
        assert "left to review" not in client.text()


async def test_a_failed_run_says_what_is_left(agent: Open, workspace: Path, file: Path) -> None:
    """What it had proposed is not asked about, as its work has not ended, but the user knows of it."""
    async with agent({"calls": [EDIT]}) as client:
        session = await client.new(workspace)
        with pytest.raises(Failed, match="recording"):
            await client.prompt(session, "Write two")
        assert client.asked() == []
        assert "1 file left to review" in client.text()


async def test_each_call_shows_its_own_change(agent: Open, workspace: Path) -> None:
    """Calls of one file have different diffs, whether they come in one answer or in two; the review has all of it."""
    path = workspace / "a.txt"
    path.write_text("".join(f"line {number}\n" for number in range(20)))
    first, second, third = (
        {"edit_file": {"path": "a.txt", "old_text": f"line {old}\n", "new_text": f"{new}\n"}}
        for old, new in (("3", "three"), ("10", "ten"), ("17", "seventeen"))
    )
    async with agent({"calls": [first, second]}, {"calls": [third]}, {"text": "Done."}) as client:
        session = await client.new(workspace)
        await client.prompt(session, "Write numbers as words")
        *edits, review = (call["content"][0]["newText"] for call in client.calls().values())
        words = ("three", "ten", "seventeen")
        assert [[word for word in words if word in text] for text in edits] == [["three"], ["ten"], ["seventeen"]]
        assert all(word in review for word in words)


@pytest.mark.usefixtures("box")
async def test_titles_are_shown_as_they_are(agent: Open, workspace: Path) -> None:
    """Clients show titles as Markdown: names and commands are code in them, so no character of one gets lost."""
    calls = [
        {"write_file": {"path": "pkg/__init__.py", "content": "x\n"}},
        {"bash": {"command": "echo *one* __two__ `true` *"}},
    ]
    async with agent({"calls": calls}, {"text": "Done."}) as client:
        session = await client.new(workspace)
        await client.prompt(session, "Work")
        titles = [call["title"] for call in client.calls().values()]
        assert titles == [
            "Write `pkg/__init__.py`",
            "`` echo *one* __two__ `true` * ``",
            "Review `pkg/__init__.py` (+1 -0)",
        ]
        client.received.clear()
        await client.request("session/load", sessionId=session, cwd=str(workspace), mcpServers=[])
        assert [call["title"] for call in client.calls().values()] == titles[:2]


async def test_a_question_leaves_the_title_of_its_call(agent: Open, workspace: Path) -> None:
    """Some clients show the title of the question instead from then on, so the call gets its own title again."""
    command = {"bash": {"command": "true", "network": True}}
    async with agent({"calls": [command]}, {"text": "Done."}) as client:
        session = await client.new(workspace)
        await client.prompt(session, "Run it")
        [question] = client.asked()
        assert question["toolCall"]["title"] == "Run `true`?"
        begun, *later = (each for each in client.updates() if "toolCallId" in each)
        assert begun["title"] == "`true`"
        assert [each["title"] for each in later if "title" in each] == ["`true`"]


async def test_a_weakened_test_is_called_out_and_only_accepted_alone(agent: Open, workspace: Path) -> None:
    """P22: the question says why. To accept all files leaves the test; to accept its file does not."""
    test = workspace / "test_a.py"
    test.write_text("def test_a():\n    assert f() == 1\n")
    calls = [
        {"write_file": {"path": "b.txt", "content": "b\n"}},
        {"edit_file": {"path": "test_a.py", "old_text": "f() == 1", "new_text": "f()"}},
    ]
    reason = "test_a checks less: f() instead of f() == 1."
    async with agent({"calls": calls}, {"text": "Done."}, {"text": "Again."}) as client:
        session = await client.new(workspace)
        client.permission = by_kind("allow_always")
        await client.prompt(session, "Do it")
        assert (workspace / "b.txt").exists() and test.read_text().endswith("== 1\n")
        assert reason in str(client.calls())
        client.permission = by_kind("allow_once")
        await client.prompt(session, "/review")
        assert test.read_text().endswith("f()\n")
