"""Subagents over the wire: a real server process, and an API that answers each conversation by its own script."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from threading import Event as Signal
from typing import Any

import pytest

from lsp.restarts import kill
from support.client import Client, Json
from support.fake_api import Answer, Call, FakeApi, Request, Text, Turn, Wait
from support.sandbox import needs_sandbox

Script = dict[str, list[Any]]


def answering(scripts: Script) -> Answer:
    """Answers with the next turn for the task of a conversation. Requests of several come in any order."""

    def answer(body: Json) -> Any:
        first = body["messages"][0]["content"]
        text = first if isinstance(first, str) else first[0]["text"]
        return scripts[text].pop(0)

    return answer


def api_for(scripts: Script) -> FakeApi:
    return FakeApi([answering(scripts)] * sum(map(len, scripts.values())))


def explore(task: str, title: str = "", **more: str) -> Call:
    return Call("explore", {"title": title or f"Look at {task}", "task": task, **more})


def requests_for(api: FakeApi, task: str) -> list[Request]:
    def first(request: Request) -> str:
        content = request.body["messages"][0]["content"]
        return content if isinstance(content, str) else content[0]["text"]

    return [request for request in api.requests if request.body.get("messages") and first(request) == task]


def results(request: Request) -> list[str]:
    blocks = (block for message in request.body["messages"] for block in message["content"])
    return [str(block["content"]) for block in blocks if isinstance(block, dict) and block["type"] == "tool_result"]


async def test_the_conversation_grows_only_by_the_report(connect: Callable[..., Client], workspace: Path) -> None:
    """The subagent has its own instructions, and tools that change nothing."""
    (workspace / "a.py").write_text("def greet():\n    return 'hello from a'\n")
    scripts: Script = {
        "Do it.": [Turn((explore("greet"),)), Turn((Text("Done."),))],
        "greet": [
            Turn((Call("search", {"pattern": "greet"}),)),
            Turn((Call("read_file", {"path": "a.py"}), Call("write_file", {"path": "b.py", "content": "x"}))),
            Turn((Text("greet is in a.py:1."),)),
        ],
    }
    with api_for(scripts) as api:
        async with connect(api) as client:
            session_id = (await client.run())["sessionId"]
            opened = await client.request("agent/sessions/open", {"sessionId": session_id})
    assert api.refusals == []
    [_, last] = requests_for(api, "Do it.")
    assert results(last) == ["greet is in a.py:1."]
    assert "hello from a" not in str(last.body)
    [first, _, third] = requests_for(api, "greet")
    assert first.system.startswith("You are a subagent of Fairlead")
    assert [tool["name"] for tool in first.body["tools"]] == ["read_file", "search", "list_files", "fetch"]
    assert "hello from a" in str(third.body)
    assert "Unknown tool: write_file." in str(third.body)
    assert opened["edits"]["files"] == []
    shown = [(event["kind"], event.get("title")) for event in opened["transcript"] if event["kind"] == "tool_started"]
    assert shown == [("tool_started", "Explore: Look at greet")]


async def test_several_work_at_the_same_time(connect: Callable[..., Client], workspace: Path) -> None:
    """None of the three answers before the others have asked."""
    go = Signal()
    names = ["one", "two", "three"]
    scripts: Script = {
        "Do it.": [Turn(tuple(map(explore, names))), Turn((Text("Done."),))],
        **{name: [Wait(Turn((Text(f"Report of {name}."),)), go, 0)] for name in names},
    }
    with api_for(scripts) as api:
        async with connect(api) as client:
            _, answer = client.begin("agent/runTask", {"prompt": "Do it."})
            await asyncio.to_thread(api.wait_for_requests, 1 + len(names))
            go.set()
            await answer
    [_, last] = requests_for(api, "Do it.")
    assert results(last) == [f"Report of {name}." for name in names]


WRITER = "---\ndescription: Writes.\n---\nWrite well.\n"


PLAN = {"items": [{"id": "1", "content": "Write", "status": "in_progress", "activeForm": "Writing"}]}


def write_agent(workspace: Path) -> None:
    (workspace / ".claude/agents").mkdir(parents=True)
    (workspace / ".claude/agents/writer.md").write_text(WRITER)


def work_states(plan: Json) -> list[str]:
    """The states of the subagents of the first step."""
    return [work["state"] for work in plan["items"][0]["evidence"]["subagents"]]


def delegate(task: str, agent: str = "writer", **more: str) -> Call:
    return Call("delegate", {"agent": agent, "title": f"Do {task}", "task": task, **more})


async def test_what_agents_propose_at_the_same_time_is_merged(connect: Callable[..., Client], workspace: Path) -> None:
    """In the order of the calls, under the step, with the call as author. Neither sees what the other proposes."""
    write_agent(workspace)
    (workspace / "a.txt").write_text("one\ntwo\nthree\nfour\nfive\n")

    def edits(old: str, new: str) -> list[Any]:
        return [
            Turn((Call("read_file", {"path": "a.txt"}),)),
            Turn((Call("edit_file", {"path": "a.txt", "old_text": old, "new_text": new}),)),
            Turn((Call("read_file", {"path": "a.txt"}),)),
            Turn((Text(f"Wrote {new}."),)),
        ]

    scripts: Script = {
        "Do it.": [
            Turn((Call("todo", PLAN),)),
            Turn((delegate("first"), delegate("last"))),
            Turn((Call("read_file", {"path": "a.txt"}),)),
            Turn((Text("Done."),)),
        ],
        "first": edits("one", "ONE"),
        "last": edits("five", "FIVE"),
    }
    with api_for(scripts) as api:
        async with connect(api) as client:
            session_id = (await client.run())["sessionId"]
            opened = await client.request("agent/sessions/open", {"sessionId": session_id})
    assert api.refusals == []
    [*_, last] = requests_for(api, "Do it.")
    first_report, last_report = (text for text in results(last) if text.startswith("Wrote"))
    assert first_report == "Wrote ONE.\nProposed for review: a.txt (+1 -1)."
    assert last_report == "Wrote FIVE.\nProposed for review: a.txt (+1 -1)."
    assert "ONE\n" in results(last)[-1]
    assert "FIVE\n" in results(last)[-1]
    [*_, seen] = requests_for(api, "last")
    assert "ONE" not in str(seen.body)
    assert seen.system.endswith("Write well.\n</agent>")
    [file] = opened["edits"]["files"]
    calls = [event["toolCallId"] for event in opened["transcript"] if event.get("name") == "delegate"]
    assert [(hunk["itemId"], hunk["toolCallIds"]) for hunk in file["hunks"]] == [("1", [call]) for call in calls]


async def test_a_change_of_the_same_lines_is_left_out_and_named(
    connect: Callable[..., Client], workspace: Path
) -> None:
    """docs/faults.md 223: the second agent's other file is proposed all the same."""
    write_agent(workspace)

    def writes(text: str, *more: str) -> list[Any]:
        calls = [Call("write_file", {"path": path, "content": text}) for path in ("a.txt", *more)]
        return [Turn(tuple(calls)), Turn((Text("Wrote."),))]

    scripts: Script = {
        "Do it.": [Turn((delegate("first"),)), Turn((delegate("last"),)), Turn((Text("Done."),))],
        "first": writes("first\n"),
        "last": [Turn((Call("read_file", {"path": "a.txt"}),)), *writes("last\n", "b.txt")],
    }
    together: Script = {
        **scripts,
        "Do it.": [Turn((delegate("first"), delegate("last"))), Turn((Text("Done."),))],
        "first": writes("first\n"),
        "last": writes("last\n", "b.txt"),
    }
    for script, lost in ((scripts, False), (together, True)):
        with api_for(script) as api:
            async with connect(api) as client:
                session_id = (await client.run())["sessionId"]
                opened = await client.request("agent/sessions/open", {"sessionId": session_id})
        [*_, last] = requests_for(api, "Do it.")
        assert ("Not proposed, so these changes are lost: a.txt" in results(last)[-1]) == lost
        assert [file["uri"].rpartition("/")[2] for file in opened["edits"]["files"]] == ["a.txt", "b.txt"]


