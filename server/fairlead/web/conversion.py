"""Runs the program that reads a page (`page.py`), with limits."""

import asyncio
import json
import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path

import fairlead
from fairlead.display import shorten
from fairlead.errors import ToolError
from fairlead.json_values import fields_of
from fairlead.web.target import Target
from fairlead.workspace.limited import start

SECONDS = 60.0
_START = "import sys; sys.path.append(sys.argv[1]); from fairlead.web.page import main; main()"
_HTML = ("text/html", "application/xhtml+xml")
_TEXT = re.compile(
    r"text/.+|message/.+|image/svg\+xml|application/(?:.+\+|x-)?"
    r"(?:json|json5|jsonl|ndjson|xml|yaml|toml|javascript|ecmascript|typescript|graphql|sql|sh|tex)"
)
_KINDS = {
    "application/pdf": "a PDF document",
    "application/zip": "an archive",
    "application/gzip": "an archive",
    "application/x-tar": "an archive",
    "image": "a picture",
    "audio": "a sound",
    "video": "a video",
    "font": "a font",
}
_LOOKED_AT = 1000
"""How many bytes are searched for a NUL, which only texts in UTF-16 have."""
_WIDE = (b"\xff\xfe", b"\xfe\xff")
_CHARSET = re.compile(r"""charset\s*=\s*["']?([\w.:+-]{1,40})""", re.IGNORECASE)
_BEGINS_HTML = re.compile(rb"\s*<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Page:
    """What a page says."""

    url: str
    title: str
    """Empty if it has none."""
    text: str


def check_type(target: Target, content_type: str, body: bytes) -> None:
    """Raises ToolError if a page is no text, and says what it is."""
    kind = _kind(content_type)
    is_text = not kind or kind in _HTML or _TEXT.fullmatch(kind) is not None
    if is_text and (b"\0" not in body[:_LOOKED_AT] or body.startswith(_WIDE)):
        return
    name = _KINDS.get(kind) or _KINDS.get(kind.partition("/")[0]) or "no text"
    raise ToolError(
        f"{shorten(target.url, 200)} is {name} ({shorten(kind or 'of an unknown type', 100)}, {len(body):,} bytes). "
        "fetch reads only text: look for the same as a web page."
    )


def _kind(content_type: str) -> str:
    return content_type.partition(";")[0].strip().lower()


async def page_of(target: Target, content_type: str, body: bytes) -> Page:
    """The text of a page.

    Raises:
        ToolError: it is no text, or reading it takes too much time or memory.
    """
    check_type(target, content_type, body)
    kind, charset = _kind(content_type), _CHARSET.search(content_type)
    head = {
        "url": target.url,
        "charset": charset[1] if charset else "",
        "isHtml": kind in _HTML or (not kind and _BEGINS_HTML.match(body) is not None),
    }
    process = await start(
        [sys.executable, "-I", "-c", _START, str(Path(fairlead.__file__).parents[1])],
        Path(sys.executable).parent,
        {name: os.environ[name] for name in ("SYSTEMROOT", "TMPDIR", "TEMP") if name in os.environ},
        has_stdin=True,
    )
    try:
        async with asyncio.timeout(SECONDS):
            output, _ = await process.communicate(json.dumps(head).encode() + b"\n" + body)
    except TimeoutError:
        output = b""
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode != 0:
        raise ToolError(f"{shorten(target.url, 200)} is too complicated to read: it takes too much time or memory.")
    found = fields_of(json.loads(output))
    return Page(target.url, found["title"], found["text"])
