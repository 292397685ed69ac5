"""`fetch`: reads a page of the web."""

from http import HTTPStatus
from typing import Any

from fairlead.agent.model import ToolSpec
from fairlead.agent.tool import Location, RunningCall, ToolKind
from fairlead.display import end_sentence, shorten
from fairlead.errors import ToolError, VerbatimToolError
from fairlead.sentences import Sentence
from fairlead.tool_servers.results import untrusted
from fairlead.tools.web_context import WebContext
from fairlead.web.conversion import Page
from fairlead.web.target import parse_url
from fairlead.web.web import Answer

PAGES = "text/markdown, text/html;q=0.9, text/plain;q=0.9, application/json;q=0.8, application/xml;q=0.8, */*;q=0.1"
MAX_CHARS = 40_000
"""How much of a page the model gets at once."""
MAX_ERROR_CHARS = 2000

SPEC = ToolSpec(
    "fetch",
    "Read a page of the web as Markdown or text. The user is asked about its host.",
    {
        "type": "object",
        "properties": {
            "url": {"type": "string"},
            "start": {"type": "integer", "minimum": 1, "description": "The first character, from 1"},
        },
        "required": ["url"],
    },
)


class Fetch:
    """Implements `Tool`."""

    spec = SPEC
    kind: ToolKind = "fetch"
    read_only = True

    def __init__(self, context: WebContext) -> None:
        self._context = context

    def describe(self, input: dict[str, Any]) -> tuple[str, tuple[Location, ...]]:
        try:
            target = parse_url(input["url"])
        except ToolError:
            return Sentence("Fetch {0}", shorten(input["url"])), ()
        return Sentence("Fetch {0}", shorten(f"{target.name}{target.path}".removesuffix("/"))), ()

    async def run(self, input: dict[str, Any], call: RunningCall) -> str:
        url, start = parse_url(input["url"]).url, input.get("start") or 1
        page = self._context.kept(url) if start > 1 else None
        if page is None:
            page = await self._fetch(url, call)
            self._context.keep(url, page)
        return part_of(page, start)

    async def _fetch(self, url: str, call: RunningCall) -> Page:
        answer = await self._context.get(self.spec.name, url, call, PAGES)
        if answer.status >= HTTPStatus.BAD_REQUEST:
            raise await self._refused(answer)
        return await self._context.read(answer)

    async def _refused(self, answer: Answer) -> ToolError:
        """The error for an answer that is none, with the beginning of what the server says."""
        hint = " fetch sends no sign-in." if answer.status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN) else ""
        about = f"Error: {answer.target.name} answered {end_sentence(answer.phrase)}{hint}"
        try:
            page = await self._context.read(answer)
        except ToolError:
            return VerbatimToolError(about)
        text = page.text[:MAX_ERROR_CHARS].strip()
        return VerbatimToolError(f"{about}\n{untrusted(text, answer.target.url)}" if text else about)


def part_of(page: Page, start: int) -> str:
    """The part of a page that begins with a character (from 1), between tags that say that it is not trusted."""
    size = len(page.text)
    if start > max(size, 1):
        return f"(The page has only {size:,} characters.)"
    text = page.text[start - 1 : start - 1 + MAX_CHARS]
    if start - 1 + MAX_CHARS < size:
        text = text[: text.rfind("\n", MAX_CHARS // 2) + 1] or text  # whole lines, if they are not too long
    last = start - 1 + len(text)
    title = f"Title: {shorten(page.title, 300)}\n\n" if page.title and start == 1 else ""
    shown = untrusted(f"{title}{text.strip()}" or "(The page has no text that is seen without its scripts.)", page.url)
    if start == 1 and last == size:
        return shown
    more = f"; continue with start {last + 1}" if last < size else ""
    return f"{shown}\n(Characters {start:,} to {last:,} of {size:,}{more}.)"
