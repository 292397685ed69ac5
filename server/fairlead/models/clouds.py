"""Amazon Bedrock and Google Vertex AI: the Messages API in a cloud, with the cloud's own sign-in.

The SDK's clients know the paths, sign, and read AWS's frames; messages_api.py sends through them as it does elsewhere.
Here is what differs: how a client is made, where cache marks go, and what a cloud's errors mean for people. Neither the
SDK (it is handed in) nor a cloud's library (each is an extra of this package) is imported at the top.
"""

import asyncio
import importlib
import os
import re
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

from fairlead.agent.errors import ModelError

CONNECT_TIMEOUT = 15.0
MARK = {"type": "ephemeral"}
ODD_CREDENTIALS = "The credentials for {label} hold characters that none have, a line end perhaps. Set them again."

LABELS = {"bedrock": "Amazon Bedrock", "vertex": "Google Vertex AI"}
_LIBRARIES = {
    "bedrock": ("boto3", "botocore.eventstream", "botocore.exceptions", "botocore.parsers"),
    "vertex": ("google.auth.exceptions", "google.auth.transport.requests"),
}
_AGAIN = "If that does not help, run “Agent: Restart Server”."
_SIGN_IN = {
    "bedrock": (
        "sign in with `aws sso login` or `aws configure`, or set AWS_PROFILE, AWS_ACCESS_KEY_ID with "
        f"AWS_SECRET_ACCESS_KEY, or AWS_BEARER_TOKEN_BEDROCK. {_AGAIN}"
    ),
    "vertex": (
        "sign in with `gcloud auth application-default login`, or set GOOGLE_APPLICATION_CREDENTIALS to a key file. "
        f"{_AGAIN}"
    ),
}
_NO_ACCESS = {
    "bedrock": (
        "The AWS account may not use this model here. Ask for access to it in the Bedrock console and for the right "
        "bedrock:InvokeModelWithResponseStream, or choose another model or region (settings model, cloud.region)."
    ),
    "vertex": (
        "The Google Cloud project may not use this model here. Enable the Vertex AI API and, in the Model Garden, the "
        "model, and have the role Vertex AI User; or choose another model, region or project (settings model, "
        "cloud.region, cloud.project)."
    ),
}
_TWO_PLACES = (
    "Or the region (setting cloud.region) is not the one that the base URL {base_url} (setting baseUrl) leads to."
)
_REGIONS = {"bedrock": "us-east-1", "vertex": "us-east5"}
_NAMES = {
    "bedrock": "an inference profile's, like us.anthropic.claude-…-v1:0",
    "vertex": "like claude-…@20260901",
}
# AWS's exceptions, without that word and in small letters, in the Messages API's terms
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
    "resourcenotfound": "not_found_error",
    "serviceunavailable": "overloaded_error",
    "throttling": "rate_limit_error",
    "unrecognizedclient": "authentication_error",
    "validation": "invalid_request_error",
}
# what AWS says in a 400 about a name that is none, or none that can be asked, and in a 403 about a wrong bearer token
_WRONG_MODEL = re.compile(r"model identifier|on-demand throughput", re.IGNORECASE)
_WRONG_TOKEN = re.compile(r"authentication failed|security token|signature|api key", re.IGNORECASE)
_NOT_ALLOWED = re.compile(r"not allowed to use publisher model", re.IGNORECASE)


