"""Chat Completions: what its servers refuse, and their stream events."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from typing import Any

import yaml

from support.fake_api.turns import BadJson, Block, Call, Event, HttpError, Text, Thinking, Turn, call_json, pieces

from .common import answer_tokens, function_problems, image_problems, input_problem, tokens_of
from .schema import FIXTURES, Json, refused, shape_problems

STOPS = {"end_turn": "stop", "tool_use": "tool_calls", "max_tokens": "length", "refusal": "content_filter"}
"""The finish reasons for a turn's `stop_reason`."""
NO_SIGNATURE = "skip_thought_signature_validator"
"""What Gemini takes in place of a signature."""
DONE = Event("done", {})


@dataclass(frozen=True)
class Server:
    """How a server differs from OpenAI's (fixtures/servers.yaml)."""

    refuses: Mapping[str, str]
    status: int = 400
    reasoning: str = ""
    keeps_reasoning: bool = False
    signs_calls: bool = False
    call_id: str = "^.*$"
    closed_results: bool = False
    message_fields: tuple[str, ...] = ()
    list: bool = False


@cache
def servers() -> Mapping[str, Server]:
    """The servers by name."""
    rows = yaml.safe_load((FIXTURES / "servers.yaml").read_text(encoding="utf-8"))
    return {name: Server(**row) for name, row in rows.items()}


@dataclass
class Sent:
    """What a server has sent and must get back, by the id of the first call of its answer."""

    reasoning: dict[str, str] = field(default_factory=dict[str, str])
    signatures: dict[str, str] = field(default_factory=dict[str, str])

    def record(self, turn: Turn, server: Server) -> None:
        """Remembers an answer."""
        calls = [block.id or "" for block in turn.blocks if isinstance(block, Call | BadJson)]
        for call in calls[:1]:
            if server.reasoning:
                self.reasoning[call] = _reasoning(turn)
            if server.signs_calls:
                self.signatures[call] = f"signature of {call}"


def _reasoning(turn: Turn) -> str:
    return "".join(block.thinking for block in turn.blocks if isinstance(block, Thinking))


# Refusals.


def refusal(body: Json, server: Server, sent: Sent) -> HttpError | None:
    """The error for a request that breaks a rule; None if none is broken. Its message is the reason."""
    for name, said in server.refuses.items():
        if name in body:
            error = refused(said, name, "unsupported_parameter")
            return HttpError(server.status, "", said, body=error_body(error, server))
    problem = next(_problems(body, server, sent), None)
    if problem is None:
        return None
    return HttpError(400, "", problem["message"], body=error_body(problem, server))


def error_body(error: Json, server: Server) -> Any:
    """The body of an error."""
    return [{"error": error}] if server.list else {"error": error}


def _problems(body: Json, server: Server, sent: Sent) -> Iterator[Json]:
    known = _without(body, set(server.message_fields))
    yield from shape_problems("chat", known)
    if body.get("stream_options") and not body.get("stream"):
        yield refused("The 'stream_options' parameter is only allowed when 'stream' is enabled.", "stream_options")
    if "max_tokens" in body and "max_completion_tokens" in body:
        yield refused("Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.")
    if not body.get("tools") and "parallel_tool_calls" in body:
        yield refused("'parallel_tool_calls' is only allowed when 'tools' are specified.", "parallel_tool_calls")
    tools = body.get("tools", [])
    yield from function_problems([(f"tools[{at}].function", tool["function"]) for at, tool in enumerate(tools)])
    messages: list[Json] = body["messages"]
    yield from _call_problems(messages, server)
    yield from _order_problems(messages, server)
    yield from _kept_problems(messages, server, sent)
    for index, message in enumerate(messages):
        for at, part in enumerate(message["content"] if isinstance(message.get("content"), list) else []):
            if part["type"] == "image_url":
                where = f"messages[{index}].content[{at}].image_url.url"
                yield from image_problems(where, part["image_url"]["url"])


def _without(body: Json, names: set[str]) -> Json:
    """The body whose messages, and their calls, do not have these fields."""
    messages = body.get("messages")
    if not names or not isinstance(messages, list) or not all(isinstance(each, dict) for each in messages):
        return body
    kept: list[Json] = []
    for message in messages:
        rest = {name: value for name, value in message.items() if name not in names}
        if isinstance(rest.get("tool_calls"), list):
            calls = rest["tool_calls"]
            rest["tool_calls"] = [{name: call[name] for name in call if name not in names} for call in calls]
        kept.append(rest)
    return {**body, "messages": kept}


def _order_problems(messages: list[Json], server: Server) -> Iterator[Json]:
    """OpenAI has few rules of order; these are those of the chat templates of open models."""
    roles = ["system" if message["role"] == "developer" else message["role"] for message in messages]
    if "system" in roles[1:]:
        yield refused("System message must be at the beginning.", "messages")
    if "user" not in roles:
        yield refused("No user query found in messages.", "messages")
    for before, role in pairwise(roles):
        if before == role and role != "tool":
            yield refused("Conversation roles must alternate user/assistant/user/assistant/...", "messages")
        if server.closed_results and (before, role) == ("tool", "user"):
            yield refused("Unexpected role 'user' after role 'tool'", "messages")
    if roles[-1] == "assistant":
        yield refused("Expected last role User or Tool for serving but got assistant", "messages")


