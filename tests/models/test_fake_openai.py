"""The stand-in for OpenAI (tests/support/fake_openai) refuses what the real servers refuse, and streams as they do."""

import json
from base64 import b64encode
from typing import Any

import pytest

from support.fake_api import BadJson, Call, Cut, HttpError, MaxTokensCut, MidStreamError, Text, Thinking, Turn
from support.fake_api.turns import Streamed
from support.fake_api.wire import send
from support.fake_openai import CHAT, RESPONSES, FakeOpenAi, event_names
from support.pictures import png

Json = dict[str, Any]
KEY = {"authorization": "Bearer test-key"}
LONG = Turn((Thinking("Hm."), Text("I look."), Call("bash", {"command": "ls"}), Call("bash", {})), chunk=3)

SYSTEM, HI = {"role": "system", "content": "Help."}, {"role": "user", "content": "hi"}
CALL = {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": "{}"}}
CALLING = {"role": "assistant", "tool_calls": [CALL]}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "ok"}
TOOL = {"type": "function", "function": {"name": "bash", "parameters": {"type": "object", "properties": {}}}}


def chat(*messages: Json, **more: Any) -> Json:
    return {"model": "m", "stream": True, "messages": list(messages or [HI]), **more}


def image(url: str) -> Json:
    return {"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]}


def tool(**function: Any) -> list[Json]:
    return [{**TOOL, "function": {**TOOL["function"], **function}}]


BAD_CHATS: dict[str, tuple[Json | bytes, str]] = {
    "no messages": ({"model": "m"}, "Missing required parameter: 'messages'."),
    "an unknown field": (chat(thinking={}), "Unknown parameter: 'thinking'."),
    "an unknown field of a message": (chat({**HI, "x": 1}), "Unknown parameter: 'messages[0].x'."),
    "an unknown role": (chat({"role": "bot", "content": "a"}), "Invalid value: 'bot'. Supported values are: 'system'"),
    "a picture in a result": (
        chat(HI, CALLING, {**RESULT, "content": [image("x")["content"][0]]}),
        "Invalid value: 'image_url'. Supported values are: 'text'.",
    ),
    "an odd picture": (chat(image("data:image/png;base64,AAAA")), "unsupported image"),
    "a link": (chat(image("https://x.org/a.png")), "Expected a base64-encoded data URL"),
    "no result": (chat(HI, CALLING), "tool_call_ids did not have response messages: c1"),
    "a late result": (chat(HI, CALLING, HI, RESULT), "did not have response messages"),
    "a result of no call": (chat(HI, {**RESULT}), "must be a response to a preceeding message with 'tool_calls'"),
    "a second result": (chat(HI, CALLING, RESULT, RESULT), "must be a response"),
    "arguments as an object": (
        chat(HI, {**CALLING, "tool_calls": [{**CALL, "function": {"name": "bash", "arguments": {}}}]}, RESULT),
        "Invalid type for 'messages[1].tool_calls[0].function.arguments': expected a string, but got dict instead.",
    ),
    "invalid arguments": (
        chat(HI, {**CALLING, "tool_calls": [{**CALL, "function": {"name": "bash", "arguments": "{"}}]}, RESULT),
        "Failed to parse tool call arguments as JSON",
    ),
    "an odd name": (chat(tools=tool(name="a b")), "string does not match pattern"),
    "a long id": (chat(HI, {**CALLING, "tool_calls": [{**CALL, "id": "c" * 41}]}), "with maximum length 40"),
    "no tools": (chat(tools=[]), "Invalid 'tools'"),
    "a schema without type": (chat(tools=tool(parameters={})), "schema must be a JSON Schema of 'type: \"object\"'"),
    "a list without items": (
        chat(tools=tool(parameters={"type": "object", "properties": {"a": {"type": "array"}}})),
        "In context=('properties', 'a'), array schema missing items",
    ),
    "calls in parallel without tools": (chat(parallel_tool_calls=True), "only allowed when 'tools' are specified"),
    "max_tokens": (chat(max_tokens=5), "Use 'max_completion_tokens' instead."),
    "two of the user": (chat(HI, HI), "must alternate"),
    "a late system message": (chat(HI, SYSTEM), "must be at the beginning"),
    "an empty answer": (chat(HI, {"role": "assistant"}, HI), "expected a string, got null"),
    "not JSON": (b"{", "could not parse the JSON body"),
}

ASKED = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]}
FUNCTION = {"type": "function_call", "call_id": "c1", "name": "bash", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "c1", "output": "ok"}
REASONING = {"type": "reasoning", "summary": [], "encrypted_content": "x"}


