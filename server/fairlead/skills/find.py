"""Finds the skills, commands and agents of a workspace and of the user, in the folders that other agents use too."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Protocol, TypeVar

from fairlead.skills.agent_file import AgentFile, read_agent
from fairlead.skills.skill import Kind, Skill, read_skill
from fairlead.workspace.disk import decode, read_bytes
from fairlead.workspace.errors import WorkspaceError

SKILL_FOLDERS = (".agents/skills", ".fairlead/skills", ".claude/skills", ".github/skills")
"""Below a folder of the workspace, and below the home. The first of two skills with the same name counts."""
COMMAND_FOLDERS = (".fairlead/commands", ".claude/commands", ".github/prompts")
AGENT_FOLDERS = (".fairlead/agents", ".claude/agents", ".github/agents")
SKILL_FILE = "SKILL.md"
MAX_DEPTH, MAX_FOLDERS = 4, 2_000
"""How far below one of these folders a skill may be, and how many folders are searched in all."""
MAX_FOUND = 500
"""How many skills and commands are used, and how many agents."""
MAX_BYTES = 200_000
"""A larger file is left out."""


class _Named(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def warnings(self) -> tuple[str, ...]: ...


_T = TypeVar("_T", bound=_Named)
_T_co = TypeVar("_T_co", covariant=True)


class _Read(Protocol[_T_co]):
    def __call__(self, path: Path, text: str, *, is_from_workspace: bool) -> _T_co | str: ...


@dataclass(frozen=True, slots=True)
class FoundSkills:
    """Skills, commands and agents, in the order of their names."""

    skills: Sequence[Skill] = ()
    """Also the commands."""
    agents: Sequence[AgentFile] = ()
    problems: Sequence[str] = ()
    """What is wrong with files, each with its path."""

    def named(self, name: str) -> Skill | None:
        """The skill or the command with this name."""
        return next((skill for skill in self.skills if skill.name == name), None)

    def agent_named(self, name: str) -> AgentFile | None:
        return next((agent for agent in self.agents if agent.name == name), None)


def find_skills(workspace: Sequence[Path], home: Path) -> FoundSkills:
    """The skills, commands and agents of a workspace and of the user.

    Of several with the same name, the workspace's counts, and a skill counts more than a command.

    Args:
        workspace: its folders, in order; empty if it is not trusted. No link in them is followed.
    """
    problems: list[str] = []
    search = _Search([(root, True) for root in workspace] + [(home, False)], problems)
    skills: dict[str, Skill] = {}
    kinds: tuple[tuple[Kind, Sequence[str]], ...] = (("skill", SKILL_FOLDERS), ("command", COMMAND_FOLDERS))
    for kind, folders in kinds:
        search.add(skills, kind, folders, partial(read_skill, kind))
    agents: dict[str, AgentFile] = {}
    search.add(agents, "agent", AGENT_FOLDERS, read_agent)
    return FoundSkills(tuple(map(_where_it_is, _by_name(skills))), _by_name(agents), tuple(problems))


def _where_it_is(skill: Skill) -> Skill:
    """A skill of the user's own with the path to which links lead: in the sandbox, its files are only there."""
    folder = None if skill.is_from_workspace else skill.folder
    return skill if folder is None else replace(skill, path=Path(os.path.realpath(folder), skill.path.name))


def _by_name(found: dict[str, _T]) -> tuple[_T, ...]:
    return tuple(found[name] for name in sorted(found))


class _Search:
    """Counts the folders, so that no tree is searched for long.

    Args:
        roots: the folders in which the search begins, each with whether it is the workspace's.
        problems: gets what is wrong with files, each with its path.
    """

    def __init__(self, roots: Sequence[tuple[Path, bool]], problems: list[str]) -> None:
        self._roots, self._problems = roots, problems
        self._left = MAX_FOLDERS

    def add(self, found: dict[str, _T], kind: str, folders: Sequence[str], read: _Read[_T]) -> None:
        """Adds what the files in some folders of each root describe, unless there is something with its name.

        Args:
            found: by name.
            read: returns a text if a file describes nothing.
        """
        for root, is_workspace in self._roots:
            for folder in folders:
                for path in self._files(kind, root / folder, follows=not is_workspace):
                    text, problem = _text(path, root if is_workspace else None)
                    each = problem if problem else read(path, text, is_from_workspace=is_workspace)
                    if isinstance(each, str):
                        self._problems.append(f"{path}: {each}")
                    elif len(found) < MAX_FOUND and found.setdefault(each.name, each) is each:
                        self._problems += (f"{path}: {warning}" for warning in each.warnings)

    def _files(self, kind: str, folder: Path, *, follows: bool, depth: int = 0) -> Iterator[Path]:
        """The files of a kind in a folder and below it, in the order of their paths.

        Args:
            follows: whether links are followed.
        """
        if depth > MAX_DEPTH or self._left <= 0:
            return
        self._left -= 1
        try:
            with os.scandir(folder) as entries:
                found = sorted(entries, key=lambda entry: entry.name)
        except OSError:
            return
        if kind == "skill" and depth > 0 and any(entry.name == SKILL_FILE for entry in found):
            yield folder / SKILL_FILE
            return
        for entry in found:
            if _is_folder(entry, follows):
                yield from self._files(kind, folder / entry.name, follows=follows, depth=depth + 1)
            elif kind != "skill" and entry.name.endswith(".md"):
                yield folder / entry.name


def _is_folder(entry: os.DirEntry[str], follows: bool) -> bool:
    try:
        return entry.is_dir(follow_symlinks=follows)
    except OSError:
        return False


def _text(path: Path, root: Path | None) -> tuple[str, str]:
    """The text of a file, and why it cannot be used; one of them is empty.

    Args:
        root: a folder that no link may leave; None: links are followed.
    """
    try:
        data = read_bytes(path, root)
        if data is None:
            return "", "it is gone"
        if len(data) > MAX_BYTES:
            return "", f"it is larger than {MAX_BYTES:,} bytes"
        return decode(data, path.name).text, ""
    except WorkspaceError as error:
        return "", str(error)
