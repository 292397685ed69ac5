"""The comments of a pull request of GitHub and of a merge request of GitLab, as their APIs serve them."""

from __future__ import annotations

import json
import re
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

Json = dict[str, Any]
TOKEN = "secret-token"
PROJECT, NUMBER = 12, 7
_GITHUB = {
    "user": "/user",
    "comments": f"/repos/owner/name/issues/{NUMBER}/comments",
    "comment": r"/repos/owner/name/issues/comments/(\d+)",
}
_GITLAB = {
    "user": "/user",
    "comments": f"/projects/{PROJECT}/merge_requests/{NUMBER}/notes",
    "comment": rf"/projects/{PROJECT}/merge_requests/{NUMBER}/notes/(\d+)",
}
_MAX_BODY = 65_536  # characters, of GitHub


class CommentsApi:
    """An API with comments on one request. `problems` says what is wrong with the requests that it got.

    Args:
        service: `github` or `gitlab`.
        bot: whether the token is that of a job of GitHub, which must not ask whose it is.
        allowed: whether the token may write.
    """

    def __init__(self, service: str, *, bot: bool = False, allowed: bool = True) -> None:
        self.service, self.bot, self.allowed = service, bot, allowed
        self.user = "github-actions[bot]" if bot else "fairlead-bot"
        self.comments: list[Json] = []
        self.problems: list[str] = []

    def __enter__(self) -> Self:
        api = self

        class Handler(_Handler):
            owner = api

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def add(self, author: str, body: str) -> Json:
        """Adds a comment."""
        named = {"user": {"login": author}} if self.service == "github" else {"author": {"username": author}}
        comment = {"id": 1000 + len(self.comments), "body": body, **named}
        self.comments.append(comment)
        return comment


class _Handler(BaseHTTPRequestHandler):
    owner: CommentsApi
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        kind, _ = self._kind()
        if kind == "user":
            if self.owner.bot:
                self._answer(403, {"message": "Resource not accessible by integration"})
            else:
                name = "login" if self.owner.service == "github" else "username"
                self._answer(200, {"id": 1, name: self.owner.user})
        elif kind == "comments":
            query = parse_qs(urlsplit(self.path).query)
            size, page = int(query["per_page"][0]), int(query["page"][0])
            if not 1 <= size <= 100:
                self.owner.problems.append(f"pages of {size}")
            self._answer(200, self.owner.comments[size * (page - 1) : size * page])
        else:
            self._unknown()

    def do_POST(self) -> None:
        if self._kind()[0] != "comments":
            self._unknown()
        elif (body := self._body()) is not None:
            self._answer(201, self.owner.add(self.owner.user, body))

    def do_PATCH(self) -> None:
        self._change("github")

    def do_PUT(self) -> None:
        self._change("gitlab")

    def _change(self, service: str) -> None:
        kind, id_ = self._kind()
        found = next((each for each in self.owner.comments if str(each["id"]) == id_), None)
        if kind != "comment" or found is None or service != self.owner.service:
            self._unknown()
        elif (body := self._body()) is not None:
            found["body"] = body
            self._answer(200, found)

    def _body(self) -> str | None:
        """The text of a comment in the request; None if it is refused, and answered."""
        data = self.rfile.read(int(self.headers["Content-Length"]))
        if not self.owner.allowed:
            self._answer(403, {"message": "Resource not accessible by integration"})
            return None
        values = json.loads(data)
        is_json = self.headers.get_content_type() == "application/json"
        if not is_json or list(values) != ["body"] or not 0 < len(values["body"]) <= _MAX_BODY:
            self.owner.problems.append(f"{self.command} {self.path}: {data[:200]!r}")
            self._answer(422, {"message": "Validation Failed"})
            return None
        return values["body"]

    def _kind(self) -> tuple[str, str]:
        """What a path names, and the id in it. Notes what is wrong with the headers."""
        is_github = self.owner.service == "github"
        name, value = ("Authorization", f"Bearer {TOKEN}") if is_github else ("PRIVATE-TOKEN", TOKEN)
        if self.headers[name] != value:
            self.owner.problems.append(f"{name}: {self.headers[name]}")
        if is_github and self.headers["Accept"] != "application/vnd.github+json":
            self.owner.problems.append(f"Accept: {self.headers['Accept']}")
        if not self.headers["User-Agent"]:
            self.owner.problems.append("no User-Agent")  # GitHub refuses such a request
        for kind, pattern in (_GITHUB if is_github else _GITLAB).items():
            if found := re.fullmatch(pattern, urlsplit(self.path).path):
                return kind, found[1] if found.groups() else ""
        return "", ""

    def _unknown(self) -> None:
        self.owner.problems.append(f"{self.command} {self.path}")
        self.rfile.read(int(self.headers["Content-Length"] or 0))
        self._answer(404, {"message": "Not Found"})

    def _answer(self, status: int, values: Any) -> None:
        data = json.dumps(values).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        """Requests are not logged."""
