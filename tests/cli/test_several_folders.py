"""`fairlead run` and `fairlead verify` with several folders, whose code uses the same names."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.command import run_plain

PROGRAMS = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
CODE = "def area(side: int) -> int:\n    return side * side\n"
USER = "from shapes import area\n\nprint(area(2))\n"


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    api, web = tmp_path / "api", tmp_path / "web"
    for folder in (api, web):
        folder.mkdir()
        (folder / "shapes.py").write_text(CODE)
        (folder / "user.py").write_text(USER)
    return api, web


@pytest.mark.slow
def test_each_folder_has_its_own_language_server(folders: tuple[Path, Path], record: Callable[..., Path]) -> None:
    """A rename changes the files of its folder only, and `fairlead verify` finds the changed files there."""
    api, web = folders
    rename = {"path": "web/shapes.py", "line": 1, "symbol": "area", "new_name": "surface"}
    question = {"action": "references", "path": "api/shapes.py", "line": 1, "symbol": "area"}
    replay = record({"calls": [{"code": question}, {"rename_symbol": rename}]}, {"text": "Renamed."})
    workspaces = ("--workspace", api, "--workspace", web)
    arguments = ("run", "Rename area in @web/shapes.py", *workspaces, "--replay", replay, "--accept", "all")
    ended = run_plain(*arguments, "--save-record", api.parent / "record.json", PATH=PROGRAMS)
    assert ended.code == 0, ended.out + ended.err
    assert f"Workspace {api}, {web}\n" in ended.out
    assert "Proposed in 2 files" in ended.out
    assert "web/user.py" in ended.out
    assert (api / "user.py").read_text() == USER
    assert (web / "user.py").read_text() == USER.replace("area", "surface")
    verified = run_plain("verify", api.parent / "record.json", *workspaces)
    assert "web/user.py" in verified.out
    assert verified.code == 0, verified.out + verified.err
    (web / "user.py").write_text(USER)
    assert run_plain("verify", api.parent / "record.json", *workspaces).code == 1
