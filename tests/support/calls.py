"""Tool calls for recordings, and the texts that they change."""

from typing import Any

LINES = "".join(f"line {n}\n" for n in range(1, 11))


def edit(path: str, old: str, new: str) -> dict[str, Any]:
    return {"edit_file": {"path": path, "old_text": old, "new_text": new}}


def write(path: str, content: str) -> dict[str, Any]:
    return {"write_file": {"path": path, "content": content}}


def bash(command: str, **given: Any) -> dict[str, Any]:
    return {"bash": {"command": command, **given}}
