"""Claude on Amazon Bedrock and Google Vertex AI: the server process and the SDK's clients, against strict stand-ins."""

import json
import sys
from collections.abc import Callable
from typing import Any

import pytest

from fairlead.models.anthropic.clouds import with_cache_marks
from models.cloud_user import CLOUDS, DONE, SONNET, CloudUser, cloud_settings, failure
from support.fake_api import Call, Text, Turn
from support.fake_api.ask import cache_marks
from support.fake_clouds import FakeBedrock, FakeCloud

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("cloud", CLOUDS)
async def test_a_whole_run(cloud_user: CloudUser, cloud: Callable[..., FakeCloud]) -> None:
    """Tools, several rounds, a second prompt: the cloud refuses nothing, most of the input is read from the cache, and
    the API's key is not sent.
    """
    (cloud_user.workspace / "a.txt").write_text("one\n")
    rounds = [Turn((Text("I look."), Call("read_file", {"path": "a.txt"}))) for _ in range(4)]
    with cloud(*rounds, DONE, DONE, caching=True) as api:
        async with cloud_user.signed_in(api) as client:
            result = await client.run("Do it. " * 200)
            assert (result["stopReason"], result["message"]) == ("end_turn", "Done, 世界.")
            more = await client.run("And?", sessionId=result["sessionId"])
            assert more["stopReason"] == "end_turn"
        assert api.refusals == []
        assert len(api.requests) == 6
        assert all(len(cache_marks(request.body)) <= 4 for request in api.requests)
        used = result["usage"]
        read = used["cacheReadTokens"]
        assert read / (read + used["cacheWriteTokens"] + used["inputTokens"]) > 0.7
        assert used["costUsd"] > 0
    assert not any(b"sk-of-the-api" in request.raw for request in api.arrived)
    assert "sk-of-the-api" not in str([request.headers for request in api.arrived])


async def test_tags_in_a_clouds_answer_are_text(cloud_user: CloudUser) -> None:
    """A cloud sends thinking separately from text, so `<think>` tags in the text are part of the answer."""
    text = "<think>x</think> is an example."
    with FakeBedrock(Turn((Text(text),))) as api:
        async with cloud_user.signed_in(api) as client:
            assert (await client.run())["message"] == client.text() == text


async def test_a_bearer_token_of_bedrock(cloud_user: CloudUser) -> None:
    """AWS_BEARER_TOKEN_BEDROCK is sent without surrounding whitespace; an empty one is ignored."""
    with FakeBedrock(DONE, DONE) as api:
        async with cloud_user.signed_in(api, AWS_BEARER_TOKEN_BEDROCK=f" {api.TOKEN}\n") as client:
            assert (await client.run())["stopReason"] == "end_turn"
        assert api.arrived[0].headers["authorization"] == f"Bearer {api.TOKEN}"
        async with cloud_user.signed_in(api, AWS_BEARER_TOKEN_BEDROCK="") as client:
            assert (await client.run())["stopReason"] == "end_turn"


async def test_the_region_may_come_from_the_profile(cloud_user: CloudUser) -> None:
    """Without a setting or variables, the region is read from ~/.aws/config and the keys from ~/.aws/credentials."""
    folder = cloud_user.home / ".aws"
    folder.mkdir()
    (folder / "config").write_text(f"[default]\nregion = {FakeBedrock.REGION}\n")
    keys = f"aws_access_key_id = {FakeBedrock.KEY}\naws_secret_access_key = {FakeBedrock.SECRET}\n"
    (folder / "credentials").write_text(f"[default]\n{keys}")
    with FakeBedrock(DONE) as api:
        async with cloud_user.server({"endpoint": "bedrock", "model": SONNET, "baseUrl": api.url}) as client:
            assert (await client.run())["stopReason"] == "end_turn"


async def test_a_credential_helper_cannot_read_the_protocol(cloud_user: CloudUser) -> None:
    """A `credential_process` that reads stdin finds it empty, and the protocol is not disturbed."""
    folder = cloud_user.home / ".aws"
    folder.mkdir()
    given = {"Version": 1, "AccessKeyId": FakeBedrock.KEY, "SecretAccessKey": FakeBedrock.SECRET}
    helper = cloud_user.home / "helper.py"
    helper.write_text(f"import sys\nassert sys.stdin.read() == ''\nprint({json.dumps(given)!r})\n")
    process = f"{sys.executable} {helper}"
    (folder / "config").write_text(f"[default]\nregion = {FakeBedrock.REGION}\ncredential_process = {process}\n")
    with FakeBedrock(DONE, DONE) as api:
        async with cloud_user.server({"endpoint": "bedrock", "model": SONNET, "baseUrl": api.url}) as client:
            first = await client.run()
            assert first["stopReason"] == "end_turn"
            assert (await client.run(sessionId=first["sessionId"]))["stopReason"] == "end_turn"


BLOCKED = """
import sys

class Block:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("boto3", "botocore", "google"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Block())
from fairlead.__main__ import main
sys.exit(main(["serve"]))
"""


async def test_the_command_for_a_missing_extra_is_named(cloud_user: CloudUser) -> None:
    """The message contains the exact command, with the Python that runs the server."""
    client = cloud_user.server({})
    client.command = [sys.executable, "-c", BLOCKED]
    async with client:
        for provider in ("bedrock", "vertex"):
            client.notify("workspace/didChangeConfiguration", cloud_settings(provider, region="us-east-1", project="p"))
            error = await failure(client)
            assert (error["kind"], error["retryable"]) == ("invalid_request", False)
            assert f'"{sys.executable}" -m pip install "fairlead[{provider}]"' in error["message"]


def test_cache_marks_follow_the_unchanging_parts() -> None:
    """They are on the last tool and at the ends of the last two user messages. The system prompt keeps its own."""

    def message(role: str, text: str) -> dict[str, Any]:
        return {"role": role, "content": [{"type": "text", "text": "first"}, {"type": "text", "text": text}]}

    messages = [
        message("user", "1"),
        message("assistant", "2"),
        message("user", "3"),
        message("assistant", "4"),
        message("user", "5"),
    ]
    system = [{"type": "text", "text": "You help.", "cache_control": {}}]
    body = {"cache_control": {}, "system": system, "tools": [{"name": "a"}, {"name": "b"}], "messages": messages}
    before = json.dumps(body)
    places = [where for where, _ in cache_marks(with_cache_marks(body))]
    assert places == [
        f"{at}.cache_control" for at in ("tools.1", "system.0", "messages.2.content.1", "messages.4.content.1")
    ]
    assert json.dumps(body) == before


def test_refused_cache_marks_are_not_replaced() -> None:
    """A request without the automatic mark, which a server may have refused, gets no explicit marks either."""
    body = {"system": "You help.", "tools": [], "messages": []}
    assert with_cache_marks(body) == body
