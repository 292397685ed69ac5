"""A call that the model wrote as text is recognized, and never run (docs/plan.md L19)."""

from pathlib import Path

import pytest

from agent.turns import DONE, Connect, notes, say
from fairlead.agent.textual_calls import find_textual_call
from support.fake_api import Call, FakeApi, Text

TOOLS = {"edit_file", "bash", "read_file", "search", "code", "todo"}
JSON = '{"name": "bash", "arguments": {"command": "ls"}}'
CALLS = {
    "Hermes, Qwen": f"I list the files.\n<tool_call>\n{JSON}\n</tool_call>",
    "cut off": '<tool_call>\n{"name": "bash", "arguments": {"command": "l',
    "followed by an invented result": f"<tool_call>{JSON}</tool_call>\n<tool_response>a.py</tool_response>\nDone.",
    "Qwen Coder": "<tool_call>\n<function=bash>\n<parameter=command>\nls\n</parameter>\n</function>\n</tool_call>",
    "GLM": "<tool_call>bash\n<arg_key>command</arg_key>\n<arg_value>ls</arg_value>\n</tool_call>",
    "Claude": '<function_calls>\n<invoke name="bash">\n<parameter name="command">ls</parameter>\n</invoke>',
    "Claude, with a namespace": '<function_calls><invoke name="bash">',
    "Mistral": f"[TOOL_CALLS][{JSON}]",
    "Mistral, newer": '[TOOL_CALLS]bash[ARGS]{"command": "ls"}',
    "Llama": '{"name": "bash", "parameters": {"command": "ls"}}',
    "Llama, with a tag": '<|python_tag|>{"type": "function", "name": "bash", "parameters": {"command": "ls"}}',
    "Llama, as a function": '<function=bash>{"command": "ls"}</function>',
    "OpenAI": '[{"type": "function", "function": {"name": "bash", "arguments": "{}"}}]',
    "gpt-oss": '<|channel|>commentary to=functions.bash <|constrain|>json<|message|>{"command": "ls"}',
    "Kimi": '<|tool_calls_section_begin|><|tool_call_begin|>functions.bash:0<|tool_call_argument_begin|>{"a": "b"}',
    "DeepSeek": '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>bash\n```json\n{"a": "b"}\n```',
    "Gemma": '```tool_code\nprint(bash(command="ls"))\n```',
    "fenced JSON": f"Now I run it:\n\n```json\n{JSON}\n```\n",
    "fenced JSON without an end": f"```\n{JSON}",
    "JSON after a sentence": f"Now I run it:\n{JSON}",
    "JSON in lines": 'Next:\n{\n  "name": "bash",\n  "arguments": {\n    "command": "ls"\n  }\n}\n',
    "a fenced tag": f"```xml\n<tool_call>{JSON}</tool_call>\n```",
}
MENTIONS = {
    "a text that is too long to be searched": f"{'x' * 300_000}\n<tool_call>{JSON}</tool_call>",
    "a sentence": "I used edit_file and bash to fix it. The bash call took 3 s.",
    "a sentence about the forms": "The parser accepts <tool_call> and <function_calls> tags around edit_file calls.",
    "inline code": 'A call looks like `<tool_call>{"name": "bash", "arguments": {}}</tool_call>`. I documented it.',
    "an example in the text": f"The client sends\n\n```json\n{JSON}\n```\n\nand the server answers. All tests pass.",
    "a tagged example in the text": f"```\n<tool_call>{JSON}</tool_call>\n```\nI added this to the page.",
    "an unknown tool": '<tool_call>{"name": "get_weather", "arguments": {"city": "Oslo"}}</tool_call>',
    "JSON without arguments": '```json\n{"name": "bash", "version": "1.0.0"}\n```',
    "JSON of something else": '{"name": "my-app", "input": {"a": 1}}',
    "JSON with more after it": f"{JSON}\nThis is what the log shows.",
    "a function in code": "```python\ndef bash(command):\n    return edit_file(command)\n```",
    "a shell command": "Run it with:\n\n```bash\nbash run.sh\n```",
    "XML": '<function name="main"/>\n<invoke name="deploy"/>',
    "a list": "1. bash\n2. edit_file\n3. [search]",
    "brackets": "[bash]",
    "nothing": "",
    "broken JSON": '{"name": "bash", "arguments": {',
    "deep JSON": "[" * 100_000 + "]",
}


@pytest.mark.parametrize("form", CALLS)
def test_l19_a_call_in_the_text_is_recognized(form: str) -> None:
    """docs/plan.md L19: in each of the forms in which models write calls."""
    assert find_textual_call(CALLS[form], TOOLS) == "bash"


@pytest.mark.parametrize("kind", MENTIONS)
def test_l19_a_text_that_only_mentions_a_tool_is_no_call(kind: str) -> None:
    """docs/plan.md L19: prose, examples and other code end the turn as usual."""
    assert find_textual_call(MENTIONS[kind], TOOLS) == ""


AS_TEXT = '<tool_call>{"name": "write_file", "arguments": {"path": "a.txt", "content": "x"}}</tool_call>'


async def test_l19_the_model_is_told_once_and_can_make_the_call(connect: Connect, workspace: Path) -> None:
    """docs/plan.md L19: the user learns that the call was not run. A turn that then ends without a call is done."""
    write = Call("write_file", {"path": "a.txt", "content": "x"})
    turns = [say(Text(AS_TEXT)), say(write), DONE, say(Text(AS_TEXT)), say(Text("It was an example."))]
    with FakeApi(turns=turns) as api:
        async with connect(api) as client:
            result = await client.run()
            assert (result["stopReason"], result["message"]) == ("end_turn", "Done.")
            assert "call of write_file as text, so it was not run. The model is informed." in client.text()
            assert "contains a call of write_file as text" in notes(api, 1)[0]
            result = await client.run(sessionId=result["sessionId"])
            assert (result["stopReason"], result["message"]) == ("end_turn", "It was an example.")
            assert len(client.events("tool_started")) == 1
        assert api.refusals == []


async def test_l19_a_second_call_in_the_text_ends_the_run_with_an_error(connect: Connect, workspace: Path) -> None:
    """docs/plan.md L19: the task does not count as done, and nothing was run. The session continues."""
    with FakeApi(turns=[say(Text(AS_TEXT))] * 2 + [DONE]) as api:
        async with connect(api) as client:
            result = await client.run()
            assert (result["stopReason"], result["error"]["retryable"]) == ("error", True)
            assert "wrote a call of write_file as text" in result["message"]
            assert client.last("agent/edits") is None
            assert (await client.run(sessionId=result["sessionId"]))["message"] == "Done."
        assert api.refusals == []
