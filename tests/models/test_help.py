"""What can help after an error, as data: the owner of a key, the page of an account, similar names of models."""

import json
from dataclasses import replace
from urllib.parse import urlsplit

import pytest

from fairlead.agent.errors import Help, ModelError
from fairlead.models.common.api_errors import ApiErrors
from fairlead.models.common.endpoint import Endpoint
from fairlead.models.common.presets import preset_of_key, presets
from fairlead.models.common.similar_models import similar_names, with_similar_models
from support.fake_models import FakeModels

OPENAI = Endpoint(
    "m", 1000, None, "https://api.openai.com/v1", "sk-proj-1", None, name="openai", at_provider=True, key_variable="K"
)


def refusal(endpoint: Endpoint, status: int, message: str) -> ModelError:
    return ApiErrors(endpoint).of_answer(status, json.dumps({"error": {"message": message}}).encode(), {})


@pytest.mark.parametrize(
    ("key", "owner"),
    [
        ("sk-ant-api03-x", "anthropic"),
        ("sk-or-v1-x", "openrouter"),
        ("sk-proj-x", "openai"),
        ("sk-svcacct-x", "openai"),
        ("AIzaSyx", "gemini"),
        ("gsk_x", "groq"),
        ("sk-0123456789abcdef", ""),  # OpenAI's old keys, DeepSeek's and those of many gateways
        ("", ""),
    ],
)
def test_a_keys_form_tells_its_provider(key: str, owner: str) -> None:
    """A form that several providers use tells nothing."""
    spec = preset_of_key(key)
    assert (spec.name if spec else "") == owner


def test_a_refused_key_of_another_provider_is_recognized_and_not_quoted() -> None:
    """The message names the provider, and contains no part of the key. A right key that is refused has no owner."""
    failed = refusal(replace(OPENAI, api_key="sk-or-v1-abcdef"), 401, "Incorrect API key provided.")
    refused = "401: Incorrect API key provided."
    assert (failed.kind, failed.help) == ("auth", Help(key_endpoint="openrouter", key_refusal=refused))
    assert (
        "it is a key of OpenRouter. Use OpenRouter, or set another key with “Agent: Set API Key” or K."
        in failed.message
    )
    assert "sk-or" not in failed.message and "abcdef" not in failed.message
    failed = refusal(OPENAI, 401, "Incorrect API key provided.")
    assert (failed.kind, failed.help) == ("auth", Help(key_refusal=refused))
    assert "The API key was refused. Set another one" in failed.message


def test_a_missing_key_is_not_a_refused_one() -> None:
    """Without a key, a server that wants one is named with where to set it. A header may contain a key, too."""
    gateway = replace(OPENAI, base_url="https://gateway.example/v1", at_provider=False, api_key=None)
    failed = refusal(gateway, 401, "No key.")
    assert failed.message.startswith("https://gateway.example/v1 needs an API key, and none is set. Set it with")
    failed = refusal(replace(gateway, headers=(("authorization", "Basic x"),)), 401, "No key.")
    assert failed.message.startswith("The API key was refused.")


def test_the_accounts_page_is_that_of_the_preset() -> None:
    """It is never an address from the server's answer, and not that of a provider that is not asked."""
    said = "You have no credit. Buy some at https://evil.example/pay"
    assert refusal(OPENAI, 402, said).help == Help(account_url=presets()["openai"].account_url)
    assert refusal(replace(OPENAI, base_url="https://gateway.example/v1", at_provider=False), 402, said).help == Help()
    pages = [spec.account_url for spec in presets().values() if spec.account_url]
    assert pages and all(urlsplit(page).scheme == "https" for page in pages)


@pytest.mark.parametrize(
    ("name", "names", "expected"),
    [
        ("GPT-6.1-SOL", ["gpt-6.1-sol", "gpt-6.1-terra", "x", "y"], ["gpt-6.1-sol", "gpt-6.1-terra"]),
        ("claude-sonnet", ["anthropic/claude-sonnet-5.5", "x", "y", "z"], ["anthropic/claude-sonnet-5.5"]),
        ("openai/m-1", ["m-1", "x", "y", "z"], ["m-1"]),
        ("m", ["m", "qwen"], ["qwen"]),
        ("m", ["a", "b", "c", "d"], []),
        ("m", [], []),
    ],
)
def test_similar_names_are_found(name: str, names: list[str], expected: list[str]) -> None:
    """Neither case nor a provider before a slash matters. Of few names, all are offered."""
    assert similar_names(name, names) == expected


async def test_without_a_list_the_error_stays_as_it_is() -> None:
    """A server that lists nothing, or is not there, changes nothing. Only an unknown model is looked for."""
    unknown = ModelError("unknown_model", "No model “m”.")
    with FakeModels({"data": [{"id": "qwen"}]}) as server:
        local = Endpoint("m", 1000, None, server.url, None, None, api="chat")
        found = await with_similar_models(unknown, local)
        assert (found.message, found.help) == ("No model “m”. Its server has qwen.", Help(models=("qwen",)))
        other = ModelError("no_tools", "No tools.")
        assert await with_similar_models(other, local) is other
        assert len(server.requests) == 1
    assert await with_similar_models(unknown, local) is unknown
