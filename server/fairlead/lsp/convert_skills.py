"""Converts skills, commands and agents to wire shapes. Pure functions."""

from fairlead.skills.agent_file import AgentFile
from fairlead.skills.find import FoundSkills
from fairlead.skills.skill import Skill
from fairlead.wire import states
from fairlead.workspace.file_problem import FileProblem


def skills(found: FoundSkills) -> states.SkillsWire:
    """The skills, commands and agents that can be used, and what is wrong with files."""
    return {
        "skills": list(map(_skill, found.skills)),
        "agents": list(map(_agent, found.agents)),
        "problems": list(map(_problem, found.problems)),
    }


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


def _agent(agent: AgentFile) -> states.AgentFileWire:
    return {
        "name": agent.name,
        "description": agent.description,
        "uri": agent.path.as_uri(),
        "isForModel": agent.is_for_model,
        "isForUser": agent.is_for_user,
        "isFromWorkspace": agent.is_from_workspace,
    }


def _problem(problem: FileProblem) -> states.FileProblemWire:
    return {
        "uri": problem.path.as_uri(),
        "line": None if problem.line is None else problem.line - 1,
        "message": problem.text,
        "isLeftOut": problem.is_left_out,
    }
