"""Diagnostics of files of skills, commands, agents and hooks, as an editor gets them: a real server process."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.client import Client, Json

PUBLISH = "textDocument/publishDiagnostics"
GOOD = "---\ndescription: Fills PDF forms.\n---\nDo it.\n"
NO_FIELDS = "---\nname: pdf\n  description: Fills.\n---\nDo it.\n"
BOTH = "Its fields cannot be read: ", "It has no description"
"""What is wrong with a skill with that text."""
Connect = Callable[..., Client]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The user's home, without skills."""
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


@pytest.fixture
def connect_at_home(home: Path, workspace: Path) -> Connect:
    return lambda **options: Client(workspace, env={"HOME": str(home), "USERPROFILE": str(home)}, **options)


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


async def shown(client: Client, uri: str, *beginnings: str) -> Any:
    """The diagnostics of a file, when the last ones that were published have messages that begin so."""

    def last() -> Json | None:
        found = next((each for each in reversed(client.all(PUBLISH)) if each["uri"] == uri), {"diagnostics": [None]})
        pairs = zip(found["diagnostics"], beginnings, strict=False)
        is_wanted = len(found["diagnostics"]) == len(beginnings) and all(
            each and each["message"].startswith(beginning) for each, beginning in pairs
        )
        return found if is_wanted else None

    return (await client.until(last))["diagnostics"]


async def test_problems_are_shown_in_the_open_file_until_it_is_right(connect_at_home: Connect, workspace: Path) -> None:
    """docs/skills.md: as it is typed, at the line, and not after it is closed."""
    path = write(workspace / ".claude/agents/reviewer.md", "---\nname: r\ntools: [Read, é🚀]\n---\nReview.\n")
    async with connect_at_home() as client:
        uri = client.open(path)
        [problem] = await shown(client, uri, "Its tools")
        assert problem == {
            "range": {"start": {"line": 2, "character": 0}, "end": {"line": 2, "character": 18}},
            "severity": 2,
            "source": "fairlead",
            "message": "Its tools name what Fairlead does not have: é🚀.",
        }
        client.type(path, "---\nname: r\n---\n")
        [problem] = await shown(client, uri, "It has no instructions. The agent does not use this file.")
        assert problem["severity"] == 1
        client.type(path, "---\nname: r\ntools: [Read]\n---\nReview.\n")
        await shown(client, uri)
        client.type(path, NO_FIELDS)
        [problem] = await shown(client, uri, "Its fields cannot be read: mapping values are not allowed here.")
        assert problem["range"]["start"]["line"] == 2
        client.close(uri)
        await shown(client, uri)


async def test_only_files_that_are_looked_for_have_problems(
    connect_at_home: Connect, workspace: Path, home: Path
) -> None:
    """Also those of the user's own. Another file with the same text has none."""
    other = write(workspace / "docs/SKILL.md", NO_FIELDS)
    below = write(workspace / ".agents/skills/pdf/references/notes.md", NO_FIELDS)
    good = write(workspace / ".agents/skills/pdf/SKILL.md", GOOD)
    own = write(home / ".claude/commands/fix.md", NO_FIELDS)
    hooks = write(workspace / ".fairlead/hooks.json", '{"hooks": {\n"Stop": [{"command": "true", "timeout": -1}]}}')
    broken = write(workspace / ".github/hooks/a.json", '{"hooks":\n{')
    async with connect_at_home() as client:
        for path in (other, below, good, own, hooks, broken):
            client.open(path)
        [of_broken] = await shown(client, broken.as_uri(), "It cannot be read: ")
        assert (of_broken["range"]["start"]["line"], of_broken["severity"]) == (1, 1)
        await shown(client, hooks.as_uri(), "Timeout must be a positive number")
        assert {each["uri"] for each in client.all(PUBLISH)} == {path.as_uri() for path in (own, hooks, broken)}


async def test_an_untrusted_workspace_has_no_problems(connect_at_home: Connect, workspace: Path, home: Path) -> None:
    """docs/faults.md 270: its files are not read, until the user trusts it. The user's own are."""
    theirs = [
        write(workspace / ".agents/skills/pdf/SKILL.md", NO_FIELDS),
        write(workspace / ".claude/settings.json", '{"hooks": []}'),
    ]
    own = write(home / ".agents/skills/own/SKILL.md", NO_FIELDS)
    async with connect_at_home(trusted=False) as client:
        for path in (*theirs, own):
            client.open(path)
        await shown(client, own.as_uri(), *BOTH)
        assert {each["uri"] for each in client.all(PUBLISH)} == {own.as_uri()}
        client.notify("agent/trust", {"trusted": True})
        await shown(client, theirs[0].as_uri(), *BOTH)
        await shown(client, theirs[1].as_uri(), "Hooks must be an object")
        client.notify("agent/trust", {"trusted": False})
        for path in theirs:
            await shown(client, path.as_uri())


async def test_an_endless_file_does_not_stop_the_server(connect_at_home: Connect, workspace: Path) -> None:
    """docs/faults.md 75: a file that is too large is not read. While one is read, requests are answered."""
    deep = write(workspace / ".agents/skills/deep/SKILL.md", f"---\na: {'[' * 90_000}\n---\nDo it.\n")
    large = write(workspace / ".agents/skills/large/SKILL.md", f"---\na: {'[' * 300_000}\n---\nDo it.\n")
    async with connect_at_home() as client:
        client.open(deep)
        client.open(large)
        await client.request("agent/skills/page", {})
        await shown(client, large.as_uri(), "It is larger than 200,000 bytes. The agent does not use this file.")
        await shown(client, deep.as_uri(), *BOTH)