@dataclass(frozen=True)
class Cloud:
    """Which one, and where in it. An empty region or project is the environment's, or that of the cloud's profile."""

    provider: Literal["bedrock", "vertex"]
    region: str = ""
    project: str = ""

    @property
    def label(self) -> str:
        return LABELS[self.provider]

    def error_name(self, status: int, said: str, headers: Any) -> str | None:
        """What a refusal is in the Messages API's terms; None where the status says enough."""
        name = _exception_name(headers.get("x-amzn-errortype", ""))
        if status == 400 and _WRONG_MODEL.search(said):
            return "not_found_error"
        if status == 400 and _NOT_ALLOWED.search(said):
            return "permission_error"
        if status == 403 and self.provider == "bedrock" and _WRONG_TOKEN.search(said):
            return "authentication_error"
        if status in (424, 503):
            return "api_error" if status == 424 else "overloaded_error"
        return name if status < 500 else None

    def advice(self, name: str, model: str, base_url: str | None) -> str | None:
        """What an error means and what to do, where that is not the same as at the API itself."""
        match name:
            case "authentication_error":
                advice = f"{self.label} did not accept the credentials: {_SIGN_IN[self.provider]}"
            case "permission_error":
                advice = _NO_ACCESS[self.provider]
            case "not_found_error":
                advice = (
                    f"{self.label} has no model “{model}” for you in this region: check the settings model (its names "
                    f"are {_NAMES[self.provider]}) and cloud.region."
                )
            case _:
                return None
        # without a base URL the region makes the address, so they cannot differ
        return f"{advice} {_TWO_PLACES.format(base_url=base_url)}" if base_url else advice


async def connect(
    sdk: Any, cloud: Cloud, base_url: str | None, silence: float, http_client: Callable[[Any], Any]
) -> Any:
    """The SDK's client, with the connections that `http_client` makes.

    Libraries, profiles and key files are read in a thread: they block.

    Raises:
        ModelError: the extra is not installed, or no region or project is to be had.
    """
    return await asyncio.to_thread(_client, sdk, cloud, base_url, silence, http_client)


def _client(sdk: Any, cloud: Cloud, base_url: str | None, silence: float, http_client: Callable[[Any], Any]) -> Any:
    _load(cloud)
    timeout = sdk.Timeout(silence, connect=CONNECT_TIMEOUT)
    common: dict[str, Any] = {"base_url": base_url, "timeout": timeout, "max_retries": 0}
    if cloud.provider == "bedrock":
        region = cloud.region or os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or _aws_region()
        _check_region(cloud, region, "AWS_REGION, or a region in your AWS profile")
        client = sdk.AsyncAnthropicBedrock(aws_region=region, http_client=http_client(sdk), **common)
        # one that is empty is none; the SDK would send it
        client.api_key = (client.api_key or "").strip() or None
        return client
    region = cloud.region or os.environ.get("CLOUD_ML_REGION", "")
    _check_region(cloud, region, "CLOUD_ML_REGION")
    project = cloud.project or os.environ.get("ANTHROPIC_VERTEX_PROJECT_ID", "")
    if not project:
        raise ModelError(
            "invalid_request",
            "No Google Cloud project to ask. Set it in cloud.project, or in ANTHROPIC_VERTEX_PROJECT_ID.",
        )
    return sdk.AsyncAnthropicVertex(region=region, project_id=project, http_client=http_client(sdk), **common)


def _load(cloud: Cloud) -> None:
    importlib.invalidate_caches()  # the extra may have been installed since
    try:
        for name in _LIBRARIES[cloud.provider]:
            importlib.import_module(name)
    except ImportError as error:
        raise ModelError(
            "invalid_request",
            f"{cloud.label} needs packages that are not installed ({error.name}). Install them with\n"
            f'"{sys.executable}" -m pip install "fairlead[{cloud.provider}]"\nand ask again.',
        ) from error


def _aws_region() -> str:
    with signing(Cloud("bedrock")):
        return importlib.import_module("boto3").Session().region_name or ""


def _check_region(cloud: Cloud, region: str, others: str) -> None:
    """It becomes part of a host's name."""
    if not region:
        raise ModelError("invalid_request", f"No region of {cloud.label}. Set it in cloud.region, or in {others}.")
    if not re.fullmatch(r"[a-z0-9-]{1,40}", region):
        said = f"“{region[:60]}” is no region of {cloud.label}; one is like {_REGIONS[cloud.provider]}."
        raise ModelError("invalid_request", said)


