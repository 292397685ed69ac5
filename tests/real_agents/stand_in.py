"""A stand-in for the APIs that agents speak: Messages, Responses, Chat Completions and Gemini's.

It answers each request with the next call of a script, and at the end with a text. As a program, it takes the paths of
the script and of a file for the requests that it gets, prints its address, and ends with its standard input.
"""

import gzip
import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, Self

Json = dict[str, Any]
Step = tuple[str, Json]
"""The name of a tool and its input."""
Work = Sequence[Step | str]
"""The calls for one prompt, and the text at its end, if it matters."""


@dataclass(frozen=True)
class Asked:
    """What a request asks."""

    api: str
    prompts: Sequence[str]
    """The texts of the user, the oldest first."""
    results: Sequence[str]
    """What the calls since the last prompt returned, as JSON."""
    tools: Sequence[str]
    key: str
    body: Json = field(repr=False)


class StandIn:
    """Serves the APIs on this machine: `with StandIn(work) as api`.

    Args:
        work: by a word that the prompt contains.
    """

    def __init__(self, work: Mapping[str, Work]) -> None:
        self.work, self.asked = work, list[Asked]()
        self.on_asked: Callable[[Asked], None] = lambda _: None
        stand_in = self

        class Handler(_Handler):
            api = stand_in

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def next_step(self, asked: Asked) -> Step | str:
        """The next call, or the text at the end."""
        self.asked.append(asked)
        self.on_asked(asked)
        if not asked.tools or not asked.prompts:
            return "ok"
        word = next(word for word in self.work if word in asked.prompts[-1])
        steps, done = self.work[word], len(asked.results)
        if done == len(steps):
            return f"Done: {word}."
        if isinstance(step := steps[done], str):
            return step
        name, given = step
        return (name, given) if name in asked.tools else f"There is no tool {name} among {', '.join(asked.tools)}."


