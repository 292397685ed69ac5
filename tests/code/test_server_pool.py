"""The number of language servers that run at once, and when they stop."""

import asyncio
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fairlead.code.provider import NoAnswer
from fairlead.code.servers.servers import SessionServers
from fairlead.code.servers.table import ServerSpec
from support.servers_workspace import BAD_SERVER, PARAMS, QUICK, Clock, Started, Workspace, project


async def test_an_idle_server_is_stopped_and_started_again(workspace: Path) -> None:
    """A server is stopped after five minutes without a request; each request restarts the time."""
    clock, path = Clock(), workspace / "a.x"
    async with Started(project(workspace, ""), clock) as servers:
        server = await servers.server(path)
        clock.advance(200)
        await server.request("textDocument/references", PARAMS)
        clock.advance(200)
        assert server.is_running
        clock.advance(100)
        assert not server.is_running
        assert await servers.server(path) is not server
        assert servers.name_for(path) == "bad"


async def test_the_least_recently_used_server_makes_room(workspace: Path) -> None:
    """One process runs a limited number of servers at once: at the limit, the least recently used one is stopped."""
    names = ("one", "two", "three")
    specs = [ServerSpec(name, (sys.executable, str(BAD_SERVER), ""), {f".{name}": "x"}) for name in names]
    started = Workspace(workspace, "workspace", specs)
    async with Started(started, most=2) as servers:
        one, two = [await servers.server(workspace / f"a.{name}") for name in names[:2]]
        await one.request("textDocument/references", PARAMS)
        await servers.server(workspace / "a.three")
        assert (one.is_running, two.is_running) == (True, False)


async def test_servers_that_start_together_stay_within_the_limit(workspace: Path) -> None:
    """A server that is starting counts too."""
    names = ("one", "two", "three", "four")
    specs = [ServerSpec(name, (sys.executable, str(BAD_SERVER), ""), {f".{name}": "x"}) for name in names]
    async with Started(Workspace(workspace, "workspace", specs), most=2) as servers:
        started = await asyncio.gather(*(servers.server(workspace / f"a.{name}") for name in names))
        assert sum(server.is_running for server in started) == 2


async def test_a_server_that_is_ending_counts_until_it_has_ended(workspace: Path) -> None:
    """This holds for an idle server and for one whose session ends."""
    commands = {"one": "does not shut down", "two": ""}
    specs = [
        ServerSpec(name, (sys.executable, str(BAD_SERVER), case), {f".{name}": "x"}) for name, case in commands.items()
    ]
    clock, seconds = Clock(), replace(QUICK, exit=2.0)
    started = Started(Workspace(workspace, "workspace", specs), clock, seconds, most=1)
    other = SessionServers(Workspace(workspace, "workspace", specs), started.pool, clock, seconds)
    async with started as servers:
        one = await servers.server(workspace / "a.one")
        clock.advance(300)
        await servers.server(workspace / "a.two")
        assert one.start_ending().done()
        one = await other.server(workspace / "a.one")
        closing = asyncio.create_task(other.aclose())
        while one.is_running:  # noqa: ASYNC110  no event says that it begins to end
            await asyncio.sleep(0)
        await servers.server(workspace / "a.two")
        assert one.start_ending().done()
        await closing


async def test_a_server_with_an_open_request_is_not_stopped_for_another(workspace: Path) -> None:
    """The other server starts after the request has ended, here at the time limit of the request."""
    command = (sys.executable, str(BAD_SERVER), "never answers")
    specs = [ServerSpec(name, command, {f".{name}": "x"}) for name in ("one", "two")]
    async with Started(Workspace(workspace, "workspace", specs), seconds=QUICK, most=1) as servers:
        one = await servers.server(workspace / "a.one")
        asking = asyncio.create_task(one.request("textDocument/references", PARAMS))
        await asyncio.sleep(0)
        two = await servers.server(workspace / "a.two")
        with pytest.raises(NoAnswer, match="did not answer textDocument/references within 1 s"):
            await asking
        assert (one.is_running, two.is_running) == (False, True)


async def test_a_server_that_is_shown_changes_before_a_question_is_not_stopped_for_another(workspace: Path) -> None:
    """The server answers the question before it is stopped. The next question starts it again."""
    started = Started(project(workspace, ""), most=1)
    async with started as servers:
        one = await servers.server(workspace / "a.x")

        async def ask() -> Any:
            server = await servers.server(workspace / "a.x")
            return await server.request("textDocument/references", PARAMS)

        async def make_room() -> None:
            async with started.pool.slot():
                pass

        asking = asyncio.create_task(ask())
        await asyncio.sleep(0)  # afterwards, the files are searched for changes
        making = asyncio.create_task(make_room())
        await asyncio.sleep(0)
        assert one.is_running
        assert len(await asking) == 1
        await making
        assert not one.is_running
        assert len(await ask()) == 1
