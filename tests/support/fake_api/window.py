"""A context window for the fake Messages API: requests that do not fit are refused in the words of a real server.

The texts of the refusals are in fixtures/refusals.yaml, with their sources.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Any

import yaml

from .ask import Json, weighed
from .turns import HttpError

CHARS_PER_TOKEN = 3.3
REFUSALS: dict[str, dict[str, Any]] = yaml.safe_load(
    (Path(__file__).parent / "fixtures" / "refusals.yaml").read_text(encoding="utf-8")
)


@dataclass(frozen=True)
class FakeWindow:
    """A context window of `tokens` tokens. `server` is a key of REFUSALS: the server whose refusal is sent."""

    tokens: int
    server: str = "llama.cpp"

    def refusal(self, body: Json) -> HttpError | None:
        row, request, answer = REFUSALS[self.server], tokens_of(body), body["max_tokens"]
        if (request + answer if row["counts"] == "both" else request) <= self.tokens:
            return None
        sizes = {"request": request, "answer": answer, "total": request + answer, "window": self.tokens}
        said = json.loads(Template(row["body"]).substitute(sizes))
        return HttpError(row["status"], "", "", body=said)


def tokens_of(body: Json) -> int:
    """A request's tokens, without those of the answer."""
    messages = [
        {**message, "content": [weighed(block) for block in message["content"]]}
        if isinstance(message["content"], list)
        else message
        for message in body["messages"]
    ]
    parts = [body.get("system"), body.get("tools"), messages]
    return round(len(json.dumps(parts, ensure_ascii=False)) / CHARS_PER_TOKEN)
