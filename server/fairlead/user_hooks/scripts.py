"""The scripts that the command of a hook names: a change of one asks the user again."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fairlead.gate.named_files import named_files
from fairlead.user_hooks.definition import UserHook
from fairlead.workspace.paths import Roots
from fairlead.workspace.protected import protection_reason

_SUFFIXES = (".sh", ".bash", ".zsh")
_SHEBANG = b"#!"
_ABSOLUTE = re.compile(r"(?<![\w.])/[^\s'\"`;|&()<>$*?]+")
_HOME = re.compile(r"(?<![^\s='\"`;|&(<>])~(?=/)")


@dataclass(frozen=True, slots=True)
class Scripts:
    """The scripts of a hook."""

    identity: Sequence[tuple[str, object]] = ()
    """Identifies their content, by their paths."""
    real_paths: frozenset[str] = frozenset()
    """Where these paths lead."""
    outside: Sequence[Path] = ()
    """The files outside of the workspace that the command names, if it is the user's own."""


def scripts_of(hook: UserHook, roots: Roots, project: Path, home: Path) -> Scripts:
    """The scripts that a hook names, as they are on disk. Blocks: call it in a thread.

    A file of the workspace that is no script, such as a test, does not count: a change of it does not ask again.

    Args:
        project: where the hook starts.
    """
    command = _expanded(hook.command, {**project_variables(project), "HOME": str(home)})
    identity: list[tuple[str, object]] = [
        (path, content)
        for path, content in named_files(command, project) or ()
        if not roots.contains(Path(path)) or _is_script(Path(path), roots)
    ]
    is_own = hook.folder is None
    real_paths = frozenset(os.path.realpath(path) for path, _ in identity)
    return Scripts(identity, real_paths, list(_outside(command, roots)) if is_own else ())


def project_variables(project: Path) -> dict[str, str]:
    """The environment variables that name the project."""
    return {"CLAUDE_PROJECT_DIR": str(project), "FAIRLEAD_PROJECT_DIR": str(project)}


def is_script_place(path: Path, roots: Roots) -> bool:
    """Whether a path of the workspace is protected, such as one in `.claude`, so that hooks see it as it is on disk."""
    return any(protection_reason(name) is not None for _, name in roots.enclosing(path))


def _is_script(path: Path, roots: Roots) -> bool:
    if is_script_place(path, roots) or path.suffix in _SUFFIXES:
        return True
    try:
        with path.open("rb") as file:
            return file.read(len(_SHEBANG)) == _SHEBANG
    except OSError:
        return False


def _expanded(command: str, variables: Mapping[str, str]) -> str:
    """A command line with the values of these variables, so that it can be read without running it."""
    for name, value in variables.items():
        command = re.sub(rf"\$(?:{name}\b|\{{{name}\}})", lambda _, value=value: value, command)
    return _HOME.sub(lambda _: variables["HOME"], command)


def _outside(command: str, roots: Roots) -> Iterator[Path]:
    for text in dict.fromkeys(_ABSOLUTE.findall(command)):
        path = Path(os.path.normpath(text))
        if path.is_file() and not roots.contains(path):
            yield path
