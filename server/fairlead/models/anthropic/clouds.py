"""Amazon Bedrock and Google Vertex AI: clients, cache marks and errors, where they differ from the Messages API.

The SDK's clients know the paths, sign requests and read AWS's frames. Functions here get the SDK as a parameter,
because only `messages_api.py` imports it. The clouds' libraries (extras of this package) are imported only when a cloud
is used.
"""

import asyncio
import importlib
import os
import re
import sys
from collections.abc import AsyncIterable, AsyncIterator, Callable, Generator
from contextlib import contextmanager
from typing import Any

from fairlead.agent.errors import ModelError
from fairlead.json_values import fields_of, is_object
from fairlead.models.common.endpoint import Cloud
from fairlead.models.common.fields import as_text, nonsense
from fairlead.models.common.sse import LONGEST_EVENT, MAX_LINES
from fairlead.models.common.transport import CONNECT_TIMEOUT, decoding_errors

# bytes
MIN_FRAME = 16  # the lengths and checksums
MAX_FRAME = LONGEST_EVENT * 4 // 3 + 10_000  # an event in base64, with its headers
MAX_FRAMES = MAX_LINES // 3
CACHE_MARK = {"type": "ephemeral"}
INVALID_CREDENTIALS = "The credentials for {label} contain invalid characters, such as line breaks. Set them again."

_LIBRARIES = {
    "bedrock": ("boto3", "botocore.eventstream", "botocore.exceptions", "botocore.parsers"),
    "vertex": ("google.auth.exceptions", "google.auth.transport.requests"),
}
_RESTART = "If that does not help, run “Agent: Stop and Restart Server”."
_SIGN_IN = {
    "bedrock": (
        "sign in with `aws sso login` or `aws configure`, or set AWS_PROFILE, AWS_ACCESS_KEY_ID with "
        f"AWS_SECRET_ACCESS_KEY, or AWS_BEARER_TOKEN_BEDROCK. {_RESTART}"
    ),
    "vertex": (
        "sign in with `gcloud auth application-default login`, or set GOOGLE_APPLICATION_CREDENTIALS to a key file. "
        f"{_RESTART}"
    ),
}
_NO_ACCESS = {
    "bedrock": (
        "The AWS account has no access to this model in this region. Request access in the Bedrock console and the "
        "permission bedrock:InvokeModelWithResponseStream, or choose another model or region (settings model, "
        "cloud.region)."
    ),
    "vertex": (
        "The Google Cloud project has no access to this model in this region. Enable the Vertex AI API, enable the "
        "model in the Model Garden, and get the role Vertex AI User; or choose another model, region or project "
        "(settings model, cloud.region, cloud.project)."
    ),
}
_REGION_MISMATCH = "Or the region (setting cloud.region) does not match the base URL {base_url} (setting baseUrl)."
_EXAMPLE_REGIONS = {"bedrock": "us-east-1", "vertex": "us-east5"}
_EXAMPLE_NAMES = {
    "bedrock": "those of inference profiles, like us.anthropic.claude-…-v1:0",
    "vertex": "like claude-…@20260901",
}
# the error types of the Messages API for AWS's exceptions (in lower case, without the suffix "exception")
_EXCEPTIONS = {
    "accessdenied": "permission_error",
    "expiredtoken": "authentication_error",
    "incompletesignature": "authentication_error",
    "internalserver": "api_error",
    "invalidsignature": "authentication_error",
    "missingauthenticationtoken": "authentication_error",
    "modelerror": "api_error",
    "modelnotready": "overloaded_error",
    "modelstreamerror": "api_error",
    "modeltimeout": "timeout_error",
    "resourcenotfound": "unknown_model_error",
    "serviceunavailable": "overloaded_error",
    "throttling": "rate_limit_error",
    "unrecognizedclient": "authentication_error",
    "validation": "invalid_request_error",
}
# AWS's texts in a 400 for an unknown or unusable model, and in a 403 for wrong credentials
_WRONG_MODEL = re.compile(r"model identifier|on-demand throughput", re.IGNORECASE)
_WRONG_TOKEN = re.compile(r"authentication failed|security token|signature|api key", re.IGNORECASE)
# the text in a 400 for a model that the account or project may not use
_NOT_ALLOWED = re.compile(r"not allowed to use publisher model", re.IGNORECASE)


def error_name(cloud: Cloud, status: int, said: str, headers: Any) -> str | None:
    """The error type of the Messages API for a refusal; None if the usual type for its status applies."""
    name = _exception_name(headers.get("x-amzn-errortype", ""))
    if status == 404 or (status == 400 and _WRONG_MODEL.search(said)):
        return "unknown_model_error"
    if status == 400 and _NOT_ALLOWED.search(said):
        return "permission_error"
    if status == 403 and cloud.provider == "bedrock" and _WRONG_TOKEN.search(said):
        return "authentication_error"
    if status in (424, 503):
        return "api_error" if status == 424 else "overloaded_error"
    return name if status < 500 else None


