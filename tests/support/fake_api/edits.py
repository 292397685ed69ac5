"""Context editing in the fake Messages API: refuses an invalid `context_management`, and clears old results.

It supports only `clear_tool_uses_20250919`. Each 4 characters of the messages' JSON count as one token.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from .ask import Ask, Json, blocks_of, extras

KIND = "clear_tool_uses_20250919"
PLACEHOLDER = "[Old tool result content cleared]"
FIELDS = {"type", "trigger", "keep", "clear_at_least", "clear_tool_inputs", "exclude_tools"}
AMOUNTS = {"trigger": ("input_tokens", "tool_uses"), "keep": ("tool_uses",), "clear_at_least": ("input_tokens",)}


def context_edits(ask: Ask) -> Iterator[str]:
    """The reasons to refuse the request's `context_management`."""
    management: Any = ask.body.get("context_management") or {}
    if not isinstance(management, dict):
        yield "context_management: Input should be a valid dictionary"
        return
    yield from extras("context_management", management, {"edits"})
    for index, edit in enumerate(management.get("edits") or []):
        where = f"context_management.edits.{index}"
        if edit.get("type") != KIND:
            yield f"{where}: Input tag '{edit.get('type')}' does not match any of the expected tags: {KIND}"
            continue
        yield from extras(where, edit, FIELDS)
        for name, kinds in AMOUNTS.items():
            amount = edit.get(name) or {"type": kinds[0], "value": 1}
            if amount.get("type") not in kinds or type(amount.get("value")) is not int or amount["value"] < 0:
                yield f"{where}.{name}: Input should be a valid amount of {' or '.join(kinds)}"
        if not all(isinstance(name, str) for name in edit.get("exclude_tools") or []):
            yield f"{where}.exclude_tools: Input should be a valid list of strings"


def edited(body: Json) -> tuple[Json, Json | None]:
    """The body as the model reads it, and the answer's `context_management`, which is None if the request has none."""
    if not body.get("context_management"):
        return body, None
    applied: list[Json] = []
    for edit in body["context_management"].get("edits") or []:
        body, uses, tokens = _cleared(body, edit)
        if uses:
            applied.append({"type": KIND, "cleared_tool_uses": uses, "cleared_input_tokens": tokens})
    return body, {"applied_edits": applied}


def _cleared(body: Json, edit: Json) -> tuple[Json, int, int]:
    before = _tokens(body)
    names = {block["id"]: block["name"] for _, _, block in blocks_of(Ask({}, body), "tool_use")}
    trigger = edit.get("trigger") or {"type": "input_tokens", "value": 100_000}
    if (before if trigger["type"] == "input_tokens" else len(names)) <= trigger["value"]:
        return body, 0, 0
    clearable = [call for call, name in names.items() if name not in (edit.get("exclude_tools") or [])]
    keep = (edit.get("keep") or {"value": 3})["value"]
    gone = set(clearable[: max(0, len(clearable) - keep)])
    after = json.loads(json.dumps(body))
    for _, _, block in blocks_of(Ask({}, after), "tool_result"):
        if block["tool_use_id"] in gone:
            block["content"] = PLACEHOLDER
    freed = before - _tokens(after)
    if freed < (edit.get("clear_at_least") or {"value": 0})["value"]:
        return body, 0, 0
    return after, len(gone), freed


def _tokens(body: Json) -> int:
    return len(json.dumps(body["messages"])) // 4
