"""Fixtures of the terminal tests: the example, and recordings made from turns."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

import fairlead

EXAMPLE = Path(fairlead.__file__).parent / "example"


@pytest.fixture
def hello(workspace: Path) -> Path:
    """The script of the example, in the workspace."""
    return Path(shutil.copy(EXAMPLE / "workspace" / "hello.py", workspace))


@pytest.fixture
def record(tmp_path: Path) -> Callable[..., Path]:
    """Writes turns as a recording, by default without pauses."""

    def write(*turns: dict[str, Any], pace: float = 0.0, name: str = "script.replay.yaml") -> Path:
        path = tmp_path / name
        whole = {"replay": 1, "pace": pace, "turns": list(turns)}
        path.write_text(yaml.safe_dump(whole, allow_unicode=True), encoding="utf-8")
        return path

    return write


@pytest.fixture
def example(tmp_path: Path) -> Path:
    """The recording of the example, without pauses."""
    text = (EXAMPLE / "refactor.replay.yaml").read_text(encoding="utf-8")
    path = tmp_path / "refactor.replay.yaml"
    path.write_text(text.replace("pace: 0.02", "pace: 0"), encoding="utf-8")
    return path
