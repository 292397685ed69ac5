"""The command lines of `npx` and `uvx`, read without running them."""

import json
import stat
from pathlib import Path

import pytest

from fairlead.shell.services.packages import Package, installed_program, package_of


@pytest.mark.parametrize(
    ("command", "package"),
    [
        ("npx -y @a/b@1.2 x -v", Package("npm", ("@a/b@1.2",), "", ("x", "-v"))),
        ("npx b", Package("npm", ("b",), "", ())),
        ("/usr/bin/npx --yes -p one --package=two prog x", Package("npm", ("one", "two"), "prog", ("x",))),
        ("npx -y -- b --flag", Package("npm", ("b",), "", ("--flag",))),
        ("uvx mcp-server-git --repository .", Package("uv", ("mcp-server-git",), "", ("--repository", "."))),
        ("uvx name@1.2", Package("uv", ("name==1.2",), "", ())),
        ("uvx name@latest", Package("uv", ("name",), "", ())),
        (
            "uvx --from big[x]==1 --with more --python 3.12 prog a",
            Package("uv", ("big[x]==1", "more"), "prog", ("a",), "3.12"),
        ),
        ("uv tool run name", Package("uv", ("name",), "", ())),
        ("npx -c 'echo x'", None),
        ("npx", None),
        ("npx -p", None),
        ("uvx --unknown name", None),
        ("node server.js", None),
        ("docker run -i image", None),
    ],
)
def test_what_a_command_line_would_download(command: str, package: Package | None) -> None:
    """A line with options that are not known is run as it is."""
    assert package_of(command.replace("'", "").split()) == package


def test_another_version_is_installed_in_another_folder(tmp_path: Path) -> None:
    one, other = Package("npm", ("@a/b@1",), "", ()), Package("npm", ("@a/b@2",), "", ())
    assert one.folder(tmp_path) != other.folder(tmp_path)
    assert one.folder(tmp_path).parent == tmp_path


def write_program(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


@pytest.mark.parametrize(
    ("described", "programs", "expected"),
    [
        ({"bin": {"only": "x"}}, ["only"], "only"),
        ({"bin": "x"}, ["b"], "b"),
        ({"bin": {"b": "x", "other": "y"}}, ["b", "other"], "b"),
        ({"bin": {"one": "x", "other": "y"}}, ["one", "other"], None),
        ({}, [], None),
    ],
)
def test_the_program_of_a_package(tmp_path: Path, described: object, programs: list[str], expected: str | None) -> None:
    """The only one, or that of the package's name, as `npx` chooses it."""
    package = Package("npm", ("@a/b@1",), "", ())
    assert installed_program(package, tmp_path) is None
    (tmp_path / "installed").touch()
    main = tmp_path / "node_modules" / "@a" / "b"
    main.mkdir(parents=True)
    (main / "package.json").write_text(json.dumps(described))
    for name in programs:
        write_program(tmp_path / "node_modules" / ".bin" / name)
    found = installed_program(package, tmp_path)
    assert (found.name if found else None) == expected
