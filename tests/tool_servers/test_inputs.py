"""The values of `${input:ID}`: who is asked, how long they hold, and what is saved."""

import json
from pathlib import Path
from typing import Any

import pytest

from fairlead.gate.request import ValueRequest
from fairlead.tool_servers.definition import Definition, Input
from fairlead.tool_servers.inputs import NotEntered, entered_values
from fairlead.tool_servers.read_definitions import read_file
from fairlead.tool_servers.secrets import Secrets
from support.sandbox import needs_sandbox
from tool_servers.world import User, scripted, world

KEY = Input("key", "API key", True)
SHOWN = 'echo "$KEY"'


@pytest.fixture
def sandboxed() -> None:
    needs_sandbox()


def test_what_a_file_says_about_inputs() -> None:
    """Only those that a server names decide whether it has changed. An input that no file describes is a secret."""
    given: dict[str, Any] = {
        "inputs": [
            {"id": "key", "description": "API key", "password": True},
            {"id": "zone", "type": "pickString", "options": ["eu", {"label": "US", "value": "us"}], "default": "eu"},
        ],
        "servers": {"a": {"command": "x", "args": ["${input:zone}", "${input:own}"]}, "b": {"command": "x"}},
    }
    found = read_file(given, Path("mcp.json"), [])
    assert found["a"].inputs == (Input("zone", "zone", False, "eu", ("eu", "us")), Input("own", "own", True))
    assert found["b"].inputs == ()


async def test_they_are_asked_for_once() -> None:
    """They hold for exactly this definition. Asked again, a user who gives up keeps the earlier ones."""
    secrets, asked = Secrets(), list[ValueRequest]()
    answers = iter(["k-1", "eu", "k-2", None, "k-3", "us"])

    async def enter(request: ValueRequest) -> str | None:
        asked.append(request)
        return next(answers)

    definition = Definition("s", ("x", "${input:key}"), inputs=(KEY, Input("zone", "Zone?", default="us")))
    for _ in range(2):
        assert await entered_values(definition, secrets, enter) == {"key": "k-1", "zone": "eu"}
    assert [(each.is_secret, each.default) for each in asked] == [(True, ""), (False, "us")]
    with pytest.raises(NotEntered, match=r"^It needs a value that was not entered: Zone\?.$"):
        await entered_values(definition, secrets, enter, again=True)
    assert [(each.is_secret, each.default) for each in asked[2:]] == [(True, ""), (False, "eu")]
    assert await entered_values(definition, secrets, enter) == {"key": "k-1", "zone": "eu"}
    changed = Definition("s", ("y", "${input:key}"), inputs=definition.inputs)
    assert await entered_values(changed, secrets, enter) == {"key": "k-3", "zone": "us"}


@pytest.mark.usefixtures("sandboxed")
async def test_a_server_starts_with_what_was_entered() -> None:
    """Without it, the server is not used until the user restarts it. The next start does not ask again."""
    user, secrets = User("allow_once", said=[None, "k-1"]), Secrets()
    server = scripted(variables=(("KEY", "${input:key}"),), inputs=(KEY,))
    async with world(server, user=user, secrets=secrets) as found:
        [status] = found.session.tool_servers.statuses()
        assert (status.state, status.problem) == ("notAllowed", "It needs a value that was not entered: API key.")
        await found.session.tool_servers.prepare()
        assert len(user.entries) == 1
        await found.session.tool_servers.restart("files")
        assert "k-1" in await found.call("files__run", command=SHOWN)
        await found.session.tool_servers.restart("files")
        assert "k-1" in await found.call("files__run", command=SHOWN)
        assert [each.question for each in user.entries] == ["API key", "API key"]


@pytest.mark.usefixtures("sandboxed")
async def test_a_workspace_asks_for_nothing_before_its_server_is_allowed() -> None:
    """docs/faults.md 201: a cloned repository cannot ask for secrets."""
    user = User("reject", said=["k-1"])
    async with world(user=user) as found:
        text = {"inputs": [{"id": "key"}], "servers": {"files": {"command": "x", "args": ["${input:key}"]}}}
        (found.folder / ".vscode").mkdir()
        (found.folder / ".vscode" / "mcp.json").write_text(json.dumps(text))
        await found.session.tool_servers.prepare()
        assert (len(user.asked), user.entries) == (1, [])
