"""Requests to the fake Messages API as its rules see them, and functions that read requests.

This module parses requests, finds blocks and cache marks, and remembers what the server sent before. The rules are in
`rules.py` and `message_rules.py`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]
IMAGE_CHARS = 1600 * 4
"""The characters that a picture counts for: at most about 1,600 tokens of 4 characters, however many bytes it has."""
Outline = tuple[tuple[str, ...], ...]


@dataclass
class Handed:
    """The thinking and the tool calls that the server has sent, to recognize them later."""

    signatures: dict[str, str] = field(default_factory=dict[str, str])
    """Signature -> the text that came with it."""
    prefixes: dict[str, str] = field(default_factory=dict[str, str])
    """Signature -> the request whose answer contained the thinking, as `prefix_of` returns it."""
    outlines: dict[str, Outline] = field(default_factory=dict[str, Outline])
    """tool_use id -> the outline of the answer that contained it."""

    def record(self, content: list[Json], body: Json) -> None:
        """Remembers an answer's content blocks, in wire form, and the request that they answer."""
        outline = outline_of(content)
        for kind, key, *text in outline:
            if kind == "thinking":
                self.signatures[key] = text[0]
                self.prefixes[key] = prefix_of(body, len(body["messages"]))
            else:
                self.outlines[key] = outline


def prefix_of(body: Json, count: int) -> str:
    """The system prompt, the tools and the first `count` messages of a request as JSON, without cache marks."""
    before = [body.get("system"), body.get("tools"), body["messages"][:count]]
    return json.dumps(_unmarked(before), sort_keys=True)


def _unmarked(value: Any) -> Any:
    if isinstance(value, dict):
        given: Json = value
        return {name: _unmarked(inner) for name, inner in given.items() if name != "cache_control"}
    return [_unmarked(inner) for inner in value] if isinstance(value, list) else value


@dataclass(frozen=True)
class Ask:
    """One request: headers with lower-case names, the parsed body, and what the server has sent before it."""

    headers: Mapping[str, str]
    body: Json
    handed: Handed = field(default_factory=Handed)

    @property
    def messages(self) -> list[Json]:
        """The `messages` field. Raises KeyError if there is none, so the rule `required_fields` must run first."""
        return self.body["messages"]

    @property
    def tools(self) -> list[Json]:
        """The `tools` field, or []."""
        return self.body.get("tools") or []


def read_body(raw: bytes) -> tuple[Json, str | None]:
    """The body as (object, None), or ({}, the reason why it is not an object)."""
    try:
        body = json.loads(raw.decode("utf-8"), parse_constant=_no_constant)
        json.dumps(body, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError as error:
        where = f"line 1 column {error.start + 1} (char {error.start})"
        return {}, f"The request body is not valid JSON: no low surrogate in string: {where}"
    except ValueError as error:
        return {}, f"The request body is not valid JSON: {error}"
    return (body, None) if isinstance(body, dict) else ({}, "Input should be a valid dictionary")


def outline_of(content: Any) -> Outline:
    """("thinking", signature, text) and ("tool_use", id) for those blocks of a content list, in order."""
    found: list[tuple[str, ...]] = []
    for block in content if isinstance(content, list) else []:
        if block["type"] == "thinking":
            found.append(("thinking", block["signature"], block["thinking"]))
        elif block["type"] == "tool_use":
            found.append(("tool_use", block["id"]))
    return tuple(found)


def cache_marks(body: Json) -> list[tuple[str, Any]]:
    """(where, mark) for each cache_control in the API's order: tools, system, messages, the automatic one."""
    places = [*_marked_places(body), ("", body)]
    named = [(f"{where}.cache_control".lstrip("."), place.get("cache_control")) for where, place in places]
    return [(where, mark) for where, mark in named if mark is not None]


def _marked_places(body: Json) -> Iterator[tuple[str, Json]]:
    for index, tool in enumerate(body.get("tools") or []):
        yield f"tools.{index}", tool
    for index, block in enumerate(list_of(body.get("system"))):
        yield f"system.{index}", block
    for index, message in enumerate(body["messages"]):
        for block_index, block in enumerate(list_of(message["content"])):
            where = f"messages.{index}.content.{block_index}"
            for inner_index, inner in enumerate(list_of(block.get("content"))):
                yield f"{where}.content.{inner_index}", inner
            yield where, block


def weighed(block: Json) -> Json:
    """The block. If it is a picture, its data is replaced with a text of the length that a picture counts for."""
    return {**block, "source": "." * IMAGE_CHARS} if block.get("type") == "image" else block


def list_of(value: Any) -> list[Any]:
    """`value` if it is a list, else []: content may also be a string, or missing."""
    return value if isinstance(value, list) else []


def _no_constant(name: str) -> Any:
    raise ValueError(f"unexpected {name}")


def blocks_of(ask: Ask, *kinds: str) -> Iterator[tuple[str, int, Json]]:
    """(where, index of the message, block) for each block of these types."""
    for index, message in enumerate(ask.messages):
        for block_index, block in enumerate(list_of(message["content"])):
            if block["type"] in kinds:
                yield f"messages.{index}.content.{block_index}", index, block


def ids_of(message: Json, kind: str, key: str) -> list[str]:
    """The value of `key` in each block of type `kind`, in order."""
    return [block[key] for block in list_of(message["content"]) if block["type"] == kind]


def extras(where: str, value: Mapping[str, Any], known: set[str]) -> Iterator[str]:
    """A reason for each key of `value` that is not `known`."""
    yield from (f"{where}.{name}: Extra inputs are not permitted" for name in value if name not in known)