@pytest.fixture
def box() -> None:
    """Skips the test if there is no sandbox."""
    needs_sandbox()


@pytest.mark.usefixtures("box")
async def test_a_command_of_an_agent_sees_its_edits_and_verifies_nothing(
    connect: Callable[..., Client], workspace: Path
) -> None:
    """What the command changes is merged too."""
    write_agent(workspace)
    test = "import unittest\n\n\nclass T(unittest.TestCase):\n    def test(self): pass\n"
    scripts: Script = {
        "Do it.": [Turn((Call("todo", PLAN),)), Turn((delegate("build"),)), Turn((Text("Done."),))],
        "build": [
            Turn((Call("write_file", {"path": "test_a.py", "content": test}),)),
            Turn((Call("bash", {"command": "python3 -m unittest -q"}),)),
            Turn((Call("bash", {"command": "cp test_a.py test_b.py"}),)),
            Turn((Text("Built."),)),
        ],
    }
    with api_for(scripts) as api:
        async with connect(api) as client:
            session_id = (await client.run())["sessionId"]
            opened = await client.request("agent/sessions/open", {"sessionId": session_id})
    [*_, last] = requests_for(api, "Do it.")
    assert results(last)[-1] == "Built.\nProposed for review: new test_a.py (+5 -0), new test_b.py (+5 -0)."
    [item] = opened["plan"]["items"]
    evidence = item["evidence"]
    assert [Path(uri).name for uri in evidence["files"]] == ["test_a.py", "test_b.py"]
    assert [(run["exitCode"], run["verifies"]) for run in evidence["commands"]] == [(0, False), (0, False)]
    [work] = evidence["subagents"]
    assert (work["title"], work["agent"], work["state"]) == ("Do build", "writer", "done")
    assert 0 < work["tokens"] < evidence["tokens"]


