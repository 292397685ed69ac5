"""Stand-ins for Amazon Bedrock and Google Vertex AI: each checks its cloud's rules, then those of the Messages API.

Here are the clouds' paths, credentials, differences in the body, error formats, and AWS's frames. A script uses the
cloud's names: `HttpError(429, "ThrottlingException", ...)`, `MidStreamError(..., "throttlingException", ...)`.
"""

from __future__ import annotations

import base64
import json
import re
import struct
from abc import abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote
from zlib import crc32

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from .fake_api import FakeApi, HttpError, Page, Raw, Request
from .fake_api.ask import Json, read_body
from .fake_api.turns import Answer, Event, Step

VERSION = re.compile(r"\d{4}-\d{2}-\d{2}|bedrock-2023-05-31|vertex-2023-10-16")
SIGNED = re.compile(
    r"AWS4-HMAC-SHA256 Credential=(?P<key>\w+)/\d{8}/(?P<region>[\w-]+)/bedrock/aws4_request, "
    r"SignedHeaders=[\w;-]*\bhost\b[\w;-]*, Signature=[0-9a-f]{64}"
)


class FakeCloud(FakeApi):
    """The base of both clouds: checks a request by the rules of the cloud, then by those of the API.

    `arrived` has all requests for an answer as they came. `requests` has only those that the cloud accepted, as the API
    would get them.
    """

    wrong_body = ""

    def __init__(self, *turns: Answer, caching: bool = False) -> None:
        super().__init__(turns, caching=caching)
        self.arrived: list[Request] = []

    @abstractmethod
    def denied(self, path: str, headers: Mapping[str, str]) -> HttpError | None:
        """The error for a request without valid credentials, otherwise None."""

    @abstractmethod
    def model(self, path: str) -> str | None:
        """The model in a path, or None if the path is invalid."""

    @abstractmethod
    def body_problem(self, body: Json) -> str | None:
        """Why the cloud refuses a body, or None if it accepts it."""

    def respond(
        self, method: str, path: str, headers: Mapping[str, str], raw: bytes
    ) -> HttpError | Page | Raw | Json | list[Step]:
        body, fault = read_body(raw)
        self.arrived.append(Request(headers, body, raw, 0.0, method, path))
        model = self.model(path)
        if method != "POST" or model is None:
            return self._refuse(f"no such path: {method} {path}")
        if denied := self.denied(path, headers):
            return denied
        version = body.pop("anthropic_version", None)
        if not isinstance(version, str) or not VERSION.fullmatch(version):
            fault = fault or "anthropic_version: Field required"
        fault = fault or self.body_problem(body)
        if "cache_control" in body:
            fault = fault or "cache_control: Extra inputs are not permitted"
        if {"x-api-key", "anthropic-beta", "anthropic-version"} & set(headers):
            fault = fault or "a header that is the API's"
        if fault:
            return self._refuse(fault)
        whole = json.dumps({**body, "model": model, "stream": True}, ensure_ascii=False).encode()
        own = {"authorization": "Bearer test-key", "anthropic-version": "2026-10-21"}
        return super().respond("POST", "/v1/messages", own, whole)

    def _refuse(self, reason: str) -> HttpError:
        super()._refuse(reason)
        return HttpError(400, self.wrong_body, reason)


class FakeBedrock(FakeCloud):
    """Accepts signed requests with its access key and region, or its bearer token. Does not verify the signature."""

    KEY, SECRET, TOKEN, REGION = "AKIDEXAMPLE", "a-secret-key", "a-bearer-token", "eu-central-1"
    stream_type = "application/vnd.amazon.eventstream"
    wrong_body = "ValidationException"

    def model(self, path: str) -> str | None:
        found = re.fullmatch(r"/model/([^/]+)/invoke-with-response-stream", path)
        return unquote(found[1]) if found else None

    def denied(self, path: str, headers: Mapping[str, str]) -> HttpError | None:
        given = headers.get("authorization", "")
        if given == f"Bearer {self.TOKEN}":
            return None
        if given.startswith("Bearer "):
            said = "Authentication failed: Please make sure your API Key is valid."
            return HttpError(403, "AccessDeniedException", said)
        signed = SIGNED.fullmatch(given)
        if signed is None or "x-amz-date" not in headers:
            return HttpError(403, "MissingAuthenticationTokenException", "Missing Authentication Token")
        if signed["region"] != self.REGION:
            said = f"Credential should be scoped to a valid region, not '{signed['region']}'. "
            return HttpError(403, "InvalidSignatureException", said)
        if signed["key"] != self.KEY:
            said = "The security token included in the request is invalid."
            return HttpError(403, "UnrecognizedClientException", said)
        return None

    def body_problem(self, body: Json) -> str | None:
        return next((f"{name}: Extra inputs are not permitted" for name in ("model", "stream") if name in body), None)

    def error(self, error: HttpError, request_id: str) -> tuple[Any, Mapping[str, str]]:
        kind = f"{error.error_type}:http://internal.amazon.com/coral/com.amazon.bedrock/"
        return {"message": error.message}, {"x-amzn-requestid": request_id, "x-amzn-errortype": kind}

    def frames(self, event: Event) -> list[bytes]:
        match event.name:
            case "ping":  # Bedrock sends none
                return []
            case "error":
                inner = event.data["error"]
                headers = {":exception-type": inner["type"], ":message-type": "exception"}
                return [frame(headers, {"message": inner["message"]})]
            case "message_stop":
                data = {**event.data, "amazon-bedrock-invocationMetrics": {"inputTokenCount": 1}}
            case _:
                data = event.data
        encoded = base64.b64encode(json.dumps(data).encode()).decode()
        whole = frame({":event-type": "chunk", ":message-type": "event"}, {"bytes": encoded, "p": "abcdefghij"})
        return [whole[:20], whole[20:]]


