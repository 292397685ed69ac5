"""Which API a model's server has."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest

from fairlead.agent.errors import ModelError
from fairlead.agent.model import Reply
from fairlead.models.common.endpoint import Endpoint
from fairlead.models.factory import ModelChoice, open_model
from fairlead.models.finding import FoundModel, find_api
from models.asking import asked, no_pause
from support.fake_api import FakeApi, Text, Turn
from support.fake_openai import FakeOpenAi

Answers = dict[str, tuple[int, Any]]
MESSAGES, CHAT, RESPONSES = "/v1/messages", "/v1/chat/completions", "/v1/responses"
NEEDS_MODEL = (400, {"error": {"message": "model is required"}})
NO_KEY = (401, {"error": {"message": "no key"}})
LM_STUDIO = (200, {"error": "Unexpected endpoint or method. (POST /v1/messages)"})
NO_MODEL = (404, {"error": {"message": "The model `` does not exist."}})
LOADING = (503, {"error": {"message": "Loading model"}})


@contextmanager
def server(answers: Answers) -> Iterator[str]:
    """A server that answers each path so, and others with 404."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            status, body = answers.get(self.path, (404, {"detail": "Not Found"}))
            if len(self.headers.get_all("authorization", [])) != 1:
                status, body = 400, {"detail": "Bad Request"}
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:
            """Writes nothing."""

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=listening.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listening.server_address[1]}"
    finally:
        listening.shutdown()
        listening.server_close()


def endpoint(url: str, key: str | None = None) -> Endpoint:
    return Endpoint("some-model", 100, None, url, key, None, api=None)


FOUND: dict[str, tuple[Answers, str | None, str]] = {
    "only Messages": ({MESSAGES: NEEDS_MODEL}, None, "messages"),
    "only Chat Completions": ({CHAT: NEEDS_MODEL}, None, "chat"),
    "only Responses": ({RESPONSES: NEEDS_MODEL}, None, "responses"),
    "Messages and Chat Completions": ({MESSAGES: NEEDS_MODEL, CHAT: NEEDS_MODEL}, None, "messages"),
    "an unknown path answered with 200": ({MESSAGES: LM_STUDIO, CHAT: NEEDS_MODEL}, None, "chat"),
    "a model that is not there": ({MESSAGES: NO_MODEL}, None, "messages"),
    "a model that is loading": ({CHAT: LOADING}, None, "chat"),
    "a key of Anthropic": ({MESSAGES: NO_KEY, CHAT: NO_KEY}, "sk-ant-1", "messages"),
    "another key": ({MESSAGES: NO_KEY, CHAT: NO_KEY}, "sk-1", "chat"),
}


@pytest.mark.parametrize("name", FOUND)
@pytest.mark.parametrize("suffix", ["", "/", "/v1", "/v1/"])
async def test_the_api_is_found_by_what_the_server_answers(name: str, suffix: str) -> None:
    """The base URL may have the version and a final slash."""
    answers, key, api = FOUND[name]
    with server(answers) as url:
        assert await find_api(endpoint(url + suffix, key)) == api
        own = (("Authorization", "Basic x"),)
        assert key or await find_api(replace(endpoint(url + suffix), headers=own)) == api


async def test_a_server_without_any_of_the_apis_is_named() -> None:
    """The message says what to check."""
    with server({}) as url, pytest.raises(ModelError) as error:
        await find_api(endpoint(url))
    assert error.value.kind == "wrong_server"
    assert f"{url} has none of the APIs" in error.value.message


@pytest.mark.parametrize("path", [CHAT, RESPONSES])
async def test_the_found_api_answers(path: str) -> None:
    """The first request finds the API out, and uses it."""
    with FakeOpenAi([Turn((Text("Hello."),))], require_key=False, paths=(path,), server="vllm") as api:
        model = open_model(ModelChoice(endpoint(api.url)))
        events = [event async for event in model.stream(asked())]
        await model.aclose()
    assert isinstance(events[-1], Reply) and events[-1].text == "Hello."


async def test_another_server_at_the_same_address_is_found_after_its_refusal() -> None:
    """A user may replace the server during a session."""
    answers: Answers = {MESSAGES: NEEDS_MODEL}
    with server(answers) as url:
        opened = list[str]()

        def open_api(each: Endpoint) -> Any:
            opened.append(str(each.api))
            return open_model(ModelChoice(each))

        model = FoundModel(endpoint(url), open_api, no_pause)
        with pytest.raises(ModelError):
            _ = [event async for event in model.stream(asked())]
        answers.clear()
        answers[CHAT] = NEEDS_MODEL
        with pytest.raises(ModelError):
            _ = [event async for event in model.stream(asked())]
        await model.aclose()
    assert opened == ["messages", "chat"]


MODELS: dict[str, tuple[list[str] | None, str, str]] = {
    "the only one": (["small"], "", "small"),
    "the only one is not the usual one": (["small"], "usual", "small"),
    "the usual one of several": (["small", "usual"], "usual", "usual"),
    "the usual one without a list": (None, "usual", "usual"),
}


@pytest.mark.parametrize("name", MODELS)
async def test_a_model_that_nobody_named_is_found(name: str) -> None:
    """A local server often has one model only."""
    names, usual, found = MODELS[name]
    models = None if names is None else [{"id": each, "object": "model"} for each in names]
    with FakeOpenAi([Turn((Text("Hello."),))], require_key=False, server="vllm", models=models) as api:
        asks = replace(endpoint(api.url), model="", fallback_model=usual, api="chat", title="A server")
        model = open_model(ModelChoice(asks))
        assert model.name == "A server"
        events = [event async for event in model.stream(asked())]
        assert (model.name, api.requests[-1].body["model"]) == (found, found)
        await model.aclose()
    assert isinstance(events[-1], Reply) and events[-1].text == "Hello."


@pytest.mark.parametrize(
    ("names", "problem"),
    [(["a", "b"], "A server has several models (a, b). Choose one"), ([], "A server has no model")],
)
async def test_a_model_that_cannot_be_found_is_asked_for(names: list[str], problem: str) -> None:
    """The message names the models that there are."""
    models = [{"id": each, "object": "model"} for each in names]
    with FakeOpenAi(require_key=False, server="vllm", models=models) as api:
        model = open_model(ModelChoice(replace(endpoint(api.url), model="", api="chat", title="A server")))
        with pytest.raises(ModelError) as error:
            _ = [event async for event in model.stream(asked())]
        await model.aclose()
    assert problem in error.value.message


async def test_a_server_of_the_messages_api_answers() -> None:
    """Anthropic's API is found at a proxy, too."""
    with FakeApi([Turn((Text("Hello."),))] * 3) as api:
        assert await find_api(endpoint(api.url, "test-key")) == "messages"
