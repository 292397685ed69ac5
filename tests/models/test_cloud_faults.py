"""docs/faults.md 17 to 25 and 40 with a cloud: refusals, broken streams and missing configuration."""

import asyncio
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from fairlead.models.common.retry import MAX_ATTEMPTS
from models.cloud_user import CLOUDS, DONE, SONNET, CloudUser, cloud_settings, failure
from support.client import DEADLINE
from support.fake_api import Cut, HttpError, MidStreamError
from support.fake_api.turns import Event, Raw
from support.fake_clouds import FakeBedrock, FakeCloud, FakeVertex, frame

pytestmark = pytest.mark.slow

AT_ONCE = {"retry-after": "0"}


async def test_fault_40_impossible_credentials_are_not_shown(cloud_user: CloudUser) -> None:
    """docs/faults.md 40: the transport would quote a token with a line break in it."""
    with FakeBedrock() as api:
        async with cloud_user.signed_in(api, AWS_BEARER_TOKEN_BEDROCK="SECRET\nx: 1") as client:
            error = await failure(client)
            assert (error["kind"], error["retryable"]) == ("auth", False)
            assert "contain invalid characters" in error["message"]
            assert "SECRET" not in str(client.log)
        assert api.arrived == []


RETRIED = ("rate_limit", "overloaded", "internal")
# in each line: the status and the cloud's name for the error, its text, Fairlead's kind, and a part of the advice
BEDROCK = """
400 ValidationException | The provided model identifier is invalid. | unknown_model | settings model
400 ValidationException | Model ID x with on-demand throughput isn’t supported. | unknown_model | inference profiles
404 ResourceNotFoundException | Model not found. | unknown_model | no model “MODEL”
400 ValidationException | Input is too long for requested model. | context_overflow | conversation cannot be shortened
403 ExpiredTokenException | The security token included in the request is expired | auth | aws sso login
403 AccessDeniedException | You don't have access to the model with the specified model ID. | auth | Bedrock console
429 ThrottlingException | Too many requests | rate_limit | rate limit
429 ModelNotReadyException | Not ready | overloaded | overloaded
424 ModelErrorException | It failed | internal | reported an internal error
503 ServiceUnavailableException | Later | overloaded | overloaded
"""
VERTEX = """
404 NOT_FOUND | Publisher Model `x` was not found. | unknown_model | no model “claude-sonnet-5-5@20260901”
400 FAILED_PRECONDITION | Project `1` is not allowed to use Publisher Model `x` | auth | Model Garden
403 PERMISSION_DENIED | Permission 'aiplatform.endpoints.predict' denied | auth | Vertex AI User
401 UNAUTHENTICATED | Request had invalid credentials. | auth | gcloud auth application-default login
400 INVALID_ARGUMENT | Prompt is too long: 200001 tokens | context_overflow | The conversation cannot be shortened
429 RESOURCE_EXHAUSTED | Quota exceeded for aiplatform | rate_limit | rate limit
503 UNAVAILABLE | Later | overloaded | overloaded
"""


@pytest.mark.parametrize(("cloud", "cases"), [(FakeBedrock, BEDROCK.replace("MODEL", SONNET)), (FakeVertex, VERTEX)])
async def test_fault_25_a_clouds_refusal_has_advice_for_that_cloud(
    cloud_user: CloudUser, cloud: Callable[..., FakeCloud], cases: str
) -> None:
    """docs/faults.md 18 and 25: the message quotes the cloud, and the request is repeated if that can help."""
    with cloud() as api:
        async with cloud_user.signed_in(api) as client:
            for case in cases.strip().splitlines():
                name, said, kind, advice = case.split(" | ")
                status, retryable = int(name[:3]), kind in RETRIED
                # after a 400, two more requests are sent without the optional fields, the cache mark last
                times = MAX_ATTEMPTS if retryable else 3 if status == 400 and kind != "context_overflow" else 1
                for _ in range(times):
                    api.push(HttpError(status, name[4:], said, AT_ONCE))
                error = await failure(client)
                assert (error["kind"], error["retryable"]) == (kind, retryable), case
                assert advice in error["message"], case
                assert f"({status}: {said})" in error["message"], case
                assert "ANTHROPIC_API_KEY" not in error["message"] and "Ollama" not in error["message"], case
            api.push(DONE)
            assert (await client.run())["stopReason"] == "end_turn"


