"""A site of the web on loopback that is strict about requests, and the agent's web, for which names lead to it."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from fairlead.agent.schema import read_input
from fairlead.agent.tool import RunningCall, Tool
from fairlead.gate.gate import Gate
from fairlead.gate.host_rules import HostPolicy
from fairlead.gate.request import FetchPage
from fairlead.http_client import certificates
from fairlead.shell.network import Service
from fairlead.tools.fetch import Fetch
from fairlead.tools.web_context import WebContext
from fairlead.tools.web_search import WebSearch
from fairlead.web.web import Web
from tool_servers.remote import HttpServer, Reply, Request
from tools.stand_ins import ScriptedUser

ELSEWHERE = "127.0.0.2"
"""An address at which nothing listens."""


@dataclass(frozen=True)
class Page:
    """What the site answers with."""

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    raw: bytes | None = None
    """Sent instead of everything else."""
    holds: bool = False
    """Whether the connection stays open afterwards, until the client leaves."""
    drips: bool = False
    """Whether a byte follows now and then, until the client leaves."""
    endless: bytes = b""
    """Sent again and again until the client leaves."""


class Site(HttpServer):
    """Answers with `pages`, by the target of the request. `problems` says what is wrong with requests."""

    def __init__(self) -> None:
        super().__init__(self._page)
        self.pages: dict[str, Page] = {}
        self.problems: list[str] = []

    async def _page(self, request: Request, reply: Reply) -> None:
        self._check(request)
        page = self.pages.get(request.target, Page(b"There is no such page.", 404, {"content-type": "text/plain"}))
        if page.raw is not None:
            await reply.write(page.raw)
        else:
            length = {} if page.endless or page.holds or page.drips else {"content-length": str(len(page.body))}
            await reply.begin(page.status, **{"content-type": "text/html; charset=utf-8", **length, **page.headers})
            await reply.write(page.body)
        while page.endless:
            await reply.write(page.endless)
        while page.drips:
            await reply.write(b"x")
            await asyncio.sleep(0.02)
        if page.holds:
            await reply.hold()

    def _check(self, request: Request) -> None:
        known = {"host", "user-agent", "accept", "accept-encoding", "connection"}
        unknown = request.headers.keys() - known
        if request.method != "GET" or request.body or unknown or known - request.headers.keys():
            self.problems.append(f"{request.method} {request.target} {sorted(request.headers)}")
        if not request.headers.get("user-agent", "").startswith("Fairlead/"):
            self.problems.append(f"{request.target}: no honest user agent")

    @property
    def asked(self) -> list[str]:
        """The URLs that were asked for, as the requests name them."""
        return [f"{request.headers['host']}{request.target}" for request in self.requests]


@asynccontextmanager
async def site() -> AsyncIterator[Site]:
    server = Site()
    await server.start()
    try:
        yield server
        assert server.problems == []
    finally:
        await server.stop()


@dataclass
class Names:
    """A name server. Each question for a name gets the next of its answers, and then the last one again."""

    answers: Mapping[str, Sequence[Sequence[str]]] = field(default_factory=dict[str, Sequence[Sequence[str]]])
    """By name. All other names lead to this machine."""
    asked: list[str] = field(default_factory=list[str])

    async def resolve(self, host: str, port: int) -> Sequence[str]:
        given = self.answers.get(host, [["127.0.0.1"]])
        answer = given[min(self.asked.count(host), len(given) - 1)]
        self.asked.append(host)
        if not answer:
            raise OSError("no such name")
        return answer


@dataclass
class Visitor:
    """An agent that fetches pages, and its user."""

    site: Site
    user: ScriptedUser = field(default_factory=lambda: ScriptedUser("allow_session"))
    names: Names = field(default_factory=Names)
    policy: HostPolicy = field(default_factory=HostPolicy)
    private: Collection[str] = ("a.example", "b.example")
    """The hosts at whose names the site may be asked, although it is on this machine."""
    proxy: str | None = None
    tls: ssl.SSLContext | None = None
    seconds: float = 60.0
    search_url: str = ""
    calls: list[RunningCall] = field(default_factory=list[RunningCall])

    def __post_init__(self) -> None:
        web = Web(self.names.resolve, lambda _: self.proxy, lambda: self.tls or certificates(), self.seconds)
        gate = Gate("s", self.user, _no_commands, host_policy=lambda: self.policy)
        services = frozenset(Service(host, self.site.port) for host in self.private)
        self._context = WebContext(gate, lambda: services, web)

    async def fetch(self, url: str, **input: Any) -> str:
        """The result of the tool. `{port}` in the URL is that of the site."""
        return await self._run(Fetch(self._context), {"url": url.replace("{port}", str(self.site.port)), **input})

    async def search(self, query: str) -> str:
        template = self.search_url.replace("{port}", str(self.site.port))
        return await self._run(WebSearch(self._context, template), {"query": query})

    @property
    def asked_urls(self) -> list[str]:
        """The URLs in the questions to the user."""
        return [request.action.url for request in self.user.asked if isinstance(request.action, FetchPage)]

    async def _run(self, tool: Tool, input: dict[str, Any]) -> str:
        call = RunningCall(f"call-{len(self.calls)}", None, lambda _: None)
        self.calls.append(call)
        given = read_input(tool.spec, input)
        tool.describe(given)
        return await tool.run(given, call)


def _no_commands() -> Any:
    raise AssertionError("the web runs no command")