def response(*items: Json, **more: Any) -> Json:
    return {"model": "m", "stream": True, "store": False, "input": list(items or [ASKED]), **more}


BAD_RESPONSES: dict[str, tuple[Json | bytes, str]] = {
    "no input": ({"model": "m"}, "Missing required parameter: 'input'."),
    "an unknown item": (response({"type": "tool"}), "Invalid value: 'tool'. Supported values are: 'message'"),
    "an unknown field": (response({**OUTPUT, "name": "bash"}), "Unknown parameter: 'input[0].name'."),
    "an answer as input": (
        response({**ASKED, "role": "assistant"}),
        "Invalid value: 'input_text'. Supported values are: 'output_text', 'refusal'.",
    ),
    "store": ({**response(), "store": True}, "'store' must be false"),
    "an id": (response({**FUNCTION, "id": "fc_1"}, OUTPUT), "Item with id 'fc_1' not found."),
    "no result": (response(FUNCTION, ASKED), "No tool output found for function call c1."),
    "a result of no call": (response(OUTPUT), "No tool call found for function call output with call_id c1."),
    "foreign reasoning": (response(REASONING, FUNCTION, OUTPUT), "could not be verified"),
    "few tokens": (response(max_output_tokens=15), "Invalid 'max_output_tokens'"),
    "an unknown effort": (response(reasoning={"effort": "huge"}), "Invalid value: 'huge'."),
    "an earlier answer": (response(previous_response_id="r"), "cannot be used"),
}
BAD = [(CHAT, name, *case) for name, case in BAD_CHATS.items()]
BAD += [(RESPONSES, name, *case) for name, case in BAD_RESPONSES.items()]


@pytest.mark.parametrize(
    ("path", "name", "body", "says"), BAD, ids=lambda value: value if isinstance(value, str) else ""
)
def test_a_request_that_breaks_a_rule_is_refused(path: str, name: str, body: Json, says: str) -> None:
    with FakeOpenAi([LONG]) as api:
        status, raw = send(api.url, body, KEY, path=path)
        assert status == (404 if name == "an id" else 400)
        assert says in json.loads(raw)["error"]["message"]
        assert len(api.refusals) == 1 and says in api.refusals[0]


GOOD_CHATS = [
    chat(SYSTEM, HI, tools=[TOOL], parallel_tool_calls=True, stream_options={"include_usage": True}),
    chat(HI, CALLING, RESULT),
    chat(HI, CALLING, RESULT, image("data:image/png;base64,iVBORw0KGgo=")),
    chat(HI, {"role": "assistant", "content": "A"}, HI, max_completion_tokens=5),
]
GOOD_RESPONSES = [
    response(tools=[{"type": "function", **TOOL["function"], "strict": False}], max_output_tokens=16),
    response(ASKED, FUNCTION, OUTPUT, instructions="Help.", include=["reasoning.encrypted_content"]),
    response(ASKED, {**ASKED, "role": "assistant", "content": [{"type": "output_text", "text": "A"}]}, ASKED),
]
GOOD = [(CHAT, body) for body in GOOD_CHATS] + [(RESPONSES, body) for body in GOOD_RESPONSES]


@pytest.mark.parametrize(("path", "body"), GOOD)
def test_a_valid_request_gets_the_next_turn(path: str, body: Json) -> None:
    with FakeOpenAi([LONG]) as api:
        status, raw = send(api.url, body, KEY, path=path)
        assert (status, api.refusals) == (200, [])
        assert raw.startswith(b"event: response.created\ndata: {" if path == RESPONSES else b"data: {")
        assert raw.endswith(b"data: [DONE]\n\n") == (path == CHAT)


