"""Relays messages between VS Code and the server. Started in place of Python: `relay.py -m fairlead serve`.

Before it passes on the server's next edit, the relay writes the files that `before-edit.json` in the current folder
names, as if another program had changed them after the server's last check.

The relay also sends VS Code the request in `ask.json` as if it came from the server. `answer.json` gets the response.
"""

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import IO

BEFORE_EDIT = Path("before-edit.json")
ASK, ANSWER = Path("ask.json"), Path("answer.json")
OUR_ID = "relay"

sending = threading.Lock()


def main() -> int:
    server = subprocess.Popen([sys.executable, *sys.argv[1:]], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert server.stdin is not None
    assert server.stdout is not None
    threading.Thread(target=pass_on, args=(server.stdin,), daemon=True).start()
    threading.Thread(target=send_asked, daemon=True).start()
    while (body := read(server.stdout)) is not None:
        if b'"workspace/applyEdit"' in body and BEFORE_EDIT.exists():
            for path, text in json.loads(BEFORE_EDIT.read_text()).items():
                Path(path).write_text(text)
            BEFORE_EDIT.unlink()
        send(sys.stdout.buffer, body)
    return server.wait()


def pass_on(stdin: IO[bytes]) -> None:
    """Passes on everything from VS Code, except for the answer to our request."""
    while (body := read(sys.stdin.buffer)) is not None:
        message = json.loads(body)
        if message.get("id") != OUR_ID or "method" in message:
            send(stdin, body)
            continue
        ANSWER.with_suffix(".part").write_bytes(body)
        os.replace(ANSWER.with_suffix(".part"), ANSWER)
    stdin.close()


def send_asked() -> None:
    while True:
        if ASK.exists():
            body = json.dumps({"jsonrpc": "2.0", "id": OUR_ID, **json.loads(ASK.read_text())})
            ASK.unlink()
            send(sys.stdout.buffer, body.encode())
        time.sleep(0.02)


def read(stream: IO[bytes]) -> bytes | None:
    """The body of the next message, None at the end of the stream."""
    length = 0
    while line := stream.readline().strip():
        if line.lower().startswith(b"content-length"):
            length = int(line.split(b":")[1])
    return stream.read(length) if length else None


def send(stream: IO[bytes], body: bytes) -> None:
    with sending:
        stream.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        stream.flush()


sys.exit(main())
