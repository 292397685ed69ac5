"""Responses: what the server refuses, and its stream events. It stores nothing, as for some organizations."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from support.fake_api.turns import BadJson, Block, Call, Event, HttpError, Text, Thinking, Turn, pieces, written

from .common import answer_tokens, function_problems, image_problems, input_problem, tokens_of
from .schema import Json, refused, shape_problems

ENCRYPTED = "reasoning.encrypted_content"
INCOMPLETE = {"max_tokens": "max_output_tokens", "refusal": "content_filter"}
"""The reasons for a turn's `stop_reason`; other turns are complete."""


@dataclass
class Sent:
    """The encrypted reasoning that the server has sent, to recognize it later."""

    summaries: dict[str, str] = field(default_factory=dict[str, str])
    """By encrypted content."""
    followers: dict[str, str] = field(default_factory=dict[str, str])
    """The type of the item after it; empty if it was the last one."""

    def record(self, output: list[Json]) -> None:
        """Remembers the items of an answer."""
        for item, after in pairwise([*output, {"type": ""}]):
            if item["type"] == "reasoning" and item.get("encrypted_content"):
                self.summaries[item["encrypted_content"]] = _summary(item)
                self.followers[item["encrypted_content"]] = after["type"]


def _summary(item: Json) -> str:
    return "\n\n".join(part["text"] for part in item["summary"])


# Refusals.


def refusal(body: Json, sent: Sent) -> HttpError | None:
    """The error for a request that breaks a rule; None if none is broken. Its message is the reason."""
    problem = next(_problems(body, sent), None)
    if problem is None:
        return None
    status = 404 if "not found" in problem["message"] else 400
    return HttpError(status, "", problem["message"], body={"error": problem})


def _problems(body: Json, sent: Sent) -> Iterator[Json]:
    yield from shape_problems("responses", body)
    if body.get("store") is not False:
        yield refused("'store' must be false: this organization keeps no data.", "store")
    if body.get("previous_response_id"):
        yield refused("Previous response cannot be used for this organization.", "previous_response_id")
    tools = body.get("tools", [])
    yield from function_problems([(f"tools[{at}]", tool) for at, tool in enumerate(tools)])
    items: list[Json] = body["input"] if isinstance(body["input"], list) else []
    for index, item in enumerate(items):
        yield from _item_problems(f"input[{index}]", item)
    yield from _call_problems(items)
    yield from _reasoning_problems(items, sent)


def _item_problems(where: str, item: Json) -> Iterator[Json]:
    if "id" in item:
        said = f"Item with id '{item['id']}' not found. Items are not persisted when `store` is set to false."
        yield refused(f"{said} Try again with `store` set to true, or remove this item from your input.", "input")
    if item.get("type") == "function_call" and (problem := input_problem(item["arguments"])):
        yield refused(f"'{where}.arguments' is not valid JSON: {problem}", f"{where}.arguments")
    name = "output" if item.get("type") == "function_call_output" else "content"
    for at, part in enumerate(item[name] if isinstance(item.get(name), list) else []):
        if part["type"] == "input_image":
            yield from image_problems(f"{where}.{name}[{at}].image_url", part["image_url"])


def _call_problems(items: list[Json]) -> Iterator[Json]:
    open_calls: list[str] = []
    for index, item in enumerate(items):
        match item.get("type"):
            case "function_call":
                if item["call_id"] in open_calls:
                    yield refused(f"Duplicate call_id {item['call_id']}.", f"input[{index}].call_id")
                open_calls.append(item["call_id"])
            case "function_call_output":
                if item["call_id"] not in open_calls:
                    yield refused(
                        f"No tool call found for function call output with call_id {item['call_id']}.", "input"
                    )
                    return
                open_calls.remove(item["call_id"])
            case "message" | None:
                if open_calls and item["role"] != "assistant":
                    break
    if open_calls:
        yield refused(f"No tool output found for function call {open_calls[0]}.", "input")


def _reasoning_problems(items: list[Json], sent: Sent) -> Iterator[Json]:
    for item, after in pairwise([*items, {"type": ""}]):
        if item.get("type") != "reasoning":
            continue
        sealed = item.get("encrypted_content") or ""
        if sent.summaries.get(sealed) != _summary(item):
            said = f"The encrypted content {sealed[:20]}... could not be verified."
            reason = "Reason: Encrypted content could not be decrypted or parsed."
            yield refused(f"{said} {reason}", None, "invalid_encrypted_content")
        elif sent.followers[sealed] and after.get("type", "message") != sent.followers[sealed]:
            yield refused("Item of type 'reasoning' was provided without its required following item.", "input")


# Events.


