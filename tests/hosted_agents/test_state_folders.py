"""Where an agent keeps its settings, which it can write, and its sign-in, which it cannot (docs/faults.md 282)."""

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from fairlead.hosted_agents.connection import AgentFailed
from fairlead.hosted_agents.definition import AgentDefinition
from fairlead.hosted_agents.read_definitions import read_agents
from fairlead.hosted_agents.starting import AgentsContext, sign_in_of
from fairlead.hosted_agents.state_folders import StateFolders

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="agents run only in the sandbox, which needs Linux")

DEFINITION = AgentDefinition(
    "mine",
    "Mine",
    (sys.executable,),
    state=(("HOME_OF_IT", ""), ("CACHE", "x/cache")),
    sign_in=(sys.executable, "login"),
)


@pytest.fixture
def folders(tmp_path: Path) -> StateFolders:
    return StateFolders.of(DEFINITION, tmp_path / "agents")


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "key").write_text("s3cret")
    return folder


def test_a_sign_in_reads_nothing_that_the_agent_wrote(tmp_path: Path) -> None:
    """docs/faults.md 282: it runs outside of the sandbox, where a planted hook or setting would run too."""
    context = AgentsContext(tmp_path / "agents")
    folders = context.state_folders(DEFINITION)
    folders.for_agent(None)
    (folders.state / "settings.json").write_text('{"hooks":{}}')
    found = sign_in_of(DEFINITION, context)
    assert found is not None
    argv, variables = found
    assert argv == [sys.executable, "login"]
    assert set(variables) == {"HOME_OF_IT", "CACHE"}
    for each in variables.values():
        assert Path(each).is_dir()
        assert not Path(each).is_relative_to(folders.state)
        assert not list(Path(each).rglob("*.json"))


def test_a_sign_in_is_taken_over_once(folders: StateFolders) -> None:
    """What the agent makes of it later stays, until the user signs in again."""
    token = Path(folders.for_sign_in()["CACHE"], "token.json")
    token.write_text("first")
    taken = Path(folders.for_agent(None)["CACHE"], "token.json")
    assert taken.read_text() == "first"
    assert taken.stat().st_mode & 0o777 == 0o600
    taken.write_text("refreshed by the agent")
    folders.for_agent(None)
    assert taken.read_text() == "refreshed by the agent"
    token.write_text("second time")
    folders.for_agent(None)
    assert taken.read_text() == "second time"


def test_a_link_in_place_of_a_folder_is_not_followed(folders: StateFolders, outside: Path) -> None:
    """docs/faults.md 282: nothing is created or given to another account there."""
    folders.for_agent(None)
    (folders.state / "x/cache").rmdir()
    (folders.state / "x").rmdir()
    (folders.state / "x").symlink_to(outside)
    owner = outside.stat().st_uid
    with pytest.raises(AgentFailed, match=r"a link or a file in place of a folder: .*/state/mine/x"):
        folders.for_agent((4711, 4711) if os.geteuid() == 0 else None)
    assert (outside.stat().st_uid, os.listdir(outside)) == (owner, ["key"])


@pytest.mark.parametrize("kind", ["link", "pipe", "folder"])
def test_a_sign_in_is_written_to_no_other_place(folders: StateFolders, outside: Path, kind: str) -> None:
    """docs/faults.md 282: what the agent has put in its place is replaced, or reported."""
    Path(folders.for_sign_in()["CACHE"], "token.json").write_text("new")
    cache = folders.state / "x/cache"
    cache.mkdir(parents=True)
    token = cache / "token.json"
    match kind:
        case "link":
            token.symlink_to(outside / "key")
            (cache / ".token.json.fairlead-new").symlink_to(outside / "key")
        case "pipe":
            os.mkfifo(token)
        case _:
            token.mkdir()
    if kind == "folder":
        with pytest.raises(AgentFailed, match=r"in place of a folder|Remove it"):
            folders.for_agent(None)
    else:
        folders.for_agent(None)
        assert token.read_text() == "new"
        assert not token.is_symlink()
    assert (outside / "key").read_text() == "s3cret"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away")
def test_the_folders_belong_to_the_account_of_the_agent(folders: StateFolders) -> None:
    Path(folders.for_sign_in()["CACHE"], "token.json").write_text("new")
    folders.for_agent((4711, 4712))
    for path in (folders.state, *folders.state.rglob("*")):
        assert (path.stat().st_uid, path.stat().st_gid) == (4711, 4712)
    assert {path.stat().st_uid for path in folders.sign_in.rglob("*")} == {0}


@pytest.mark.parametrize(
    ("name", "state", "problem"),
    [
        ("mine", {"A": "", "B": "data/x", "C": "..data"}, ""),
        ("my-agent.2_b", {}, ""),
        ("m", {}, ""),
        ("../claude", {}, "needs a name of"),
        ("..", {}, "needs a name of"),
        (".", {}, "needs a name of"),
        (".mine", {}, "needs a name of"),
        ("mine.", {}, "needs a name of"),
        ("a/b", {}, "needs a name of"),
        ("", {}, "needs a name of"),
        ("x" * 61, {}, "needs a name of"),
        ("mi\u202ene", {}, "needs a name of"),
        ("mine", {"A": "../claude"}, "must be a path within"),
        ("mine", {"A": "x/../../claude"}, "must be a path within"),
        ("mine", {"A": "/etc"}, "must be a path within"),
        ("mine", {"A": "a\0b"}, "must be a path within"),
    ],
)
def test_a_definition_names_no_folder_elsewhere(name: str, state: Any, problem: str) -> None:
    """docs/faults.md 283: the setting is ignored, with a message."""
    problems: list[str] = []
    found = read_agents({name: {"command": "x", "state": state}}, problems)
    assert bool(found) == (not problem)
    assert len(problems) == bool(problem)
    assert all(problem in each for each in problems)