def two_at_work(go: Signal) -> Script:
    """The main conversation starts a writer and an explorer. The writer proposes a.txt, then waits for `go`."""
    return {
        "Do it.": [Turn((Call("todo", PLAN),)), Turn((delegate("write"), explore("look")))],
        "write": [
            Turn((Call("write_file", {"path": "a.txt", "content": "a"}),)),
            Wait(Turn((Text("Wrote."),)), go, 0),
        ],
    }


async def test_a_stop_ends_them_and_keeps_what_they_proposed(connect: Callable[..., Client], workspace: Path) -> None:
    """docs/faults.md 224."""
    write_agent(workspace)
    go = Signal()
    scripts: Script = {
        **two_at_work(go),
        "look": [Wait(Turn((Text("Looked."),)), go, 0)],
    }
    with api_for(scripts) as api:
        async with connect(api) as client:
            _, answer = client.begin("agent/runTask", {"prompt": "Do it."})
            await asyncio.to_thread(api.wait_for_requests, 5)
            session_id = (await client.event("run_started"))["sessionId"]
            await client.request("agent/cancel", {"sessionId": session_id})
            assert (await answer)["stopReason"] == "cancelled"
            await client.until(lambda: (client.last("agent/edits") or {}).get("files"))
            await client.until(lambda: work_states(client.last("agent/plan")) == ["stopped", "stopped"])
            opened = await client.request("agent/sessions/open", {"sessionId": session_id})
            go.set()
    assert [file["uri"].rpartition("/")[2] for file in opened["edits"]["files"]] == ["a.txt"]
    ended = [event["text"] for event in opened["transcript"] if event["kind"] == "tool_finished"]
    assert ended[-2:] == ["Stopped. It has not reported anything."] * 2


