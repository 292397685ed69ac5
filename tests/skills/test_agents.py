"""What the files of agents say, as other agents write them."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from fairlead.skills.agent_file import ALWAYS, AgentFile, read_agent
from fairlead.skills.find import AGENT_FOLDERS, find_skills, problems_in
from fairlead.skills.tool_names import OTHERS, OWN, tools_named

SHAPES: list[dict[str, Any]] = yaml.safe_load(Path(__file__).with_name("agents.yaml").read_text("utf-8"))


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


@pytest.mark.parametrize("shape", SHAPES, ids=[shape["about"] for shape in SHAPES])
def test_the_files_of_other_projects_are_read_or_say_why_not(shape: dict[str, Any], tmp_path: Path) -> None:
    """docs/faults.md 257, 258: also those whose headers are odd or take long."""
    path = write(tmp_path / "ws", shape["path"], shape["text"])
    found = find_skills([tmp_path / "ws"], tmp_path / "home")
    if "problem" in shape:
        assert (found.agents, list(map(str, found.problems))) == ((), [f"{path}{shape['problem']}"])
        assert list(problems_in(path, shape["text"], [tmp_path / "ws"], tmp_path / "home")) == list(found.problems)
        return
    [agent] = found.agents
    assert agent.name == shape["name"]
    assert agent.description.startswith(shape["says"])
    assert (agent.model, list(agent.checks)) == (shape.get("model", ""), shape.get("checks", []))
    assert (agent.is_for_model, agent.is_for_user) == (shape.get("for_model", True), shape.get("for_user", True))
    assert [tool for tool in shape.get("may", []) if not agent.may_use(tool)] == []
    assert [tool for tool in shape.get("may_not", []) if agent.may_use(tool)] == []
    warns = shape.get("warns", [])
    assert len(found.problems) == len(warns)
    assert all(warning in str(problem) for warning, problem in zip(warns, found.problems, strict=True))
    assert list(problems_in(path, shape["text"], [tmp_path / "ws"], tmp_path / "home")) == list(found.problems)


def agent(front_matter: str) -> AgentFile:
    found = read_agent(Path("/ws/.claude/agents/a.md"), f"---\n{front_matter}\n---\nDo it.", is_from_workspace=True)
    assert isinstance(found, AgentFile), found
    return found


NAMES = st.sampled_from([*sorted(OWN), *sorted(OTHERS), "Read", "Bash", "mcp__x__y", "x/*", "nothing", "read/readFile"])


@given(st.lists(NAMES), st.lists(NAMES))
def test_it_may_use_what_is_named_and_not_banned(tools: list[str], banned: list[str]) -> None:
    """The names are independent of each other. One that Fairlead does not know allows nothing."""
    tried = [*sorted(OWN), "x__y", "other__tool"]
    found = agent(f"tools: {tools}\ndisallowedTools: {banned}")
    for tool in tried:
        is_named = tool in ALWAYS or any(_names(name, tool) for name in tools)
        assert found.may_use(tool) == (is_named and not any(_names(name, tool) for name in banned))


def _names(name: str, tool: str) -> bool:
    patterns, _ = tools_named([name])
    return any(pattern == tool or (pattern.endswith("*") and tool.startswith(pattern[:-1])) for pattern in patterns)


def test_the_workspace_counts_before_the_home(tmp_path: Path) -> None:
    """And in each of them the first folder."""
    for root, number in ((tmp_path / "home", 0), (tmp_path / "ws", 1)):
        for folder in AGENT_FOLDERS:
            write(root, f"{folder}/same.md", f"---\ndescription: {folder} {number}\n---\nDo it.")
    write(tmp_path / "home", ".claude/agents/own.md", "Do it.")
    found = find_skills([tmp_path / "ws"], tmp_path / "home")
    assert [(each.name, each.description, each.is_from_workspace) for each in found.agents] == [
        ("own", "Do it.", False),
        ("same", f"{AGENT_FOLDERS[0]} 1", True),
    ]
    assert [each.name for each in find_skills([], tmp_path / "home").agents] == ["own", "same"]


def test_a_link_in_the_workspace_is_not_followed(tmp_path: Path) -> None:
    outside = write(tmp_path, "outside.md", "Do it.")
    folder = tmp_path / "ws/.claude/agents"
    folder.mkdir(parents=True)
    (folder / "linked.md").symlink_to(outside)
    assert find_skills([tmp_path / "ws"], tmp_path / "home").agents == ()
