"""Finds the files that a command line names, so that a permission ends when one of them changes."""

import contextlib
import hashlib
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from fairlead.shell.command_line.parse import parse
from fairlead.shell.command_line.wrappers import SHELLS
from fairlead.workspace.disk import read_bytes
from fairlead.workspace.errors import WorkspaceError

# what may stand before or after a path in a command line
_SEPARATORS = re.compile(r"[\s'\"`;|&()<>=:,{}$\\]+")
_SPACE = re.compile(r"\s")
_OF_FOLDERS = ("__main__.py", "index.js")
"""What an interpreter runs if a line names a folder."""
_OF_PROGRAMS = {
    **dict.fromkeys(("npm", "npx", "pnpm", "yarn", "bun"), ("package.json",)),
    **dict.fromkeys(("make", "gmake"), ("Makefile", "makefile", "GNUmakefile")),
    **dict.fromkeys(
        ("compose", "docker-compose"), ("compose.yaml", "compose.yml", "docker-compose.yml", "docker-compose.yaml")
    ),
    **dict.fromkeys(("docker", "podman"), ("Dockerfile", "Containerfile")),
    "just": ("justfile", "Justfile", ".justfile"),
    "task": ("Taskfile.yml", "Taskfile.yaml"),
    "rake": ("Rakefile",),
    "deno": ("deno.json", "deno.jsonc"),
    "composer": ("composer.json",),
    "tox": ("tox.ini", "pyproject.toml", "setup.cfg"),
    "nox": ("noxfile.py",),
    "gradle": ("build.gradle", "build.gradle.kts"),
    "mvn": ("pom.xml",),
    "cargo": ("Cargo.toml", "build.rs"),
}
"""The files that say what a program runs, which a line with its name does not name."""
_MAX_TEXTS, _MAX_FOLDERS, _MAX_PATHS = 20, 20, 20_000
_MAX_READ = 10_000_000


def named_files(command: str, cwd: Path) -> list[tuple[str, object]] | None:
    """The files that a command line names, each with what identifies its content. A change of a script asks again.

    None if only bash can tell which these are.
    """
    names = _names(command)
    if names is None:
        return None
    folders, paths = [cwd], dict[Path, None]()
    for name in names:
        for folder in tuple(folders):
            for path in (folder / each for each in _spellings(name)):
                if _is(Path.is_dir, path) and path not in folders:
                    folders.append(path)  # `cd folder`, `make -C folder`, `python folder`
                paths[path] = None
            if len(folders) > _MAX_FOLDERS or len(paths) > _MAX_PATHS:
                return None
    words = {os.path.basename(name) for name in names}
    implied = [*_OF_FOLDERS, *(file for program, files in _OF_PROGRAMS.items() if program in words for file in files)]
    paths |= dict.fromkeys(folder / file for folder in folders for file in implied)
    found = list[tuple[str, object]]()
    for path in paths:
        with contextlib.suppress(OSError, ValueError, WorkspaceError):  # it cannot be read
            if path.is_file():
                status = path.stat()
                is_small = status.st_size <= _MAX_READ
                found.append((str(path), digest(read_bytes(path)) if is_small else digest(status)))
    return found


def _names(command: str) -> list[str] | None:
    """What may name a file in a command line, in order; None if only bash can tell."""
    found, texts = dict[str, None](), [command]
    for text in texts:
        parsed = parse(text)
        if parsed.unclear or len(texts) > _MAX_TEXTS:
            return None
        for each in parsed.commands:
            values = [word.value for word in each.words]
            for value in values:
                if value is None:
                    return None
                found |= dict.fromkeys((value, value.partition("=")[2], value.lstrip("@<")))
            if {os.path.basename(value or "") for value in values} & (SHELLS | {"eval"}):
                texts += [value for value in values if value and _SPACE.search(value)]
        found |= dict.fromkeys(_SEPARATORS.split(text))
    found.pop("", None)
    return list(found)


def _spellings(name: str) -> Iterator[str]:
    """A name, and how interpreters find a module of this name."""
    yield name
    if not name.startswith("-"):
        yield from (f"{name}{suffix}" for suffix in (".py", ".js", ".cjs", ".mjs", ".ts"))
        if "/" not in name and "." in name:
            module = name.replace(".", "/")
            yield from (module, f"{module}.py")


def _is(kind: Callable[[Path], bool], path: Path) -> bool:
    try:
        return kind(path)
    except (OSError, ValueError):
        return False


def digest(*values: object) -> bytes:
    """Identifies values by their texts (`repr`)."""
    return hashlib.sha256(repr(values).encode("utf-8", "surrogatepass")).digest()
