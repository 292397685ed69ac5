"""Runs the command of one hook in a box, on the proposed files."""

import asyncio
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

from fairlead.gate.request import RunCommand
from fairlead.sentences import Sentence
from fairlead.shell.layer import NO_FOLDERS, Change, Changes, ProgramBox, View
from fairlead.shell.process import Command
from fairlead.uncancelled import finish_uncancelled
from fairlead.user_hooks.definition import UserHook
from fairlead.user_hooks.scripts import Scripts, is_script_place, project_variables
from fairlead.user_hooks.verdict import HookOutput
from fairlead.user_hooks.workspace import Workspace

MAX_OUTPUT = 2_000_000
"""Bytes. JSON that is cut has no effect, so it is much more than anyone reads, such as the new text of a file."""
_KILLED = range(129, 193)
"""The exit codes that say that a signal ended the command."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a hook ended, and what it changed."""

    output: HookOutput
    changes: Changes
    lost: tuple[Sentence, ...] = ()
    """What is lost of its changes."""


def project_of(hook: UserHook, workspace: Workspace) -> Path:
    """The folder of the workspace that a hook is for."""
    return hook.folder or workspace.roots.first.path


async def run_hook(hook: UserHook, scripts: Scripts, given: Mapping[str, Any], workspace: Workspace) -> Ended:
    """Runs a hook that the user has allowed. Proposes nothing.

    Args:
        given: its standard input, as JSON.

    Raises:
        NotAllowed: a rule denies its command, or it runs outside the sandbox and the settings or the user do not allow
            that.
        ToolError: it cannot be run.
    """
    workspace.gate.check_not_denied(hook.command)
    project, layer = project_of(hook, workspace), await workspace.layer()
    folder = project / PurePosixPath(hook.cwd)
    if layer.where == "workspace":
        about = Sentence("It is a hook of {0}.", hook.event)
        await workspace.gate.check(RunCommand(hook.command, folder, layer.where), reasons=[about])
        view = View()
    else:
        view = await workspace.view(layer, lambda path: is_script_place(path, workspace.roots) or _names(scripts, path))
    variables = {**dict(hook.variables), **project_variables(project)}
    box = await layer.open(
        hook.command,
        view,
        folder=folder,
        limits=workspace.limits(),
        background=True,
        program=ProgramBox(scripts.outside, workspace.box_settings(variables)),
    )
    text = json.dumps(given, ensure_ascii=False).encode("utf-8", "replace")
    command = Command(box.launch, hook.seconds, _ignore, input=text, separates_errors=True, max_output=MAX_OUTPUT)
    try:
        result = await command.run()
    except BaseException:
        await asyncio.gather(finish_uncancelled(box.close()), return_exceptions=True)
        raise
    changes = await finish_uncancelled(box.close())
    output = HookOutput(result.exit_code, result.output, command.errors, hook.seconds)
    return _without_damage(Ended(output, changes))


def _names(scripts: Scripts, path: Path) -> bool:
    return os.path.realpath(path) in scripts.real_paths


def _without_damage(ended: Ended) -> Ended:
    """Without the changes that could lose work: those of a command that was killed, deletions, and emptied files."""
    files, changes = ended.changes.files, replace(ended.changes, folders=NO_FOLDERS)
    if not files:
        return replace(ended, changes=changes)
    if ended.output.exit_code is None or ended.output.exit_code in _KILLED:
        return replace(ended, changes=Changes(), lost=(Sentence("Its changes were discarded, because it was killed."),))
    damaged = sorted(change.path for change in files if _is_damage(change))
    if not damaged:
        return replace(ended, changes=changes)
    names = ", ".join(damaged[:5]) + (f" (+{len(damaged) - 5})" if len(damaged) > 5 else "")
    lost = Sentence("A hook cannot delete or empty files, so these stay: {0}.", names)
    return replace(
        ended, changes=replace(changes, files=[each for each in files if not _is_damage(each)]), lost=(lost,)
    )


def _is_damage(change: Change) -> bool:
    if change.not_proposed:
        return False
    return change.after is None or (not change.after.data and change.before is not None and bool(change.before.data))


def _ignore(_: str) -> None:
    """What a hook prints is not shown while it runs."""
