"""What was proposed in a fork of the files, as if a command had done it."""

from collections.abc import Mapping
from pathlib import Path

from fairlead.shell.layer import Change, Changes, Entry
from fairlead.tools.command_changes import proposed_entries
from fairlead.workspace.disk import read_bytes
from fairlead.workspace.errors import WorkspaceError
from fairlead.workspace.files import Files


async def changes_between(before: Files, after: Files) -> Changes:
    """How two forks of the same files differ, both brought up to date with what the user has changed meanwhile."""
    await before.observe_all()
    await after.observe_all()
    old, new = proposed_entries(before), proposed_entries(after)
    found: list[Change] = []
    for name in sorted({*old, *new}):
        path = after.roots.path_of(name)
        change = Change(name, _entry(old, name, path), _entry(new, name, path))
        if change.before != change.after:
            found.append(change)
    return Changes(found)


def _entry(entries: Mapping[str, Entry | None], name: str, path: Path) -> Entry | None:
    """A file in a fork; None if there is none."""
    if name in entries:
        return entries[name]
    try:
        data = read_bytes(path)
    except WorkspaceError:
        return None
    return Entry(data) if data is not None else None
