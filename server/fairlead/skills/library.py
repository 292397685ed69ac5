"""The skills, commands and agents that a session can use. They are read again for each run."""

import asyncio
import os
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from fairlead.display import escape_invisible
from fairlead.errors import ToolError
from fairlead.skills.find import SKILL_FILE, FoundSkills, find_skills
from fairlead.skills.skill import Skill
from fairlead.workspace.disk import decode, read_bytes
from fairlead.workspace.errors import WorkspaceError
from fairlead.workspace.paths import Roots

PREFIX = "skill:"
"""Begins the paths under which `read_file` finds the files of the user's own skills, outside of the workspace."""
LIST = """

<skills>
Instructions for certain kinds of work, by their names. If one fits the task, call the tool skill with its name before \
you begin.
{lines}
</skills>"""
MAX_LIST_CHARS, MAX_BRIEF_CHARS = 12_000, 1_500
"""How long the list in the system prompt may be; the second number for a model with a small window."""
_MAX_FILES = 50
_SHORT = 100
_NO_TAGS = str.maketrans("<>", "()")


class SkillLibrary:
    """The skills, commands and agents of a session.

    Args:
        roots: returns the folders of the workspace.
        home: returns the user's home.
    """

    def __init__(self, roots: Callable[[], Roots], home: Callable[[], Path] = Path.home) -> None:
        self._roots, self._home = roots, home
        self.found = FoundSkills()

    async def update(self) -> FoundSkills:
        """Reads all files again."""
        self.found = await asyncio.to_thread(find_skills, self._roots().paths, self._home())
        return self.found

    def list_for_model(self, *, is_brief: bool = False) -> str:
        """The skills that the model may use unasked, for the system prompt; empty if there are none.

        If they are too many, their descriptions are cut, then left out.
        """
        skills = self._for_model
        if not skills:
            return ""
        limit = MAX_BRIEF_CHARS if is_brief else MAX_LIST_CHARS
        for length in (None, _SHORT, 0):
            lines = [_line(skill, length) for skill in skills]
            if sum(map(len, lines)) <= limit:
                break
        shown = [line for line, end in zip(lines, _ends(lines), strict=True) if end <= limit]
        more = len(lines) - len(shown)
        return LIST.format(lines="\n".join([*shown, *([f"({more} more)"] if more else [])]))

    @property
    def has_any_for_model(self) -> bool:
        return bool(self._for_model)

    @property
    def _for_model(self) -> Sequence[Skill]:
        return [skill for skill in self.found.skills if skill.is_for_model]

    async def use(self, name: str, arguments: str = "", *, by_user: bool = False) -> str:
        """The instructions of a skill or a command.

        Args:
            by_user: whether the user has chosen it.

        Raises:
            ToolError: there is none that may be used.
        """
        skill = self.found.named(name)
        if skill is None or not (by_user or skill.is_for_model):
            names = ", ".join(each.name for each in self._for_model[:_MAX_FILES])
            raise ToolError(f"There is no skill {name!r}. {f'There are: {names}.' if names else ''}".rstrip())
        files = await asyncio.to_thread(self._about_files, skill)
        return f'<skill name="{skill.name}">\n{skill.text(arguments)}\n</skill>{files}'

    def chosen(self, prompt: str) -> tuple[str, str] | None:
        """The skill or command that a prompt begins with, as in `/review main.py`, and its arguments; None: none."""
        found = re.match(r"/(\S+)(?:\s+(.*))?$", prompt.strip(), re.DOTALL)
        skill = self.found.named(found[1]) if found else None
        return (skill.name, (found[2] or "").strip()) if found and skill and skill.is_for_user else None

    def shown_folders(self) -> Sequence[Path]:
        """The folders of the user's own skills, which commands in the sandbox may read."""
        return [skill.path.parent for skill in self.found.skills if skill.folder and not skill.is_from_workspace]

    async def read(self, path: str) -> str | None:
        """A file of one of the user's own skills, by its path with `PREFIX`; None if it is no such path.

        Raises:
            ToolError: there is no such file, or it cannot be read as text.
        """
        if not path.startswith(PREFIX):
            return None
        name, _, inner = path.removeprefix(PREFIX).partition("/")
        skill = self.found.named(name)
        if skill is None or skill.folder is None or skill.is_from_workspace:
            raise ToolError(f"There is no skill {name!r} outside of the workspace.")
        try:
            data = await asyncio.to_thread(read_bytes, skill.folder / inner, skill.folder)
            text = decode(data, inner).text if data is not None else None
        except WorkspaceError as error:
            raise ToolError(str(error)) from error
        if text is None:
            raise ToolError(f"The skill {name} has no file {inner}.")
        return text

    def _about_files(self, skill: Skill) -> str:
        """Names the files that belong to a skill, for the model; empty if there are none."""
        if skill.folder is None:
            return ""
        files = [name for name in _files(skill.folder) if name != SKILL_FILE]
        if not files:
            return ""
        more = f", and {len(files) - _MAX_FILES} more" if len(files) > _MAX_FILES else ""
        where = (
            f"in {self._roots().relative(skill.folder)}"
            if skill.is_from_workspace
            else f"in {skill.folder}; read_file reads them as {PREFIX}{skill.name}/FILE"
        )
        return f"\nIts files, {where}: {', '.join(files[:_MAX_FILES])}{more}."


def _line(skill: Skill, length: int | None) -> str:
    description = for_list(skill.description)
    if length is not None and len(description) > length:
        description = f"{description[:length].rstrip()}…" if length else ""
    return f"- {skill.name}: {description}" if description else f"- {skill.name}"


def for_list(description: str) -> str:
    """A description for a list that the model reads: it cannot end the list or look like another part of the prompt."""
    return escape_invisible(description.translate(_NO_TAGS))


def _ends(lines: Sequence[str]) -> Iterator[int]:
    """For each line, the length of all lines up to its end."""
    total = 0
    for line in lines:
        total += len(line)
        yield total


def _files(folder: Path) -> list[str]:
    """The names of the files in a folder and below it, with `/`. Follows no links."""
    found: list[str] = []
    for top, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        inner = Path(top).relative_to(folder).as_posix()
        found += (name if inner == "." else f"{inner}/{name}" for name in sorted(files) if not name.startswith("."))
        if len(found) > 10 * _MAX_FILES:
            break
    return found
