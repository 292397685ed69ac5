"""Requests that the rules of the fake Messages API refuse and accept."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from . import Call, Thinking, Turn, message_rules
from . import rules as request_rules
from .wire import HEADERS, Json, ask, assistant, image, result, talk, text, thought, tool, use, user

MARK = {"type": "ephemeral"}
HOUR = {"type": "ephemeral", "ttl": "1h"}
HUGE_IMAGE = image(data=b64encode(b"\x89PNG\r\n\x1a\n" + bytes(5 << 20)).decode())
SYSTEM = {"role": "system", "content": "The plan has changed."}
FIRST = "messages.0.content.0"
SECOND = "messages.1.content.0"
THOUGHT_TURN = Turn((Thinking("hm", signature="sig-1"), Call("bash", {}, id="t1")))
TWICE_TURN = Turn(
    (
        Thinking("one", signature="sig-2"),
        Call("bash", {}, id="t2"),
        Thinking("two", signature="sig-3"),
        Call("bash", {}, id="t3"),
    )
)


@dataclass(frozen=True)
class Case:
    """A request that `rule` refuses with a reason that starts with `reason`."""

    rule: request_rules.Rule
    reason: str
    body: Json | bytes
    headers: Mapping[str, str] = field(default_factory=lambda: HEADERS)


def without(name: str) -> Json:
    return {key: value for key, value in ask().items() if key != name}


def called(*blocks: Json | str, after: tuple[Json | str, ...] = (result(),)) -> Json:
    """A body in which the assistant says `blocks`, and the user answers with `after`."""
    return talk(user("hi"), assistant(*blocks), user(*after))


def schema(**fields: Any) -> Json:
    return ask(tools=[tool(input_schema=fields)])


EDITING = {**HEADERS, "anthropic-beta": "context-management-2025-06-27"}


def edits(**changes: Any) -> Json:
    return ask(context_management={"edits": [{"type": "clear_tool_uses_20250919", **changes}]})


REFUSED = [
    Case(request_rules.version_header, "anthropic-version: header is required", ask(), {"x-api-key": "test-key"}),
    Case(request_rules.version_header, 'anthropic-version: "1" is', ask(), {**HEADERS, "anthropic-version": "1"}),
    Case(request_rules.sampling, "`temperature` is deprecated for this model.", ask(temperature=1.0)),
    Case(request_rules.sampling, "`top_p` is deprecated", ask(top_p=0.5)),
    Case(request_rules.sampling, "`top_k` is deprecated", ask(top_k=5)),
    Case(request_rules.required_fields, "model: Field required", without("model")),
    Case(request_rules.required_fields, "max_tokens: Field required", without("max_tokens")),
    Case(request_rules.required_fields, "messages: Field required", without("messages")),
    Case(request_rules.known_fields, "mood: Extra inputs are not permitted", ask(mood="good")),
    Case(request_rules.known_fields, "context_management: Extra inputs", ask(context_management={"edits": []})),
    Case(request_rules.context_edits, "context_management: Input should be", ask(context_management=["x"]), EDITING),
    Case(request_rules.context_edits, "context_management.mood: Extra", ask(context_management={"mood": 1}), EDITING),
    Case(request_rules.context_edits, "context_management.edits.0: Input tag 'x'", edits(type="x"), EDITING),
    Case(request_rules.context_edits, "context_management.edits.0.at: Extra", edits(at=5), EDITING),
    Case(
        request_rules.context_edits,
        "context_management.edits.0.keep: ",
        edits(keep={"type": "tokens", "value": 3}),
        EDITING,
    ),
    Case(
        request_rules.context_edits,
        "context_management.edits.0.trigger: ",
        edits(trigger={"type": "input_tokens"}),
        EDITING,
    ),
    Case(request_rules.context_edits, "context_management.edits.0.exclude_tools: ", edits(exclude_tools=[5]), EDITING),
    Case(request_rules.field_types, "model: Input should be a valid string", ask(model=5)),
    Case(request_rules.field_types, "model: String should have at least 1 character", ask(model="")),
    Case(request_rules.field_types, "max_tokens: Input should be a valid integer", ask(max_tokens="100")),
    Case(request_rules.field_types, "max_tokens: Input should be a valid integer", ask(max_tokens=True)),
    Case(request_rules.field_types, "max_tokens: Input should be greater than", ask(max_tokens=-1)),
    Case(request_rules.field_types, "messages: Input should be a valid list", ask(messages="hi")),
    Case(request_rules.field_types, "stream: Input should be a valid boolean", ask(stream=1)),
    Case(message_rules.message_shapes, "messages: at least one message", talk()),
    Case(message_rules.message_shapes, "messages.0: Input should be a valid dictionary", ask(messages=["hi"])),
    Case(message_rules.message_shapes, "messages.0.id: Extra inputs", talk({**user("hi"), "id": 1})),
    Case(message_rules.message_shapes, 'messages: Unexpected role "tool"', talk({"role": "tool", "content": "x"})),
    Case(message_rules.message_shapes, "messages.0.content: Input should be", talk({"role": "user", "content": None})),
    Case(message_rules.block_shapes, "system.0: Input tag 'image'", ask(system=[{"type": "image"}])),
    Case(message_rules.block_shapes, "messages.0.content.0: Input tag 'song'", talk(user({"type": "song"}))),
    Case(message_rules.block_shapes, "messages.0.content.0.text.text: Field required", talk(user({"type": "text"}))),
    Case(message_rules.block_shapes, "messages.0.content.0.text.id: Extra inputs", talk(user(text("a", id=1)))),
    Case(
        message_rules.block_shapes,
        f"{SECOND}.thinking.cache_control: Extra",
        called({**thought(), "cache_control": MARK}),
    ),
    Case(
        message_rules.block_shapes, f"{SECOND}.tool_use.id: Input should be a valid string", called({**use(), "id": 7})
    ),
    Case(message_rules.block_shapes, "messages.0: `tool_use` blocks can only be in `assistant`", talk(user(use()))),
    Case(message_rules.block_shapes, "messages.1: `tool_result` blocks can only be in `user`", called(result())),
    Case(
        message_rules.block_shapes,
        "messages.2.content.0.tool_result.content: ",
        called(use(), after=(result(content=7),)),
    ),
    Case(
        message_rules.block_shapes,
        "messages.2.content.0.tool_result.content.0: Input tag 'tool_use'",
        called(use(), after=(result(content=[use()]),)),
    ),
    Case(message_rules.non_empty_content, "messages.0: all messages must have non-empty", talk(user())),
    Case(
        message_rules.non_empty_content,
        "messages.0: all messages must have non-empty",
        talk({"role": "user", "content": ""}),
    ),
    Case(message_rules.text_blocks, "messages: text content blocks must be non-empty", talk(user(""))),
    Case(message_rules.text_blocks, "messages: text content blocks must contain non-white", talk(user("hi", " \n"))),
    Case(
        message_rules.text_blocks, "messages: text content blocks must contain", talk({"role": "user", "content": "\n"})
    ),
    Case(
        message_rules.text_blocks,
        "messages: text content blocks must be non-empty",
        called(use(), after=(result(content=[text("")]),)),
    ),
    Case(message_rules.text_blocks, "system: text content blocks must be non-empty", ask(system=[text("")])),
    Case(message_rules.image_sources, f"{FIRST}.image.source: Input tag", talk(user(image(type="url")))),
    Case(message_rules.image_sources, f"{FIRST}.image.source.base64.media_type: ", talk(user(image("image/heic")))),
    Case(message_rules.image_sources, f"{FIRST}.image.source.base64.data: Input", talk(user(image(data="")))),
    Case(message_rules.image_sources, f"{FIRST}.image.source.base64.data: Input", talk(user(image(data="no!")))),
    Case(message_rules.image_sources, f"{FIRST}.image.source.base64.data: The image", talk(user(image("image/gif")))),
    Case(message_rules.image_sources, f"{FIRST}.image.source.base64.name: Extra", talk(user(image(name="x")))),
    Case(message_rules.image_sources, f"{FIRST}.image.source.base64: image exceeds 5 MB", talk(user(HUGE_IMAGE))),
    Case(
        message_rules.image_sources,
        f"{SECOND.replace('1', '2')}.content.0.image.source: Input tag",
        called(thought(), use(), after=(result(content=[image(type="url")]),)),
    ),
    Case(
        message_rules.first_message,
        'messages: first message must use the "user" role',
        talk(assistant("hi"), user("hi")),
    ),
    Case(
        message_rules.system_placement,
        "messages.2: role 'system' must follow a 'user' message",
        talk(user("hi"), assistant("yes"), {"role": "system", "content": "x"}),
    ),
    Case(
        message_rules.system_placement,
        "messages.1: role 'system' must precede an 'assistant' message",
        talk(user("hi"), {"role": "system", "content": "x"}, user("ho")),
    ),
    Case(
        message_rules.call_fields,
        f"{SECOND}.tool_use.input: Input should be a valid dictionary",
        called(use(input="{}")),
    ),
    Case(message_rules.call_fields, f"{SECOND}.tool_use.id: String should match", called(use(id="a b"))),
    Case(message_rules.call_fields, f"{SECOND}.tool_use.name: String should match", called(use(name="a.b"))),
    Case(message_rules.call_fields, f"{SECOND}.tool_use.name: String should match", called(use(name="a" * 129))),
    Case(message_rules.call_ids_unique, "messages.1.content.1: `tool_use` ids must be unique", called(use(), use())),
    Case(
        message_rules.call_ids_unique,
        "messages.3.content.0: `tool_use` ids must be unique",
        talk(user("hi"), assistant(use()), user(result()), assistant(use()), user(result())),
    ),
    Case(
        message_rules.results_present,
        "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: t1, t2. Each",
        called(use(), use("t2"), after=("next",)),
    ),
    Case(
        message_rules.results_present,
        "messages.1: `tool_use` ids were found without",
        talk(user("hi"), assistant(use())),
    ),
    Case(
        message_rules.results_present,
        "messages.1: `tool_use` ids were found without",
        talk(user("hi"), assistant(use()), assistant("and"), user(result())),
    ),
    Case(
        message_rules.results_first,
        "messages.2.content.1: `tool_result` blocks must come first",
        called(use(), after=("first", result())),
    ),
    Case(
        message_rules.results_known,
        "messages.0.content.0: unexpected `tool_use_id` found in `tool_result` blocks: t1.",
        talk(user(result())),
    ),
    Case(
        message_rules.results_known,
        "messages.2.content.1: unexpected `tool_use_id`",
        called(use(), after=(result(), result("t9"))),
    ),
    Case(
        message_rules.results_single,
        "messages.2.content.1: each tool_use must have a single result. Found multiple",
        called(use(), after=(result(), result())),
    ),
    Case(
        message_rules.last_message,
        "This model does not support assistant message prefill.",
        talk(user("hi"), assistant("{")),
    ),
    Case(request_rules.tool_shapes, "tools.0: Input should be a valid dictionary", ask(tools=["bash"])),
    Case(request_rules.tool_shapes, "tools.0.custom.parameters: Extra inputs", ask(tools=[tool(parameters={})])),
    Case(request_rules.tool_shapes, "tools.0.custom.input_schema: Field required", ask(tools=[{"name": "bash"}])),
    Case(request_rules.tool_names, "tools.0.custom.name: String should match pattern", ask(tools=[tool("read file")])),
    Case(request_rules.tool_names, "tools: Tool names must be unique.", ask(tools=[tool(), tool()])),
    Case(
        request_rules.tool_schemas, "tools.0.custom.input_schema: Input should be", ask(tools=[tool(input_schema=[])])
    ),
    Case(
        request_rules.tool_schemas, "tools.0.custom.input_schema.type: Input should be 'object'", schema(type="array")
    ),
    Case(request_rules.tool_schemas, "tools.0.custom.input_schema.properties: ", schema(type="object", properties=[])),
    Case(request_rules.tool_schemas, "tools.0.custom.input_schema.required: ", schema(type="object", required=[1])),
    Case(
        request_rules.tool_schemas,
        "tools.0.custom.input_schema: input_schema does not",
        schema(type="object", anyOf=[]),
    ),
    Case(
        request_rules.thinking_config, '"thinking.type.disabled" is not supported', ask(thinking={"type": "disabled"})
    ),
    Case(request_rules.thinking_config, '"thinking.type.enabled" is not supported', ask(thinking={"type": "enabled"})),
    Case(request_rules.thinking_config, "thinking: Input tag 'loud'", ask(thinking={"type": "loud"})),
    Case(
        request_rules.thinking_config,
        "thinking.budget_tokens: Extra",
        ask(thinking={"type": "adaptive", "budget_tokens": 9}),
    ),
    Case(
        request_rules.thinking_config, "thinking.display: Input", ask(thinking={"type": "adaptive", "display": "all"})
    ),
    Case(request_rules.tool_choice, "tool_choice forces tool use", ask(tools=[tool()], tool_choice={"type": "any"})),
    Case(
        request_rules.tool_choice,
        "tool_choice forces tool use",
        ask(tools=[tool()], tool_choice={"type": "tool", "name": "bash"}),
    ),
    Case(
        request_rules.tool_choice,
        "tool_choice.type: Input should be",
        ask(tools=[tool()], tool_choice={"type": "maybe"}),
    ),
    Case(request_rules.tool_choice, "tool_choice may only be specified while", ask(tool_choice={"type": "auto"})),
    Case(request_rules.output_config, "output_config.effort: Input should be", ask(output_config={"effort": "huge"})),
    Case(request_rules.output_config, "output_config.mood: Extra inputs", ask(output_config={"mood": "good"})),
    Case(
        request_rules.mark_shapes,
        f"{FIRST}.cache_control: Input should be a valid dictionary",
        talk(user(text("a", cache_control=1))),
    ),
    Case(request_rules.mark_shapes, "cache_control.type: Input should be 'ephemeral'", ask(cache_control={})),
    Case(
        request_rules.mark_shapes,
        "cache_control.ttl: Input should be '5m' or '1h'",
        ask(cache_control={**MARK, "ttl": "2h"}),
    ),
    Case(
        request_rules.mark_shapes, "cache_control.scope: Extra inputs", ask(cache_control={**MARK, "scope": "global"})
    ),
    Case(
        request_rules.mark_count,
        "A maximum of 4 blocks with cache_control may be provided. Found 5.",
        talk(
            user(text("a", cache_control=MARK), text("b", cache_control=MARK)),
            cache_control=MARK,
            system=[text("s", cache_control=MARK)],
            tools=[tool(cache_control=MARK)],
        ),
    ),
    Case(
        request_rules.mark_count,
        "A maximum of 4 blocks with cache_control may be provided. Found 5.",
        called(use(), after=(result(content=[text("a", cache_control=MARK)] * 5),)),
    ),
    Case(
        request_rules.mark_order,
        "cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m'",
        ask(tools=[tool(cache_control=MARK)], cache_control=HOUR),
    ),
    Case(
        message_rules.thinking_genuine,
        f"{SECOND}: Invalid `signature` in `thinking` block",
        called(thought("hm", "forged"), use()),
    ),
    Case(
        message_rules.thinking_genuine,
        f"{SECOND}: Invalid `signature` in `thinking` block",
        called(thought("hm", ""), use()),
    ),
    Case(
        message_rules.thinking_genuine,
        f"{SECOND}: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified.",
        called(thought("HM"), use()),
    ),
    Case(
        message_rules.thinking_kept,
        "messages.1.content: Expected `thinking` or `redacted_thinking`, but found",
        called(use()),
    ),
    Case(message_rules.thinking_kept, f"{SECOND}: `thinking` or", called(use(), thought())),
    Case(
        message_rules.thinking_kept,
        "messages.1.content: Expected `thinking`",
        called(thought("one", "sig-2"), use("t2"), use("t3"), after=(result("t2"), result("t3"))),
    ),
]
GOOD = called(thought(), "I look.", use(), after=(result(), "Go on."))
TWO_ROUNDS = talk(*called(use())["messages"], *called(use("t9"), after=(result("t9"),))["messages"][1:])
SETTINGS = ask(
    thinking={"type": "adaptive", "display": "summarized"},
    output_config={"effort": "high"},
    tools=[tool(eager_input_streaming=True, strict=True)],
    tool_choice={"type": "auto"},
    system="s",
    metadata={"user_id": "u"},
    stop_sequences=["x"],
    max_tokens=0,
    diagnostics={"previous_message_id": None},
)
FOUR_MARKS = ask(
    tools=[tool(cache_control=HOUR)],
    system=[text("a", cache_control=HOUR), text("b", cache_control=MARK)],
    cache_control=MARK,
)
ONE_OF_TWO = called(thought("one", "sig-2"), use("t2"), thought("two", "sig-3"), after=(result("t2"),))
LISTS = called(thought(), use(), after=(result(content=[text("a")], is_error=True),))
ACCEPTED: dict[str, Json] = {
    "content as a string": talk({"role": "user", "content": "hi"}),
    "text after the results": GOOD,
    "a turn as it was sent": called(thought(), use()),
    "a call of the turn left out": ONE_OF_TWO,
    "thinking left out of an older turn": TWO_ROUNDS,
    "results without content": called(thought(), use(), after=(result(content=""),)),
    "results as lists": LISTS,
    "users in a row": talk(user("a"), user("b"), assistant("c"), assistant("d"), user("e")),
    "system at the end": talk(*GOOD["messages"], SYSTEM),
    "system before an answer": talk(user("a"), SYSTEM, assistant("c"), user("d")),
    "four marks": FOUR_MARKS,
    "every setting": SETTINGS,
    "a picture": talk(user(image(), "What is it?")),
    "any text": talk(user("🌊 \x00 \u2028")),
}
NO_JSON = [
    (b"", "Expecting value"),
    (b'{"model": ', "Expecting value"),
    (b'{"model": NaN}', "unexpected NaN"),
    (b'{"model": "\xff"}', "'utf-8' codec can't decode"),
    (b'{"model": "a \\ud83d b"}', "no low surrogate in string"),
    (b'{"\\udc00": 1}', "no low surrogate in string"),
]
PLAIN = [
    Case(request_rules.plain_fields, "cache_control: Extra inputs are not permitted", ask(cache_control=MARK)),
    Case(request_rules.plain_fields, "thinking: Extra inputs are not permitted", ask(thinking={"type": "adaptive"})),
    Case(request_rules.plain_fields, "output_config: Extra inputs are not", ask(output_config={"effort": "low"})),
    Case(request_rules.plain_marks, f"{FIRST}.cache_control: Extra", talk(user(text("a", cache_control=MARK)))),
    Case(request_rules.plain_marks, "system.0.cache_control: Extra", ask(system=[text("a", cache_control=MARK)])),
    Case(request_rules.plain_tools, "tools.0.eager_input_streaming: ", ask(tools=[tool(eager_input_streaming=True)])),
    Case(request_rules.plain_roles, "messages.1.role: Input should be 'user' or 'assistant'", talk(user("a"), SYSTEM)),
    Case(request_rules.plain_blocks, f"{SECOND}: Input tag 'thinking' does not match", called(thought(), use())),
]
