"""A skill or a command, as its file describes it. Pure."""

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from fairlead.display import without_invisible
from fairlead.skills.front_matter import FrontMatter, read_front_matter
from fairlead.workspace.file_problem import FileProblem

MAX_NAME, MAX_DESCRIPTION = 64, 1024
_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_COMMAND = re.compile(r"[^\s/\\:#@\"'<>]{1,64}")
"""What can follow a `/` in the prompt."""
_VARIABLE = re.compile(r"\$(?:ARGUMENTS\b|\{ARGUMENTS\}|(?P<index>\d{1,2})\b|(?P<folder>\{(?:CLAUDE_)?SKILL_DIR\}))")

Kind = Literal["skill", "command"]


@dataclass(frozen=True, slots=True)
class Skill:
    """Instructions for a kind of task. A command is a skill that is only the user's, in one file."""

    kind: Kind
    name: str
    description: str
    path: Path
    """Its file."""
    body: str
    hint: str = ""
    """Its arguments, for the user."""
    is_for_model: bool = True
    """Whether the model may use it without being asked to."""
    is_for_user: bool = True
    is_from_workspace: bool = True
    warnings: tuple[FileProblem, ...] = ()
    """What is wrong with its file."""

    @property
    def folder(self) -> Path | None:
        """The folder of the files that belong to a skill."""
        return self.path.parent if self.kind == "skill" else None

    def text(self, arguments: str = "") -> str:
        """The instructions with these arguments in place of `$ARGUMENTS`, `$1` and so on.

        Arguments that the instructions have no place for follow them. `$0` is the first one in a skill, `$1` in a
        command, as in Claude Code.
        """
        words, given = _words(arguments), arguments.strip()
        first = 1 if self.kind == "command" else 0
        is_used = False

        def value(found: re.Match[str]) -> str:
            nonlocal is_used
            if found["folder"]:
                return str(self.folder or found[0])
            is_used = True
            if found["index"] is None:
                return given
            index = int(found["index"]) - first
            return words[index] if 0 <= index < len(words) else ""

        text = _VARIABLE.sub(value, self.body)
        return text if is_used or not given else f"{text}\n\nArguments: {given}"


def read_skill(kind: Kind, path: Path, text: str, *, is_from_workspace: bool) -> Skill | FileProblem:
    """The skill in a file, or why there is none.

    Args:
        path: `NAME/SKILL.md`, or `NAME.md` or `NAME.prompt.md` for a command.
    """
    found = read_front_matter(text)
    if not found.body:
        return without_body(path, found)
    warnings = problems_of_fields(path, found)
    name = _name(kind, path, found, warnings)
    if name is None:
        return FileProblem(path, "its name cannot be typed after a /", is_left_out=True)
    description = found.text("description") or first_line(found.body)
    if not found.text("description") and kind == "skill":
        warnings.append(FileProblem(path, "it has no description, so its first line counts as one"))
    if len(description) > MAX_DESCRIPTION:
        text = f"its description is longer than {MAX_DESCRIPTION:,} characters, and is cut"
        warnings.append(FileProblem(path, text, found.lines.get("description")))
    more = found.text("when_to_use")
    return Skill(
        kind,
        name,
        " ".join(filter(None, (description[:MAX_DESCRIPTION], more)))[:MAX_DESCRIPTION],
        path,
        found.body,
        found.text("argument-hint"),
        kind == "skill" and not found.flag("disable-model-invocation", False),
        found.flag("user-invocable", True),
        is_from_workspace,
        tuple(warnings),
    )


def _name(kind: Kind, path: Path, found: FrontMatter, warnings: list[FileProblem]) -> str | None:
    """What the file is called, which counts more than what it says; None if that is no name."""
    given = found.text("name")
    own = path.parent.name if kind == "skill" else path.name.removesuffix(".md").removesuffix(".prompt")
    if kind == "skill" and given and given != own:
        text = f"its name {given[:MAX_NAME]} is not that of its folder, which counts"
        warnings.append(FileProblem(path, text, found.lines.get("name")))
    if kind == "skill" and not (_NAME.fullmatch(own) and len(own) <= MAX_NAME):
        warnings.append(FileProblem(path, "the name of its folder should have only a-z, 0-9 and -"))
    return command_name(own)


def without_body(path: Path, found: FrontMatter) -> FileProblem:
    """Why there is nothing in a file without instructions."""
    [problem] = problems_of_fields(path, found) or [FileProblem(path, "it has no instructions")]
    return replace(problem, is_left_out=True)


def problems_of_fields(path: Path, found: FrontMatter) -> list[FileProblem]:
    """Why the fields of a file cannot be read; empty if they can."""
    if not found.problem:
        return []
    return [FileProblem(path, f"its fields cannot be read: {found.problem}", found.problem_line)]


def command_name(text: str) -> str | None:
    """A name that can be typed after a `/`; None if the text is none."""
    return text if _COMMAND.fullmatch(text) and text == without_invisible(text) else None


def first_line(body: str) -> str:
    """The first line with a text, without the signs of a heading."""
    lines = (line.strip().lstrip("#").strip() for line in body.splitlines())
    return next(filter(None, lines), "")[:MAX_DESCRIPTION]


def _words(arguments: str) -> Sequence[str]:
    try:
        return shlex.split(arguments)
    except ValueError:  # a quotation mark without an end
        return arguments.split()
