"""Finds the programs of language servers."""

import json
from pathlib import Path
from typing import Any

import pytest

from fairlead.code.servers.find import Programs
from support.servers_workspace import Clock

TYPESCRIPT_7 = ("typescript", 7)


@pytest.mark.parametrize(
    ("package", "target"),
    [
        ("node_modules/typescript", "node_modules/typescript/bin/tsc"),
        ("node_modules/typescript", None),
        ("node_modules/.bin/node_modules/typescript", None),
    ],
    ids=["a link into the package", "a script in .bin", "a script beside node_modules"],
)
@pytest.mark.parametrize(
    ("name", "version", "is_found"),
    [
        ("typescript", "7.0.2", True),
        ("typescript", "10.1.0-beta", True),
        ("typescript", "6.0.3", False),
        ("other", "7.0.2", False),
        ("typescript", "latest", False),
        ("typescript", 7, False),
    ],
)
def test_a_program_can_need_a_version_of_its_package(
    workspace: Path, package: str, target: str | None, name: str, version: Any, *, is_found: bool
) -> None:
    """An older version of the program, or one of another package, is not used."""
    program = workspace / "node_modules/.bin/tsc"
    content = workspace / target if target is not None else program
    for path in (program, content, workspace / package / "package.json"):
        path.parent.mkdir(parents=True, exist_ok=True)
    content.write_text("#!/bin/sh\n")
    content.chmod(0o755)
    if content != program:
        program.symlink_to(content)
    (workspace / package / "package.json").write_text(json.dumps({"name": name, "version": version}))
    programs = Programs(workspace, Clock())
    assert programs.find("tsc", TYPESCRIPT_7) == (programs.find("tsc") if is_found else None)
    assert programs.find("tsc") is not None


def test_a_package_file_that_is_no_json_is_no_version(workspace: Path) -> None:
    """The file belongs to the workspace, so it can contain anything."""
    program = workspace / "node_modules/.bin/tsc"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    for text in ("", "[", "[" * 100_000, "7", '{"name": "typescript"}'):
        path = workspace / "node_modules/typescript/package.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        assert Programs(workspace, Clock()).find("tsc", TYPESCRIPT_7) is None