async def test_fault_82_a_cloud_gets_no_advice_to_enlarge_the_window(cloud_user: CloudUser) -> None:
    """docs/faults.md 82: this advice is only for local servers, even if the window of the cloud's model is unknown."""
    with FakeBedrock(HttpError(400, "ValidationException", "Input is too long for requested model.")) as api:
        async with cloud_user.signed_in(api) as client:
            settings = {**(client.settings or {}), "model": "us.unknown.model-v1:0"}
            client.notify("workspace/didChangeConfiguration", {"settings": settings})
            error = await failure(client)
        assert error["kind"] == "context_overflow"
        assert error["message"].endswith("Start a new task, or make this one shorter.")


async def test_fault_25_a_region_that_differs_from_the_base_url_is_named(cloud_user: CloudUser) -> None:
    """docs/faults.md 25: AWS reports wrong credentials; the message also names the region and the base URL."""
    with FakeBedrock(DONE) as api:
        async with cloud_user.signed_in(api) as client:
            settings = dict(client.settings or {})
            elsewhere = {**settings, "cloud": {"region": "us-east-1"}}
            client.notify("workspace/didChangeConfiguration", {"settings": elsewhere})
            error = await failure(client)
            assert (error["kind"], error["retryable"]) == ("auth", False)
            assert "Credential should be scoped to a valid region, not 'us-east-1'" in error["message"]
            assert f"cloud.region) does not match the base URL {api.url} (setting baseUrl)" in error["message"]
            client.notify("workspace/didChangeConfiguration", {"settings": settings})
            assert (await client.run())["stopReason"] == "end_turn"


async def test_fault_40_the_signed_request_is_not_shown(cloud_user: CloudUser) -> None:
    """docs/faults.md 40: for a wrong signature AWS quotes the whole request with the session's token."""
    said = (
        "The request signature we calculated does not match.\n\nThe Canonical String was\nx-amz-security-token:PRIVATE"
    )
    with FakeBedrock(HttpError(403, "InvalidSignatureException", said)) as api:
        async with cloud_user.signed_in(api) as client:
            error = await failure(client)
            assert "does not match" in error["message"] and "aws sso login" in error["message"]
            assert "PRIVATE" not in str(client.log)


async def test_fault_40_the_debug_log_contains_no_secret(
    cloud_user: CloudUser, capfd: pytest.CaptureFixture[str]
) -> None:
    """docs/faults.md 40: botocore would log what it signs, and errors quote headers. Our own log still works."""
    secrets = {"AWS_ACCESS_KEY_ID": FakeBedrock.KEY, "AWS_SESSION_TOKEN": "PRIVATE-1"}
    for odd in ({}, {"AWS_SESSION_TOKEN": "PRIVATE-2\nx: 1"}, {"AWS_BEARER_TOKEN_BEDROCK": "PRIVATE-3\nx: 1"}):
        with FakeBedrock(DONE) as api:
            async with cloud_user.signed_in(api, **{**secrets, "FAIRLEAD_LOG": "DEBUG", **odd}) as client:
                assert (await client.run())["stopReason"] == ("error" if odd else "end_turn")
                await client.error("workspace/executeCommand", "nope")
                assert "PRIVATE" not in str(client.log)
    log = capfd.readouterr().err
    assert "INFO fairlead.lsp.rpc" in log
    assert "PRIVATE" not in log and FakeBedrock.SECRET not in log


async def test_fault_25_an_impossible_model_name_is_refused(cloud_user: CloudUser) -> None:
    """docs/faults.md 25: the error is not reported as an internal one, and the message names the setting."""
    with FakeBedrock() as api:
        async with cloud_user.signed_in(api) as client:
            for name in ("x" * 100_000, "."):
                settings = {"endpoint": "bedrock", "model": name, "baseUrl": api.url, "cloud": {"region": api.REGION}}
                client.notify("workspace/didChangeConfiguration", {"settings": settings})
                error = await failure(client)
                assert (error["kind"], error["retryable"]) == ("invalid_request", False)
                assert "setting model" in error["message"] and len(error["message"]) < 1000
        assert api.arrived == []


