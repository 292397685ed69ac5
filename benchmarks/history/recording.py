"""Writes tool calls as a recording (docs/replay.md): as JSON, with escapes for what YAML reads differently."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

from history.plan import Call

# line endings that only YAML has, the byte order mark, and what YAML allows only as an escape
_ESCAPED = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")


def write_recording(path: Path, runs: Sequence[Sequence[Sequence[Call]]]) -> None:
    """Writes the runs one after the other. Each has rounds of calls and ends with a short text."""
    turns = [turn for rounds in runs for turn in [*({"calls": list(calls)} for calls in rounds), {"text": "Done."}]]
    text = json.dumps({"replay": 1, "turns": turns}, ensure_ascii=False)
    text = _ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
    path.write_text(text, encoding="utf-8", newline="\n")
