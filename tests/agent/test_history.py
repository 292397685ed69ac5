"""The history is valid for the next request, whatever a model returned."""

from fairlead.messages.history import History, ToolCall

BLOCK = {"type": "tool_use", "name": "search", "input": {}}


def test_repeated_ids_are_replaced() -> None:
    """docs/faults.md 21: a repeated id, from the same answer or an earlier one, is replaced in call and block."""
    history = History()
    history.add_user_message([])
    twice = [{**BLOCK, "id": "one"}, {**BLOCK, "id": "one"}]
    first = history.add_reply(twice, [ToolCall("one", "search", {}), ToolCall("one", "search", {})])
    later = history.add_reply(twice[:1], [ToolCall("one", "search", {})])
    sent = [block["id"] for message in history.messages[1:] for block in message["content"]]
    assert [call.id for call in first + later] == sent
    assert len(set(sent)) == 3
    assert sent[0] == "one"


def test_text_is_added_to_an_answer_that_is_only_thinking() -> None:
    """The API refuses an assistant message that contains only thinking."""
    history = History()
    history.add_user_message([])
    history.add_reply([{"type": "thinking", "thinking": "...", "signature": "s"}])
    assert [block["type"] for block in history.messages[-1]["content"]] == ["thinking", "text"]
