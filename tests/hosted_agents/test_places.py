"""Where an agent works, and what the user does meanwhile: odd paths, several folders, typing, decisions, rewinding."""

import asyncio
import contextlib
from pathlib import Path

import pytest

from hosted_agents.world import NAME, World, run
from support.client import Json, WireError
from support.sandbox import needs_sandbox


@pytest.fixture(autouse=True)
def sandboxed() -> None:
    needs_sandbox()


@pytest.fixture
def world(workspace: Path, tmp_path: Path, home: Path) -> World:
    (workspace / "a.txt").write_text("one\n")
    return World(workspace, tmp_path, home)


def at(workspace: Path, tmp_path: Path, home: Path) -> World:
    workspace.mkdir(parents=True, exist_ok=True)
    (workspace / "a.txt").write_text("one\n")
    return World(workspace, tmp_path, home)


@pytest.mark.parametrize("name", ["with a space", 'it\'s $HOME `x` "y"', "項目", "-x", "a\nb"])
async def test_a_workspace_with_an_odd_name(tmp_path: Path, home: Path, name: str) -> None:
    world = at(tmp_path / name, tmp_path, home)
    async with world.client([{"shell": "cat a.txt; echo ONE > a.txt; mkdir 'd e'; echo x > 'd e/f g.txt'"}]) as client:
        result = await run(client)
        assert result["stopReason"] == "end_turn", result
        assert {Path(each["path"]).name for each in paths_of(client.last("agent/edits"))} == {"a.txt", "f g.txt"}
    assert (world.workspace / "a.txt").read_text() == "one\n"


def paths_of(edits: Json) -> list[Json]:
    return [{"path": each["uri"].replace("%20", " ")} for each in edits["files"]]