def _call_problems(messages: list[Json], server: Server) -> Iterator[Json]:
    open_calls: list[str] = []
    names: dict[str, str] = {}
    for index, message in enumerate(messages):
        where = f"messages[{index}]"
        if message["role"] == "tool":
            if message["tool_call_id"] not in open_calls:
                said = "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."
                yield refused(f"Invalid parameter: {said}", f"{where}.role")
                continue
            open_calls.remove(message["tool_call_id"])
            if "name" in message and message["name"] != names[message["tool_call_id"]]:
                yield refused(f"'{where}.name' is not the name of the call.", f"{where}.name")
            continue
        if open_calls:
            break
        if message["role"] == "assistant":
            calls = message.get("tool_calls", [])
            names = {call["id"]: call["function"]["name"] for call in calls}
            open_calls = [call["id"] for call in calls]
            if not calls and message.get("content") is None:
                said = f"Invalid value for 'content': expected a string, got null. ({where})"
                yield refused(said, f"{where}.content")
            if len(set(open_calls)) < len(open_calls):
                yield refused("Duplicate value for 'tool_call_id'.", f"{where}.tool_calls")
            for at, call in enumerate(calls):
                param = f"{where}.tool_calls[{at}]"
                if not re.fullmatch(server.call_id, call["id"]):
                    said = f"Tool call id was {call['id']} but must be a-z, A-Z, 0-9, with a length of 9."
                    yield refused(said, f"{param}.id")
                if problem := input_problem(call["function"]["arguments"]):
                    said = f"Failed to parse tool call arguments as JSON: {problem}"
                    yield refused(said, f"{param}.function.arguments")
    if open_calls:
        yield refused(f"{_UNANSWERED} did not have response messages: {', '.join(open_calls)}", "messages")


_UNANSWERED = (
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "
    "The following tool_call_ids"
)


def _kept_problems(messages: list[Json], server: Server, sent: Sent) -> Iterator[Json]:
    """What the server sent with a call and must get back."""
    for message in messages:
        calls = message.get("tool_calls", [])
        if not calls:
            continue
        first = calls[0]["id"]
        given = message.get(server.reasoning) if server.reasoning else None
        if server.keeps_reasoning and (given is None or given != sent.reasoning.get(first, given)):
            yield refused("The `reasoning_content` in the thinking mode must be passed back to the API.")
        signature = calls[0].get("extra_content", {}).get("google", {}).get("thought_signature")
        if server.signs_calls and signature not in (sent.signatures.get(first, NO_SIGNATURE), NO_SIGNATURE):
            name = calls[0]["function"]["name"]
            yield refused(f"Function call is missing a thought_signature in functionCall parts: function call {name}")


# Events.


def events(turn: Turn, body: Json, server: Server, answer_id: str) -> Iterator[Event]:
    """The events of a complete answer."""
    counted = bool((body.get("stream_options") or {}).get("include_usage"))
    rest: Json = {"usage": None} if counted else {}

    def chunk(name: str, delta: Json, finish_reason: str | None = None) -> Event:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
        return Event(name, {**_head(body, answer_id), "choices": [choice], **rest})

    yield chunk("role", {"role": "assistant", "content": "", "refusal": None})
    number = 0
    for block in turn.blocks:
        for name, delta in _deltas(block, number, turn.chunk, server):
            yield chunk(name, delta)
        number += isinstance(block, Call | BadJson)
    if server.signs_calls:
        yield from (chunk("tool_calls", delta) for delta in _signatures(turn))
    calls = any(isinstance(block, Call | BadJson) for block in turn.blocks)
    stop = turn.stop_reason or ("tool_use" if calls else "end_turn")
    yield chunk("finish", {}, STOPS.get(stop, stop))
    if counted:
        yield Event("usage", {**_head(body, answer_id), "choices": [], "usage": _usage(turn, body)})
    yield DONE


def _head(body: Json, answer_id: str) -> Json:
    return {
        "id": answer_id,
        "object": "chat.completion.chunk",
        "created": 1_795_900_000,
        "model": body["model"],
        "service_tier": "default",
        "system_fingerprint": None,
    }


def _usage(turn: Turn, body: Json) -> Json:
    prompt, answer = tokens_of(body), answer_tokens(turn)
    reasoning = len(_reasoning(turn)) // 4
    return {
        "prompt_tokens": prompt,
        "completion_tokens": answer,
        "total_tokens": prompt + answer,
        "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": reasoning, "audio_tokens": 0},
        **turn.usage,
    }


def _deltas(block: Block, index: int, size: int | None, server: Server) -> Iterator[tuple[str, Json]]:
    match block:
        case Text(text):
            yield from (("content", {"content": part}) for part in pieces(text, size))
        case Thinking(text):
            if server.reasoning:
                yield from (("reasoning", {server.reasoning: part}) for part in pieces(text, size))
        case Call() | BadJson():
            written = call_json(block.input) if isinstance(block, Call) else block.json
            function = {"name": block.name, "arguments": ""}
            yield "tool_calls", _call({"index": index, "id": block.id, "type": "function", "function": function})
            for part in pieces(written, size):
                yield "tool_calls", _call({"index": index, "function": {"arguments": part}})


def _call(call: Json) -> Json:
    return {"tool_calls": [call]}


def _signatures(turn: Turn) -> Iterator[Json]:
    """Gemini's signature of the first call, which arrives after it."""
    calls = [block for block in turn.blocks if isinstance(block, Call | BadJson)]
    for call in calls[:1]:
        signature = {"google": {"thought_signature": f"signature of {call.id}"}}
        function = {"name": call.name, "arguments": ""}
        yield _call({"id": call.id, "type": "function", "function": function, "extra_content": signature})


def frames(event: Event) -> list[bytes]:
    """The bytes of an event, without a line for its name."""
    if event is DONE:
        return [b"data: [DONE]\n\n"]
    name = f"event: {event.name}\n".encode()
    first, *others = event.encode()
    return [first.removeprefix(name), *others]


def error_event(kind: str, said: str) -> Event:
    """An error in the middle of a stream."""
    return Event("error", {"error": {"message": said, "type": kind, "param": None, "code": None}})
