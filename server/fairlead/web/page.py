"""The program that turns the bytes of a page into text for the model, in a process of its own.

By the rules of HTML, a page of a few kilobytes can become gigabytes, so `conversion.py` limits this process. It leaves
out what a reader of the page would not see.
"""

import json
import sys
from typing import Any
from urllib.parse import urljoin, urlsplit

from justhtml import Comment, Element, JustHTML

from fairlead.display import without_invisible
from fairlead.web.charsets import decode
from fairlead.web.styles import declarations, hidden_elements, hides, shows
from fairlead.web.tables import write_tables

MAX_TEXT = 3_000_000
"""Characters of a page's text."""
MAX_LINK = 2000
_LEFT_OUT = frozenset(
    (
        *("head", "script", "style", "noscript", "template", "nav", "dialog"),
        *("iframe", "object", "embed", "canvas", "audio", "video", "map", "img", "picture"),
        *("input", "select", "datalist", "textarea", "button"),
    )
)
"""What has no text that is read. A `dialog` has, if it is open."""
_MAIN = ("main", "[role=main]", "article")
"""How a page marks the part that it is about."""
_HTML = (None, "html")
"""The namespaces of elements that are no picture and no formula."""
_PERMALINKS = frozenset(("", "#", "¶", "§", "🔗"))
"""The texts of links that lead to their own heading, or that were a picture."""


def main() -> None:
    """Reads a line of JSON and then the bytes of a page. Writes JSON with its `title` and its `text`."""
    head = json.loads(sys.stdin.buffer.readline())
    title, text = read_page(sys.stdin.buffer.read(), head["url"], head["charset"], is_html=head["isHtml"])
    sys.stdout.write(json.dumps({"title": title[:MAX_TEXT], "text": text[:MAX_TEXT]}))


def read_page(data: bytes, url: str, charset: str, *, is_html: bool) -> tuple[str, str]:
    """The title of a page, which may be empty, and its text: Markdown if it is HTML, else the text as it is.

    Args:
        url: where the page is, for its links.
        charset: what the server claims; empty: nothing.
    """
    text = decode(data, charset)
    if not is_html:
        return "", without_invisible(text)
    root: Any = JustHTML(text, sanitize=False).root
    bases = root.query("base[href]")
    # a picture can have a title too
    title = next((_text_of(each) for each in root.query("title") if each.namespace in _HTML), "")
    base = _absolute(url, bases[0].attrs["href"] or "") if bases else ""
    candidates = [found[0] for selector in _MAIN if len(found := root.query(selector)) == 1]
    _clean(root, base or url, hidden_elements(root))
    shown = next((each for each in candidates if _is_within(each, root) and _text_of(each)), root)
    write_tables(shown)
    return without_invisible(title), without_invisible(shown.to_markdown())


def _clean(root: Any, base: str, hidden: dict[int, Any]) -> None:
    """Removes what is not seen, and all attributes, which tables would show. Links become absolute.

    Each list of children is replaced: removing its elements one at a time would take quadratic time.
    """
    nodes: list[Any] = [root]
    while nodes:
        node = nodes.pop()
        kept: list[Any] = []
        waiting: list[Any] = list(reversed(node.children or ()))
        while waiting:
            child = waiting.pop()
            child.parent = None
            if isinstance(child, Comment):
                continue
            if isinstance(child, Element):
                if _is_unseen(child, hidden) or (child.name == "a" and _text_of(child) in _PERMALINKS):
                    continue
                href = _absolute(base, child.attrs.get("href") or "") if child.name == "a" else ""
                if child.name == "a" and not href:  # its text stays
                    waiting += reversed(child.children or ())
                    continue
                child.attrs = {"href": href} if href else _spans(child.attrs)
                nodes.append(child)
            child.parent = node
            kept.append(child)
        if node.children is not None:
            node.children = kept


def _spans(given: dict[str, str | None]) -> dict[str, str | None]:
    """How many columns and rows of a table a cell takes, if these are its attributes."""
    return {name: given[name] for name in ("colspan", "rowspan") if (given.get(name) or "").isdecimal()}


def _is_within(node: Any, root: Any) -> bool:
    while node is not None and node is not root:
        node = node.parent
    return node is root


def _is_unseen(node: Any, hidden: dict[int, Any]) -> bool:
    given = node.attrs
    if node.namespace not in _HTML or (node.name in _LEFT_OUT and not (node.name == "dialog" and "open" in given)):
        return True
    if "hidden" in given or (given.get("aria-hidden") or "").strip().lower() == "true":
        return True
    style = declarations(given.get("style") or "")
    return hides(style) or (id(node) in hidden and not shows(style))


def _absolute(base: str, href: str) -> str:
    """A link as an absolute one; empty if it leads to no other page."""
    href = "".join(href.split())
    try:
        found = urljoin(base, href)
        scheme = urlsplit(found).scheme
    except ValueError:
        return ""
    leads_away = href and not href.startswith("#") and scheme in ("http", "https", "mailto")
    return found if leads_away and len(found) <= MAX_LINK else ""


def _text_of(node: Any) -> str:
    return " ".join(node.to_text().split())


if __name__ == "__main__":
    main()
