"""docs/faults.md 63, docs/plan.md L16: a stop is answered immediately, whatever thread the run waits for."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from fairlead.agent.events import Event, RunFinished, RunStarted
from fairlead.models.common.endpoint import Endpoint
from fairlead.models.factory import ModelChoice
from fairlead.session.events import SessionEvent
from fairlead.session.run.prompt import RunTask
from fairlead.session.server_context import ServerContext
from fairlead.session.session import Session
from fairlead.session.settings import Settings
from fairlead.session.store.journal import Journals
from fairlead.shell.layers import CommandLayers
from fairlead.workspace.paths import Roots
from support.fake_api import Call, FakeApi, Text, Turn
from tools.stand_ins import Documents, ScriptedUser

MAX_HELD = 30.0  # seconds after which a held thread continues, should the test fail
LONG = "".join(f"line {number}\n" for number in range(40_000))
WORK = (
    Turn((Call("search", {"pattern": "line"}), Call("bash", {"command": "sed -i s/line/LINE/ long.txt; echo ran"}))),
    Turn((Call("write_file", {"path": "new.txt", "content": "new\n"}), Call("bash", {"command": "cat new.txt"}))),
    Turn((Text("Done."),)),
)


class Threads(ThreadPoolExecutor):
    """The threads of an event loop. The first job of the function with the name `held` waits for `release`."""

    def __init__(self, held: str) -> None:
        super().__init__(16)
        self.held, self.names = held, list[str]()
        self.reached, self._released = asyncio.Event(), threading.Event()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        # asyncio.to_thread submits partial(context.run, function, ...); asyncio submits getaddrinfo without a partial
        function = getattr(fn, "args", [fn])[0]
        name = f"{function.__module__}.{function.__qualname__}"
        first, self.names = name not in self.names, [*self.names, name]
        if name != self.held or not first:
            return super().submit(fn, *args, **kwargs)
        self.reached.set()

        def run_when_released() -> Any:
            self._released.wait(MAX_HELD)
            return fn(*args, **kwargs)

        return super().submit(run_when_released)

    def release(self) -> None:
        self._released.set()


class Desk:
    """A session in its own folder, with a model that does WORK for each prompt except "Still there?"."""

    def __init__(self, folder: Path, api: FakeApi) -> None:
        workspace, endpoint = folder / "ws", Endpoint("m", 1000, None, api.url, "test-key", None)
        workspace.mkdir(parents=True)
        (workspace / "long.txt").write_text(LONG)
        user, layers, roots = ScriptedUser("allow_once"), CommandLayers(folder / "storage"), Roots.of(workspace)
        context = ServerContext(
            Documents(), user, lambda _: ModelChoice(endpoint), Settings(), layers=layers, roots=roots
        )
        self.events: list[SessionEvent] = []
        self.session = Session("0123456789ab", "", roots, context, self.events.extend, Journals().in_memory())

    def seen(self, *kinds: type[Event]) -> list[str]:
        return [type(event).__name__ for event in self.events if isinstance(event, kinds)]


def answer(body: dict[str, Any]) -> Turn:
    """The model's reply to "Still there?", or else the next turn of WORK."""
    done = 0
    for message in body["messages"]:
        texts = [block["text"] for block in message["content"] if block["type"] == "text"]
        if "Still there?" in texts:
            return Turn((Text("I am here."),))
        done += any(block["type"] == "tool_result" for block in message["content"])
    return WORK[done]


async def thread_functions(folder: Path) -> list[str]:
    """The names of the functions that a complete run calls in threads."""
    with FakeApi([answer] * 3) as api:
        desk, threads = Desk(folder, api), Threads("")
        asyncio.get_running_loop().set_default_executor(threads)
        assert (await desk.session.run(RunTask("Work."))).message == "Done."
        await desk.session.close()
        assert api.refusals == []
        return list(dict.fromkeys(threads.names))


async def check_stop_during(folder: Path, held: str) -> None:
    """Stops a run while a thread is held. The stop is answered and the next run begins before the thread continues."""
    with FakeApi([answer] * 8) as api:
        desk, threads = Desk(folder, api), Threads(held)
        asyncio.get_running_loop().set_default_executor(threads)
        session = desk.session
        run = asyncio.ensure_future(session.run(RunTask("Work.")))
        try:
            await asyncio.wait({run, asyncio.ensure_future(threads.reached.wait())}, return_when="FIRST_COMPLETED")
            assert not run.done(), f"{held} was not reached"
            session.cancel()
            await asyncio.wait({run}, timeout=MAX_HELD / 2)
            assert run.done(), f"the stop waited for {held}"
            assert run.result().stop_reason == "cancelled", held
            then = asyncio.ensure_future(session.run(RunTask("Still there?")))
            await asyncio.sleep(0)
        finally:
            threads.release()
        assert (await then).message == "I am here.", held
        await session.close()
        assert desk.seen(RunStarted, RunFinished) == ["RunStarted", "RunFinished"] * 2, held
        assert api.refusals == [], held


@pytest.mark.slow
def test_fault_63_a_stop_does_not_wait_for_threads(tmp_path: Path) -> None:
    """docs/faults.md 63: any work of a run in a thread may hang (the probe of the sandbox, the import of the SDK,
    opening or closing a box, a long comparison). A stop is still answered, and the next run completes.
    """
    names = asyncio.run(thread_functions(tmp_path / "whole"))
    assert "fairlead.models.common.http_model.load_sdk" in names
    for number, held in enumerate(names):
        asyncio.run(check_stop_during(tmp_path / str(number), held))
