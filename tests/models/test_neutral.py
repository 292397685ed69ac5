"""Only the package of a provider knows its API."""

import re
from pathlib import Path

import fairlead
from fairlead.messages.parts import Call, Foreign, Message, Result, Text, Thinking
from fairlead.models.anthropic.encode import PROVIDER, encode_message

SERVER = Path(fairlead.__file__).parent
WORDS = re.compile(
    r"tool_use|tool_result|redacted_thinking|signature_delta|pause_turn|stop_sequence|model_context_window_exceeded"
    r"|anthropic-beta|cache_control"
)
"""Names of blocks, stop reasons, headers and fields of the Messages API."""


def test_nothing_outside_of_models_names_a_part_of_the_api() -> None:
    """Except for what hooks get, in Claude Code's form."""
    found = [
        f"{path.relative_to(SERVER)}: {match[0]}"
        for path in sorted(SERVER.rglob("*.py"))
        if path.relative_to(SERVER).parts[:2] not in (("models", "anthropic"), ("user_hooks", "tool_names.py"))
        for match in WORDS.finditer(path.read_text(encoding="utf-8"))
    ]
    assert found == []


def test_what_another_provider_sealed_is_left_out() -> None:
    """The rest is sent. If nothing is left, a text says so, because the API refuses empty messages."""
    sealed = Thinking("Hm.", "other", {"id": "r1"}), Foreign("other", {"type": "search"})
    ours = Thinking("So.", PROVIDER, {"type": "thinking", "signature": "s"})
    blocks = encode_message(Message("assistant", (*sealed, ours, Text("Yes."))))["content"]
    assert blocks == [{"type": "thinking", "signature": "s", "thinking": "So."}, {"type": "text", "text": "Yes."}]
    assert [block["type"] for block in encode_message(Message("assistant", sealed))["content"]] == ["text"]


def test_a_call_and_its_result_get_the_same_valid_id_and_the_call_a_valid_name() -> None:
    """Other providers allow more characters in ids, and a model may invent a name."""
    (call,) = encode_message(Message("assistant", (Call("a|b.c", "look up!", {}),)))["content"]
    (result,) = encode_message(Message("user", (Result("a|b.c", ""),)))["content"]
    assert call["id"] == result["tool_use_id"]
    assert re.fullmatch("[a-zA-Z0-9_-]{1,64}", call["id"])
    assert (call["name"], result["content"]) == ("look_up_", "(no output)")
