"""The accounting of the fake Messages API's prompt cache: what a request reads from it and writes to it.

Follows the API's prompt-caching guide: the prompt is tools, system, messages, in this order. A mark writes an
entry for everything before its end. To read, a mark looks for an entry at its own block and then back,
20 blocks in all, where a row of tool calls or of tool results counts as one. Not modeled: the minimum length
of a cached prompt, and the expiry.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass

from .ask import Json, cache_marks, list_of, weighed

LOOKBACK = 20
ROWS = ("tool_use", "tool_result")


@dataclass(frozen=True)
class _Part:
    """A rendered block.

    `digest` is the hash of the prompt up to and including the block, without marks. `end` is the number of characters
    of that part of the prompt.
    """

    kind: str
    marked: bool
    digest: bytes
    end: int


class PromptCache:
    """Owns the entries that earlier requests wrote. If it is not `enabled`, nothing is written or read."""

    def __init__(self, *, enabled: bool) -> None:
        self._enabled = enabled
        self._entries: set[bytes] = set()

    def usage(self, body: Json) -> Json:
        """Writes the entries of an accepted body. Returns its input's fields of `usage`, in tokens of 4 characters."""
        parts = list(_parts(body))
        marks = [index for index, part in enumerate(parts) if part.marked] if self._enabled else []
        read = max((self._read(parts, mark) for mark in marks), default=0)
        written = parts[marks[-1]].end if marks else 0
        self._entries.update(parts[mark].digest for mark in marks)
        created = (written - read) // 4
        long = bool(marks) and cache_marks(body)[-1][1].get("ttl") == "1h"
        return {
            "input_tokens": (parts[-1].end - written) // 4,
            "cache_creation_input_tokens": created,
            "cache_read_input_tokens": read // 4,
            "cache_creation": {
                "ephemeral_5m_input_tokens": 0 if long else created,
                "ephemeral_1h_input_tokens": created if long else 0,
            },
            "service_tier": "standard",
        }

    def _read(self, parts: list[_Part], mark: int) -> int:
        """The characters of the longest entry that the mark at this index finds, or 0."""
        looked, after = 0, ""
        for part in reversed(parts[: mark + 1]):
            looked += not (part.kind == after and part.kind in ROWS)
            if looked > LOOKBACK:
                return 0
            if part.digest in self._entries:
                return part.end
            after = part.kind
        return 0


def _parts(body: Json) -> Iterator[_Part]:
    blocks = list(_blocks(body))
    last = max((index for index, (_, kind, _) in enumerate(blocks) if "thinking" not in kind), default=None)
    automatic = last if body.get("cache_control") else None
    digest, end, settled = hashlib.sha256(body["model"].encode()), 0, False
    for index, (section, kind, block) in enumerate(blocks):
        if section == "messages" and not settled:
            settled = True
            # A change of `thinking` or `tool_choice` invalidates the messages, but not the tools and the system prompt.
            digest.update(json.dumps([body.get("thinking"), body.get("tool_choice")]).encode())
        text = json.dumps([section, _unmarked(block)], ensure_ascii=False)
        digest.update(text.encode())
        end += len(json.dumps([section, weighed(_unmarked(block))], ensure_ascii=False))
        yield _Part(kind, index == automatic or _is_marked(block), digest.copy().digest(), end)


def _blocks(body: Json) -> Iterator[tuple[str, str, Json]]:
    """(section, kind, block) in the prompt's order; a string is one text block."""
    for tool in body.get("tools") or []:
        yield "tools", "tool", tool
    for block in _as_blocks(body.get("system", [])):
        yield "system", "system", block
    for message in body["messages"]:
        for block in _as_blocks(message["content"]):
            yield "messages", block["type"], {"role": message["role"], **block}


def _as_blocks(content: str | list[Json]) -> list[Json]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _unmarked(block: Json) -> Json:
    """`block` without its marks: they may move without changing what is cached."""
    bare = {key: value for key, value in block.items() if key != "cache_control"}
    if block.get("type") == "tool_result" and list_of(block.get("content")):
        bare["content"] = [_unmarked(inner) for inner in block["content"]]
    return bare


def _is_marked(block: Json) -> bool:
    return any(part.get("cache_control") for part in (block, *list_of(block.get("content"))))
