"""Answers that are not of the Messages API: a proxy's page, another API's JSON, and what to say of them."""

import html
import json
import re
from typing import Any

MAX_WORDS = 160
MAX_TEXT = 20_000  # characters of a page that are looked at

_IS_PAGE = re.compile(r"\s*<(!--|(!doctype|html|head|body|title|h1|p|div)\b)", re.IGNORECASE)
_HIDDEN = re.compile(r"<(script|style)\b.*?(</\1>|$)|<!--.*?(-->|$)", re.IGNORECASE | re.DOTALL)
_TITLE = re.compile(r"<title\b[^>]*>(.*?)</title>", re.IGNORECASE | re.DOTALL)
_TAG = re.compile(r"<[^>]*(>|$)")
_OPENAI = re.compile(r"\"object\"\s*:\s*\"(chat\.completion|text_completion|response)|\"choices\"\s*:")
_MESSAGE = re.compile(r"\{\s*\"(type\"\s*:\s*\"message\"|id\"\s*:\s*\"msg_)")

OPENAI = "{where} answered in the form of OpenAI's API, and Fairlead needs the Messages API. Check {base_url}."
NO_STREAM = "{where} answered with a whole message, not with a stream of events. Use a server or a proxy that streams."
OTHER = "{where} did not answer with a stream of events but with {what}: “{words}”. Check {base_url}{proxy}."
BASE_URL = "the base URL (setting baseUrl)"
PROXY = ", and whether a proxy or a sign-in page is in between"


def readable(text: str) -> str:
    """The words of a text without HTML; of a page with a title, the title."""
    text = text[:MAX_TEXT]
    if _IS_PAGE.match(text):
        title = _TITLE.search(text)
        text = html.unescape(_TAG.sub(" ", title[1] if title and title[1].strip() else _HIDDEN.sub(" ", text)))
    return " ".join(text.split())


def is_openai(event: dict[str, Any]) -> bool:
    """Whether an event of a stream is one of OpenAI's API."""
    return "type" not in event and _OPENAI.search(json.dumps(event)[:1000]) is not None


def describe(where: str, content_type: str, beginning: bytes) -> str:
    """What came instead of a stream of events, with its first words, and what to check."""
    text = beginning.decode("utf-8", "replace")
    if _OPENAI.search(text):
        return OPENAI.format(where=where, base_url=BASE_URL)
    if _MESSAGE.match(text.lstrip()):
        return NO_STREAM.format(where=where)
    kind, page = content_type.partition(";")[0].strip(), _IS_PAGE.match(text) is not None
    what = "a web page" if page else kind or "something without a content type"
    words = readable(text)
    words = words if len(words) <= MAX_WORDS else f"{words[:MAX_WORDS].rstrip()}..."
    return OTHER.format(where=where, what=what, words=words, base_url=BASE_URL, proxy=PROXY if page else "")


def error_in(beginning: bytes) -> Any:
    """The error that a JSON body is, None where it is something else."""
    try:
        body = json.loads(beginning)
    except (ValueError, RecursionError):
        return None
    return body if isinstance(body, dict) and body.get("error") else None
