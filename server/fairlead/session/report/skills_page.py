"""A page about the skills, commands and agents: what there is, who uses it, and what is wrong with their files."""

from collections.abc import Sequence

from fairlead.session.report.file_names import FileNames
from fairlead.session.report.markdown import code_span, plain
from fairlead.skills.agent_file import AgentFile
from fairlead.skills.find import AGENT_FOLDERS, COMMAND_FOLDERS, SKILL_FOLDERS, FoundSkills
from fairlead.skills.skill import Skill

TITLES = {
    (True, "skill"): "Skills of this workspace",
    (True, "command"): "Commands of this workspace",
    (False, "skill"): "Your own skills",
    (False, "command"): "Your own commands",
}


def skills_page(found: FoundSkills, names: FileNames) -> str:
    """The page as Markdown."""
    parts = ["# Skills, commands and agents"]
    for (is_from_workspace, kind), title in TITLES.items():
        some = [each for each in found.skills if (each.is_from_workspace, each.kind) == (is_from_workspace, kind)]
        parts += _section(title, some, names)
    for is_from_workspace, title in ((True, "Agents of this workspace"), (False, "Your own agents")):
        some = [each for each in found.agents if each.is_from_workspace == is_from_workspace]
        parts += _section(title, some, names)
    if not (found.skills or found.agents):
        folders = ", ".join(map(code_span, (*SKILL_FOLDERS, *COMMAND_FOLDERS, *AGENT_FOLDERS)))
        parts.append(
            f"There are none. They are looked for in these folders of the workspace and of your home: {folders}."
        )
    if found.problems:
        parts += ["## Problems", "\n".join(map(names.about, found.problems))]
    return "\n\n".join(parts) + "\n"


def _section(title: str, found: Sequence[Skill | AgentFile], names: FileNames) -> list[str]:
    texts = [_agent(each) if isinstance(each, AgentFile) else _item(each) for each in found]
    lines = [f"{text} ({names.of(each.path)})" for text, each in zip(texts, found, strict=True)]
    return [f"## {title}", "\n".join(lines)] if lines else []


def _item(skill: Skill) -> str:
    name = code_span(f"/{skill.name}" if skill.is_for_user else skill.name)
    # not as code, in which a page cannot show a <
    hint = f" {plain(skill.hint)}" if skill.hint else ""
    users = "" if skill.is_for_model else " Only you use it." if skill.kind == "skill" else ""
    users = users if skill.is_for_user else " Only the agent uses it."
    return f"- {name}{hint}: {plain(skill.description)}{users}"


def _agent(agent: AgentFile) -> str:
    tools = "" if agent.tools is None else f" It may use: {', '.join(agent.tools) or 'nothing'}."
    without = f" It must not use: {', '.join(agent.without)}." if agent.without else ""
    users = "" if agent.is_for_model else " Only you choose it."
    users = users if agent.is_for_user else " Only the agent gives it work."
    about = f"{plain(agent.description)}{plain(tools + without)}{users}"
    return f"- {code_span(agent.name)}: {about}"
