"""The server of both APIs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from support.fake_api.turns import Answer, Event, HttpError, Step, Streamed, Turn, play, whole_turn
from support.scripted_server import Request, ScriptedServer

from . import chat, responses
from .schema import Json, refused

CHAT, RESPONSES = "/v1/chat/completions", "/v1/responses"


class FakeOpenAi(ScriptedServer):
    """Chat Completions and Responses. `base_url` is for clients.

    - `server`: a row of fixtures/servers.yaml.
    - `paths`: those that it has.
    - `models`: the answer to a request for `/v1/models`; None if it has no list.
    """

    call_prefix = "call"

    def __init__(
        self,
        turns: Iterable[Answer] = (),
        *,
        key: str = "test-key",
        require_key: bool = True,
        server: str = "openai",
        paths: tuple[str, ...] = (CHAT, RESPONSES),
        models: list[Json] | None = None,
    ) -> None:
        super().__init__(turns, key=key, require_key=require_key)
        self._chat = chat.servers()[server]
        self._paths, self._models = paths, models
        self._chat_sent, self._responses_sent = chat.Sent(), responses.Sent()

    @property
    def base_url(self) -> str:
        """The URL of the API."""
        return f"{self.url}/v1"

    def _check(self, request: Request, fault: str | None) -> HttpError | Json | None:
        if request.headers.get("authorization") != f"Bearer {self._key}" and self._key is not None:
            return self._denied(request.headers)
        if (request.method, request.path) == ("GET", "/v1/models") and self._models is not None:
            return {"object": "list", "data": self._models}
        if request.method != "POST" or request.path not in self._paths:
            said = f"Invalid URL ({request.method} {request.path})"
            return HttpError(404, "", said, body={"error": refused(said)})
        if fault is not None:
            said = "We could not parse the JSON body of your request."
            error: HttpError | None = HttpError(400, "", f"{said} ({fault})", body={"error": refused(said)})
        elif request.path == CHAT:
            error = chat.refusal(request.body, self._chat, self._chat_sent)
        else:
            error = responses.refusal(request.body, self._responses_sent)
        if error is not None:
            self._refuse(error.message)
        return error

    def _play(self, scripted: Streamed, request: Request) -> list[Step]:
        if not request.body.get("stream"):
            raise ValueError("only requests for a stream are answered")
        turn, body = whole_turn(scripted), request.body
        if request.path == CHAT:
            with self._changed:
                self._chat_sent.record(turn, self._chat)
            answer_id = self.mint("chatcmpl")
            return play(scripted, lambda turn: chat.events(turn, body, self._chat, answer_id), chat.error_event)
        stream = responses.Stream(body, self.mint("resp"), self.mint)
        steps = play(scripted, stream.events, stream.error)
        with self._changed:
            self._responses_sent.record(stream.output)
        return steps

    def error(self, error: HttpError, request_id: str) -> tuple[Any, Mapping[str, str]]:
        headers = {"x-request-id": request_id}
        if error.body is not None:
            return error.body, headers
        inner = {"message": error.message, "type": error.error_type, "param": None, "code": None}
        return chat.error_body(inner, self._chat), headers

    def mint(self, prefix: str) -> str:
        if prefix == "call" and len(self._chat.call_id) > len("^.*$"):
            return f"call{super().mint(prefix)[-5:].replace('_', '0')}"
        return super().mint(prefix)

    def frames(self, event: Event) -> list[bytes]:
        return event.encode() if event.name.startswith("response.") or "type" in event.data else chat.frames(event)

    def _denied(self, headers: Mapping[str, str]) -> HttpError:
        if "authorization" not in headers:
            said = "You didn't provide an API key. You need to provide your API key in an Authorization header."
            return HttpError(401, "", said, body={"error": refused(said)})
        said = "Incorrect API key provided: wr***ey. You can find your API key at https://platform.openai.com."
        return HttpError(401, "", said, body={"error": refused(said, None, "invalid_api_key")})


def event_names(turn: Turn, path: str) -> tuple[str, ...]:
    """The names of the events that `turn` sends at this path, in order: what `after` and `before` count."""
    body = {"model": "m", "stream_options": {"include_usage": True}, "reasoning": {"summary": "auto"}}
    if path == CHAT:
        steps = list(chat.events(turn, body, chat.servers()["openai"], "c"))
    else:
        steps = list(responses.Stream(body, "r", lambda prefix: prefix).events(turn))
    return tuple(step.name for step in steps)
