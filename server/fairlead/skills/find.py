"""Finds the skills and commands of a workspace and of the user, in the folders that other agents use too."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from fairlead.skills.skill import Kind, Skill, read_skill
from fairlead.workspace.disk import decode, read_bytes
from fairlead.workspace.errors import WorkspaceError

SKILL_FOLDERS = (".agents/skills", ".fairlead/skills", ".claude/skills", ".github/skills")
"""Below a folder of the workspace, and below the home. The first of two skills with the same name counts."""
COMMAND_FOLDERS = (".fairlead/commands", ".claude/commands", ".github/prompts")
SKILL_FILE = "SKILL.md"
MAX_DEPTH, MAX_FOLDERS = 4, 2_000
"""How far below one of these folders a skill may be, and how many folders are searched in all."""
MAX_FOUND = 500
"""How many skills and commands are used."""
MAX_BYTES = 200_000
"""A larger file is left out."""


@dataclass(frozen=True, slots=True)
class FoundSkills:
    """Skills and commands by name, in the order of their names."""

    skills: Sequence[Skill] = ()
    problems: Sequence[str] = ()
    """What is wrong with files, each with its path."""

    def named(self, name: str) -> Skill | None:
        return next((skill for skill in self.skills if skill.name == name), None)


def find_skills(workspace: Sequence[Path], home: Path) -> FoundSkills:
    """The skills and commands of a workspace and of the user.

    Of several with the same name, the workspace's counts, and a skill counts more than a command.

    Args:
        workspace: its folders, in order; empty if it is not trusted. No link in them is followed.
    """
    found: dict[str, Skill] = {}
    problems: list[str] = []
    folders = [(root, True) for root in workspace] + [(home, False)]
    search = _Search()
    kinds: tuple[tuple[Kind, Sequence[str]], ...] = (("skill", SKILL_FOLDERS), ("command", COMMAND_FOLDERS))
    for kind, names in kinds:
        for root, is_workspace in folders:
            for name in names:
                for path in search.files(kind, root / name, follows=not is_workspace):
                    read = _read(kind, path, root, is_from_workspace=is_workspace)
                    if isinstance(read, str):
                        problems.append(f"{path}: {read}")
                    elif len(found) < MAX_FOUND and found.setdefault(read.name, read) is read:
                        problems += (f"{path}: {warning}" for warning in read.warnings)
    return FoundSkills(tuple(found[name] for name in sorted(found)), tuple(problems))


class _Search:
    """Counts the folders, so that no tree is searched for long."""

    def __init__(self) -> None:
        self._left = MAX_FOLDERS

    def files(self, kind: Kind, folder: Path, *, follows: bool, depth: int = 0) -> Iterator[Path]:
        """The files of skills or commands in a folder and below it, in the order of their paths.

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
                yield from self.files(kind, folder / entry.name, follows=follows, depth=depth + 1)
            elif kind == "command" and entry.name.endswith(".md"):
                yield folder / entry.name


def _is_folder(entry: os.DirEntry[str], follows: bool) -> bool:
    try:
        return entry.is_dir(follow_symlinks=follows)
    except OSError:
        return False


def _read(kind: Kind, path: Path, root: Path, *, is_from_workspace: bool) -> Skill | str:
    try:
        data = read_bytes(path, root if is_from_workspace else None)
        if data is None:
            return "it is gone"
        if len(data) > MAX_BYTES:
            return f"it is larger than {MAX_BYTES:,} bytes"
        text = decode(data, path.name).text
    except WorkspaceError as error:
        return str(error)
    return read_skill(kind, path, text, is_from_workspace=is_from_workspace)