async def test_a_workspace_and_a_home_below_links(tmp_path: Path, home: Path) -> None:
    """The home is a link too, so that Fairlead's folders are below it."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    (tmp_path / "home").symlink_to(home)
    world = at(tmp_path / "link" / "ws", tmp_path, home)
    async with world.client(
        [{"write": ["a.txt", "ONE\n"]}, {"read": "a.txt"}], env={"HOME": str(tmp_path / "home")}
    ) as client:
        result = await run(client)
        assert (result["stopReason"], result["message"]) == ("end_turn", "<a.txt>ONE\n</a.txt>")
        assert len(client.last("agent/edits")["files"]) == 1
    assert (world.workspace / "a.txt").read_text() == "one\n"


async def test_several_folders(world: World, tmp_path: Path) -> None:
    """It works in the first one, and what it writes in the others is proposed too."""
    other = tmp_path / "other"
    other.mkdir()
    (other / "b.txt").write_text("two\n")
    turn = [
        {"write": ["a.txt", "ONE\n"]},
        {"write": [str(other / "b.txt"), "TWO\n"]},
        {"quiet": f"echo x > {other}/c.txt"},
    ]
    async with world.client(turn, [{"read": str(other / "b.txt")}], more_folders=[other]) as client:
        session_id = (await run(client))["sessionId"]
        uris = {each["uri"] for each in client.last("agent/edits")["files"]}
        assert uris == {path.as_uri() for path in (world.workspace / "a.txt", other / "b.txt", other / "c.txt")}
        await client.request(
            "agent/edits/reject", {"sessionId": session_id, "target": {"uri": (other / "b.txt").as_uri()}}
        )
        assert (await run(client, sessionId=session_id))["message"] == f"<{other}/b.txt>two\n</{other}/b.txt>"
    assert (other / "b.txt").read_text() == "two\n"


async def test_it_sees_what_the_user_types(world: World) -> None:
    """At the start, and while it works. What it then writes is merged or in conflict, and the buffer stays as it is."""
    turn = [
        {"read": "a.txt"},
        {"write": ["ready.txt", ""]},
        {"quiet": "until grep -q typed a.txt; do sleep 0.01; done"},
        {"read": "a.txt"},
        {"quiet": "echo more >> a.txt"},
    ]
    async with world.client(turn) as client:
        path = world.workspace / "a.txt"
        client.open(path, "unsaved\n")
        working = asyncio.create_task(run(client))
        await client.until(lambda: any(each["files"] for each in client.all("agent/edits")))
        client.type(path, "typed\n")
        result = await working
        assert result["message"] == "<a.txt>unsaved\n</a.txt><a.txt>typed\n</a.txt>"
        assert client.buffers[path.as_uri()][0] == "typed\n"
        files = {Path(each["uri"]).name: each for each in client.last("agent/edits")["files"]}
        assert set(files) == {"a.txt", "ready.txt"}
        content = await client.request(
            "workspace/textDocumentContent", {"uri": f"fairlead-proposed://{result['sessionId']}{path}"}
        )
        assert content["text"] == "typed\nmore\n"
    assert path.read_text() == "one\n"


@pytest.mark.parametrize("decision", ["accept", "reject"])
async def test_decisions_while_it_writes_the_same_file(world: World, decision: str) -> None:
    """Nothing is lost: the last text of the agent is on disk or proposed, or the agent has seen the decision."""
    turn = [{"write": ["a.txt", "0\n"]}, {"writes": ["a.txt", 40]}]
    async with world.client(turn) as client:
        working = asyncio.create_task(run(client))
        session_id = (await client.event("run_started"))["sessionId"]
        decided = 0
        while not working.done():
            changed = asyncio.ensure_future(
                client.until(lambda: (client.last("agent/edits") or {"files": []})["files"])
            )
            await asyncio.wait({working, changed}, return_when=asyncio.FIRST_COMPLETED)
            changed.cancel()
            target = {"sessionId": session_id, "target": {"uri": (world.workspace / "a.txt").as_uri()}}
            with contextlib.suppress(WireError):  # the agent has changed it in the meantime, or it is decided
                await client.request(f"agent/edits/{decision}", target)
                decided += 1
            await asyncio.sleep(0)
        result = await working
        assert result["stopReason"] == "end_turn", result
        assert decided
        files = client.last("agent/edits")["files"]
        opened = await client.request("agent/sessions/open", {"sessionId": session_id})
        assert opened["edits"]["files"] == files
        disk = (world.workspace / "a.txt").read_text()
        if decision == "reject":
            assert disk == "one\n"
        elif not files:
            assert disk == "39\n"


async def test_a_rewind_takes_its_work_back(world: World) -> None:
    """The agent begins a new conversation on the files as they were."""
    turns = [[{"write": ["a.txt", "ONE\n"]}], [{"write": ["a.txt", "TWO\n"]}], [{"read": "a.txt"}, {"echo": 1}]]
    async with world.client(*turns) as client:
        session_id = (await run(client, "First."))["sessionId"]
        await run(client, "Second.", sessionId=session_id)
        checkpoint = client.events("run_started")[-1]["checkpoint"]
        params = {"sessionId": session_id, "checkpoint": checkpoint, "scope": "everything"}
        await client.request("agent/sessions/rewind", params)
        result = await run(client, "Third.", sessionId=session_id)
        assert result["message"].startswith("<a.txt>ONE\n</a.txt>")
        assert "Second." not in result["message"]


async def test_a_changed_definition_starts_it_again(world: World) -> None:
    """The user is asked again, because it is another program or may reach another host."""
    asked: list[str] = []

    def answer(params: Json) -> Json:
        asked.append(params["kind"])
        return {"option": "allow_once"}

    async with world.client([], [{"shell": "echo [$ADDED]"}], answers={"agent/approve": answer}) as client:
        session_id = (await run(client))["sessionId"]
        await run(client, sessionId=session_id)
        assert asked == ["agent"]
        agent = client.settings["agents"][NAME] if client.settings else {}
        changed = {**agent, "env": {"ADDED": "yes"}}
        (world.state / "turns").write_text("1")
        client.notify(
            "workspace/didChangeConfiguration", {"settings": {**(client.settings or {}), "agents": {NAME: changed}}}
        )
        await run(client, sessionId=session_id)
        assert asked == ["agent", "agent"]
        assert "[yes]" in "".join(each["text"] for each in client.events("tool_output"))


async def test_a_refused_start_starts_nothing(world: World) -> None:
    async with world.client([], answers={"agent/approve": lambda _: {"option": "reject"}}) as client:
        result = await run(client)
        assert result["stopReason"] == "error"
    assert not (world.state / "turns").exists()


async def test_a_stop_withdraws_the_question_about_the_start(world: World) -> None:
    asked = asyncio.Event()

    async def answer(_: Json) -> Json:
        asked.set()
        await asyncio.Event().wait()
        return {}

    async with world.client([], answers={"agent/approve": answer}) as client:
        working = asyncio.create_task(run(client))
        async with asyncio.timeout(60):
            await asked.wait()
        session_id = (await client.event("run_started"))["sessionId"]
        await client.request("agent/cancel", {"sessionId": session_id})
        assert (await working)["stopReason"] == "cancelled"
        await client.until(lambda: client.all("$/cancelRequest"))
    assert not (world.state / "turns").exists()


async def test_an_untrusted_workspace(world: World) -> None:
    """Nothing starts there."""
    async with world.client([], trusted=False) as client:
        with pytest.raises(WireError, match="This workspace is not trusted"):
            await run(client)
    assert not (world.state / "turns").exists()


async def test_a_daemon_writes_only_proposals(world: World) -> None:
    """docs/faults.md 290: what a process that it has left writes between turns is proposed later."""
    turn = [{"quiet": "(until [ -e go.txt ]; do sleep 0.01; done; echo late > late.txt) & disown"}]
    wait = [{"quiet": "touch go.txt; until [ -s late.txt ]; do sleep 0.01; done; rm go.txt"}]
    async with world.client(turn, wait) as client:
        session_id = (await run(client))["sessionId"]
        assert not (client.last("agent/edits") or {"files": []})["files"]
        await run(client, sessionId=session_id)
        assert [Path(each["uri"]).name for each in client.last("agent/edits")["files"]] == ["late.txt"]
    assert [path.name for path in world.workspace.iterdir()] == ["a.txt"]


@pytest.mark.parametrize("several", [False, True], ids=["one folder", "several folders"])
async def test_claimed_locations_are_no_evidence(world: World, tmp_path: Path, several: bool) -> None:
    """docs/faults.md 291: a step has the files that were written, and odd paths break nothing."""
    other = tmp_path / "other"
    other.mkdir()
    claims = ["lie.txt", "../../etc/passwd", "nothing/lie.txt", "~", "a\0b", str(other / "b.txt"), "x" * 4000, "."]
    call = {"toolCallId": "c", "title": "Edit", "kind": "edit", "status": "completed"}
    turn = [
        {"plan": [["One", "in_progress"]]},
        {"frame": {"sessionUpdate": "tool_call", **call, "locations": [{"path": each} for each in claims]}},
        {"write": ["a.txt", "ONE\n"]},
        {"plan": [["One", "completed"]]},
    ]
    async with world.client(turn, [{"say": "Next."}], more_folders=[other] if several else []) as client:
        session_id = (await run(client))["sessionId"]
        opened = await client.request("agent/sessions/open", {"sessionId": session_id})
        [item] = opened["plan"]["items"]
        assert item["evidence"]["files"] == [(world.workspace / "a.txt").as_uri()]
        assert (await run(client, sessionId=session_id))["message"] == "Next."
