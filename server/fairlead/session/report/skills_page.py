"""A page about the skills and commands: what there is, who uses it, and what is wrong with their files."""

from collections.abc import Sequence

from fairlead.session.report.markdown import code_span, plain
from fairlead.skills.find import COMMAND_FOLDERS, SKILL_FOLDERS, FoundSkills
from fairlead.skills.skill import Skill

TITLES = {
    (True, "skill"): "Skills of this workspace",
    (True, "command"): "Commands of this workspace",
    (False, "skill"): "Your own skills",
    (False, "command"): "Your own commands",
}


def skills_page(found: FoundSkills) -> str:
    """The page as Markdown."""
    parts = ["# Skills and commands"]
    for (is_from_workspace, kind), title in TITLES.items():
        some = [each for each in found.skills if (each.is_from_workspace, each.kind) == (is_from_workspace, kind)]
        parts += _section(title, some)
    if not found.skills:
        folders = ", ".join(map(code_span, (*SKILL_FOLDERS, *COMMAND_FOLDERS)))
        parts.append(
            f"There are none. They are looked for in these folders of the workspace and of your home: {folders}."
        )
    if found.problems:
        parts += ["## Problems", "\n".join(f"- {code_span(problem)}" for problem in found.problems)]
    return "\n\n".join(parts) + "\n"


def _section(title: str, skills: Sequence[Skill]) -> list[str]:
    if not skills:
        return []
    return [f"## {title}", "\n".join(map(_item, skills))]


def _item(skill: Skill) -> str:
    name = code_span(f"/{skill.name}" if skill.is_for_user else skill.name)
    # not as code, in which a page cannot show a <
    hint = f" {plain(skill.hint)}" if skill.hint else ""
    users = "" if skill.is_for_model else " Only you use it." if skill.kind == "skill" else ""
    users = users if skill.is_for_user else " Only the agent uses it."
    return f"- {name}{hint}: {plain(skill.description)}{users} ({code_span(str(skill.path))})"