def advice(cloud: Cloud, name: str, model: str, base_url: str | None) -> str | None:
    """What happened and what to do; None if the advice for the API itself applies."""
    match name:
        case "authentication_error":
            text = f"{cloud.label} did not accept the credentials: {_SIGN_IN[cloud.provider]}"
        case "permission_error":
            text = _NO_ACCESS[cloud.provider]
        case "unknown_model_error":
            text = (
                f"{cloud.label} has no model “{model}” for you in this region. Check the settings model (names are "
                f"{_EXAMPLE_NAMES[cloud.provider]}) and cloud.region."
            )
        case _:
            return None
    # without a base URL the address is usually derived from the region, so they do not differ
    return f"{text} {_REGION_MISMATCH.format(base_url=base_url)}" if base_url else text


async def create_client(
    sdk: Any, cloud: Cloud, base_url: str | None, silence: float, http_client: Callable[[Any], Any]
) -> Any:
    """Creates the SDK's client for a cloud, in a thread, because this imports libraries and may read a profile.

    Args:
        sdk: the SDK's module.
        cloud: the cloud.
        base_url: replaces the cloud's own address. None: the SDK takes the address from ANTHROPIC_BEDROCK_BASE_URL or
            ANTHROPIC_VERTEX_BASE_URL, else from the region.
        silence: how many seconds the server may send nothing.
        http_client: creates the client of the transport, given the SDK's module.

    Raises:
        ModelError: the extra is not installed, the region or the project is missing, the region is invalid, or the AWS
            profile cannot be read.
    """
    return await asyncio.to_thread(_create_client, sdk, cloud, base_url, silence, http_client)


def _create_client(
    sdk: Any, cloud: Cloud, base_url: str | None, silence: float, http_client: Callable[[Any], Any]
) -> Any:
    _import_libraries(cloud)
    timeout = sdk.Timeout(silence, connect=CONNECT_TIMEOUT)
    common: dict[str, Any] = {"base_url": base_url, "timeout": timeout, "max_retries": 0}
    if cloud.provider == "bedrock":
        region = cloud.region or os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or _aws_region()
        _check_region(cloud, region, "AWS_REGION, or a region in your AWS profile")
        client = sdk.AsyncAnthropicBedrock(aws_region=region, http_client=http_client(sdk), **common)
        # the SDK would send even an empty token from the environment
        client.api_key = (client.api_key or "").strip() or None
        return client
    region = cloud.region or os.environ.get("CLOUD_ML_REGION", "")
    _check_region(cloud, region, "or CLOUD_ML_REGION")
    project = cloud.project or os.environ.get("ANTHROPIC_VERTEX_PROJECT_ID", "")
    if not project:
        raise ModelError(
            "invalid_request",
            "No Google Cloud project is set. Set cloud.project or ANTHROPIC_VERTEX_PROJECT_ID.",
        )
    return sdk.AsyncAnthropicVertex(region=region, project_id=project, http_client=http_client(sdk), **common)


def _import_libraries(cloud: Cloud) -> None:
    importlib.invalidate_caches()  # the packages may have been installed since the server started
    try:
        for name in _LIBRARIES[cloud.provider]:
            importlib.import_module(name)
    except ImportError as error:
        raise ModelError(
            "invalid_request",
            f"{cloud.label} needs packages that are not installed ({error.name}). Install them with\n"
            f'"{sys.executable}" -m pip install "fairlead[{cloud.provider}]"\nand try again.',
        ) from error


def _aws_region() -> str:
    with sign_in_errors(Cloud("bedrock")):
        return importlib.import_module("boto3").Session().region_name or ""


def _check_region(cloud: Cloud, region: str, alternatives: str) -> None:
    """Checks a region strictly, because it becomes part of a host name."""
    if not region:
        raise ModelError("invalid_request", f"No region for {cloud.label} is set. Set cloud.region, {alternatives}.")
    if not re.fullmatch(r"[a-z0-9-]{1,40}", region):
        example = _EXAMPLE_REGIONS[cloud.provider]
        message = f"“{region[:60]}” is not a region of {cloud.label}. Set cloud.region to one like {example}."
        raise ModelError("invalid_request", message)


@contextmanager
def sign_in_errors(cloud: Cloud, is_answered: Callable[[], bool] = lambda: False) -> Generator[None]:
    """Converts the errors that occur while signing in and while signing a request.

    Args:
        cloud: the cloud.
        is_answered: returns whether the answer has begun. Later errors are not converted.

    Raises:
        ModelError: credentials are missing, expired or unreadable, their server cannot be reached, or the request is
            invalid, for example because of the model's name.
    """
    try:
        yield
    except (*_credential_errors(cloud), *_request_errors()) as error:
        if is_answered():
            raise
        raise _sign_in_error(cloud, error) from error


