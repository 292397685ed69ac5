"""Converts skills and commands to wire shapes. Pure functions."""

from fairlead.skills.find import FoundSkills
from fairlead.skills.skill import Skill
from fairlead.wire import states


def skills(found: FoundSkills) -> states.SkillsWire:
    """The skills and commands that can be used, and what is wrong with files."""
    return {"skills": list(map(_skill, found.skills)), "problems": list(found.problems)}


def _skill(skill: Skill) -> states.SkillWire:
    return {
        "kind": skill.kind,
        "name": skill.name,
        "description": skill.description,
        "hint": skill.hint,
        "uri": skill.path.as_uri(),
        "isForModel": skill.is_for_model,
        "isForUser": skill.is_for_user,
        "isFromWorkspace": skill.is_from_workspace,
    }
