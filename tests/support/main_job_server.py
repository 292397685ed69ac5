"""`python tests/support/main_job_server.py API KEY`: a model's server with one API, as strict as the real one.

It plays the main job: a plan, an edit, and the ticks. Its first answer is for the small request that tests a model.
Prints its address, and ends when its input does. The exit code is 1 if it refused a request.
"""

import sys
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1]))

from support.fake_api import Call, FakeApi, Text, Turn
from support.fake_openai import FakeOpenAi
from support.fake_openai.server import CHAT, RESPONSES


def _plan(first: str, second: str) -> Call:
    items: list[dict[str, Any]] = [
        {"content": "Correct the greeting", "status": first},
        {"content": "Say what changed", "status": second},
    ]
    return Call("todo", {"items": items})


TURNS = [
    Turn((Text("OK"),)),
    Turn((Text("I read it first."), _plan("in_progress", "pending"), Call("read_file", {"path": "hello.py"}))),
    Turn((Call("edit_file", {"path": "hello.py", "old_text": "helo", "new_text": "hello"}),)),
    Turn((_plan("completed", "completed"),)),
    Turn((Text("The greeting is right now."),)),
]


def main() -> int:
    api, key = sys.argv[1:]
    path = {"chat": CHAT, "responses": RESPONSES}.get(api)
    models = [{"id": "gpt-6.1-sol"}]
    # OpenAI's Chat Completions refuses `max_tokens`, which Fairlead sends to an address that is not OpenAI's own
    server = (
        FakeOpenAi(TURNS, key=key, server="vllm", paths=(path,), models=models) if path else FakeApi(TURNS, key=key)
    )
    with server:
        print(server.url, flush=True)
        sys.stdin.read()
    for refusal in server.refusals:
        print(refusal, file=sys.stderr)
    return 1 if server.refusals else 0


if __name__ == "__main__":
    sys.exit(main())