@pytest.mark.parametrize("cloud", CLOUDS)
async def test_fault_17_18_19_temporary_errors_are_retried(
    cloud_user: CloudUser, cloud: Callable[..., FakeCloud]
) -> None:
    """docs/faults.md 17 to 19: throttling, an error inside an answer and a cut stream each lead to one retry. No text
    is shown twice.
    """
    limited = HttpError(429, "ThrottlingException", "Too many requests", AT_ONCE)
    kind = "throttlingException" if cloud is FakeBedrock else "overloaded_error"
    faults = (limited, MidStreamError(DONE, 5, kind, "Slow down"), Cut(DONE, 5), Cut(DONE, 5, "drop"))
    with cloud() as api:
        async with cloud_user.signed_in(api) as client:
            for number, broken in enumerate(faults, 1):
                api.push(broken)
                api.push(DONE)
                assert (await client.run())["stopReason"] == "end_turn", broken
                assert client.text() == "Done, 世界." * number, broken
                assert len(client.events("retry")) == number, broken


async def test_fault_19_an_exception_frame_is_an_error(cloud_user: CloudUser) -> None:
    """docs/faults.md 19: an AWS exception inside an answer has the kind of its name and its own words."""
    with FakeBedrock(MidStreamError(DONE, 3, "validationException", "It hurts")) as api:
        async with cloud_user.signed_in(api) as client:
            error = await failure(client)
            assert (error["kind"], error["retryable"]) == ("invalid_request", False)
            assert "It hurts" in error["message"]


class _Damaging(FakeBedrock):
    """Sends the third frame of the first answer with a wrong checksum."""

    sent = 0

    def frames(self, event: Event) -> list[bytes]:
        self.sent += 1
        if self.sent == 3:
            return [frame({":event-type": "chunk", ":message-type": "event"}, {"bytes": "e30="}, damaged=True)]
        return super().frames(event)


async def test_fault_17_an_answer_with_a_damaged_frame_is_requested_again(cloud_user: CloudUser) -> None:
    """docs/faults.md 17: a wrong checksum shows that the frame is damaged."""
    with _Damaging(DONE, DONE) as api:
        async with cloud_user.signed_in(api) as client:
            result = await client.run()
            assert (result["stopReason"], client.text()) == ("end_turn", "Done, 世界.")
            assert "could not be read" in client.events("retry")[0]["error"]["message"]


@pytest.mark.skipif(sys.platform == "win32", reason="the program that hangs needs named pipes")
@pytest.mark.parametrize("is_stopped", [False, True])
async def test_fault_63_the_server_ends_although_a_sign_in_hangs(
    cloud_user: CloudUser, tmp_path: Path, is_stopped: bool
) -> None:
    """docs/faults.md 63: the server ends although a program that provides AWS credentials hangs, and with it the thread
    that waits for its output.
    """
    began, gate = tmp_path / "began", tmp_path / "gate"
    os.mkfifo(began)
    os.mkfifo(gate)
    (cloud_user.home / ".aws").mkdir()
    helper = f"[profile p]\ncredential_process = sh -c 'echo > {began}; cat {gate}'\n"
    (cloud_user.home / ".aws/config").write_text(helper)
    with FakeBedrock() as api:
        settings = {"endpoint": "bedrock", "model": SONNET, "baseUrl": api.url, "cloud": {"region": api.REGION}}
        async with cloud_user.server(settings, AWS_PROFILE="p") as client:
            _, answer = client.begin("agent/runTask", {"prompt": "Do it."})
            await asyncio.to_thread(began.read_bytes)
            if is_stopped:
                await client.request("agent/cancel", {"sessionId": client.events()[0]["sessionId"]})
                assert (await answer)["stopReason"] == "cancelled"
            await client.request("shutdown", None)
            client.notify("exit", None)
            async with asyncio.timeout(DEADLINE):
                assert await client.process.wait() == 0
        await asyncio.to_thread(gate.write_bytes, b"")


