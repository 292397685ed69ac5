"""A client whose server hosts `acp_agent.py` with a script."""

import json
import sys
from pathlib import Path
from typing import Any
from uuid import uuid4

from support.client import Client, Json

AGENT = Path(__file__).parent / "acp_agent.py"
NAME = "scripted"


class World:
    """The files and settings of one hosted agent."""

    def __init__(self, workspace: Path, folder: Path, home: Path) -> None:
        self.workspace, self.script, self.storage = workspace, folder / "script.json", folder / "storage"
        self.state = home / ".local" / "share" / "fairlead" / "agents" / "state" / NAME
        self.process = f"left-behind-{uuid4().hex}"
        """The name of a process that it leaves behind, which no other test has."""
        self.env: dict[str, str] = {}
        self.settings: Json = {}
        self.more: Json = {}
        """Further fields of its definition."""

    def client(self, *turns: list[Json], **options: Any) -> Client:
        """A client whose agent does what these turns say."""
        if turns:
            self.script.write_text(json.dumps(turns))
        command = {"command": sys.executable, "args": ["-I", "-S", str(AGENT), str(self.script)]}
        agent = {"title": "Scripted", **command, "state": {"AGENT_STATE": ""}, "env": self.env, **self.more}
        settings = {"agents": {NAME: agent}, **self.settings}
        answers = {"agent/approve": lambda _: {"option": "allow_once"}, **options.pop("answers", {})}
        return Client(self.workspace, settings=settings, storage=self.storage, answers=answers, **options)

    @property
    def prompts(self) -> list[str]:
        """What the agent was asked."""
        return [json.loads(line) for line in (self.state / "prompts.jsonl").read_text().splitlines()]


async def run(client: Client, prompt: str = "Do it.", **more: Any) -> Json:
    """Lets the agent work."""
    return await client.request("agent/runTask", {"prompt": prompt, "hosted": NAME, **more})
