"""A language server for `*.x` that misbehaves: `python bad_server.py CASE`."""

import json
import os
import sys
import time
from typing import Any

HERE = {"uri": "file:///a.x", "range": {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 1}}}
ASKED = [
    ("workspace/applyEdit", {"edit": {"changes": {}}}),
    ("window/showMessageRequest", {"type": 1, "message": "Buy?", "actions": [{"title": "Yes"}]}),
    ("window/showDocument", {"uri": "https://example.org", "external": True}),
    ("workspace/configuration", {"items": [{"section": "bad.inner"}, {"section": "other"}, {}]}),
    ("client/registerCapability", {"registrations": [{"id": "1", "method": "textDocument/hover"}]}),
    ("client/registerCapability", {"registrations": [{"id": "x" * 300, "method": "textDocument/diagnostic"}]}),
    ("client/unregisterCapability", {"unregisterations": [{"id": "x" * 300, "method": "textDocument/diagnostic"}]}),
    ("client/unregisterCapability", {"unregisterations": 7}),
    ("window/workDoneProgress/create", {"token": 1}),
    ("workspace/workspaceFolders", None),
    ("no/such/method", {}),
]

read: list[str] = []
"""The files of the workspace that this server has read."""
UNANSWERED = {"never answers": "textDocument/references", "does not shut down": "shutdown"}


def raw(data: bytes) -> None:
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def send(message: dict[str, Any]) -> None:
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    raw(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))


def receive() -> dict[str, Any]:
    length = 0
    while line := sys.stdin.buffer.readline().strip():
        if line.lower().startswith(b"content-length:"):
            length = int(line.split(b":")[1])
    if not length:
        sys.exit("the input ended without `exit`")
    return json.loads(sys.stdin.buffer.read(length))


def at_start(case: str) -> None:
    if case == "crashes at start":
        print("bad.toml is broken", file=sys.stderr)
        sys.exit(3)
    if case == "never starts":
        time.sleep(600)
    if case == "writes text":
        raw(b"Welcome to bad 1.0\n")
    if case == "writes a line without an end":
        raw(b"x" * 1_000_000)
    if case == "writes a header without an end":
        raw(b"X-Header: 1\r\n" * 10_000)
    if case == "writes a length that is no number":
        raw(b"Content-Length: many\r\n\r\n")
    if case == "writes two lengths":
        raw(b"Content-Length: 2\r\nContent-Length: 4\r\n\r\n{}")
    if case == "announces 200 MB":
        raw(b"Content-Length: %d\r\n\r\n" % (200 << 20))
        time.sleep(600)
    if case == "writes a list":
        raw(b"Content-Length: 2\r\n\r\n[]")
    if case == "writes no JSON":
        raw(b"Content-Length: 5\r\n\r\n{nope")
    if case.startswith("nests too deeply"):
        depth = 100_000 if case.endswith("message") else 50_000
        raw(b"Content-Length: %d\r\n\r\n%b" % (depth, b"[" * depth))


def ask() -> list[Any]:
    """Sends all requests of `ASKED`. Returns the result of each, or the code of its error."""
    answers: list[Any] = []
    for number, (method, params) in enumerate(ASKED):
        send({"id": f"ask-{number}", "method": method, "params": params})
        answer = receive()
        while answer.get("id") != f"ask-{number}":
            answer = receive()
        answers.append(answer.get("result", answer.get("error", {}).get("code")))
    return answers


def read_workspace() -> None:
    """Reports the beginning and the end of a reading of the workspace, and counts one more file as read."""
    report_reading("begin")
    report_reading("end")
    read.append("a.x")


def answer_while_reading(case: str, number: Any) -> None:
    """Answers with nothing until this server has read the workspace. It begins at the first question."""
    is_new = not read
    if is_new:
        report_reading("begin")
    send({"id": number, "result": [HERE] if read else None})
    if is_new and case != "never finishes reading":
        report_reading("end")
        read.append("a.x")


def report_reading(kind: str) -> None:
    send({"method": "$/progress", "params": {"token": "scan", "value": {"kind": kind, "title": "Reading\n"}}})


def references(case: str) -> Any:
    if case == "crashes in the middle":
        print("panic: index out of range", file=sys.stderr)
        os._exit(2)
    if case == "answers 50,000 references":
        return [HERE] * 50_000
    if case == "sends requests":
        return ask()
    if case == "reads the workspace late":
        return [HERE] * len(read)
    if case == "counts lines":
        with open("lines.x") as file:
            return [HERE] * len(file.readlines())
    return [HERE]


def capabilities(case: str) -> dict[str, Any]:
    found: dict[str, Any] = {"textDocumentSync": 1, "referencesProvider": True, "definitionProvider": True}
    if case == "refuses TypeScript's requests":
        found["executeCommandProvider"] = {"commands": ["typescript.tsserverRequest"]}
    if case == "loads at the first question":
        found["diagnosticProvider"] = {"interFileDependencies": True, "workspaceDiagnostics": False}
    return found


def publish(case: str, document: dict[str, Any]) -> None:
    """Publishes a problem that names the document's version. One case publishes only for the second version."""
    if case == "checks the second version" and document["version"] != 2:
        return
    problem = {"range": HERE["range"], "message": f"wrong in version {document['version']}"}
    given = {"uri": document["uri"], "version": document["version"], "diagnostics": [problem]}
    send({"method": "textDocument/publishDiagnostics", "params": given})


def answer_while_loading(number: Any) -> None:
    """Answers as rust-analyzer does before it has loaded the workspace: without an error, but with nothing."""
    send({"method": "experimental/serverStatus", "params": {"health": "ok", "quiescent": False}})
    send({"id": number, "result": None})
    send({"method": "experimental/serverStatus", "params": {"health": "ok", "quiescent": True}})


def main(case: str) -> None:
    at_start(case)
    is_loaded = case != "loads at the first question"
    while True:
        message = receive()
        method, number = message.get("method"), message.get("id")
        if method == "initialize":
            send({"id": number, "result": {"capabilities": capabilities(case)}})
        elif method in ("textDocument/didOpen", "textDocument/didChange"):
            publish(case, message["params"]["textDocument"])
        elif not is_loaded and method in ("textDocument/diagnostic", "textDocument/references"):
            answer_while_loading(number)
            is_loaded = True
        elif method == "textDocument/diagnostic":
            send({"id": number, "result": {"items": [{"range": HERE["range"], "message": "wrong"}]}})
        elif method == "test/read":
            read_workspace()
        elif method == "workspace/executeCommand":
            send({"id": number, "error": {"code": -32602, "message": "no such command"}})
        elif method is not None and method == UNANSWERED.get(case):
            continue
        elif method == "$/cancelRequest":
            print(f"cancelled {message['params']['id']}", file=sys.stderr, flush=True)
        elif method == "textDocument/definition":
            answer_while_reading(case, number)
        elif method == "textDocument/references" and case == "refuses":
            send({"id": number, "error": {"code": -32803, "message": "still loading"}})
        elif method == "textDocument/references":
            send({"id": number, "result": references(case)})
        elif method == "shutdown" and "params" in message:  # as TypeScript 7 does
            send({"id": number, "error": {"code": -32602, "message": "expected no params, got null"}})
        elif method == "exit":
            sys.exit(0)
        elif number is not None and method is not None:
            send({"id": number, "result": None})


if __name__ == "__main__":
    main(sys.argv[1])
