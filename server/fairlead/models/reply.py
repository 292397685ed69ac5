"""Builds a Reply from the stream events of the Messages API.

The JSON of a tool call is parsed strictly when its block is complete. A call whose JSON was cut off or is not an object
gets a `problem`: it is never run and gets an error result (docs/plan.md L13).
"""

import json
from typing import Any

from fairlead.agent.messages import Block, ToolCall, clean_text
from fairlead.agent.model import Reply, TextDelta, ThinkingDelta, Usage

# inputs are encoded again inside other values, so they must stay far from Python's own recursion limit
MAX_DEPTH = 100


class ReplyBuilder:
    """Takes the events of one stream in order. `reply` is set after `message_stop`."""

    def __init__(self) -> None:
        self._blocks: dict[int, Block] = {}
        self._parts: dict[int, list[str]] = {}
        self._content: list[Block] = []
        self._calls: list[ToolCall] = []
        self._stop_reason = ""
        self._usage: dict[str, Any] = {}
        self._cleared = 0
        self.reply: Reply | None = None

    def feed(self, event: dict[str, Any]) -> TextDelta | ThinkingDelta | None:
        """Take one event and return its visible delta, if any. Unknown events and deltas are ignored."""
        match event.get("type"):
            case "message_start":
                self._usage.update(event.get("message", {}).get("usage") or {})
            case "content_block_start":
                index = event["index"]
                self._blocks[index] = dict(event["content_block"])
                self._parts[index] = []
            case "content_block_delta":
                return self._delta(event["index"], event["delta"])
            case "content_block_stop":
                self._complete(event["index"])
            case "message_delta":
                self._stop_reason = event["delta"].get("stop_reason") or self._stop_reason
                self._usage.update({k: v for k, v in (event.get("usage") or {}).items() if v is not None})
                self._cleared = read_cleared(event.get("context_management")) or self._cleared
            case "message_stop":
                for index in list(self._blocks):
                    self._complete(index, is_whole=False)
                usage = read_usage(self._usage)
                self.reply = Reply(self._content, self._calls, self._stop_reason, usage, self._cleared)
            case _:
                pass
        return None

    def _delta(self, index: int, delta: dict[str, Any]) -> TextDelta | ThinkingDelta | None:
        match delta.get("type"):
            case "text_delta":
                self._parts[index].append(delta["text"])
                return TextDelta(clean_text(delta["text"]))
            case "input_json_delta":
                self._parts[index].append(delta["partial_json"])
            case "thinking_delta":
                self._parts[index].append(delta["thinking"])
                return ThinkingDelta(clean_text(delta["thinking"]))
            case "signature_delta":
                self._blocks[index]["signature"] = delta["signature"]
            case _:
                pass
        return None

    def _complete(self, index: int, is_whole: bool = True) -> None:
        block = self._blocks.pop(index)
        joined = "".join(self._parts.pop(index))
        match block["type"]:
            case "text":
                text = clean_text(block.get("text", "") + joined)
                if text.strip():  # the API refuses empty text blocks
                    self._content.append({"type": "text", "text": text})
            case "tool_use":
                self._add_call(block, joined, is_whole)
            case _ if not is_whole:
                pass  # for example thinking without its signature, which the API refuses
            case "thinking":
                self._content.append({**block, "thinking": clean_text(block.get("thinking", "") + joined)})
            case _:
                self._content.append(block)

    def _add_call(self, block: Block, raw: str, is_whole: bool) -> None:
        given, problem = read_input(raw, block.get("input"))
        if not is_whole:
            given, problem = {}, "Not run: the call was cut off before it was complete. Send it again."
        call = ToolCall(block["id"], block["name"], given, problem)
        self._content.append({"type": "tool_use", "id": call.id, "name": call.name, "input": given})
        self._calls.append(call)


def read_input(raw: str, start: Any) -> tuple[dict[str, Any], str | None]:
    """Parse a call's input and describe what is wrong with it. If nothing was streamed, `start` is the input."""
    try:
        value = json.loads(raw, parse_constant=_no_constant) if raw.strip() else start or {}
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
        if _depth(value) > MAX_DEPTH:
            raise RecursionError
    except RecursionError:
        return {}, "Not run: the call's input is nested too deeply. Send it again with less nesting."
    except UnicodeEncodeError:
        return (
            {},
            "Not run: the call's input contains invalid Unicode characters. Send it again without them.",
        )
    except ValueError as error:
        return (
            {},
            f"Not run: the call's input is not valid JSON ({error}). It may have been cut off; send it again.",
        )
    if not isinstance(value, dict):
        return {}, "Not run: the call's input must be a JSON object. Send it again as one."
    return value, None


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not valid in JSON")


def _depth(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + max(map(_depth, inner), default=0)


def read_cleared(raw: dict[str, Any] | None) -> int:
    """How many tool results the API cleared from the request."""
    edits = (raw or {}).get("applied_edits") or []
    return sum(edit.get("cleared_tool_uses") or 0 for edit in edits)


def read_usage(raw: dict[str, Any]) -> Usage:
    """The usage of one request. Servers without caching omit the fields for it."""
    return Usage(
        requests=1,
        input_tokens=raw.get("input_tokens") or 0,
        cache_read_tokens=raw.get("cache_read_input_tokens") or 0,
        cache_write_tokens=raw.get("cache_creation_input_tokens") or 0,
        output_tokens=raw.get("output_tokens") or 0,
    )