def data_of(raw: bytes) -> list[Json]:
    lines = [line.removeprefix(b"data: ") for line in raw.split(b"\n") if line.startswith(b"data: {")]
    return [json.loads(line) for line in lines]


def test_a_chat_is_streamed_in_pieces() -> None:
    """The calls begin with an id and a name, their arguments follow by index, and the usage comes last on request."""
    with FakeOpenAi([LONG, Turn(())]) as api:
        chunks = data_of(send(api.url, chat(stream_options={"include_usage": True}), KEY, path=CHAT)[1])
        unasked = data_of(send(api.url, chat(), KEY, path=CHAT)[1])
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks if chunk["choices"]]
    assert "".join(delta.get("content") or "" for delta in deltas) == "I look."
    calls = [call for delta in deltas for call in delta.get("tool_calls", [])]
    assert [(call["index"], call["function"]["name"]) for call in calls if "id" in call] == [(0, "bash"), (1, "bash")]
    first = "".join(call["function"]["arguments"] for call in calls if call["index"] == 0)
    assert json.loads(first) == {"command": "ls"}
    assert [chunk["choices"][0]["finish_reason"] for chunk in chunks[-2:-1]] == ["tool_calls"]
    assert (chunks[-1]["choices"], chunks[-1]["usage"]["completion_tokens"]) == ([], 8)
    assert all("usage" not in chunk for chunk in unasked)
    assert event_names(LONG, CHAT)[-3:] == ("finish", "usage", "done")


def test_a_response_is_streamed_item_by_item() -> None:
    """Only the last event of an item has its encrypted reasoning. The final response has all items."""
    asked = response(include=["reasoning.encrypted_content"], reasoning={"summary": "auto"})
    with FakeOpenAi([LONG]) as api:
        events = data_of(send(api.url, asked, KEY, path=RESPONSES)[1])
        assert [event["sequence_number"] for event in events] == list(range(len(events)))
        done = [event["item"] for event in events if event["type"] == "response.output_item.done"]
        assert [item["type"] for item in done] == ["reasoning", "message", "function_call", "function_call"]
        assert events[-1]["type"] == "response.completed"
        assert events[-1]["response"]["output"] == done
        begun = next(event["item"] for event in events if event["type"] == "response.output_item.added")
        assert begun["encrypted_content"] != done[0]["encrypted_content"]
        back = [{name: value for name, value in item.items() if name != "id"} for item in done]
        outputs = [{**OUTPUT, "call_id": item["call_id"]} for item in done[2:]]
        api.push(Turn(()))
        assert send(api.url, response(ASKED, *back, *outputs), KEY, path=RESPONSES)[1].startswith(b"event: ")
        moved = response(ASKED, *back[1:], back[0], *outputs)
        assert b"required following item" in send(api.url, moved, KEY, path=RESPONSES)[1]


@pytest.mark.parametrize("path", [CHAT, RESPONSES])
@pytest.mark.parametrize(
    ("turn", "ends"),
    [
        (MaxTokensCut(LONG, 5), (b'"finish_reason": "length"', b"max_output_tokens")),
        (BadJson("bash", "{"), (b'"arguments": "{"', b'"arguments": "{"')),
        (Cut(LONG, 4), (b"I l", b"reasoning_summary_part.added")),
        (MidStreamError(LONG, 2), (b'"error": {"message": "Overloaded"', b'"type": "error"')),
        (Turn((Text("No."),), stop_reason="refusal"), (b"content_filter", b"response.refusal.done")),
    ],
)
def test_the_faults_of_a_script_have_the_form_of_the_api(path: str, turn: Streamed, ends: tuple[bytes, bytes]) -> None:
    asked = chat() if path == CHAT else response(reasoning={"summary": "auto"})
    with FakeOpenAi([turn]) as api:
        status, raw = send(api.url, asked, KEY, path=path)
        assert (status, api.refusals) == (200, [])
        assert ends[path == RESPONSES] in raw
        assert (b"[DONE]" in raw or b"response.completed" in raw or b"response.incomplete" in raw) == (
            not isinstance(turn, Cut | MidStreamError)
        )


