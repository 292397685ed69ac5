"""A very fast model's server in a separate process. It measures the gap between an answer and the next request.

Run as `python model_server.py ROUNDS TOOL API`; prints its port. At the end of its input, it prints JSON: when the
first request had arrived, and the gaps before the other requests, in seconds.
"""

import json
import socket
import subprocess
import sys
import threading
import time
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

Tool = Literal["read_file", "edit_file"]
Api = Literal["messages", "chat"]
OLD, NEW = "before\n", "after\n"
"""The first line of a file that `edit_file` edits, and the line that it becomes."""


def start_model_server(
    rounds: int, tool: Tool = "read_file", api: Api = "messages"
) -> tuple[subprocess.Popen[str], str]:
    """Starts the server; returns it and its address."""
    command = [sys.executable, __file__, str(rounds), tool, api]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, f"http://127.0.0.1:{process.stdout.readline().strip()}"


def gaps_of(process: subprocess.Popen[str]) -> list[float]:
    """Ends the server; returns the gaps in ms."""
    return seen_by(process)[1]


def seen_by(process: subprocess.Popen[str]) -> tuple[float, list[float]]:
    """Ends the server; returns when the first request had arrived, in seconds since the epoch, and the gaps in ms."""
    out, _ = process.communicate("")
    seen = json.loads(out)
    return seen["first"], [gap * 1000 for gap in seen["gaps"]]


def events(*blocks: dict[str, Any], stop_reason: str) -> bytes:
    usage = {"input_tokens": 1, "output_tokens": 1}
    message = {"id": "m", "type": "message", "role": "assistant", "model": "x", "content": [], "usage": usage}
    sent: list[dict[str, Any]] = [{"type": "message_start", "message": message}]
    for index, block in enumerate(blocks):
        start = {**block, "input": {}} if block["type"] == "tool_use" else {**block, "text": ""}
        delta = (
            {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
            if block["type"] == "tool_use"
            else {"type": "text_delta", "text": block["text"]}
        )
        sent.append({"type": "content_block_start", "index": index, "content_block": start})
        sent.append({"type": "content_block_delta", "index": index, "delta": delta})
        sent.append({"type": "content_block_stop", "index": index})
    sent.append({"type": "message_delta", "delta": {"stop_reason": stop_reason}, "usage": {"output_tokens": 1}})
    sent.append({"type": "message_stop"})
    return b"".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in sent)


def chunks(*deltas: dict[str, Any], finish_reason: str) -> bytes:
    """An answer of Chat Completions."""
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    head = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "x"}
    choices = [[{"index": 0, "delta": delta, "finish_reason": None}] for delta in deltas]
    choices.append([{"index": 0, "delta": {}, "finish_reason": finish_reason}])
    sent = [json.dumps({**head, "choices": choice}) for choice in choices]
    sent += [json.dumps({**head, "choices": [], "usage": usage}), "[DONE]"]
    return b"".join(f"data: {data}\n\n".encode() for data in sent)


def input_of(tool: Tool, number: int) -> dict[str, str]:
    """The input of a call: reads one of two files, or edits a different file in each round."""
    if tool == "read_file":
        return {"path": f"f{number % 2}.txt"}
    return {"path": f"f{number}.txt", "old_text": OLD + "A", "new_text": NEW + "A"}


def answer(number: int, rounds: int, tool: Tool, api: Api) -> bytes:
    """The answer number `number`, counted from 0: a text and a call, or the final text after `rounds` such answers."""
    if api == "chat":
        function = {"name": tool, "arguments": json.dumps(input_of(tool, number))}
        call = {"index": 0, "id": f"call_{number}", "type": "function", "function": function}
        body = (
            chunks({"content": f"Round {number}."}, {"tool_calls": [call]}, finish_reason="tool_calls")
            if number < rounds
            else chunks({"content": "Done."}, finish_reason="stop")
        )
    elif number < rounds:
        call = {"type": "tool_use", "id": f"toolu_{number}", "name": tool, "input": input_of(tool, number)}
        body = events({"type": "text", "text": f"Round {number}."}, call, stop_reason="tool_use")
    else:
        body = events({"type": "text", "text": "Done."}, stop_reason="end_turn")
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    return head + b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)


@dataclass
class Seen:
    """What the server measured."""

    first: float = 0.0
    gaps: list[float] = field(default_factory=list[float])


def serve(connection: socket.socket, rounds: int, tool: Tool, api: Api, seen: Seen) -> None:
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    data, sent_at, number = b"", 0.0, 0
    while True:
        while b"\r\n\r\n" not in data:
            more = connection.recv(1 << 20)
            if not more:
                return
            data += more
        head, data = data.split(b"\r\n\r\n", 1)
        if head.startswith(b"HEAD "):
            connection.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
            continue
        length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
        while len(data) < length:
            data += connection.recv(1 << 20)
        if sent_at:
            seen.gaps.append(time.perf_counter() - sent_at)
        seen.first = seen.first or time.time()
        data = data[length:]
        connection.sendall(answer(number, rounds, tool, api))
        sent_at = time.perf_counter()
        number += 1


def main() -> None:
    rounds, seen = int(sys.argv[1]), Seen()
    tool: Tool = "edit_file" if sys.argv[2] == "edit_file" else "read_file"
    api: Api = "chat" if sys.argv[3] == "chat" else "messages"
    listener = socket.create_server(("127.0.0.1", 0))
    sys.stdout.write(f"{listener.getsockname()[1]}\n")
    sys.stdout.flush()

    def accept() -> None:
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=serve, args=(connection, rounds, tool, api, seen), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    sys.stdin.read()
    sys.stdout.write(json.dumps(asdict(seen)))


if __name__ == "__main__":
    main()
