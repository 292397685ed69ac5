"""The files of a workspace suggest checks, and each suggestion counts as a verification."""

import json
from pathlib import Path
from typing import Any

import pytest

from fairlead.shell.command_line.verifications import find_verifications
from fairlead.workspace.paths import Roots
from fairlead.workspace.suggested_checks import suggested_checks


def package(**scripts: Any) -> str:
    return json.dumps({"scripts": scripts})


WORKSPACES: dict[str, tuple[dict[str, str], list[str]]] = {
    "nothing": ({"README.md": "# Hello"}, []),
    "npm": ({"package.json": package(test="jest", lint="eslint .", start="node .")}, ["npm test", "npm run lint"]),
    "the test of npm init": ({"package.json": package(test='echo "Error: no test specified" && exit 1')}, []),
    "pnpm": ({"package.json": package(test="vitest"), "pnpm-lock.yaml": ""}, ["pnpm test"]),
    "bun": ({"package.json": package(test="vitest"), "bun.lock": ""}, ["bun run test"]),
    "no scripts": ({"package.json": "[]"}, []),
    "a script that is not a string": ({"package.json": package(test=3)}, []),
    "a broken package.json": ({"package.json": "{"}, []),
    "pytest by its section": ({"pyproject.toml": "[tool.pytest.ini_options]\n"}, ["pytest -q"]),
    "pytest by a dependency": ({"pyproject.toml": '[project]\ndependencies = ["pytest>=8"]\n'}, ["pytest -q"]),
    "pytest by its file": ({"tests/conftest.py": "", "tests/test_a.py": ""}, ["pytest -q"]),
    "uv": ({"pytest.ini": "", "uv.lock": ""}, ["uv run pytest -q"]),
    "pdm": ({"pytest.ini": "", "pdm.lock": "", ".venv/bin/pytest": ""}, ["pdm run pytest -q"]),
    "pipenv": ({"pytest.ini": "", "Pipfile.lock": ""}, ["pipenv run pytest -q"]),
    "an environment": (
        {"pyproject.toml": "[tool.pytest]\n[tool.ruff]\n[tool.mypy]\n", ".venv/bin/pytest": "", ".venv/bin/ruff": ""},
        [".venv/bin/pytest -q", ".venv/bin/ruff check .", "mypy ."],
    ),
    "an environment with another name": ({"pytest.ini": "", "venv/bin/pytest": ""}, ["venv/bin/pytest -q"]),
    "unittest": ({"tests/test_a.py": ""}, ["python3 -m unittest discover tests"]),
    "unittest at the top": ({"test_a.py": ""}, ["python3 -m unittest"]),
    "Python's linters": ({"pyproject.toml": "[tool.ruff]\n[tool.mypy]\n"}, ["ruff check .", "mypy ."]),
    "a broken pyproject.toml": ({"pyproject.toml": "[tool."}, []),
    "Rust": ({"Cargo.toml": ""}, ["cargo test"]),
    "Go": ({"go.mod": ""}, ["go test ./..."]),
    "Java": ({"gradlew": "", "pom.xml": ""}, ["./gradlew test", "mvn -q test"]),
    "Maven's wrapper": ({"mvnw": "", "pom.xml": ""}, ["./mvnw -q test"]),
    "make, tests first": ({"Makefile": "lint: a\n\t@b\ntest::\nX := 1\n"}, ["make test", "make lint"]),
}


@pytest.mark.parametrize("name", WORKSPACES)
async def test_p18_the_files_suggest_checks(tmp_path: Path, name: str) -> None:
    files, commands = WORKSPACES[name]
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    found = await suggested_checks(Roots.of(tmp_path))
    assert [suggestion.command for suggestion in found] == commands
    assert all((tmp_path / suggestion.source).exists() for suggestion in found)


@pytest.mark.parametrize("command", sorted({command for _, commands in WORKSPACES.values() for command in commands}))
def test_p18_each_suggestion_verifies_something(command: str) -> None:
    found = find_verifications(command)
    assert found.verified
    assert not found.inconclusive


async def test_p18_a_link_out_of_the_workspace_suggests_nothing(tmp_path: Path) -> None:
    outside, workspace = tmp_path / "outside.json", tmp_path / "workspace"
    workspace.mkdir()
    outside.write_text(package(test="jest"))
    (workspace / "package.json").symlink_to(outside)
    assert await suggested_checks(Roots.of(workspace)) == []


@pytest.mark.parametrize("target", ["../x", "uv.lock", "x" * 300], ids=["a missing file", "a loop", "a long name"])
async def test_p18_links_that_lead_nowhere_do_not_count(workspace: Path, target: str) -> None:
    (workspace / "pytest.ini").write_text("")
    for name in ("uv.lock", "Cargo.toml", "ruff.toml"):
        (workspace / name).symlink_to(target)
    found = await suggested_checks(Roots.of(workspace))
    assert [suggestion.command for suggestion in found] == ["pytest -q"]