def _sign_in_error(cloud: Cloud, error: Exception) -> ModelError:
    detail = str(error).partition("\n")[0][:300] or type(error).__name__
    if isinstance(error, _connection_errors(cloud)):
        message = f"No connection to the server of {cloud.label}'s credentials ({detail}). Check the network."
        return ModelError("network", message, retryable=True)
    if isinstance(error, _credential_errors(cloud)):
        return ModelError("auth", f"No credentials for {cloud.label}: {_SIGN_IN[cloud.provider]} ({detail})")
    check = f"Check the setting model (names are {_EXAMPLE_NAMES[cloud.provider]}) and the credentials."
    return ModelError("invalid_request", f"The request to {cloud.label} is invalid ({detail}). {check}")


def _credential_errors(cloud: Cloud) -> tuple[type[Exception], ...]:
    # RuntimeError is raised by the SDK, EOFError by a library that asks for a password on standard input
    common = (RuntimeError, EOFError)
    if cloud.provider == "bedrock":
        errors = importlib.import_module("botocore.exceptions")
        return (errors.BotoCoreError, errors.ClientError, *common)
    return (importlib.import_module("google.auth.exceptions").GoogleAuthError, *common)


def _request_errors() -> tuple[type[Exception], ...]:
    """The errors that an impossible model name causes."""
    return (ValueError, importlib.import_module("httpx2").InvalidURL)


def _connection_errors(cloud: Cloud) -> tuple[type[Exception], ...]:
    if cloud.provider == "bedrock":
        errors = importlib.import_module("botocore.exceptions")
        return (errors.ConnectionError, errors.HTTPClientError)
    return (importlib.import_module("google.auth.exceptions").TransportError,)


async def limit_frames(chunks: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
    """The chunks of a body that consists of AWS's frames. Each begins with its own length, in 4 bytes.

    Raises:
        ModelError: a frame has an impossible length, or there are more than MAX_FRAMES.
    """
    frames = 0
    ahead = 0  # bytes of `begun` up to the next frame; it may begin in a later chunk
    begun = b""
    async for chunk in chunks:
        begun += chunk
        while len(begun) - ahead >= 4:
            length = int.from_bytes(begun[ahead : ahead + 4])
            if not MIN_FRAME <= length <= MAX_FRAME:
                raise nonsense(f"a frame of {length:,} bytes, but frames have {MIN_FRAME} to {MAX_FRAME:,}")
            ahead, frames = ahead + length, frames + 1
            if frames > MAX_FRAMES:
                raise nonsense(f"an answer of more than {MAX_FRAMES:,} frames")
        ahead, begun = max(0, ahead - len(begun)), begun[ahead:]
        yield chunk


async def read_frames(sdk: Any, stream: Any) -> AsyncIterator[dict[str, Any]]:
    """Reads the Messages API's events from AWS's frames. A frame with an exception becomes the last event, an `error`.

    Frames without an event are ignored.

    Raises:
        ModelError: a frame is broken, or its content is not JSON.
    """
    try:
        with decoding_errors(sdk.AnthropicError):
            async for event in stream:
                if isinstance(event, dict):
                    yield event
    except sdk.APIStatusError as error:
        given = fields_of(error.body).get("error", {})
        given = given if is_object(given) else {"message": given}
        code, said = as_text(given.get("type") or ""), as_text(given.get("message") or "")
        yield {"type": "error", "error": {"type": _exception_name(code) or code, "message": said or code}}


def _exception_name(code: str) -> str | None:
    """The error type for `ThrottlingException`, `aws.service#throttlingException:http://...` etc.; None if unknown."""
    return _EXCEPTIONS.get(code.partition(":")[0].rpartition("#")[2].lower().removesuffix("exception"))


def with_cache_marks(body: dict[str, Any]) -> dict[str, Any]:
    """A copy of the body with explicit cache marks instead of the automatic one, which clouds do not support.

    Without the automatic mark, the body is returned unchanged.

    The marks are after the tools and after each of the last two user messages; the system prompt already has one. This
    request reads the cache up to the first of the two messages, and the next request reads it up to the second.
    """
    if "cache_control" not in body:
        return body
    body = {name: value for name, value in body.items() if name != "cache_control"}
    if body["tools"]:
        body["tools"] = [*body["tools"][:-1], {**body["tools"][-1], "cache_control": CACHE_MARK}]
    messages = list(body["messages"])
    user_messages = [index for index, message in enumerate(messages) if message["role"] == "user"]
    for index in user_messages[-2:]:
        message = messages[index]
        *before, last = message["content"]
        messages[index] = {**message, "content": [*before, {**last, "cache_control": CACHE_MARK}]}
    return {**body, "messages": messages}
