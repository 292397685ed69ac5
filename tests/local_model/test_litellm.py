"""Runs with LiteLLM's proxy in front of a real llama.cpp, through each API of both."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from local_model.llama import APIS, DEADLINE, TOOLS, Llama, free_port
from local_model.programs import LITELLM, running
from support.client import Client

NEEDED = [LITELLM]
KEY = "sk-0123456789abcdef"
RUN = "import litellm; litellm.run_server()"
LLAMA_PORT = free_port()
UPSTREAM = {"messages": ("anthropic", ""), "chat": ("hosted_vllm", "/v1"), "responses": ("openai", "/v1")}
"""By the API that LiteLLM speaks with llama.cpp: its name for the provider, and the path of the address."""


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of LiteLLM. It has a key, and a model for each API of llama.cpp, named after the API."""
    folder = tmp_path_factory.mktemp("litellm")
    models = "".join(
        f"  - model_name: {api}\n    litellm_params: "
        f"{{ model: {provider}/m, api_base: 'http://127.0.0.1:{LLAMA_PORT}{path}', api_key: none }}\n"
        for api, (provider, path) in UPSTREAM.items()
    )
    config = folder / "config.yaml"
    config.write_text(f"model_list:\n{models}general_settings:\n  master_key: {KEY}\n", encoding="utf-8")
    # -S: without the packages of .venv, which has other versions of some that LiteLLM needs
    command = [sys.executable, "-S", "-c", RUN, "--config", str(config), "--host", "127.0.0.1", "--port"]
    env = {"PYTHONPATH": os.environ[LITELLM], "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    with running(command, folder, "/health/liveliness", **env) as url:
        yield url


def llama() -> Llama:
    """The server that LiteLLM asks."""
    server = Llama(4096, TOOLS)
    server.port = LLAMA_PORT
    return server


def user(gateway: str, api: str, model: str, key: str = KEY) -> dict[str, Any]:
    """The settings and the environment of a user of the gateway."""
    endpoint = {"baseUrl": gateway, "api": api, "keyVariable": "GATEWAY_KEY"}
    settings = {"endpoints": {"gateway": endpoint}, "endpoint": "gateway", "model": model}
    return {"settings": settings, "env": {"GATEWAY_KEY": key} if key else {}}


@pytest.mark.parametrize("upstream", APIS)
async def test_a_task_with_a_call(gateway: str, api: str, upstream: str, workspace: Path) -> None:
    """The call and its result go through LiteLLM in any pair of APIs."""
    (workspace / "plums.txt").write_text("One plum.\n", encoding="utf-8")
    async with llama(), Client(workspace, **user(gateway, api, upstream)) as client:
        outcome = await client.run("Read plums.txt", DEADLINE)
    assert (outcome["stopReason"], client.results()) == ("end_turn", ["One plum.\n"]), outcome
    assert outcome["usage"]["outputTokens"] > 10
    assert not client.events("retry")


async def test_a_window_is_learned_from_a_refusal(gateway: str, api: str, workspace: Path) -> None:
    """LiteLLM wraps the refusal of llama.cpp. Fairlead reads the size of the window from it, and the run goes on."""
    (workspace / "plums.txt").write_text("One plum.\n" + "one plum and one pear\n" * 800, encoding="utf-8")
    async with llama(), Client(workspace, **user(gateway, api, "chat")) as client:
        outcome = await client.run("Read plums.txt", DEADLINE)
    assert (outcome["stopReason"], client.results()[0][:9]) == ("end_turn", "One plum."), outcome
    assert client.events("usage")[-1]["contextLimit"] == 4096
    assert not client.events("retry")


async def test_the_api_is_found(gateway: str, workspace: Path) -> None:
    """Without an API in the settings, a task runs."""
    (workspace / "plums.txt").write_text("One plum.\n", encoding="utf-8")
    async with llama(), Client(workspace, **user(gateway, "", "chat")) as client:
        outcome = await client.run("Read plums.txt", DEADLINE)
    assert (outcome["stopReason"], client.results()) == ("end_turn", ["One plum.\n"])


async def test_an_unknown_model_is_named(gateway: str, api: str, workspace: Path) -> None:
    """The error has the name of the model."""
    async with Client(workspace, **user(gateway, api, "plum-7b")) as client:
        outcome = await client.run("Do it.", DEADLINE)
    assert outcome["stopReason"] == "error"
    assert "plum-7b" in outcome["message"]
    assert not client.events("retry")


@pytest.mark.parametrize("key", ["", "sk-another-key-123456"])
async def test_a_missing_or_wrong_key_is_reported(gateway: str, api: str, key: str, workspace: Path) -> None:
    """The error says what to do, although LiteLLM without a database says only “No connected db.”."""
    async with Client(workspace, **user(gateway, api, "chat", key)) as client:
        outcome = await client.run("Do it.", DEADLINE)
    assert outcome["error"]["kind"] == "auth"
    assert ("The API key was refused. Set another one" if key else "needs an API key") in outcome["message"]
    assert not client.events("retry")
