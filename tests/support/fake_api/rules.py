"""What the Messages API refuses: one small function for each rule, and the tables at the end.

These are the rules for the request as a whole, its tools and its cache marks, and those of other servers.
Reasons have the words of the real API where these are known. A rule may rely on those before it in its
table.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise

from .ask import Ask, blocks_of, cache_marks, extras, list_of
from .edits import context_edits
from .message_rules import (
    NAME,
    block_shapes,
    call_fields,
    call_ids_unique,
    first_message,
    image_sources,
    last_message,
    message_shapes,
    non_empty_content,
    results_first,
    results_known,
    results_present,
    results_single,
    system_placement,
    text_blocks,
    thinking_bound,
    thinking_genuine,
    thinking_kept,
)

Rule = Callable[[Ask], Iterator[str]]
"""Yields the reasons why it refuses a request; none if it does not."""


def refusal(ask: Ask, rules: Iterable[Rule]) -> str | None:
    """The first reason that one of `rules` gives, or None."""
    return next((reason for rule in rules for reason in rule(ask)), None)


# The request as a whole.

REQUIRED = ("model", "max_tokens", "messages")
SAMPLING = ("temperature", "top_p", "top_k")
FIELDS: dict[str, tuple[type, ...]] = {
    "model": (str,),
    "max_tokens": (int,),
    "messages": (list,),
    "system": (str, list),
    "tools": (list,),
    "stream": (bool,),
    "stop_sequences": (list,),
    "metadata": (dict,),
    "tool_choice": (dict,),
    "thinking": (dict,),
    "output_config": (dict,),
    "cache_control": (dict, type(None)),
    "container": (dict, str, type(None)),
    "diagnostics": (dict, type(None)),
    "inference_geo": (str, type(None)),
    "service_tier": (str,),
    "speed": (str, type(None)),
}
BETA_FIELDS = {"context_management": ("context-management", "compact")}
TYPE_NAMES = {str: "string", int: "integer", list: "list", bool: "boolean", dict: "dictionary"}
EFFORTS = ("low", "medium", "high", "xhigh", "max")


def version_header(ask: Ask) -> Iterator[str]:
    version = ask.headers.get("anthropic-version", "")
    if not version:
        yield "anthropic-version: header is required"
    elif not re.fullmatch(r"\d{4}-\d{2}-\d{2}", version):
        yield f'anthropic-version: "{version}" is not a valid version'


def sampling(ask: Ask) -> Iterator[str]:
    yield from (f"`{name}` is deprecated for this model." for name in SAMPLING if name in ask.body)


def required_fields(ask: Ask) -> Iterator[str]:
    yield from (f"{name}: Field required" for name in REQUIRED if name not in ask.body)


def known_fields(ask: Ask) -> Iterator[str]:
    betas = ask.headers.get("anthropic-beta", "")
    for name in ask.body:
        if name not in FIELDS and not any(beta in betas for beta in BETA_FIELDS.get(name, ())):
            yield f"{name}: Extra inputs are not permitted"


def field_types(ask: Ask) -> Iterator[str]:
    for name, types in FIELDS.items():
        if name in ask.body and type(ask.body[name]) not in types:
            yield f"{name}: Input should be a valid {TYPE_NAMES[types[0]]}"
    if not ask.body["model"]:
        yield "model: String should have at least 1 character"
    if ask.body["max_tokens"] < 0:
        yield "max_tokens: Input should be greater than or equal to 0"


def thinking_config(ask: Ask) -> Iterator[str]:
    config = ask.body.get("thinking", {"type": "adaptive"})
    kind = config.get("type")
    if kind in ("disabled", "enabled"):
        yield (
            f'"thinking.type.{kind}" is not supported for this model. Use "thinking.type.adaptive" and '
            '"output_config.effort" to control thinking behavior.'
        )
    elif kind not in ("adaptive", "between_tools"):
        yield f"thinking: Input tag '{kind}' does not match any of the expected tags: adaptive, between_tools"
    yield from extras("thinking", config, {"type", "display"} if kind == "adaptive" else {"type"})
    if config.get("display") not in (None, "summarized", "omitted"):
        yield "thinking.display: Input should be 'summarized' or 'omitted'"


def tool_choice(ask: Ask) -> Iterator[str]:
    choice = ask.body.get("tool_choice")
    if choice is None:
        return
    if choice.get("type") in ("any", "tool"):
        yield "tool_choice forces tool use is not compatible with this model."
    if choice.get("type") not in ("auto", "none"):
        yield "tool_choice.type: Input should be 'auto' or 'none'"
    if not ask.tools:
        yield "tool_choice may only be specified while providing tools"
    yield from extras("tool_choice", choice, {"type", "disable_parallel_tool_use"})


def output_config(ask: Ask) -> Iterator[str]:
    config = ask.body.get("output_config", {})
    yield from extras("output_config", config, {"effort", "format"})
    if config.get("effort") not in (None, *EFFORTS):
        yield f"output_config.effort: Input should be one of {', '.join(EFFORTS)}"


# Tools.

TOOL_FIELDS = {
    "type",
    "name",
    "description",
    "input_schema",
    "cache_control",
    "strict",
    "eager_input_streaming",
    "input_examples",
    "defer_loading",
    "allowed_callers",
}


def tool_shapes(ask: Ask) -> Iterator[str]:
    for index, tool in enumerate(ask.tools):
        if not isinstance(tool, dict):
            yield f"tools.{index}: Input should be a valid dictionary"
        elif tool.get("type") in (None, "custom"):
            yield from extras(f"tools.{index}.custom", tool, TOOL_FIELDS)
            for name in ("name", "input_schema"):
                if name not in tool:
                    yield f"tools.{index}.custom.{name}: Field required"


def tool_names(ask: Ask) -> Iterator[str]:
    names = [tool.get("name") for tool in ask.tools]
    for index, name in enumerate(names):
        if not isinstance(name, str) or not re.fullmatch(NAME, name):
            yield f"tools.{index}.custom.name: String should match pattern '{NAME}'"
    if len(set(names)) < len(names):
        yield "tools: Tool names must be unique."


def tool_schemas(ask: Ask) -> Iterator[str]:
    for index, tool in enumerate(ask.tools):
        where, schema = f"tools.{index}.custom.input_schema", tool.get("input_schema", {"type": "object"})
        if not isinstance(schema, dict):
            yield f"{where}: Input should be a valid dictionary"
            continue
        if schema.get("type") != "object":
            yield f"{where}.type: Input should be 'object'"
        if not isinstance(schema.get("properties", {}), dict):
            yield f"{where}.properties: Input should be a valid dictionary"
        if not all(isinstance(name, str) for name in list_of(schema.get("required", []))):
            yield f"{where}.required: Input should be a valid list"
        if {"oneOf", "allOf", "anyOf"} & set(schema):
            yield f"{where}: input_schema does not support oneOf, allOf, or anyOf at the top level"


# Cache marks.


def mark_shapes(ask: Ask) -> Iterator[str]:
    for where, mark in cache_marks(ask.body):
        if not isinstance(mark, dict):
            yield f"{where}: Input should be a valid dictionary"
            continue
        yield from extras(where, mark, {"type", "ttl"})
        if mark.get("type") != "ephemeral":
            yield f"{where}.type: Input should be 'ephemeral'"
        if mark.get("ttl", "5m") not in ("5m", "1h"):
            yield f"{where}.ttl: Input should be '5m' or '1h'"


def mark_count(ask: Ask) -> Iterator[str]:
    if (found := len(cache_marks(ask.body))) > 4:
        yield f"A maximum of 4 blocks with cache_control may be provided. Found {found}."


def mark_order(ask: Ask) -> Iterator[str]:
    marks = [(where, mark.get("ttl", "5m")) for where, mark in cache_marks(ask.body)]
    for (_, before), (where, ttl) in pairwise(marks):
        if (before, ttl) == ("5m", "1h"):
            yield (f"{where}.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block.")


# Other servers, which support less than the newest API.


def alternating(ask: Ask) -> Iterator[str]:
    roles = [message["role"] for message in ask.messages]
    for before, role in pairwise(roles):
        if before == role:
            yield (
                'messages: roles must alternate between "user" and "assistant", '
                f'but found multiple "{role}" roles in a row'
            )


PLAIN_FIELDS = {
    "model",
    "max_tokens",
    "messages",
    "system",
    "tools",
    "tool_choice",
    "stream",
    "stop_sequences",
    "metadata",
}
PLAIN_TOOL_FIELDS = {"type", "name", "description", "input_schema"}


def plain_fields(ask: Ask) -> Iterator[str]:
    yield from (f"{name}: Extra inputs are not permitted" for name in ask.body if name not in PLAIN_FIELDS)


def plain_marks(ask: Ask) -> Iterator[str]:
    yield from (f"{where}: Extra inputs are not permitted" for where, _ in cache_marks(ask.body))


def plain_tools(ask: Ask) -> Iterator[str]:
    for index, tool in enumerate(ask.tools):
        yield from extras(f"tools.{index}", tool, PLAIN_TOOL_FIELDS)


def plain_roles(ask: Ask) -> Iterator[str]:
    for index, message in enumerate(ask.messages):
        if message["role"] == "system":
            yield f"messages.{index}.role: Input should be 'user' or 'assistant'"


def plain_blocks(ask: Ask) -> Iterator[str]:
    for where, _, block in blocks_of(ask, "thinking", "redacted_thinking"):
        yield f"{where}: Input tag '{block['type']}' does not match any of the expected tags"


RULES: tuple[Rule, ...] = (
    version_header,
    sampling,
    required_fields,
    known_fields,
    field_types,
    message_shapes,
    block_shapes,
    non_empty_content,
    text_blocks,
    image_sources,
    first_message,
    system_placement,
    call_fields,
    call_ids_unique,
    results_present,
    results_first,
    results_known,
    results_single,
    last_message,
    tool_shapes,
    tool_names,
    tool_schemas,
    thinking_config,
    context_edits,
    tool_choice,
    output_config,
    mark_shapes,
    mark_count,
    mark_order,
    thinking_genuine,
    thinking_kept,
)
ALTERNATE_RULES: tuple[Rule, ...] = (alternating,)
PLAIN_RULES: tuple[Rule, ...] = (plain_fields, plain_marks, plain_tools, plain_roles, plain_blocks)


def rules(*, plain: bool, alternate: bool, binds_thinking: bool = False) -> tuple[Rule, ...]:
    """The rules of a server: those of the newest API, then of the options that are on."""
    bound = (thinking_bound,) if binds_thinking else ()
    return RULES + (ALTERNATE_RULES if alternate else ()) + (PLAIN_RULES if plain else ()) + bound
