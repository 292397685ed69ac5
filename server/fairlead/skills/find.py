"""Finds the skills, commands and agents of a workspace and of the user, in the folders that other agents use too."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Protocol, TypeVar

from fairlead.skills.agent_file import AgentFile, read_agent
from fairlead.skills.skill import Skill, read_skill
from fairlead.workspace.disk import decode, read_bytes
from fairlead.workspace.errors import WorkspaceError
from fairlead.workspace.file_problem import FileProblem

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
    def warnings(self) -> tuple[FileProblem, ...]: ...


_T = TypeVar("_T", bound=_Named)
_T_co = TypeVar("_T_co", covariant=True)


class _Read(Protocol[_T_co]):
    def __call__(self, path: Path, text: str, *, is_from_workspace: bool) -> _T_co | FileProblem: ...


_Kind = tuple[str, Sequence[str], _Read[_T]]
"""What it is called, the folders with its files, and what reads one."""
_SKILLS: tuple[_Kind[Skill], ...] = (
    ("skill", SKILL_FOLDERS, partial(read_skill, "skill")),
    ("command", COMMAND_FOLDERS, partial(read_skill, "command")),
)
_AGENTS: tuple[_Kind[AgentFile], ...] = (("agent", AGENT_FOLDERS, read_agent),)


@dataclass(frozen=True, slots=True)
class FoundSkills:
    """Skills, commands and agents, in the order of their names."""

    skills: Sequence[Skill] = ()
    """Also the commands."""
    agents: Sequence[AgentFile] = ()
    problems: Sequence[FileProblem] = ()
    """What is wrong with the files."""

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
    problems: list[FileProblem] = []
    search = _Search([(root, True) for root in workspace] + [(home, False)], problems)
    skills: dict[str, Skill] = {}
    for kind, folders, read in _SKILLS:
        search.add(skills, kind, folders, read)
    agents: dict[str, AgentFile] = {}
    for kind, folders, read in _AGENTS:
        search.add(agents, kind, folders, read)
    return FoundSkills(tuple(map(_where_it_is, _by_name(skills))), _by_name(agents), tuple(problems))


def _where_it_is(skill: Skill) -> Skill:
    """A skill of the user's own with the path to which links lead: in the sandbox, its files are only there."""
    folder = None if skill.is_from_workspace else skill.folder
    return skill if folder is None else replace(skill, path=Path(os.path.realpath(folder), skill.path.name))


def problems_in(path: Path, text: str, workspace: Sequence[Path], home: Path) -> Sequence[FileProblem]:
    """What is wrong with the text of a file, if it is where skills, commands and agents are looked for.

    Args:
        workspace: as for `find_skills`.
    """
    for root, is_from_workspace in (*((root, True) for root in workspace), (home, False)):
        for kind, folders, read in (*_SKILLS, *_AGENTS):
            if not any(_is_file_of(kind, path, root / folder) for folder in folders):
                continue
            too_large = _too_large(path, text.encode("utf-8", "surrogatepass"))
            found = too_large or read(path, text, is_from_workspace=is_from_workspace)
            return (found,) if isinstance(found, FileProblem) else found.warnings
    return ()


def _is_file_of(kind: str, path: Path, folder: Path) -> bool:
    """Whether a path in a folder, or below it, is that of a file of this kind."""
    if not path.is_relative_to(folder):
        return False
    *folders, name = path.relative_to(folder).parts or ("",)
    is_named_so = name == SKILL_FILE and folders != [] if kind == "skill" else name.endswith(".md")
    return is_named_so and len(folders) <= MAX_DEPTH


def _by_name(found: dict[str, _T]) -> tuple[_T, ...]:
    return tuple(found[name] for name in sorted(found))


class _Search:
    """Counts the folders, so that no tree is searched for long.

    Args:
        roots: the folders in which the search begins, each with whether it is the workspace's.
        problems: gets what is wrong with the files.
    """

    def __init__(self, roots: Sequence[tuple[Path, bool]], problems: list[FileProblem]) -> None:
        self._roots, self._problems = roots, problems
        self._left = MAX_FOLDERS

    def add(self, found: dict[str, _T], kind: str, folders: Sequence[str], read: _Read[_T]) -> None:
        """Adds what the files in some folders of each root describe, unless there is something with its name.

        Args:
            found: by name.
            read: returns a problem if a file describes nothing.
        """
        for root, is_workspace in self._roots:
            for folder in folders:
                for path in self._files(kind, root / folder, follows=not is_workspace):
                    text = _text(path, root if is_workspace else None)
                    each = text if isinstance(text, FileProblem) else read(path, text, is_from_workspace=is_workspace)
                    if isinstance(each, FileProblem):
                        self._problems.append(each)
                    elif len(found) < MAX_FOUND and found.setdefault(each.name, each) is each:
                        self._problems += each.warnings

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


def _text(path: Path, root: Path | None) -> str | FileProblem:
    """The text of a file, or why it cannot be used.

    Args:
        root: a folder that no link may leave; None: links are followed.
    """
    try:
        data = read_bytes(path, root)
        if data is None:
            return FileProblem(path, "it is gone", is_left_out=True)
        return _too_large(path, data) or decode(data, path.name).text
    except WorkspaceError as error:
        return FileProblem(path, str(error), is_left_out=True)


def _too_large(path: Path, data: bytes) -> FileProblem | None:
    if len(data) <= MAX_BYTES:
        return None
    return FileProblem(path, f"it is larger than {MAX_BYTES:,} bytes", is_left_out=True)
