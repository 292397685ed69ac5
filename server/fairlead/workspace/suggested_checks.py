"""Finds commands that the workspace's own files suggest as checks: test runners, linters and builds."""

import asyncio
import json
import os
import re
import shlex
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from fairlead.json_values import is_object
from fairlead.workspace.disk import decode, read_bytes
from fairlead.workspace.errors import WorkspaceError
from fairlead.workspace.paths import Root, Roots

SCRIPTS = ("test", "check", "lint", "typecheck", "type-check", "build")
TARGETS = ("test", "check", "lint")
PACKAGE_MANAGERS = {
    "pnpm-lock.yaml": "pnpm",
    "yarn.lock": "yarn",
    "bun.lock": "bun",
    "bun.lockb": "bun",
}
RUNNERS = {"uv.lock": "uv run ", "poetry.lock": "poetry run ", "pdm.lock": "pdm run ", "Pipfile.lock": "pipenv run "}
ENVIRONMENTS = (".venv/bin/", "venv/bin/")
LINTERS = (
    ("ruff", "ruff check .", "ruff.toml"),
    ("mypy", "mypy .", "mypy.ini"),
    ("pyright", "pyright", "pyrightconfig.json"),
)
"""Tools for Python: the name in `pyproject.toml`, the command, and the tool's own file."""
NO_TESTS = "no test specified"  # what `npm init` writes


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A command, and the file or the folder of tests that suggests it."""

    command: str
    source: str
    """The path of this file or folder; in the result of `suggested_checks`, its name (`Roots.relative`)."""


async def suggested_checks(roots: Roots) -> list[Suggestion]:
    """The suggestions for a workspace, tests first. Looks only into its folders, and `tests` and `test` in them.

    Commands run in the first folder of the workspace, so those for another folder begin with `cd`.
    """
    found = [(root, each) for root in roots.folders for each in await asyncio.to_thread(_suggest, root.path)]
    ordered = sorted(found, key=lambda pair: _is_not_test(pair[1]))
    return [
        Suggestion(_from_first(roots, root, each.command), roots.relative(root.path / each.source))
        for root, each in ordered
    ]


def _from_first(roots: Roots, root: Root, command: str) -> str:
    if root is roots.first:
        return command
    return f"cd {shlex.quote(_path_from(roots.first.real, root.real))} && {command}"


def _path_from(start: Path, folder: Path) -> str:
    """The path of a folder relative to `start`; absolute if it is on another drive of Windows."""
    try:
        return os.path.relpath(folder, start)
    except ValueError:
        return str(folder)


def _is_not_test(suggestion: Suggestion) -> bool:
    return "test" not in suggestion.command


def _suggest(root: Path) -> list[Suggestion]:
    read = partial(_read, root)
    found = [*_node(root, read), *_python(root, read), *_others(root), *_make(read)]
    unique: dict[str, Suggestion] = {}
    for suggestion in found:
        unique.setdefault(suggestion.command, suggestion)
    return sorted(unique.values(), key=_is_not_test)


Read = Callable[[str], str]
"""Returns a file's text, empty if there is none or it cannot be read."""


def _read(root: Path, name: str) -> str:
    try:
        data = read_bytes(root / name, root)
        return "" if data is None else decode(data, name).text
    except WorkspaceError:
        return ""


def _node(root: Path, read: Read) -> Iterator[Suggestion]:
    try:
        package = json.loads(read("package.json") or "{}")
    except (ValueError, RecursionError):
        return
    scripts = package.get("scripts") if is_object(package) else None
    if not is_object(scripts):
        return
    manager = next((name for lock, name in PACKAGE_MANAGERS.items() if os.path.exists(root / lock)), "npm")
    for name in SCRIPTS:
        script = scripts.get(name)
        if isinstance(script, str) and script.strip() and NO_TESTS not in script:
            runs_directly = name == "test" and manager != "bun"  # `bun test` is bun's own test runner
            yield Suggestion(f"{manager} {name}" if runs_directly else f"{manager} run {name}", "package.json")


def _python(root: Path, read: Read) -> Iterator[Suggestion]:
    project = read("pyproject.toml")
    tools = _tools(project)
    source = _pytest_source(root, read, project, tools)
    if source:
        yield Suggestion(f"{_runner(root, 'pytest')}pytest -q", source)
    elif tests := next((folder for folder in ("tests", "test") if any((root / folder).glob("test*.py"))), ""):
        yield Suggestion(f"python3 -m unittest discover {tests}", tests)
    elif any(root.glob("test_*.py")):
        yield Suggestion("python3 -m unittest", next(root.glob("test_*.py")).name)
    for name, command, own_file in LINTERS:
        if name in tools or os.path.exists(root / own_file):
            yield Suggestion(f"{_runner(root, name)}{command}", "pyproject.toml" if name in tools else own_file)


def _runner(root: Path, program: str) -> str:
    """The prefix of a Python program's command: the project's runner, or the environment that contains the program.

    Empty if there is neither.
    """
    for lock, runner in RUNNERS.items():
        if os.path.exists(root / lock):
            return runner
    return next((folder for folder in ENVIRONMENTS if os.path.exists(root / folder / program)), "")


def _tools(project: str) -> dict[str, Any]:
    try:
        tools = tomllib.loads(project).get("tool")
    except tomllib.TOMLDecodeError:
        return {}
    return tools if is_object(tools) else {}


def _pytest_source(root: Path, read: Read, project: str, tools: dict[str, Any]) -> str:
    """The file that shows that the tests use pytest; empty if none does."""
    if "pytest" in tools or re.search(r"""["']pytest\b""", project):
        return "pyproject.toml"
    if "[tool:pytest]" in read("setup.cfg"):
        return "setup.cfg"
    if "[pytest]" in read("tox.ini"):
        return "tox.ini"
    return next(
        (name for name in ("pytest.ini", "conftest.py", "tests/conftest.py") if os.path.exists(root / name)), ""
    )


def _others(root: Path) -> Iterator[Suggestion]:
    commands = {
        "Cargo.toml": "cargo test",
        "go.mod": "go test ./...",
        "gradlew": "./gradlew test",
        "pom.xml": "./mvnw -q test" if os.path.exists(root / "mvnw") else "mvn -q test",
    }
    for name, command in commands.items():
        if os.path.exists(root / name):
            yield Suggestion(command, name)


def _make(read: Read) -> Iterator[Suggestion]:
    for name in ("Makefile", "makefile", "GNUmakefile"):
        targets = set(re.findall(r"^([\w.-]+)\s*::?(?![:=])", read(name), flags=re.MULTILINE))
        for target in TARGETS:
            if target in targets:
                yield Suggestion(f"make {target}", name)