class Stream:
    """Makes the events of one answer, with their numbers."""

    def __init__(self, body: Json, response_id: str, mint: Callable[[str], str]) -> None:
        self._body, self._id, self._mint = body, response_id, mint
        self._number = 0
        self.output: list[Json] = []
        """The items so far."""

    def events(self, turn: Turn) -> Iterator[Event]:
        """The events of a complete answer."""
        yield self._event("response.created", response=self._response("in_progress"))
        yield self._event("response.in_progress", response=self._response("in_progress"))
        for block in turn.blocks:
            yield from self._item(block, turn)
        reason = INCOMPLETE.get(turn.stop_reason or "")
        name = "incomplete" if reason else "completed"
        response = self._response(name, reason, _usage(turn, self._body))
        yield self._event(f"response.{name}", response=response)

    def error(self, code: str, said: str) -> Event:
        """An error in the middle of the stream."""
        return self._event("error", code=code, message=said, param=None)

    def _event(self, name: str, **data: Any) -> Event:
        self._number += 1
        return Event(name, {"type": name, "sequence_number": self._number - 1, **data})

    def _response(self, status: str, reason: str | None = None, usage: Json | None = None) -> Json:
        return {
            "id": self._id,
            "object": "response",
            "created_at": 1_795_900_000,
            "status": status,
            "error": None,
            "incomplete_details": {"reason": reason} if reason else None,
            "model": self._body["model"],
            "output": list(self.output),
            "store": False,
            "usage": usage,
        }

    def _item(self, block: Block, turn: Turn) -> Iterator[Event]:
        begun, done, deltas = self._parts(block, turn)
        at = {"output_index": len(self.output)}
        yield self._event("response.output_item.added", **at, item=begun)
        for name, data in deltas:
            yield self._event(f"response.{name}", item_id=begun["id"], **at, **data)
        yield self._event("response.output_item.done", **at, item=done)
        self.output.append(done)

    def _parts(self, block: Block, turn: Turn) -> tuple[Json, Json, Iterator[tuple[str, Json]]]:
        """An item as it begins and as it ends, and the events in between."""
        status = "incomplete" if turn.stop_reason == "max_tokens" and block is turn.blocks[-1] else "completed"
        match block:
            case Text(text):
                kind = "refusal" if turn.stop_reason == "refusal" else "output_text"
                item = {"id": self._mint("msg"), "type": "message", "status": "in_progress", "role": "assistant"}
                content = [_content(kind, text)]
                return {**item, "content": []}, {**item, "status": status, "content": content}, _text(kind, text, turn)
            case Thinking(text):
                item = {"id": self._mint("rs"), "type": "reasoning", "summary": []}
                is_shown = bool((self._body.get("reasoning") or {}).get("summary"))
                sealed = (
                    {"encrypted_content": block.signature} if ENCRYPTED in (self._body.get("include") or []) else {}
                )
                begun = {**item, **({"encrypted_content": "unfinished"} if sealed else {})}
                summary = [{"type": "summary_text", "text": text}] if is_shown and text else []
                deltas = _thinking(text, turn) if summary else iter(())
                return begun, {**item, "summary": summary, **sealed}, deltas
            case Call() | BadJson():
                item = {"id": self._mint("fc"), "type": "function_call", "call_id": block.id, "name": block.name}
                begun = {**item, "status": "in_progress", "arguments": ""}
                arguments = written(block)
                return begun, {**item, "status": status, "arguments": arguments}, _arguments(arguments, turn)


def _content(kind: str, text: str) -> Json:
    if kind == "refusal":
        return {"type": "refusal", "refusal": text}
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _text(kind: str, text: str, turn: Turn) -> Iterator[tuple[str, Json]]:
    at = {"content_index": 0}
    more = {} if kind == "refusal" else {"logprobs": []}
    yield "content_part.added", {**at, "part": _content(kind, "")}
    for piece in pieces(text, turn.chunk):
        yield f"{kind}.delta", {**at, "delta": piece, **more}
    yield f"{kind}.done", {**at, "refusal" if kind == "refusal" else "text": text, **more}
    yield "content_part.done", {**at, "part": _content(kind, text)}


def _thinking(text: str, turn: Turn) -> Iterator[tuple[str, Json]]:
    at = {"summary_index": 0}
    yield "reasoning_summary_part.added", {**at, "part": {"type": "summary_text", "text": ""}}
    for piece in pieces(text, turn.chunk):
        yield "reasoning_summary_text.delta", {**at, "delta": piece}
    yield "reasoning_summary_text.done", {**at, "text": text}
    yield "reasoning_summary_part.done", {**at, "part": {"type": "summary_text", "text": text}}


def _arguments(arguments: str, turn: Turn) -> Iterator[tuple[str, Json]]:
    for piece in pieces(arguments, turn.chunk):
        yield "function_call_arguments.delta", {"delta": piece}
    yield "function_call_arguments.done", {"arguments": arguments}


def _usage(turn: Turn, body: Json) -> Json:
    prompt, answer = tokens_of(body), answer_tokens(turn)
    reasoning = sum(len(block.thinking) for block in turn.blocks if isinstance(block, Thinking)) // 4
    return {
        "input_tokens": prompt,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": answer,
        "output_tokens_details": {"reasoning_tokens": reasoning},
        "total_tokens": prompt + answer,
        **turn.usage,
    }
