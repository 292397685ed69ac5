"""A server that lists its models, as strict as the real ones about the path, the key and the headers."""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, Self


class FakeModels:
    """Answers `GET PATH/models` with `answer`, and other requests with 404. With a key, it refuses those without it.

    Args:
        answer: the body: JSON, or text as it is.
        messages: whether it has Anthropic's API, whose key and version are in headers of their own.
        path: where the API is.
    """

    def __init__(
        self, answer: Any, *, key: str = "", messages: bool = False, path: str = "/v1", status: int = 200
    ) -> None:
        self.answer, self.key, self.messages, self.path, self.status = answer, key, messages, path, status
        self.requests: list[dict[str, str]] = []
        """The headers of each request, with names in lower case."""

    @property
    def url(self) -> str:
        """The address, without a path."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                headers = {name.lower(): ", ".join(self.headers.get_all(name, [])) for name in self.headers}
                owner.requests.append(headers)
                status, body = owner.answered(self.path, headers)
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                """Writes nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answered(self, target: str, headers: dict[str, str]) -> tuple[int, bytes]:
        path, _, query = target.partition("?")
        if path != f"{self.path}/models" or query != ("limit=1000" if self.messages else ""):
            return 404, _error("not_found_error", f"Unknown request URL: GET {target}")
        if self.messages and headers.get("anthropic-version") != "2023-06-01":
            return 400, _error("invalid_request_error", "anthropic-version: header is required")
        given = headers.get("x-api-key") if self.messages else headers.get("authorization", "").removeprefix("Bearer ")
        if self.key and given != self.key:
            return 401, _error("authentication_error", "invalid x-api-key")
        text = self.answer if isinstance(self.answer, str) else json.dumps(self.answer)
        return self.status, text.encode()


def _error(kind: str, message: str) -> bytes:
    return json.dumps({"error": {"type": kind, "message": message}}).encode()
