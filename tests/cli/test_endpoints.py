"""`fairlead run` with a model of OpenAI's kind: the endpoint and the address are chosen in each way."""

from pathlib import Path
from typing import Any

import pytest

from cli.command import run_plain
from support.fake_api import Text, Turn
from support.fake_openai import FakeOpenAi

WAYS = {
    "OpenAI's variables": ("/", [], ["OPENAI_API_KEY"]),
    "a named endpoint": ("/v1", ["--endpoint", "mistral", "--base-url"], ["MISTRAL_API_KEY"]),
    "an address alone": ("", ["--model", "m", "--base-url"], ["ANTHROPIC_API_KEY"]),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_task_runs_with_the_key_and_the_address_of_the_endpoint(workspace: Path, way: str) -> None:
    """Whichever of OpenAI's APIs is there, and whether or not the address has a version."""
    end, options, variables = WAYS[way]
    with FakeOpenAi([Turn((Text("Done."),))]) as api:
        url = api.url.removesuffix("/v1") + end
        env: dict[str, Any] = dict.fromkeys(variables, "test-key") | ({} if options else {"OPENAI_BASE_URL": url})
        ended = run_plain("run", "a task", "--workspace", workspace, *options, *([url] if options else []), **env)
    assert ended.code == 0, ended.out
    assert f" at {url}" in ended.out and "Done." in ended.out


def test_a_server_whose_model_is_not_known_is_named_by_its_address(workspace: Path) -> None:
    """Not by the name of a provider, whose API this server may have. If it wants a key, the error says so."""
    with FakeOpenAi() as api:
        ended = run_plain("run", "a task", "--workspace", workspace, "--base-url", api.url)
    assert f"Model     {api.url}\n" in ended.out and "Anthropic" not in ended.out
    assert f"{api.url} needs an API key, and none is set." in " ".join(ended.out.split())
