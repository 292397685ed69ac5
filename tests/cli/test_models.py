"""`fairlead models`: the models that can be chosen, as text and as JSON."""

import json

from cli.command import run_plain
from support.fake_models import FakeModels

LIST = {
    "data": [
        {
            "id": "small",
            "context_length": 4096,
            "pricing": {"prompt": "0.0000005", "completion": "0.000002"},
            "supported_parameters": ["reasoning_effort"],
        },
        {"id": "red\x1b[31m"},
        {"id": "large"},
    ]
}


def test_a_servers_models_are_listed() -> None:
    """A line has what is known about a model. Names that could control the terminal are left out."""
    with FakeModels(LIST) as server:
        ended = run_plain("models", "--base-url", server.url)
        assert ended.code == 0, ended.err
        assert ended.out == (
            f"{server.url} (--base-url) · local\n"
            "  small · 4,096 tokens · $0.5 in, $2 out · no tools · effort low, medium, high\n"
            "  large\n"
        )
        ended = run_plain("models", "--base-url", server.url, "--json")
        names = [model["name"] for model in json.loads(ended.out)[0]["models"]]
        assert (ended.code, names) == (0, ["small", "large"])


def test_all_endpoints_are_listed_with_what_they_need() -> None:
    """Without a key, the known models are listed, and the variable for the key."""
    ended = run_plain("models")
    assert ended.code == 0
    assert "OpenAI (--endpoint openai)\n  needs a key: set OPENAI_API_KEY\n  gpt-6.1-sol · 200,000 tokens" in ended.out


def test_an_endpoint_that_cannot_be_asked_says_why() -> None:
    """The exit code is 1 if the user asked for this one."""
    assert run_plain("models", "--endpoint", "mistral").code == 1
    refused = run_plain("models", "--endpoint", "ollama", "--base-url", "http://127.0.0.1:9")
    assert refused.code == 1
    assert "Ollama (--endpoint ollama) · local\n  No connection to http://127.0.0.1:9" in refused.out
    assert run_plain("models", "--endpoint", "olama").code == 2
    elsewhere = run_plain("models", "--base-url", "http://127.0.0.1:9")
    assert (elsewhere.code, "claude" in elsewhere.out) == (1, False)
    cloud = run_plain("models", "--endpoint", "bedrock")
    assert (cloud.code, "does not list its models" in cloud.out) == (0, True)