async def test_a_kill_restores_all_of_them(connect: Callable[..., Client], workspace: Path, tmp_path: Path) -> None:
    """docs/faults.md 222: what they proposed is proposed, and each can go on with what it knew."""
    write_agent(workspace)
    go = Signal()
    scripts: Script = {
        **two_at_work(go),
        "look": [
            Turn((Call("list_files", {}),)),
            Wait(Turn((Text("Looked."),)), go, 0),
            Turn((Text("Looked on."),)),
        ],
    }
    with api_for(scripts) as api:
        async with connect(api, storage=tmp_path / "storage") as client:
            _, answer = client.begin("agent/runTask", {"prompt": "Do it."})
            await asyncio.to_thread(api.wait_for_requests, 6)
            session_id = (await client.event("run_started"))["sessionId"]
            await kill(client, answer)
        go.set()
        scripts["Do it."] += [
            Turn((explore("Go on.", "Again", **{"continue": "Look at look"}),)),
            Turn((Text("Done."),)),
        ]
        api.push(answering(scripts))
        async with connect(api, storage=tmp_path / "storage") as client:
            opened = await client.request("agent/sessions/open", {"sessionId": session_id})
            assert [file["uri"].rpartition("/")[2] for file in opened["edits"]["files"]] == ["a.txt"]
            works = opened["plan"]["items"][0]["evidence"]["subagents"]
            assert [(work["title"], work["state"]) for work in works] == [
                ("Do write", "interrupted"),
                ("Look at look", "interrupted"),
            ]
            await client.request("agent/runTask", {"sessionId": session_id, "continue": "paused"})
    last = api.requests[-1]
    assert results(last)[-1] == "Looked on."
    [*_, continued] = requests_for(api, "look")
    assert "Go on." in str(continued.body["messages"][-1])


async def test_a_message_and_a_stop_reach_one_of_them(connect: Callable[..., Client], workspace: Path) -> None:
    """The other one and the run go on. What is not working anymore gets neither."""
    go = Signal()
    scripts: Script = {
        "Do it.": [Turn((explore("one"), explore("two"))), Turn((Text("Done."),))],
        "one": [Wait(Turn((Text("First."),)), go, 0), Turn((Text("With tests."),))],
        "two": [Wait(Turn((Text("Never."),)), Signal(), 0)],
    }
    with api_for(scripts) as api:
        async with connect(api) as client:
            _, answer = client.begin("agent/runTask", {"prompt": "Do it."})
            await asyncio.to_thread(api.wait_for_requests, 3)
            calls = [await client.event("tool_started", title=f"Explore: Look at {name}") for name in ("one", "two")]
            one, two = ({"sessionId": call["sessionId"], "toolCallId": call["toolCallId"]} for call in calls)
            assert await client.request("agent/steer", {**one, "text": "Look at the tests too."}) == {"queued": 1}
            await client.request("agent/subagents/stop", two)
            go.set()
            assert (await answer)["stopReason"] == "end_turn"
            error = await client.error("agent/subagents/stop", one)
            assert error.message == "This subagent is not working anymore."
            page = (await client.request("agent/subagents/page", one))["markdown"]
    [_, told] = requests_for(api, "one")
    assert "Look at the tests too." in str(told.body["messages"][-1])
    [_, last] = requests_for(api, "Do it.")
    first, second = results(last)
    assert first == "With tests."
    assert "The user stopped this subagent." in second
    assert "> Look at the tests too." in page
    assert page.index("First.") < page.index("> Look at the tests too.") < page.index("With tests.")


async def test_a_stop_reaches_those_that_wait_for_their_turn(connect: Callable[..., Client], workspace: Path) -> None:
    """At most six work at the same time."""
    go = Signal()
    names = [f"part {number}" for number in range(7)]
    scripts: Script = {
        "Do it.": [Turn((Call("todo", PLAN), *map(explore, names))), Turn((Text("Done."),))],
        **{name: [Wait(Turn((Text("Found."),)), go, 0)] for name in names},
    }
    with api_for(scripts) as api:
        async with connect(api) as client:
            _, answer = client.begin("agent/runTask", {"prompt": "Do it."})
            await asyncio.to_thread(api.wait_for_requests, 7)
            call = await client.event("tool_started", title="Explore: Look at part 6")
            last = {"sessionId": call["sessionId"], "toolCallId": call["toolCallId"]}
            await client.request("agent/subagents/stop", last)
            go.set()
            assert (await answer)["stopReason"] == "end_turn"
            opened = await client.request("agent/sessions/open", {"sessionId": call["sessionId"]})
    assert requests_for(api, "part 6") == []
    assert work_states(opened["plan"]) == ["done"] * 6 + ["stopped"]


