"""What the Messages API refuses in `messages` and `system`: one small function for each rule.

The tables in `rules.py` say in which order the rules run. A rule may rely on those before it in its table.
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Iterator
from typing import Any

from .ask import Ask, blocks_of, extras, ids_of, list_of, outline_of, prefix_of

INNER = {"text", "image", "document", "search_result"}
ROLES = {
    "user": INNER | {"tool_result"},
    "assistant": {"text", "thinking", "redacted_thinking", "tool_use"},
    "system": {"text"},
}
BLOCKS: dict[str, tuple[set[str], set[str]]] = {
    "text": ({"text"}, {"cache_control", "citations"}),
    "image": ({"source"}, {"cache_control", "transformations"}),
    "document": ({"source"}, {"cache_control", "citations", "context", "title"}),
    "search_result": ({"source", "title", "content"}, {"cache_control", "citations"}),
    "thinking": ({"thinking", "signature"}, set()),
    "redacted_thinking": ({"data"}, set()),
    "tool_use": ({"id", "name", "input"}, {"cache_control", "caller", "toolset_name"}),
    "tool_result": ({"tool_use_id"}, {"content", "is_error", "cache_control", "toolset_name"}),
}
SIGNATURES = {
    "image/png": rb"\x89PNG\r\n\x1a\n",
    "image/jpeg": rb"\xff\xd8\xff",
    "image/gif": rb"GIF8[79]a",
    "image/webp": rb"RIFF.{4}WEBP",
}
"""How a picture of each media type begins."""
MAX_IMAGE = 5 << 20
STRINGS = {"text", "thinking", "signature", "data", "id", "name", "tool_use_id"}
NAME = r"^[a-zA-Z0-9_-]{1,128}$"
ID = r"^[a-zA-Z0-9_-]+$"


def message_shapes(ask: Ask) -> Iterator[str]:
    if not ask.messages:
        yield "messages: at least one message is required"
    for index, message in enumerate(ask.messages):
        if not isinstance(message, dict):
            yield f"messages.{index}: Input should be a valid dictionary"
            continue
        yield from extras(f"messages.{index}", message, {"role", "content"})
        if (role := message.get("role")) not in tuple(ROLES):
            yield f'messages: Unexpected role "{role}". Allowed roles are "user" or "assistant"'
        if not isinstance(message.get("content"), str | list):
            yield f"messages.{index}.content: Input should be a valid list"


def block_shapes(ask: Ask) -> Iterator[str]:
    for index, block in enumerate(list_of(ask.body.get("system"))):
        yield from _block_shape(f"system.{index}", block, {"text"})
    for index, message in enumerate(ask.messages):
        for block_index, block in enumerate(list_of(message["content"])):
            yield from _block_shape(f"messages.{index}.content.{block_index}", block, set(BLOCKS))
            if block["type"] not in ROLES[message["role"]]:
                owner = "user" if block["type"] in ROLES["user"] else "assistant"
                yield f"messages.{index}: `{block['type']}` blocks can only be in `{owner}` messages"


def _block_shape(where: str, block: Any, allowed: set[str]) -> Iterator[str]:
    kind = block.get("type") if isinstance(block, dict) else None
    if not isinstance(kind, str) or kind not in allowed:
        expected = ", ".join(f"'{tag}'" for tag in sorted(allowed))
        yield f"{where}: Input tag '{kind}' does not match any of the expected tags: {expected}"
        return
    required, optional = BLOCKS[kind]
    yield from (f"{where}.{kind}.{name}: Field required" for name in sorted(required) if name not in block)
    yield from extras(f"{where}.{kind}", block, {"type"} | required | optional)
    for name in sorted(STRINGS & required):
        if not isinstance(block[name], str):
            yield f"{where}.{kind}.{name}: Input should be a valid string"
    if kind == "tool_result":
        if not isinstance(block.get("content", ""), str | list):
            yield f"{where}.tool_result.content: Input should be a valid list"
        for inner_index, inner in enumerate(list_of(block.get("content"))):
            yield from _block_shape(f"{where}.tool_result.content.{inner_index}", inner, INNER)


def non_empty_content(ask: Ask) -> Iterator[str]:
    for index, message in enumerate(ask.messages):
        if not message["content"]:
            yield f"messages.{index}: all messages must have non-empty content"


def text_blocks(ask: Ask) -> Iterator[str]:
    texts = [("system", block) for block in list_of(ask.body.get("system"))]
    texts += [("messages", message["content"]) for message in ask.messages if isinstance(message["content"], str)]
    texts += [("messages", block) for _, _, block in blocks_of(ask, "text")]
    for _, _, result in blocks_of(ask, "tool_result"):
        texts += [("messages", inner) for inner in list_of(result.get("content")) if inner["type"] == "text"]
    for where, block in texts:
        text = block if isinstance(block, str) else block["text"]
        if not text:
            yield f"{where}: text content blocks must be non-empty"
        if not text.strip():
            yield f"{where}: text content blocks must contain non-whitespace text"


def image_sources(ask: Ask) -> Iterator[str]:
    for where, block in _images(ask):
        source, at = block["source"], f"{where}.image.source"
        if not isinstance(source, dict) or source.get("type") != "base64":
            yield f"{at}: Input tag does not match any of the expected tags: 'base64'"  # the others are links
            continue
        yield from extras(f"{at}.base64", source, {"type", "media_type", "data"})
        kind, data = source.get("media_type"), source.get("data")
        if kind not in tuple(SIGNATURES):
            yield f"{at}.base64.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'"
            continue
        try:
            decoded = b64decode(data, validate=True) if isinstance(data, str) else b""
        except ValueError:
            decoded = b""
        if not decoded:
            yield f"{at}.base64.data: Input should be a valid, non-empty base64 string"
        elif len(decoded) > MAX_IMAGE:
            yield f"{at}.base64: image exceeds 5 MB maximum: {len(decoded)} bytes > {MAX_IMAGE} bytes"
        elif not re.match(SIGNATURES[kind], decoded, re.DOTALL):
            yield f"{at}.base64.data: The image does not match the provided media type {kind}"


def _images(ask: Ask) -> Iterator[tuple[str, Any]]:
    """Where each picture is, and its block."""
    for where, _, block in blocks_of(ask, "image", "tool_result"):
        if block["type"] == "image":
            yield where, block
        for index, inner in enumerate(list_of(block.get("content"))):
            if inner["type"] == "image":
                yield f"{where}.content.{index}", inner


def first_message(ask: Ask) -> Iterator[str]:
    if ask.messages[0]["role"] != "user":
        yield 'messages: first message must use the "user" role'


def system_placement(ask: Ask) -> Iterator[str]:
    roles = [message["role"] for message in ask.messages]
    for index, role in enumerate(roles):
        if role == "system" and roles[index - 1] != "user":
            yield f"messages.{index}: role 'system' must follow a 'user' message"
        if role == "system" and roles[index + 1 : index + 2] not in ([], ["assistant"]):
            yield f"messages.{index}: role 'system' must precede an 'assistant' message or end the array"


def last_message(ask: Ask) -> Iterator[str]:
    if ask.messages[-1]["role"] == "assistant":
        yield ("This model does not support assistant message prefill. The conversation must end with a user message.")


# Tool calls and their results.


def call_fields(ask: Ask) -> Iterator[str]:
    for where, _, block in blocks_of(ask, "tool_use"):
        if not isinstance(block["input"], dict):
            yield f"{where}.tool_use.input: Input should be a valid dictionary"
        for name, pattern in (("id", ID), ("name", NAME)):
            if not re.fullmatch(pattern, block[name]):
                yield f"{where}.tool_use.{name}: String should match pattern '{pattern}'"


def call_ids_unique(ask: Ask) -> Iterator[str]:
    seen: set[str] = set()
    for where, _, block in blocks_of(ask, "tool_use"):
        if block["id"] in seen:
            yield f"{where}: `tool_use` ids must be unique"
        seen.add(block["id"])


def results_present(ask: Ask) -> Iterator[str]:
    for index, message in enumerate(ask.messages):
        after = [
            id for reply in ask.messages[index + 1 : index + 2] for id in ids_of(reply, "tool_result", "tool_use_id")
        ]
        missing = [call for call in ids_of(message, "tool_use", "id") if call not in after]
        if missing:
            yield (
                f"messages.{index}: `tool_use` ids were found without `tool_result` blocks immediately after: "
                f"{', '.join(missing)}. Each `tool_use` block must have a corresponding `tool_result` block "
                "in the next message."
            )


def results_first(ask: Ask) -> Iterator[str]:
    for index, message in enumerate(ask.messages):
        kinds = [block["type"] for block in list_of(message["content"])]
        for block_index, kind in enumerate(kinds):
            if kind == "tool_result" and kinds[:block_index] != ["tool_result"] * block_index:
                yield f"messages.{index}.content.{block_index}: `tool_result` blocks must come first in the content"


def results_known(ask: Ask) -> Iterator[str]:
    for where, index, block in blocks_of(ask, "tool_result"):
        if index == 0 or block["tool_use_id"] not in ids_of(ask.messages[index - 1], "tool_use", "id"):
            yield (
                f"{where}: unexpected `tool_use_id` found in `tool_result` blocks: {block['tool_use_id']}. "
                "Each `tool_result` block must have a corresponding `tool_use` block in the previous message."
            )


def results_single(ask: Ask) -> Iterator[str]:
    for index, message in enumerate(ask.messages):
        ids = ids_of(message, "tool_result", "tool_use_id")
        for block_index, call in enumerate(ids):
            if call in ids[:block_index]:
                yield (
                    f"messages.{index}.content.{block_index}: each tool_use must have a single result. "
                    f"Found multiple `tool_result` blocks with id: {call}"
                )


def thinking_genuine(ask: Ask) -> Iterator[str]:
    for where, _, block in blocks_of(ask, "thinking"):
        sent = ask.handed.signatures.get(block["signature"])
        if sent is None:
            yield f"{where}: Invalid `signature` in `thinking` block"
        elif sent != block["thinking"]:
            yield f"{where}: {_CHANGED}"


def thinking_bound(ask: Ask) -> Iterator[str]:
    """Nothing before a thinking block has changed since the server sent it (preserved thinking)."""
    for where, index, block in blocks_of(ask, "thinking"):
        if ask.handed.prefixes.get(block["signature"]) != prefix_of(ask.body, index):
            yield f"{where}: {_BOUND}"


def thinking_kept(ask: Ask) -> Iterator[str]:
    """The latest assistant message with a call has all of its thinking, at the same positions among the calls.

    With adaptive thinking, it may also have none.
    """
    calling = [index for index, message in enumerate(ask.messages) if ids_of(message, "tool_use", "id")]
    is_adaptive = ask.body.get("thinking", {}).get("type") == "adaptive"
    for index in calling[-1:]:
        got = outline_of(ask.messages[index]["content"])
        if is_adaptive and all(kind == "tool_use" for kind, *_ in got):
            continue
        calls = [entry for entry in got if entry[0] == "tool_use"]
        sent = ask.handed.outlines.get(calls[0][1], got)
        expected = tuple(entry for entry in sent if entry[0] == "thinking" or entry in calls)
        if len(got) < len(expected):
            yield f"messages.{index}.content: Expected `thinking` or `redacted_thinking`, but found `tool_use`."
        elif got != expected:
            yield f"messages.{index}.content.0: {_CHANGED}"


_BOUND = (
    "Invalid `signature` in `thinking` block. The block is bound to a different conversation. Remove the block, or set "
    '`thinking.block_binding.prefix_mismatch_behavior` to "drop_block".'
)
_CHANGED = (
    "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. "
    "These blocks must remain as they were in the original response."
)
