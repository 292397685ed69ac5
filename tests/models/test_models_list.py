"""The models that a server lists: what the forms of the known servers become, and what the user learns otherwise."""

import socket
from dataclasses import replace
from typing import Any

import pytest

from fairlead.agent.errors import ModelError
from fairlead.models.common.endpoint import Endpoint
from fairlead.models.common.models_list import MAX_LIST, ListedModel, list_models
from fairlead.models.common.presets import ModelFacts
from fairlead.models.common.prices import Price
from support.fake_models import FakeModels

CHAT = Endpoint("m", 1000, None, None, None, None, api="chat", title="Work")

ROWS: dict[str, tuple[Any, list[ListedModel]]] = {
    "OpenAI: no facts, and models that do not chat": (
        {
            "object": "list",
            "data": [
                {"id": "gpt-6.1-sol", "object": "model", "created": 1, "owned_by": "openai"},
                {"id": "text-embedding-3-large", "object": "model"},
                {"id": "gpt-4o-realtime-preview", "object": "model"},
                {"id": "whisper-1", "object": "model"},
            ],
        },
        [ListedModel("gpt-6.1-sol", "gpt-6.1-sol")],
    ),
    "a server of one's own: models whose names only contain such a word": (
        {
            "data": [
                {"id": each} for each in ("Qwen2.5-Coder-7B-Instruct", "olive-7b", "gpt-oss-safeguard-20b", "my-tts")
            ]
        },
        [ListedModel(name, name) for name in ("Qwen2.5-Coder-7B-Instruct", "olive-7b", "gpt-oss-safeguard-20b")],
    ),
    "Anthropic": (
        {
            "data": [
                {
                    "type": "model",
                    "id": "claude-x",
                    "display_name": "Claude X",
                    "max_input_tokens": 200_000,
                    "capabilities": {
                        "effort": {"supported": True, "low": {"supported": True}, "max": {"supported": False}}
                    },
                }
            ],
            "has_more": False,
        },
        [ListedModel("claude-x", "Claude X", ModelFacts(200_000, None, ("low",)))],
    ),
    "OpenRouter": (
        {
            "data": [
                {
                    "id": "vendor/model",
                    "name": "Vendor: Model",
                    "context_length": 1_000_000,
                    "architecture": {"output_modalities": ["text"]},
                    "pricing": {"prompt": "0.000002", "completion": "0.00001", "input_cache_read": "0.0000001"},
                    "top_provider": {"context_length": 400_000},
                    "supported_parameters": ["tools", "reasoning_effort"],
                },
                {
                    "id": "vendor/auto",
                    "pricing": {"prompt": "-1", "completion": "-1"},
                    "supported_parameters": ["temperature"],
                },
                {"id": "vendor/pictures", "architecture": {"output_modalities": ["image"]}},
            ]
        },
        [
            ListedModel(
                "vendor/model",
                "Vendor: Model",
                ModelFacts(400_000, Price(2.0, 0.1, 2.0, 10.0), ("low", "medium", "high")),
                True,
            ),
            ListedModel("vendor/auto", "vendor/auto", ModelFacts(), False),
        ],
    ),
    "Mistral": (
        {
            "data": [
                {
                    "id": "mistral-x",
                    "max_context_length": 131_072,
                    "capabilities": {"completion_chat": True, "function_calling": True},
                },
                {"id": "mistral-y", "capabilities": {"completion_chat": False}},
            ]
        },
        [ListedModel("mistral-x", "mistral-x", ModelFacts(131_072), True)],
    ),
    "Gemini": (
        {"object": "list", "data": [{"id": "models/gemini-x", "object": "model", "display_name": "Gemini X"}]},
        [ListedModel("gemini-x", "Gemini X")],
    ),
    "llama.cpp": (
        {"models": [], "data": [{"id": "m.gguf", "meta": {"n_ctx_train": 131_072, "n_ctx": 4096, "size": 1}}]},
        [ListedModel("m.gguf", "m.gguf", ModelFacts(4096))],
    ),
    "LM Studio": (
        {
            "data": [
                {
                    "id": "qwen",
                    "type": "llm",
                    "max_context_length": 32_768,
                    "loaded_context_length": 8192,
                    "capabilities": ["tool_use"],
                },
                {"id": "nomic", "type": "embeddings"},
            ]
        },
        [ListedModel("qwen", "qwen", ModelFacts(8192), True)],
    ),
    "vLLM": (
        {"data": [{"id": "served", "max_model_len": 16_384}]},
        [ListedModel("served", "served", ModelFacts(16_384))],
    ),
    "a list of its own, with nonsense and repeats": (
        [
            {"id": "a", "context_length": "many", "pricing": {"prompt": "x", "completion": None}},
            {"id": "a"},
            {"id": 3},
            {"id": "b\nc"},
            None,
            "d",
            {"name": "e", "capabilities": 1, "context_length": -1},
        ],
        [ListedModel("a", "a"), ListedModel("e", "e")],
    ),
    "nothing": ({"data": []}, []),
}


