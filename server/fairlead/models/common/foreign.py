"""Recognizes responses that are not of the expected API, such as a proxy's page or another API's JSON."""

import html
import json
import re
from typing import Any

from fairlead.agent.errors import ModelError
from fairlead.json_values import is_object
from fairlead.messages.history import clean_text

MAX_QUOTED = 160  # characters
MAX_SEARCHED = 8000  # characters of a response; some expressions take a time that grows with the square of the length

_IS_PAGE = re.compile(r"\s*<(!--|(!doctype|html|head|body|title|h1|p|div)\b)", re.IGNORECASE)
_HIDDEN = re.compile(r"<(script|style)\b.*?(</\1>|$)|<!--.*?(-->|$)", re.IGNORECASE | re.DOTALL)
_TITLE = re.compile(r"<title\b[^>]*>(.*?)</title>", re.IGNORECASE | re.DOTALL)
_TAG = re.compile(r"<[^>]*(>|$)")
_OPENAI_OBJECTS = ("chat.completion", "text_completion", "response")
_OPENAI = re.compile(r"\"object\"\s*:\s*\"(chat\.completion|text_completion|response)|\"choices\"\s*:")
_MESSAGE = re.compile(r"\{\s*\"(type\"\s*:\s*\"message\"|id\"\s*:\s*\"msg_)")

OPENAI = (
    "{where} answered in the format of OpenAI's APIs, but the Messages API is set for it. Set its `api` to “chat”, or "
    "check {base_url}."
)
MESSAGES = (
    "{where} answered in the format of the Messages API, but one of OpenAI's APIs is set for it. Set its `api` to "
    "“messages”, or check {base_url}."
)
NO_STREAM = "{where} answered with a complete message instead of a stream. Use a server or a proxy that streams."
OTHER = "{where} answered with {what} instead of a stream of events: “{quoted}”. Check {base_url}{proxy}."
BASE_URL = "the base URL (setting baseUrl)"
PROXY = "the proxy (HTTPS_PROXY, in VS Code http.proxy)"
"""What to check if somebody else answers."""
SIGN_IN = f", and {PROXY}: a sign-in page may be in between"


def is_page(text: str) -> bool:
    """Whether a response is a web page."""
    return _IS_PAGE.match(text) is not None


def readable(text: str) -> str:
    """The text on one line, without anything after its first MAX_SEARCHED characters.

    A web page is reduced to its title, or if it has none, to its text without HTML.
    """
    text = text[:MAX_SEARCHED]
    if _IS_PAGE.match(text):
        title = _TITLE.search(text)
        text = html.unescape(_TAG.sub(" ", title[1] if title and title[1].strip() else _HIDDEN.sub(" ", text)))
    return " ".join(clean_text(text).split())


def quote(data: bytes) -> str:
    """The beginning of a response, as readable text for an error message."""
    quoted = readable(data[:MAX_SEARCHED].decode("utf-8", "replace"))
    return quoted if len(quoted) <= MAX_QUOTED else f"{quoted[:MAX_QUOTED].rstrip()}..."


def is_openai(event: dict[str, Any]) -> bool:
    """Whether an event of a stream comes from OpenAI's API."""
    kind = event.get("object")
    return "type" not in event and ("choices" in event or (isinstance(kind, str) and kind.startswith(_OPENAI_OBJECTS)))


def wrong_answer(where: str, content_type: str, beginning: bytes, *, wants_messages: bool = True) -> ModelError:
    """The error for what `where` sent instead of a stream of events: what it is, and what to check.

    Args:
        wants_messages: whether the stream should have been one of the Messages API, not of OpenAI's.
    """
    text = beginning.decode("utf-8", "replace")
    page = is_page(text)
    if _MESSAGE.match(text.lstrip()):
        return ModelError(
            "wrong_server", (NO_STREAM if wants_messages else MESSAGES).format(where=where, base_url=BASE_URL)
        )
    if not page and _OPENAI.search(text):  # a page or a message may contain such JSON too
        return ModelError(
            "wrong_server", (OPENAI if wants_messages else NO_STREAM).format(where=where, base_url=BASE_URL)
        )
    kind = content_type.partition(";")[0].strip()
    what = "a web page" if page else readable(kind)[:MAX_QUOTED] or "something without a content type"
    proxy = SIGN_IN if page else ""
    message = OTHER.format(where=where, what=what, quoted=quote(beginning), base_url=BASE_URL, proxy=proxy)
    return ModelError("proxy" if page else "wrong_server", message)


def error_in(beginning: bytes) -> Any:
    """The parsed body if it is a JSON object with an `error`; None otherwise."""
    try:
        body = json.loads(beginning)
    except (ValueError, RecursionError):
        return None
    return body if is_object(body) and body.get("error") else None
