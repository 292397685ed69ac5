"""What the tools of the web share in a session: the permission to ask, the evidence, and the pages that were read."""

import asyncio
import json
import time
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import Literal

from fairlead.agent.tool import RunningCall
from fairlead.display import shorten
from fairlead.errors import ToolError
from fairlead.gate.gate import Gate
from fairlead.gate.request import FetchPage
from fairlead.plan.evidence import ServerCall
from fairlead.shell.network import Service
from fairlead.web.conversion import Page, page_of
from fairlead.web.target import Target
from fairlead.web.web import Answer, Web

MAX_KEPT_PAGES, MAX_KEPT_CHARS = 20, 10_000_000
MAX_READ_AT_ONCE = 2
"""How many pages become text at the same time: each may need much memory and time."""
MAX_RECORDED = 500
"""How much of a request is in its evidence, in characters."""


@dataclass
class WebContext:
    """The web of one session.

    Args:
        private: returns what the settings allow of this machine and the user's networks.
    """

    gate: Gate
    private: Callable[[], Collection[Service]] = frozenset
    web: Web = field(default_factory=Web)
    _pages: OrderedDict[str, Page] = field(default_factory=OrderedDict[str, Page])
    _questions: defaultdict[str, asyncio.Lock] = field(default_factory=lambda: defaultdict(asyncio.Lock))
    """By host."""
    _reading: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(MAX_READ_AT_ONCE))

    async def get(
        self, tool: str, url: str, call: RunningCall, accept: str, also_private: Collection[Service] = ()
    ) -> Answer:
        """Asks for a URL, and records it as evidence.

        Args:
            tool: the name of the tool that asks.
            also_private: further private services that may be asked.

        Raises:
            ToolError: as for `Web.get`, or the user does not allow it.
        """
        asked = list[str]()
        private = frozenset((*self.private(), *also_private))
        began = time.monotonic()

        async def allow(target: Target) -> None:
            nonlocal began
            is_exposed = target.scheme == "http" and target.service not in private
            page = FetchPage(target.name, target.url, is_exposed, is_redirect=bool(asked))
            sent = f"only {asked[-1]} was asked" if asked else "nothing was sent"
            call.progress = f"Cancelled while the user was asked; {sent}."
            async with self._questions[target.name]:  # a second request to a host uses the answer to the first
                await self.gate.check(page, call.id)
            call.progress = "Cancelled while the server was asked."
            asked.append(target.url)
            call.server_call = _evidence(call, tool, target.name, asked)
            began = time.monotonic()

        try:
            answer = await self.web.get(url, allow, private, accept)
        except ToolError:
            self._ended(call, "failed", began)
            raise
        self._ended(call, "answered" if answer.status < HTTPStatus.BAD_REQUEST else "failed", began)
        return answer

    def _ended(self, call: RunningCall, outcome: Literal["answered", "failed"], began: float) -> None:
        if call.server_call is not None:
            call.server_call = replace(call.server_call, outcome=outcome, seconds=time.monotonic() - began)

    async def read(self, answer: Answer) -> Page:
        """The text of a page. Raises ToolError as `page_of`."""
        async with self._reading:
            return await page_of(answer.target, answer.content_type, answer.body)

    def keep(self, url: str, page: Page) -> None:
        """Keeps a page, so that its parts are those of one text."""
        self._pages[url] = page
        self._pages.move_to_end(url)
        while len(self._pages) > 1 and (
            len(self._pages) > MAX_KEPT_PAGES or sum(len(each.text) for each in self._pages.values()) > MAX_KEPT_CHARS
        ):
            self._pages.popitem(last=False)

    def kept(self, url: str) -> Page | None:
        """A page that was fetched before; None if it is no longer kept."""
        return self._pages.get(url)


def _evidence(call: RunningCall, tool: str, host: str, urls: list[str]) -> ServerCall:
    # a GET only reads by the rules of HTTP; the record has the URL, because it may have carried something
    arguments = {"url": urls[0], **({"redirected_to": urls[-1]} if len(urls) > 1 else {})}
    text = shorten(json.dumps(arguments, ensure_ascii=False), MAX_RECORDED)
    return ServerCall(call.id, host, tool, "unknown", 0.0, has_effects_outside=False, arguments=text)