async def test_the_user_answers_an_agent_in_a_file(connect: Callable[..., Client], workspace: Path) -> None:
    write_agent(workspace)
    ask = Call("ask_user", {"question": "Tabs or blanks?", "options": ["Tabs", "Blanks"]})
    scripts: Script = {
        "Do it.": [Turn((delegate("write"),)), Turn((Text("Done."),))],
        "write": [Turn((ask,)), Turn((Text("Wrote with blanks."),))],
    }
    with api_for(scripts) as api:
        able, answers = {"experimental": {"agent": {"questions": True}}}, {"agent/ask": lambda _: {"answer": "Blanks"}}
        async with connect(api, capabilities=able, answers=answers) as client:
            await client.run()
            [asked] = client.all("agent/ask")
    assert asked["question"] == "Tabs or blanks?"
    [_, answered] = requests_for(api, "write")
    assert "Blanks" in results(answered)[0]


GUARD = """import json, sys
call = json.load(sys.stdin)
if call["tool_name"] == "Grep" and "secret" in json.dumps(call["tool_input"]):
    print("Search for nothing secret.", file=sys.stderr)
    sys.exit(2)
"""
FORMAT = "import pathlib; p = pathlib.Path('a.txt'); p.exists() and p.write_text(p.read_text().upper())"


@pytest.mark.usefixtures("box")
async def test_hooks_see_what_subagents_do(connect: Callable[..., Client], workspace: Path, home: Path) -> None:
    """A guard refuses their calls, a formatter formats what they propose, and SubagentStop lets them go on."""
    write_agent(workspace)
    (home / ".config/fairlead").mkdir(parents=True)
    (workspace / "guard.py").write_text(GUARD)
    (workspace / "format.py").write_text(FORMAT)
    stop = "if [ -e a.txt ] && ! grep -q B a.txt; then echo Write b too. >&2; exit 2; fi"
    hooks = {
        "PreToolUse": [{"hooks": [{"type": "command", "command": "python3 guard.py"}]}],
        "PostToolUse": [{"matcher": "Write", "hooks": [{"type": "command", "command": "python3 format.py"}]}],
        "SubagentStop": [{"matcher": "writer", "hooks": [{"type": "command", "command": stop}]}],
    }
    (home / ".config/fairlead/hooks.json").write_text(json.dumps({"hooks": hooks}))
    scripts: Script = {
        "Do it.": [Turn((explore("look"), delegate("write"))), Turn((Text("Done."),))],
        "look": [Turn((Call("search", {"pattern": "secret"}),)), Turn((Text("Looked."),))],
        "write": [
            Turn((Call("write_file", {"path": "a.txt", "content": "a"}),)),
            Turn((Text("Wrote a."),)),
            Turn((Call("write_file", {"path": "a.txt", "content": "a b"}),)),
            Turn((Text("Wrote both."),)),
        ],
    }
    with api_for(scripts) as api:
        async with connect(api) as client:
            session_id = (await client.run())["sessionId"]
            opened = await client.request("agent/sessions/open", {"sessionId": session_id})
    [_, refused] = requests_for(api, "look")
    assert "Search for nothing secret." in results(refused)[0]
    [*_, last] = requests_for(api, "Do it.")
    assert results(last)[1].startswith("Wrote both.")
    [file] = opened["edits"]["files"]
    assert file["hunks"][0]["snippet"] == "A B"