@pytest.mark.parametrize("cloud", CLOUDS)
async def test_fault_89_an_answer_that_cannot_be_decoded_is_requested_again(
    cloud_user: CloudUser, cloud: Callable[..., FakeCloud]
) -> None:
    """docs/faults.md 89: a decoder's ValueError is not an error in the request, which is sent once more."""
    with cloud(*[Raw(b"oops", {"content-type": "text/plain; charset=undefined"}, 400)] * 2) as api:
        async with cloud_user.signed_in(api) as client:
            error = await failure(client)
            assert (error["kind"], error["retryable"]) == ("network", True)
            assert "The model's server sent a response that could not be read (" in error["message"]
            assert (len(api.arrived), len(client.events("retry"))) == (2, 1)


async def test_fault_25_a_missing_region_project_or_credential_is_named(cloud_user: CloudUser) -> None:
    """docs/faults.md 25: one message says what is missing and every way to set it; nothing is retried."""
    bedrock, vertex = "bedrock", "vertex"
    sign_in = "gcloud auth application-default login"
    cases = [
        (cloud_settings(bedrock), "invalid_request", "cloud.region, AWS_REGION, profile"),
        (cloud_settings(bedrock, region="us east"), "invalid_request", "“us east” is not a region"),
        (cloud_settings(bedrock, region="a" * 41), "invalid_request", "is not a region, one like us-east-1"),
        (cloud_settings(vertex, region="us_east5", project="p"), "invalid_request", "one like us-east5"),
        (cloud_settings(bedrock, region="us-east-1"), "auth", "aws sso login, AWS_PROFILE, AWS_BEARER_TOKEN_BEDROCK"),
        (cloud_settings(vertex), "invalid_request", "cloud.region, CLOUD_ML_REGION"),
        (cloud_settings(vertex, region="global"), "invalid_request", "cloud.project, ANTHROPIC_VERTEX_PROJECT_ID"),
        (cloud_settings(vertex, region="global", project="p"), "auth", f"{sign_in}, GOOGLE_APPLICATION_CREDENTIALS"),
    ]
    async with cloud_user.server({}) as client:
        for settings, kind, words in cases:
            client.notify("workspace/didChangeConfiguration", settings)
            error = await failure(client)
            assert (error["kind"], error["retryable"]) == (kind, False), settings
            assert all(word in error["message"] for word in words.split(", ")), error["message"]
        assert client.events("retry") == []


async def test_fault_25_a_missing_profile_is_named(cloud_user: CloudUser) -> None:
    """docs/faults.md 25: the message contains the profile's name, whether or not a region is set."""
    async with cloud_user.server({}, AWS_PROFILE="nobody") as client:
        for settings in (cloud_settings("bedrock"), cloud_settings("bedrock", region="us-east-1")):
            client.notify("workspace/didChangeConfiguration", settings)
            error = await failure(client)
            assert (error["kind"], "nobody" in error["message"]) == ("auth", True)


async def test_fault_25_google_credentials_are_no_longer_accepted(cloud_user: CloudUser) -> None:
    """docs/faults.md 25: the error says how to sign in again; after that, the next run works."""
    with FakeVertex(DONE) as api:
        async with cloud_user.signed_in(api) as client:
            api.refuse_sign_in = True
            error = await failure(client)
            assert (error["kind"], error["retryable"]) == ("auth", False)
            assert "gcloud auth application-default login" in error["message"]
            assert "Account has been deleted" in error["message"]
            api.refuse_sign_in = False
            assert (await client.run())["stopReason"] == "end_turn"


async def test_fault_25_no_network(cloud_user: CloudUser) -> None:
    """docs/faults.md 25: after a limited number of retries the error names the address and what to check."""
    keys = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"}
    async with cloud_user.server(cloud_settings("bedrock", region="us-east-1")["settings"], **keys) as client:
        error = await failure(client, deadline=40)
        assert (error["kind"], error["retryable"]) == ("network", True)
        assert "http://127.0.0.1:9" in error["message"] and "cloud.region" in error["message"]
