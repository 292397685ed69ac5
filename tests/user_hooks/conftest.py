"""Fixtures of the tests of hooks."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.sandbox import needs_sandbox

Write = Callable[..., None]


@pytest.fixture
def box() -> None:
    """Skips the test if there is no sandbox."""
    needs_sandbox()


@pytest.fixture
def define(workspace: Path) -> Callable[..., None]:
    """Defines hooks in the workspace, as in `define(Stop="echo x", PreToolUse=("Bash", "exit 2"))`."""

    def write(file: str = ".claude/settings.json", **hooks: str | tuple[str, str] | dict[str, Any]) -> None:
        path = workspace / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"hooks": {event: [_group(hook)] for event, hook in hooks.items()}}, indent=1))

    return write


def _group(hook: str | tuple[str, str] | dict[str, Any]) -> dict[str, Any]:
    matcher, command = hook if isinstance(hook, tuple) else ("", hook)
    given = command if isinstance(command, dict) else {"command": command}
    return {"matcher": matcher, "hooks": [{"type": "command", **given}]}