@pytest.mark.parametrize(("price", "model"), [({}, "m-1"), ({"inputPrice": 1, "outputPrice": 1}, "m-2")])
async def test_a_model_without_a_price_does_not_escape_the_cost_limit(workspace: Path, price: Json, model: str) -> None:
    """docs/faults.md 264: an agent in a file asks the model that it names only if its cost counts."""
    (workspace / ".claude/agents").mkdir(parents=True)
    (workspace / ".claude/agents/writer.md").write_text("---\nmodel: m-2\n---\nWrite well.\n")
    scripts: Script = {
        "Do it.": [Turn((delegate("write"),)), Turn((Text("Done."),))],
        "write": [Turn((Text("Wrote."),))],
    }
    with FakeApi([answering(scripts)] * 3, require_key=False) as api:
        models = {"m-1": {"inputPrice": 1, "outputPrice": 1}, "m-2": {"contextTokens": 100_000, **price}}
        endpoint = {"baseUrl": api.url, "api": "messages", "models": models}
        settings: Json = {"endpoints": {"main": endpoint}, "endpoint": "main", "model": "m-1", "budget": {"costUsd": 5}}
        async with Client(workspace, settings=settings) as client:
            assert (await client.run())["stopReason"] == "end_turn"
            warned = [each["message"] for each in client.all("window/showMessage")]
    [asked] = requests_for(api, "write")
    assert asked.body["model"] == model
    assert any("The model “m-2” is not used" in each for each in warned) == (model == "m-1")


@pytest.mark.usefixtures("box")
async def test_the_user_reads_of_a_hook_that_failed_in_a_subagent_first(
    connect: Callable[..., Client], workspace: Path, home: Path
) -> None:
    """docs/faults.md 269: in the page of the subagent, and in the conversation when it fails there too."""
    (home / ".config/fairlead").mkdir(parents=True)
    hook = {"matcher": "Read", "hooks": [{"type": "command", "command": "echo broken >&2; exit 1"}]}
    (home / ".config/fairlead/hooks.json").write_text(json.dumps({"hooks": {"PreToolUse": [hook]}}))
    (workspace / "a.txt").write_text("a")
    read = Call("read_file", {"path": "a.txt"})
    scripts: Script = {
        "Do it.": [Turn((explore("look"),)), Turn((read,)), Turn((Text("Done."),))],
        "look": [Turn((read,)), Turn((Text("Looked."),))],
    }
    with api_for(scripts) as api:
        async with connect(api) as client:
            session_id = (await client.run())["sessionId"]
            call = await client.event("tool_started", name="explore")
            about = {"sessionId": session_id, "toolCallId": call["toolCallId"]}
            page = (await client.request("agent/subagents/page", about))["markdown"]
            said = [event["text"] for event in client.events("tool_finished") if event["isError"]]
    assert said == ["It failed (exit code 1): broken"]
    assert "It failed (exit code 1): broken" in page


@pytest.mark.usefixtures("box")
async def test_a_kill_while_a_hook_is_due_loses_nothing(
    connect: Callable[..., Client], workspace: Path, tmp_path: Path
) -> None:
    """docs/faults.md 263: what the call before the hook has proposed in a subagent is proposed."""
    write_agent(workspace)
    hook = {"matcher": "Write", "hooks": [{"type": "command", "command": "true"}]}
    (workspace / ".claude/settings.json").write_text(json.dumps({"hooks": {"PostToolUse": [hook]}}))
    scripts: Script = {
        "Do it.": [Turn((delegate("write"),))],
        "write": [Turn((Call("write_file", {"path": "a.txt", "content": "a"}),))],
    }
    answers = {"agent/approve": lambda _: asyncio.Event().wait()}
    with api_for(scripts) as api:
        async with connect(api, storage=tmp_path / "storage", answers=answers) as client:
            _, answer = client.begin("agent/runTask", {"prompt": "Do it."})
            session_id = (await client.event("run_started"))["sessionId"]
            await client.until(lambda: client.all("agent/approve"))
            await kill(client, answer)
        async with connect(api, storage=tmp_path / "storage") as client:
            opened = await client.request("agent/sessions/open", {"sessionId": session_id})
    assert [file["uri"].rpartition("/")[2] for file in opened["edits"]["files"]] == ["a.txt"]
