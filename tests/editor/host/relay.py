"""Stands between VS Code and the server, started in the place of its Python: `relay.py -m fairlead serve`.

Before the server's next edit reaches VS Code, it writes the files that `before-edit.json` in the current folder names,
as another program does that comes between the server's last look and the editor's work.
"""

import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO

ORDER = Path("before-edit.json")


def main() -> int:
    server = subprocess.Popen([sys.executable, *sys.argv[1:]], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert server.stdin is not None
    assert server.stdout is not None
    threading.Thread(target=pass_on, args=(server.stdin,), daemon=True).start()
    out = sys.stdout.buffer
    while header := server.stdout.readline():
        length = int(header.split(b":")[1]) if header.lower().startswith(b"content-length") else 0
        while (line := server.stdout.readline()).strip():
            header += line
        body = server.stdout.read(length)
        if b'"workspace/applyEdit"' in body and ORDER.exists():
            for path, text in json.loads(ORDER.read_text()).items():
                Path(path).write_text(text)
            ORDER.unlink()
        out.write(header + b"\r\n" + body)
        out.flush()
    return server.wait()


def pass_on(stdin: IO[bytes]) -> None:
    while data := os.read(0, 65536):
        stdin.write(data)
        stdin.flush()
    stdin.close()


sys.exit(main())