@pytest.mark.parametrize("name", ROWS)
async def test_each_servers_list_is_read(name: str) -> None:
    """What a server says about a model is used, whatever the form. Unknown forms are left out."""
    answer, expected = ROWS[name]
    with FakeModels(answer) as server:
        assert list(await list_models(replace(CHAT, base_url=server.url))) == expected


async def test_the_key_and_the_headers_are_sent_as_each_api_wants_them() -> None:
    """Anthropic's API has headers of its own; the others get a bearer token."""
    answer = {"data": [{"id": "m"}]}
    with FakeModels(answer, key="k") as server:
        work = replace(CHAT, base_url=f"{server.url}/v1/", api_key="k", headers=(("X-Team", "a"),))
        assert await list_models(work)
        assert server.requests[0]["x-team"] == "a"
        assert await list_models(replace(work, api=None))
        await failure(replace(work, headers=(("Authorization", "Basic x"),)))
        assert server.requests[-1]["authorization"] == "Basic x"
    with FakeModels(answer, key="k", messages=True) as server:
        assert await list_models(replace(CHAT, api="messages", base_url=server.url, api_key="k"))
    with FakeModels(answer, key="k", path="/openai/v1") as server:
        assert await list_models(replace(CHAT, base_url=server.url, api_path="/openai/v1", api_key="k"))


async def failure(endpoint: Endpoint, timeout: float = 10) -> ModelError:
    with pytest.raises(ModelError) as error:
        await list_models(endpoint, timeout)
    return error.value


async def test_a_refusal_says_what_to_do() -> None:
    """A wrong key, no list, and a page instead of a list each have their message; no message contains the key."""
    with FakeModels({"data": []}, key="right") as server:
        error = await failure(replace(CHAT, base_url=server.url, api_key="sk-wrong", key_variable="WORK_KEY"))
        assert error.kind == "auth"
        assert "“Agent: Set API Key” or WORK_KEY" in error.message and "sk-wrong" not in error.message
        other = await failure(replace(CHAT, base_url=f"{server.url}/v2", api_key="right"))
        assert other.message.endswith("has no list of models. Type the model's name.")
    for answer in ("", "<html><title>Sign in</title></html>", '{"detail": "no"}', "[" * 100_000):
        with FakeModels(answer) as server:
            message = (await failure(replace(CHAT, base_url=server.url))).message
            assert "instead of a list of models. Check the base URL (setting baseUrl)." in message
    with FakeModels({"data": []}, status=500) as server:
        assert "internal error" in (await failure(replace(CHAT, base_url=server.url))).message


async def test_a_list_without_an_end_is_refused() -> None:
    """A body that is longer than any list of models is not read to its end."""
    with FakeModels(" " * (MAX_LIST + 1)) as server:
        assert "longer than" in (await failure(replace(CHAT, base_url=server.url))).message


async def test_a_server_that_does_not_answer_is_given_up() -> None:
    """Neither a closed port nor a silent server keeps the others waiting."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        silent = replace(CHAT, base_url=f"http://127.0.0.1:{listening.getsockname()[1]}")
        assert "did not list its models within 0.2 seconds" in (await failure(silent, 0.2)).message
    assert "Check whether the server is running" in (await failure(silent)).message


@pytest.mark.parametrize("key", ["a\r\nX-Evil: 1", "a b"])
async def test_an_impossible_key_is_not_sent(key: str) -> None:
    """The transport would quote it in its error."""
    with FakeModels({"data": []}) as server:
        error = await failure(replace(CHAT, base_url=server.url, api_key=key))
        assert (error.kind, server.requests) == ("auth", [])
