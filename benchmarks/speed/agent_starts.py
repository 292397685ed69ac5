"""Measures the start and the memory of agents of npm, hosted and bare.

    .venv/bin/python benchmarks/speed/agent_starts.py [--runs N] [NAME...]

The agent is Claude Code unless others are named. It is installed into the folder that FAIRLEAD_AGENTS names, by default
into the cache of `npm run test:agents`. A stand-in of its API answers at once, so all time is that of the agent, of its
box and of Fairlead. The bare agent has the same state folder and no box.
"""

import argparse
import asyncio
import contextlib
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import psutil

sys.path.extend(str(Path(__file__).parents[2] / folder) for folder in ("tests", "benchmarks", "server"))

from fairlead.hosted_agents.read_definitions import read_agents, with_presets
from fairlead.hosted_agents.starting import AgentsContext, install_packages
from real_agents.examples import EXAMPLES, filled, settings_of, write_state
from real_agents.stand_in import StandIn
from support.client import Client

PROMPT = "WORK"
DEFAULT_PACKAGES = Path.home() / ".cache" / "fairlead" / "agents"


class Bare:
    """The agent with a client that only asks.

    `first_update` is when the first update came that the user sees.
    """

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None and process.stdout is not None
        self._stdin, self._stdout, self._number = process.stdin, process.stdout, 0
        self.first_update: float | None = None

    async def ask(self, method: str, params: Mapping[str, Any]) -> Any:
        self._number += 1
        message = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        self._stdin.write(json.dumps(message).encode() + b"\n")
        while line := await self._stdout.readline():
            answer = json.loads(line)
            kind = answer.get("params", {}).get("update", {}).get("sessionUpdate")
            if self.first_update is None and kind in ("agent_message_chunk", "agent_thought_chunk", "tool_call"):
                self.first_update = time.perf_counter()
            if answer.get("id") == self._number and "method" not in answer:
                assert "result" in answer, answer
                return answer["result"]
        raise EOFError("the agent ended")


async def bare(command: Sequence[str], env: Mapping[str, str], workspace: Path) -> tuple[float, float]:
    """The time from the start of the agent to its first update, in s, and its memory after its turn, in MB."""
    pipe = asyncio.subprocess.PIPE
    began = time.perf_counter()
    process = await asyncio.create_subprocess_exec(
        *command, stdin=pipe, stdout=pipe, stderr=asyncio.subprocess.DEVNULL, env=env, cwd=workspace
    )
    agent = Bare(process)
    try:
        await agent.ask("initialize", {"protocolVersion": 1, "clientCapabilities": {}})
        session = await agent.ask("session/new", {"cwd": str(workspace), "mcpServers": []})
        prompt = [{"type": "text", "text": PROMPT}]
        await agent.ask("session/prompt", {"sessionId": session["sessionId"], "prompt": prompt})
        assert agent.first_update is not None
        return agent.first_update - began, memory(of_home(env["HOME"]))
    finally:
        for each in of_home(env["HOME"]):
            each.kill()
        await process.wait()


async def hosted(client: Client, name: str) -> tuple[float, float]:
    """The time from the task to the agent's first update, in s, and the memory of its processes then, in MB."""
    others = tree(client.process.pid)
    before = len(client.log)
    began = time.perf_counter()
    working = asyncio.create_task(client.request("agent/runTask", {"prompt": PROMPT, "hosted": name}, deadline=300))
    await client.until(lambda: any(is_update(*each) for each in client.log[before:]))
    taken = time.perf_counter() - began
    result = await working
    assert result["stopReason"] == "end_turn", result
    return taken, memory(each for each in tree(client.process.pid) if each not in others)


def is_update(method: str, params: Any) -> bool:
    return method == "agent/event" and params["kind"] in ("text", "thinking", "tool_started")


def tree(pid: int) -> list[psutil.Process]:
    """A process and all that it has started."""
    process = psutil.Process(pid)
    return [process, *process.children(recursive=True)]


def of_home(home: str) -> Iterator[psutil.Process]:
    """The processes with a home, also a daemon that an agent has left (Cline)."""
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.environ().get("HOME") == home:
                yield process


def memory(processes: Iterable[psutil.Process]) -> float:
    """The memory of processes in MB, what several share counted once (PSS)."""
    return sum(each.memory_full_info().pss for each in processes) / 1e6


async def measure(name: str, folder: Path, runs: int) -> None:
    """Prints the figures of one agent."""
    workspace, home = folder / "ws", Path(os.environ["HOME"])
    workspace.mkdir()
    (workspace / "a.txt").write_text("one\n")
    with StandIn({PROMPT: []}) as api:
        settings = settings_of(name, api, workspace)
        variables = filled(EXAMPLES[name].environment, api, workspace)
        write_state(name, home, api, workspace)
        definition = with_presets(read_agents(settings.get("agents", {}), []))[name]
        context = AgentsContext()
        program = await install_packages(definition, context)
        own = {name: os.environ[name] for name in ("HOME", "PATH")}  # as in the box
        env = {**own, **dict(definition.variables), **variables, **context.state_folders(definition).for_agent(None)}
        alone = [await bare([str(program), *definition.command[1:]], env, workspace) for _ in range(runs)]
        answers: Any = {"agent/approve": lambda _: {"option": "allow_once"}}
        client = Client(workspace, settings=settings, env=variables, storage=folder / "storage", answers=answers)
        async with client:
            ours = [await hosted(client, name) for _ in range(runs)]
    for what, figures in (("bare", alone), ("hosted", ours)):
        seconds, megabytes = zip(*figures, strict=True)
        print(f"  {name:10} {what:7} {list_of(seconds, 's', 2)}   {list_of(megabytes, 'MB', 0)}")


def list_of(figures: Sequence[float], unit: str, digits: int) -> str:
    """The median and all figures."""
    return f"{statistics.median(figures):.{digits}f} {unit} ({', '.join(f'{each:.{digits}f}' for each in figures)})"


def main() -> None:
    parser = argparse.ArgumentParser(description="Measures the start and the memory of agents of npm.")
    parser.add_argument("names", nargs="*", default=["claude"], metavar="NAME", help=", ".join(EXAMPLES))
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    packages = Path(os.environ.get("FAIRLEAD_AGENTS", DEFAULT_PACKAGES))
    packages.mkdir(parents=True, exist_ok=True)
    print(f"the time to the first update, and the memory after the turn (median, and all of {options.runs})")
    for name in options.names:
        with tempfile.TemporaryDirectory(prefix="fairlead-bench-", ignore_cleanup_errors=True) as folder:
            home = os.environ["HOME"] = str(Path(folder, "home"))
            agents = Path(home, ".local", "share", "fairlead", "agents")
            agents.mkdir(parents=True)
            (agents / "packages").symlink_to(packages)
            asyncio.run(measure(name, Path(folder), options.runs))


if __name__ == "__main__":
    main()