def frame(headers: Mapping[str, str], payload: Json, *, damaged: bool = False, junk: bytes = b"") -> bytes:
    """One message of AWS's event stream (application/vnd.amazon.eventstream).

    `damaged`: its checksum is wrong. `junk`: bytes after its headers that are not a header.
    """
    body = json.dumps(payload).encode()
    named = b""
    for name, value in {**headers, ":content-type": "application/json"}.items():
        named += struct.pack("!B", len(name)) + name.encode() + struct.pack("!BH", 7, len(value)) + value.encode()
    named += junk
    head = struct.pack("!II", 16 + len(named) + len(body), len(named))
    message = head + struct.pack("!I", crc32(head)) + named + body
    checksum = crc32(message) ^ damaged
    return message + struct.pack("!I", checksum)


class FakeVertex(FakeCloud):
    """Accepts the access token that its own token endpoint issues for a service account's signed assertion."""

    TOKEN, REGION, PROJECT = "an-access-token", "europe-west1", "my-project"
    wrong_body = "INVALID_ARGUMENT"

    refuse_sign_in = False

    def model(self, path: str) -> str | None:
        where = f"/v1/projects/{self.PROJECT}/locations/{self.REGION}/publishers/anthropic/models/"
        name = path.removeprefix(where).removesuffix(":streamRawPredict")
        return unquote(name) if path == f"{where}{name}:streamRawPredict" and "/" not in name else None

    def respond(
        self, method: str, path: str, headers: Mapping[str, str], raw: bytes
    ) -> HttpError | Page | Raw | Json | list[Step]:
        if path != "/token":
            return super().respond(method, path, headers, raw)
        form = parse_qs(raw.decode())
        assert form["grant_type"] == ["urn:ietf:params:oauth:grant-type:jwt-bearer"]
        assert form["assertion"][0].count(".") == 2
        if self.refuse_sign_in:
            return HttpError(400, "invalid_grant", "Account has been deleted")
        return {"access_token": self.TOKEN, "expires_in": 3600, "token_type": "Bearer"}

    def denied(self, path: str, headers: Mapping[str, str]) -> HttpError | None:
        if headers.get("authorization") == f"Bearer {self.TOKEN}":
            return None
        return HttpError(401, "UNAUTHENTICATED", "Request had invalid authentication credentials.")

    def body_problem(self, body: Json) -> str | None:
        if "model" in body:
            return "model: Extra inputs are not permitted"
        return None if body.get("stream") is True else "stream: must be true"

    def error(self, error: HttpError, request_id: str) -> tuple[Any, Mapping[str, str]]:
        if error.error_type == "invalid_grant":
            return {"error": error.error_type, "error_description": error.message}, {}
        return [{"error": {"code": error.status, "message": error.message, "status": error.error_type}}], {}

    def key_file(self, folder: Path) -> Path:
        """Writes a service account's key, with this server as its token endpoint. Returns the path of the file."""
        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        pem = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        fields = {
            "type": "service_account",
            "project_id": self.PROJECT,
            "private_key_id": "1",
            "private_key": pem.decode(),
            "client_email": f"agent@{self.PROJECT}.iam.gserviceaccount.com",
            "client_id": "1",
            "token_uri": f"{self.url}/token",
        }
        path = folder / "key.json"
        path.write_text(json.dumps(fields), encoding="utf-8")
        return path