def _texts(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", "") for part in content or () if isinstance(part, dict))


def _read(path: str, body: Json, key: str, words: Iterable[str]) -> Asked | None:
    """What a request to a path asks; None if it is for no model.

    Args:
        words: those that prompts contain. What else the user says, the agent has added.
    """
    prompts: list[str] = []
    results: list[str] = []

    def note(text: str) -> None:
        if any(word in text for word in words) and not text.lstrip().startswith("<system-reminder>"):
            prompts.append(text)
            results.clear()

    if path.endswith("/messages"):
        for message in body["messages"]:
            content = message["content"]
            parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
            found = [json.dumps(part) for part in parts if part["type"] == "tool_result"]
            results += found
            if message["role"] == "user" and not found:
                for part in parts:
                    note(part.get("text", ""))
        return Asked("messages", prompts, results, [tool["name"] for tool in body.get("tools") or ()], key, body)
    if path.endswith("/responses"):
        given = body.get("input")
        for item in [{"role": "user", "content": given}] if isinstance(given, str) else given or ():
            if str(item.get("type", "")).endswith("call_output"):
                results.append(json.dumps(item))
            if item.get("role") == "user":
                note(_texts(item["content"]))
        return Asked("responses", prompts, results, [*_named(body.get("tools") or ())], key, body)
    if path.endswith("/chat/completions"):
        for message in body["messages"]:
            if message["role"] == "tool":
                results.append(json.dumps(message))
            if message["role"] == "user":
                note(_texts(message["content"]))
        return Asked(
            "chat", prompts, results, [tool["function"]["name"] for tool in body.get("tools") or ()], key, body
        )
    if "enerateContent" in path:
        for message in body.get("contents", ()):
            found = [json.dumps(part) for part in message.get("parts", ()) if "functionResponse" in part]
            results += found
            if message.get("role") == "user" and not found:
                note(_texts(message.get("parts")))
        declared = [tool for group in body.get("tools") or () for tool in group.get("functionDeclarations", ())]
        return Asked("gemini", prompts, results, [tool["name"] for tool in declared], key, body)
    return None


def _named(tools: Any) -> Any:
    for tool in tools:
        if tool.get("type") == "namespace":
            yield from _named(tool.get("tools", ()))
        else:
            yield tool.get("name") or tool.get("type")


def _namespace(body: Json, name: str) -> Json:
    """The namespace of a tool, as a field of its call, if it is in one."""
    for group in body.get("tools") or ():
        if group.get("type") == "namespace" and name in _named(group.get("tools", ())):
            return {"namespace": group["name"]}
    return {}


def _custom(body: Json) -> set[str]:
    return {tool["name"] for tool in body.get("tools") or () if tool.get("type") == "custom"}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    api: StandIn

    def log_message(self, format: str, *args: Any) -> None:
        """Says nothing."""

    def do_GET(self) -> None:
        models = [{"id": "stand-in", "object": "model", "type": "model", "display_name": "Stand-in"}]
        self._json({"object": "list", "data": models, "models": []} if "/models" in self.path else {}, 200)

    def do_HEAD(self) -> None:
        self._json({}, 200)

    def do_POST(self) -> None:
        data = self._body()
        path = self.path.partition("?")[0]
        body: Json = json.loads(data or b"{}")
        if path.endswith(("count_tokens", ":countTokens")):
            self._json({"input_tokens": len(data) // 4, "totalTokens": len(data) // 4}, 200)
            return
        bearer = self.headers.get("authorization", "").removeprefix("Bearer ")
        key = self.headers.get("x-api-key") or self.headers.get("x-goog-api-key") or bearer
        asked = _read(path, body, key, self.api.work)
        if asked is None:
            self._json({}, 200)
            return
        step = self.api.next_step(asked)
        number = len(self.api.asked)
        getattr(self, f"_{asked.api}")(body, step, f"{number:04}", is_stream=body.get("stream") or "stream" in path)

    def _body(self) -> bytes:
        if "chunked" in self.headers.get("transfer-encoding", ""):
            data = b""
            while size := int(self.rfile.readline().split(b";")[0], 16):
                data += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            data = self.rfile.read(int(self.headers.get("content-length", 0)))
        return gzip.decompress(data) if self.headers.get("content-encoding") == "gzip" else data

    def _json(self, value: Any, status: int) -> None:
        self._send(json.dumps(value).encode(), "application/json", status)

    def _events(self, events: Sequence[Json | str], *, are_named: bool = True) -> None:
        lines = ""
        for event in events:
            if are_named and not isinstance(event, str):
                lines += f"event: {event['type']}\n"
            lines += f"data: {event if isinstance(event, str) else json.dumps(event)}\n\n"
        self._send(lines.encode(), "text/event-stream", 200)

    def _send(self, data: bytes, kind: str, status: int) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def _messages(self, body: Json, step: Step | str, number: str, *, is_stream: bool) -> None:
        is_text = isinstance(step, str)
        usage = {"input_tokens": 100, "output_tokens": 5}
        message: Json = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": body.get("model")}
        message |= {"content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}
        block: Json = {"type": "text", "text": step} if is_text else {"type": "tool_use", "id": f"toolu_{number}"}
        if not is_text:
            block |= {"name": step[0], "input": step[1]}
        stop = "end_turn" if is_text else "tool_use"
        if not is_stream:
            self._json({**message, "content": [block], "stop_reason": stop}, 200)
            return
        delta: Json = {"type": "text_delta", "text": step} if is_text else {"type": "input_json_delta"}
        if not is_text:
            delta["partial_json"] = json.dumps(step[1])
        empty = {**block, "text": ""} if is_text else {**block, "input": {}}
        self._events(
            [
                {"type": "message_start", "message": message},
                {"type": "content_block_start", "index": 0, "content_block": empty},
                {"type": "content_block_delta", "index": 0, "delta": delta},
                {"type": "content_block_stop", "index": 0},
                {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": usage},
                {"type": "message_stop"},
            ]
        )

    def _responses(self, body: Json, step: Step | str, number: str, *, is_stream: bool) -> None:
        item: Json = {"id": f"item_{number}", "status": "completed"}
        if isinstance(step, str):
            content = [{"type": "output_text", "text": step, "annotations": []}]
            item |= {"type": "message", "role": "assistant", "content": content}
        elif step[0] in _custom(body):
            item |= {
                "type": "custom_tool_call",
                "call_id": f"call_{number}",
                "name": step[0],
                "input": step[1]["input"],
            }
        else:
            given = {"name": step[0], "arguments": json.dumps(step[1])}
            item |= {"type": "function_call", "call_id": f"call_{number}", **given, **_namespace(body, step[0])}
        usage: Json = {"input_tokens": 100, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 5}
        usage |= {"output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 105}
        response: Json = {"id": f"resp_{number}", "object": "response", "created_at": 1, "model": body.get("model")}
        response |= {"status": "completed", "output": [item], "usage": usage}
        if not is_stream:
            self._json(response, 200)
            return
        begun = {**response, "status": "in_progress", "output": []}
        where: Json = {"output_index": 0}
        self._events(
            [
                {"type": "response.created", "response": begun},
                {"type": "response.output_item.added", **where, "item": item},
                {"type": "response.output_item.done", **where, "item": item},
                {"type": "response.completed", "response": response},
            ]
        )

    def _chat(self, body: Json, step: Step | str, number: str, *, is_stream: bool) -> None:
        is_text = isinstance(step, str)
        message: Json = {"role": "assistant", "content": step if is_text else None}
        if not is_text:
            function = {"name": step[0], "arguments": json.dumps(step[1])}
            message["tool_calls"] = [{"index": 0, "id": f"call_{number}", "type": "function", "function": function}]
        usage = {"prompt_tokens": 100, "completion_tokens": 5, "total_tokens": 105}
        reason = "stop" if is_text else "tool_calls"
        base: Json = {"id": f"chat_{number}", "created": 1, "model": body.get("model")}
        if not is_stream:
            choice = {"index": 0, "message": message, "finish_reason": reason}
            self._json({**base, "object": "chat.completion", "choices": [choice], "usage": usage}, 200)
            return
        chunk = {**base, "object": "chat.completion.chunk"}
        self._events(
            [
                {**chunk, "choices": [{"index": 0, "delta": message, "finish_reason": None}]},
                {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]},
                {**chunk, "choices": [], "usage": usage},
                "[DONE]",
            ],
            are_named=False,
        )

    def _gemini(self, body: Json, step: Step | str, number: str, *, is_stream: bool) -> None:
        part: Json = {"text": step} if isinstance(step, str) else {"functionCall": {"name": step[0], "args": step[1]}}
        if (body.get("generationConfig") or {}).get("responseMimeType") == "application/json":
            # which model answers, and who speaks next
            part = {"text": json.dumps({"reasoning": "x", "next_speaker": "user", "model_choice": "flash"})}
        used = {"promptTokenCount": 100, "candidatesTokenCount": 5, "totalTokenCount": 105}
        candidate = {"index": 0, "content": {"role": "model", "parts": [part]}, "finishReason": "STOP"}
        answer = {"candidates": [candidate], "usageMetadata": used, "responseId": number}
        if is_stream:
            self._events([answer], are_named=False)
        else:
            self._json(answer, 200)


def main(script: Path, requests: Path) -> None:
    """Serves a script in JSON, and writes the body of each request to a model as a line of JSON."""
    with StandIn(json.loads(script.read_text())) as api, requests.open("w") as file:
        api.on_asked = lambda asked: print(json.dumps(asked.body), file=file, flush=True)
        print(api.url, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
