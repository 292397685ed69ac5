"""Reads the answers of a search server in the form of SearXNG."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import quote

from fairlead.display import shorten, without_invisible
from fairlead.errors import ToolError
from fairlead.json_values import fields_of, is_list
from fairlead.web.target import parse_url

PLACE = "{query}"
MAX_RESULTS = 10
_MAX_TITLE, _MAX_SNIPPET = 200, 500


@dataclass(frozen=True, slots=True)
class Result:
    """What a search has found. All of it is text of strangers."""

    title: str
    url: str
    snippet: str


def read_template(text: str) -> str:
    """Checks the setting that names a search server.

    Raises:
        ValueError: it is no URL with a place for the query.
    """
    text = text.strip()
    if not text:
        return ""
    if PLACE not in text.partition("?")[2]:
        raise ValueError(
            f"must be a URL with {PLACE} after its ?, such as http://localhost:8080/search?format=json&q={PLACE}"
        )
    try:
        parse_url(text.replace(PLACE, "query"))
    except ToolError as error:
        raise ValueError(f"must be another URL: {error}") from error
    return text


def search_url(template: str, query: str) -> str:
    """The URL that asks for a query."""
    return template.replace(PLACE, quote(query, safe=""))


def read_results(body: bytes, server: str) -> Sequence[Result]:
    """The results in the answer of a search server.

    Raises:
        ToolError: it is none.
    """
    try:
        found = fields_of(json.loads(body)).get("results")
    except (ValueError, RecursionError):
        found = None
    if not is_list(found):
        raise ToolError(
            f"{server} did not answer with the JSON of a search. Tell the user to check the setting web.searchUrl: for "
            "SearXNG it needs format=json, which the server must allow."
        )
    results = [_result(fields_of(each)) for each in found]
    return [each for each in results if each.url][:MAX_RESULTS]


def _result(fields: dict[str, object]) -> Result:
    title, url, snippet = (fields.get(name) for name in ("title", "url", "content"))
    return Result(_line(title, _MAX_TITLE), _line(url, 2000), _line(snippet, _MAX_SNIPPET))


def _line(value: object, limit: int) -> str:
    return shorten(without_invisible(value), limit) if isinstance(value, str) else ""