def test_a_server_that_sends_reasoning_wants_it_back() -> None:
    """DeepSeek refuses a call without its reasoning. Others get it and do not insist."""
    for server, field, status in (("deepseek", "reasoning_content", 400), ("plain", "reasoning", 200)):
        with FakeOpenAi([LONG, Turn(()), Turn(())], server=server) as api:
            chunks = data_of(send(api.url, chat(), KEY, path=CHAT)[1])
            deltas = [chunk["choices"][0]["delta"] for chunk in chunks]
            assert "".join(delta.get(field, "") for delta in deltas) == "Hm."
            ids = [call["id"] for delta in deltas for call in delta.get("tool_calls", []) if "id" in call]
            calling = {"role": "assistant", "tool_calls": [{**CALL, "id": each} for each in ids]}
            results = [{**RESULT, "tool_call_id": each} for each in ids]
            assert send(api.url, chat(HI, {**calling, field: "Hm."}, *results), KEY, path=CHAT)[0] == 200
            assert send(api.url, chat(HI, calling, *results), KEY, path=CHAT)[0] == status


def test_other_servers_have_their_own_rules() -> None:
    """Mistral's ids, its order and its status; Gemini's signature and its list as the body of an error."""
    with FakeOpenAi([LONG], server="mistral") as api:
        assert send(api.url, chat(HI, CALLING, RESULT), KEY, path=CHAT)[0] == 400
        short = {**CALLING, "tool_calls": [{**CALL, "id": "abcDEF123"}]}
        result = {**RESULT, "tool_call_id": "abcDEF123", "name": "bash"}
        assert b"after role 'tool'" in send(api.url, chat(HI, short, result, HI), KEY, path=CHAT)[1]
        assert send(api.url, chat(stream_options={"include_usage": True}), KEY, path=CHAT)[0] == 422
        assert send(api.url, chat(HI, short, result), KEY, path=CHAT)[0] == 200
    with FakeOpenAi([LONG, Turn(())], server="gemini") as api:
        chunks = data_of(send(api.url, chat(), KEY, path=CHAT)[1])
        (signed,) = [
            call
            for chunk in chunks
            for call in chunk["choices"][0]["delta"].get("tool_calls", [])
            if "extra_content" in call
        ]
        calling = {"role": "assistant", "tool_calls": [{**CALL, "id": signed["id"]}]}
        result = {**RESULT, "tool_call_id": signed["id"]}
        status, raw = send(api.url, chat(HI, calling, result), KEY, path=CHAT)
        assert (status, "thought_signature" in json.loads(raw)[0]["error"]["message"]) == (400, True)
        calling["tool_calls"][0]["extra_content"] = signed["extra_content"]
        assert send(api.url, chat(HI, calling, result), KEY, path=CHAT)[0] == 200


def test_the_key_the_path_and_the_list_of_models_are_those_of_the_api() -> None:
    with FakeOpenAi([LONG, HttpError(429, "tokens", "Slow down.")], paths=(CHAT,), models=[{"id": "m"}]) as api:
        assert send(api.url, chat(), {}, path=CHAT)[0] == 401
        assert send(api.url, chat(), {"authorization": "Bearer other"}, path=CHAT)[0] == 401
        assert send(api.url, response(), KEY, path=RESPONSES)[0] == 404
        status, raw = send(api.url, b"", KEY, path="/v1/models", method="GET")
        assert (status, json.loads(raw)["data"]) == (200, [{"id": "m"}])
        assert send(api.url, chat(), KEY, path=CHAT)[0] == 200
        assert send(api.url, chat(), KEY, path=CHAT)[0] == 429
        assert api.refusals == []


def test_a_picture_counts_as_a_picture() -> None:
    """Its bytes do not count as text."""
    with FakeOpenAi([Turn(())]) as api:
        url = "data:image/png;base64," + b64encode(png(900, 900)).decode()
        usage = data_of(send(api.url, chat(image(url), stream_options={"include_usage": True}), KEY, path=CHAT)[1])[-1]
    assert 1000 < usage["usage"]["prompt_tokens"] < 3000