@contextmanager
def signing(cloud: Cloud) -> Iterator[None]:
    """What goes wrong before a request is on its way, in words for people.

    Raises:
        ModelError: no credentials, expired ones, a profile that cannot be read, no connection to whoever gives them.
    """
    try:
        yield
    except _sign_in_errors(cloud) as error:
        detail = str(error).partition("\n")[0][:300] or type(error).__name__
        if isinstance(error, _connection_errors(cloud)):
            message = f"No connection to where {cloud.label}'s credentials come from ({detail}). Check the network."
            raise ModelError("network", message, retryable=True) from error
        message = f"No credentials for {cloud.label}: {_SIGN_IN[cloud.provider]} ({detail})"
        raise ModelError("auth", message) from error
    except (ValueError, importlib.import_module("httpx2").InvalidURL) as error:  # a model's name that can be none
        check = f"Check the setting model (its names are {_NAMES[cloud.provider]}) and the credentials."
        raise ModelError("invalid_request", f"{cloud.label} cannot be asked ({str(error)[:300]}). {check}") from error


def _sign_in_errors(cloud: Cloud) -> tuple[type[Exception], ...]:
    # the SDK's own is a RuntimeError; what would be asked on a terminal finds its end
    own = (RuntimeError, EOFError)
    if cloud.provider == "bedrock":
        errors = importlib.import_module("botocore.exceptions")
        return (errors.BotoCoreError, errors.ClientError, *own)
    return (importlib.import_module("google.auth.exceptions").GoogleAuthError, *own)


def _connection_errors(cloud: Cloud) -> tuple[type[Exception], ...]:
    if cloud.provider == "bedrock":
        errors = importlib.import_module("botocore.exceptions")
        return (errors.ConnectionError, errors.HTTPClientError)
    return (importlib.import_module("google.auth.exceptions").TransportError,)


async def read_frames(sdk: Any, stream: Any) -> AsyncIterator[dict[str, Any]]:
    """The Messages API's events out of AWS's frames; an exception's frame becomes an `error` event.

    Raises:
        ModelError: a frame is broken (retryable: a proxy or a broken connection garbled it).
    """
    broken = (
        importlib.import_module("botocore.eventstream").ParserError,
        importlib.import_module("botocore.parsers").ResponseParserError,
        ValueError,
        LookupError,
    )
    try:
        async for event in stream:
            if isinstance(event, dict):
                yield event
    except sdk.APIStatusError as error:
        given = error.body.get("error", {}) if isinstance(error.body, dict) else {}
        code, said = str(given.get("type", "")), str(given.get("message", ""))
        yield {"type": "error", "error": {"type": _exception_name(code) or code, "message": said or code}}
    except broken as error:
        raise ModelError("network", "The model's stream was garbled.", retryable=True) from error


def _exception_name(code: str) -> str | None:
    """`ThrottlingException`, `throttlingException` or `aws.service#ThrottlingException:http://...` is one thing."""
    return _EXCEPTIONS.get(code.partition(":")[0].rpartition("#")[2].lower().removesuffix("exception"))


def words_of(body: Any) -> str | None:
    """What an error's body says: `error.message`, also in a list (Google), `message` (AWS), or a text as `error`."""
    if isinstance(body, list) and body:
        body = body[0]
    if not isinstance(body, dict):
        return None
    details = body.get("error", body)
    if isinstance(details, str):
        return details or None
    if not isinstance(details, dict):
        return None
    said = details.get("message") or details.get("Message")
    return str(said) if said else None


def marked(body: dict[str, Any]) -> dict[str, Any]:
    """The body with four cache marks in it where it has the automatic one, which clouds do not know.

    They stand behind the tools, the system prompt, and the last two messages of the user's side: the last one is what
    the next request reads, the one before is what this request reads. Nothing that was given is changed.
    """
    if "cache_control" not in body:
        return body
    body = {name: value for name, value in body.items() if name != "cache_control"}
    body = {**body, "system": [{"type": "text", "text": body["system"], "cache_control": MARK}]}
    if body["tools"]:
        body["tools"] = [*body["tools"][:-1], {**body["tools"][-1], "cache_control": MARK}]
    messages = list(body["messages"])
    asked = [index for index, message in enumerate(messages) if message["role"] == "user"]
    for index in asked[-2:]:
        message = messages[index]
        *before, last = message["content"]
        messages[index] = {**message, "content": [*before, {**last, "cache_control": MARK}]}
    return {**body, "messages": messages}
