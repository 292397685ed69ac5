"""Reads the blocks of a prompt: the user's words, and what they mention or attach."""

import re
from base64 import b64decode
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from acp import schema

from fairlead.display import escape_to_one_line
from fairlead.session.context.context_item import ContextItem
from fairlead.session.errors import WrongRequest
from fairlead.uris import file_path
from fairlead.workspace.paths import Roots

_LINES = re.compile(r"L?(\d{1,9})(?:[-:]L?(\d{1,9}))?")
ONLY_ATTACHED = "See what is attached."
NO_AUDIO = "Fairlead cannot hear recordings. Write the prompt as text."
NOT_BASE64 = "The data of a picture in the prompt is not valid base64."


@dataclass(frozen=True)
class ReadPrompt:
    """The prompt as a run takes it."""

    text: str
    items: Sequence[ContextItem]


def read_prompt(blocks: Sequence[Any], roots: Roots) -> ReadPrompt:
    """The blocks of a prompt. A mention is named at its place in the text.

    Raises:
        WrongRequest: a block cannot be used.
    """
    texts, items = list[str](), list[ContextItem]()
    for block in blocks:
        match block:
            case schema.TextContentBlock():
                texts.append(block.text)
            case schema.ImageContentBlock():
                items.append(ContextItem(kind="image", name=_last_part(block.uri) or "picture", data=_data(block.data)))
            case schema.ResourceContentBlock():
                texts.append(_mention(block.uri, block.name, roots, items))
            case schema.EmbeddedResourceContentBlock():
                texts.append(_embedded(block.resource, roots, items))
            case _:
                raise WrongRequest(NO_AUDIO)
    text = "".join(texts)
    return ReadPrompt(text if text.strip() or not items else ONLY_ATTACHED, items)


def _mention(uri: str, name: str, roots: Roots, items: list[ContextItem]) -> str:
    """What stands in the text for a link. A file of the workspace is read from the disk."""
    item = _file_item(uri, roots)
    if item is None:
        return f" {escape_to_one_line(name)} ({escape_to_one_line(uri)}) "
    items.append(item)
    assert item.path is not None
    return f" @{escape_to_one_line(roots.relative(item.path))} "


def _embedded(resource: Any, roots: Roots, items: list[ContextItem]) -> str:
    """What stands in the text for an attached resource.

    A file of the workspace is read as its link would be, because the agent edits what is on the disk.
    """
    if _file_item(resource.uri, roots) is not None:
        return _mention(resource.uri, "", roots, items)
    name = _last_part(resource.uri) or resource.uri
    if isinstance(resource, schema.TextResourceContents):
        items.append(ContextItem(kind="selection", name=name, text=resource.text))
    elif (resource.mime_type or "").startswith("image/"):
        items.append(ContextItem(kind="image", name=name, data=_data(resource.blob)))
    else:
        return f" {escape_to_one_line(resource.uri)} "
    return f" {escape_to_one_line(name)} "


def _file_item(uri: str, roots: Roots) -> ContextItem | None:
    """A file or folder of the workspace, with the lines that the URI's fragment names; None for anything else."""
    address, _, fragment = uri.partition("#")
    path = file_path(address)
    if path is None or not roots.contains(path):
        return None
    lines = _LINES.fullmatch(fragment)
    if lines is None or int(lines[1]) == 0:
        return ContextItem(path)
    first = int(lines[1])
    return ContextItem(path, first, max(first, int(lines[2] or first)), "selection")


def _last_part(uri: str | None) -> str:
    """The name that a URI ends with; empty if there is none."""
    try:
        return Path(urlsplit(uri or "").path).name
    except ValueError:
        return ""


def _data(text: str) -> bytes:
    try:
        return b64decode(text, validate=True)
    except ValueError as error:
        raise WrongRequest(NOT_BASE64) from error
