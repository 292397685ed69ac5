"""Saves a mismatch with everything that is needed to reproduce and reduce it."""

from __future__ import annotations

import difflib
import json
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from history.review import Mismatch
from history.tree import Difference
from support.client import Json

if TYPE_CHECKING:
    from history.replay import Replay

MAX_FILES = 20
MAX_WIRE = 10_000_000  # characters of JSON


def reproduction(where: Path, facts: Json, error: Exception, differences: Sequence[Difference], replay: Replay) -> Path:
    """Writes a folder with everything about one failure, and returns it.

    It contains the facts, the files that differ and their diffs, the recording, the server's log and the last messages.
    """
    folder = _folder(where, f"{replay.figures.name}-{facts['commit'][:12]}")
    found = list(differences)
    if isinstance(error, Mismatch) and error.path is not None and not found:
        found = [Difference(_relative(error.path, replay), str(error), error.expected, error.found)]
    facts["files"] = []
    report: list[str] = []
    for number, one in enumerate(found[:MAX_FILES], 1):
        facts["files"].append({"number": number, "path": one.path.encode(errors="backslashreplace").decode()})
        contents = {"expected": one.expected, "found": one.found, "before": _before(one.path, facts, replay)}
        for name, data in contents.items():
            if data is not None:
                (folder / f"{number}.{name}").write_bytes(data)
        report += [f"# {one.path!r} {one.what}", *_diff(one.expected, one.found), ""]
    facts["more files"] = max(0, len(found) - MAX_FILES)
    (folder / "about.json").write_text(json.dumps(facts, indent=2), encoding="utf-8")
    (folder / "diff.txt").write_text("\n".join(report), encoding="utf-8", errors="backslashreplace")
    for own in (replay.recording, replay.server_log):
        if own.exists():
            shutil.copy(own, folder / own.name)
    if replay.editor is not None:
        lines: list[str] = []
        remaining = MAX_WIRE
        for message in reversed(replay.editor.wire):
            lines.append(json.dumps(message, ensure_ascii=True))
            remaining -= len(lines[-1])
            if remaining < 0:
                break
        (folder / "wire.jsonl").write_text("\n".join(reversed(lines)), encoding="utf-8")
    return folder


def log(where: Path, name: str, text: str) -> Path:
    """Writes only a server's log, for a fault that appears in the log or when the server ends."""
    folder = _folder(where, name)
    (folder / "server.log").write_text(text, encoding="utf-8", errors="backslashreplace")
    return folder


def _folder(where: Path, name: str) -> Path:
    folder = where / re.sub(r"[^A-Za-z0-9._-]+", "_", name)[-80:]
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _before(path: str, facts: Json, replay: Replay) -> bytes | None:
    entry = replay.repository.tree(facts["parent"]).get(path)
    return replay.repository.blob(entry) if entry is not None else None


def _relative(path: Path, replay: Replay) -> str:
    root = replay.workspace.root
    return str(path.relative_to(root)) if path.is_relative_to(root) else str(path)


def _diff(expected: bytes | None, found: bytes | None) -> list[str]:
    """The diff of two contents, with lines as Python literals, so that line endings and unusual bytes are visible.

    If one of the contents is missing, only their sizes. At most 400 lines.
    """
    if expected is None or found is None:
        return [f"expected: {_size(expected)}, found: {_size(found)}"]
    a, b = ([repr(line) for line in data.splitlines(keepends=True)] for data in (expected, found))
    return list(difflib.unified_diff(a, b, "expected", "found", lineterm="", n=2))[:400]


def _size(data: bytes | None) -> str:
    return "no file" if data is None else f"{len(data)} bytes"
