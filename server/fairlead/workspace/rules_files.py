"""Finds the files with a project's rules for agents: AGENTS.md, or CLAUDE.md if AGENTS.md has no readable text."""

from dataclasses import dataclass
from pathlib import Path

from fairlead.workspace.disk import decode, read_bytes
from fairlead.workspace.errors import WorkspaceError
from fairlead.workspace.protected import SKIPPED_FOLDERS

NAMES = ("AGENTS.md", "CLAUDE.md")
USER_FILES = (".config/fairlead/AGENTS.md", ".agents/AGENTS.md", ".codex/AGENTS.md", ".claude/CLAUDE.md")
"""Below the home."""
MAX_CHARS = 20_000


@dataclass(frozen=True, slots=True)
class RulesFile:
    """The rules for the files in a folder and below it."""

    path: Path
    text: str
    """At most its first `MAX_CHARS` characters, without the file's leading and trailing whitespace."""
    size: int
    """The length of the file's text without this whitespace, in characters."""

    @property
    def is_cut(self) -> bool:
        """Whether the text is only the beginning of the file."""
        return len(self.text) < self.size


def read_rules(folder: Path, root: Path) -> RulesFile | None:
    """The rules in a folder of the workspace, from the first of `NAMES` that has a readable text; None if none has.

    Follows no links, because only files of the workspace may give rules.
    """
    for name in NAMES:
        path = folder / name
        try:
            data = read_bytes(path, root)
            text = decode(data, name).text.strip() if data is not None else ""
        except WorkspaceError:
            continue
        if text:
            return RulesFile(path, text[:MAX_CHARS], len(text))
    return None


def read_user_rules(home: Path) -> RulesFile | None:
    """The user's own rules, for all projects, from the first of `USER_FILES` that has a readable text."""
    for name in USER_FILES:
        path = home / name
        try:
            data = read_bytes(path)
            text = decode(data, path.name).text.strip() if data is not None else ""
        except WorkspaceError:
            continue
        if text:
            return RulesFile(path, text[:MAX_CHARS], len(text))
    return None


def folders_with_rules(path: Path, root: Path) -> list[Path]:
    """The folders below the root (not the root itself) whose rules, if any, apply to a file, the outermost first.

    Folders of dependencies are left out, because their rules are for other projects.
    """
    if not path.is_relative_to(root):
        return []
    parts = path.relative_to(root).parent.parts
    own = next((index for index, part in enumerate(parts) if part in SKIPPED_FOLDERS), len(parts))
    return [root.joinpath(*parts[:count]) for count in range(1, own + 1)]
