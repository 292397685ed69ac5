"""The server of the fake Messages API."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from support.scripted_server import Request, ScriptedServer

from .ask import Ask, Handed, Json
from .cache import PromptCache
from .edits import edited
from .rules import refusal, rules
from .turns import Answer, Envelope, HttpError, Step, Streamed, Turn, content, message, steps
from .window import FakeWindow, tokens_of

HIDES_THINKING = ("claude-sonnet-5-5",)
"""Models whose default for `thinking.display` is "omitted"."""


class FakeApi(ScriptedServer):
    """The Messages API.

    - `key`: accepted as a bearer token or as x-api-key.
    - `plain`: speaks the Messages API without caching, thinking, output_config, eager_input_streaming and
      system messages in mid-conversation, as some local servers do.
    - `alternate`: refuses two messages with the same role in a row, as some local servers do.
    - `binds_thinking`: refuses thinking if anything before it has changed, as for accounts created since August 2026.
    - `caching`: reports usage as if prompts were cached (see `PromptCache`); otherwise nothing is ever cached.
    - `window`: refuses requests that are longer, and counts usage in its tokens. A refused request takes no turn.
    """

    def __init__(
        self,
        turns: Iterable[Answer] = (),
        *,
        key: str = "test-key",
        require_key: bool = True,
        plain: bool = False,
        alternate: bool = False,
        binds_thinking: bool = False,
        caching: bool = False,
        window: FakeWindow | None = None,
    ) -> None:
        super().__init__(turns, key=key, require_key=require_key)
        self.window = window
        self._plain = plain
        self._rules = rules(plain=plain, alternate=alternate, binds_thinking=binds_thinking)
        self._cache = PromptCache(enabled=caching)
        self._handed = Handed()

    def _check(self, request: Request, fault: str | None) -> HttpError | None:
        if (request.method, request.path) != ("POST", "/v1/messages"):
            return HttpError(404, "not_found_error", "Not found")
        if denied := self._denied(request.headers):
            return HttpError(401, "authentication_error", denied)
        reason = fault or refusal(Ask(request.headers, request.body, self._handed), self._rules)
        if reason is not None:
            return self._refuse(reason)
        return self.window.refusal(request.body) if self.window is not None else None

    def _play(self, scripted: Streamed, request: Request) -> Json | list[Step]:
        body, edits = edited(request.body)
        with self._changed:
            usage = self._cache.usage(body)
        if self._plain:
            usage = {"input_tokens": usage["input_tokens"]}
        if self.window is not None:
            usage = {"input_tokens": tokens_of(body)}
        envelope = Envelope(self.mint("msg"), body["model"], usage, _shows_thinking(body), edits)
        if body.get("stream"):
            answer = steps(scripted, envelope)
        elif isinstance(scripted, Turn):
            answer = message(scripted, envelope)
        else:
            raise ValueError(f"{type(scripted).__name__} answers only a request that is streamed")
        with self._changed:
            self._handed.record(content(scripted, envelope), request.body)
        return answer

    def error(self, error: HttpError, request_id: str) -> tuple[Any, Mapping[str, str]]:
        if error.body is not None:
            return error.body, {}
        inner = {"type": error.error_type, "message": error.message}
        return {"type": "error", "error": inner, "request_id": request_id}, {"request-id": request_id}

    def _as_read(self, body: Json) -> Json:
        return edited(body)[0]

    def _denied(self, headers: Mapping[str, str]) -> str | None:
        if self._key is None:
            return None
        bearer, own = headers.get("authorization"), headers.get("x-api-key")
        if bearer is None and own is None:
            return "x-api-key header is required"
        if bearer not in (None, f"Bearer {self._key}"):
            return "Invalid bearer token"
        return None if own in (None, self._key) else "invalid x-api-key"


def _shows_thinking(body: Json) -> bool:
    display = body.get("thinking", {}).get("display")
    return display == "summarized" or (display is None and not body["model"].startswith(HIDES_THINKING))
