"""Turns what a tool server answers into text and pictures for the model. It is not trusted."""

import json
import re
from base64 import b64decode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fairlead.display import shorten, without_sequences
from fairlead.messages.images import MAX_BYTES, TOO_LARGE, image_of, media_type
from fairlead.messages.parts import Image

if TYPE_CHECKING:
    from mcp_types import CallToolResult, GetPromptResult, ReadResourceResult

MAX_IMAGES = 10
_MAX_NAME = 200
_TAG = "untrusted"
_TAGGED = re.compile(rf'<{_TAG} source="[^"\n]*">\n(.*?)\n</{_TAG}>', re.DOTALL)
_MARKUP = re.compile(r'["<>]')


@dataclass(frozen=True, slots=True)
class Answer:
    """What a call returned."""

    text: str
    images: Sequence[Image]
    is_error: bool


def answer_of(result: "CallToolResult") -> Answer:
    """The answer in a result. Structured content counts if there is no text, which should contain it too."""
    images: list[Image] = []
    parts = [part for block in result.content for part in _parts(block, images)]
    structured: Any = result.structured_content
    if structured is not None and not any(getattr(block, "type", "") == "text" for block in result.content):
        parts.append(json.dumps(structured, ensure_ascii=False, indent=1))
    return Answer("\n".join(parts), images, bool(result.is_error))


def prompt_of(result: "GetPromptResult", server: str) -> Answer:
    """The text of a prompt's messages. What they contain of resources is data: it is marked as untrusted."""
    images: list[Image] = []
    parts: list[str] = []
    for message in result.messages:
        block = message.content
        text = "\n".join(_parts(block, images))
        if block.type == "resource":
            text = untrusted(text, f"{server}: {block.resource.uri}")
        parts.append(text if message.role == "user" else f"(What you have answered:)\n{text}")
    return Answer("\n\n".join(parts), images, is_error=False)


def resource_of(result: "ReadResourceResult") -> Answer:
    """What a resource contains."""
    images: list[Image] = []
    parts = [part for contents in result.contents for part in _resource(contents, images)]
    return Answer("\n".join(parts), images, is_error=False)


def untrusted(text: str, source: str) -> str:
    """A text from outside, between tags that say so (`tagged`)."""
    return tagged(_TAG, text, source)


def tagged(tag: str, text: str, source: str) -> str:
    """A text between tags that name its source. No text can end the tags early."""
    # a closing tag with a control character in it becomes whole
    inner = re.sub(rf"</(?=\s*{tag})", "<\\\\/", without_sequences(text), flags=re.IGNORECASE)
    return f'<{tag} source="{_MARKUP.sub("", shorten(source, _MAX_NAME))}">\n{inner}\n</{tag}>'


def without_tags(text: str) -> str:
    """A result as the user reads it: without the tags around the answer of a server."""
    return _TAGGED.sub(r"\1", text, count=1)


def _parts(block: Any, images: list[Image]) -> Iterator[str]:
    match block.type:
        case "text":
            yield without_sequences(block.text)
        case "image":
            yield from _picture(block.data, images)
        case "audio":
            yield f"(A sound, {shorten(block.mime_type, _MAX_NAME)}, which no model here can hear.)"
        case "resource_link":
            about = f": {shorten(block.description, _MAX_NAME)}" if block.description else ""
            yield f"(A link to {shorten(block.title or block.name, _MAX_NAME)}{about}: {shorten(block.uri, 2000)})"
        case "resource":
            yield from _resource(block.resource, images)
        case _:
            yield "(Something that Fairlead does not know.)"


def _picture(data: str, images: list[Image]) -> Iterator[str]:
    try:
        raw = b64decode(data, validate=True)
    except ValueError:
        yield "(A picture that cannot be read.)"
        return
    kind = media_type(raw)
    if kind is None:
        yield "(A picture in a format that no model can read.)"
    elif len(raw) > MAX_BYTES:
        yield f"(A picture, {TOO_LARGE}.)"
    elif len(images) >= MAX_IMAGES:
        yield f"(One of more than {MAX_IMAGES} pictures, which was left out.)"
    else:
        images.append(image_of(kind, raw))
        yield "(A picture.)"


def _resource(resource: Any, images: list[Image]) -> Iterator[str]:
    name, text = shorten(str(resource.uri), 2000), getattr(resource, "text", None)
    if text is not None:
        yield f"{name}:\n{without_sequences(text)}"
    elif (resource.mime_type or "").startswith("image/"):
        yield f"{name}:"
        yield from _picture(resource.blob, images)
    else:
        kind = shorten(resource.mime_type or "unknown", _MAX_NAME)
        yield f"({name}: {len(resource.blob) * 3 // 4:,} bytes of the type {kind}, which are not text.)"
