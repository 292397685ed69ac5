"""The history is valid for the next request, whatever a model gave."""

from fairlead.agent.messages import History, ToolCall

BLOCK = {"type": "tool_use", "name": "search", "input": {}}


def test_ids_that_were_given_twice_are_told_apart() -> None:
    """docs/faults.md 21: in one answer and in a later one; calls and blocks carry the same new ids, in order."""
    history = History()
    history.add_prompt([])
    twice = [{**BLOCK, "id": "one"}, {**BLOCK, "id": "one"}]
    first = history.add_reply(twice, [ToolCall("one", "search", {}), ToolCall("one", "search", {})])
    later = history.add_reply(twice[:1], [ToolCall("one", "search", {})])
    sent = [block["id"] for message in history.messages[1:] for block in message["content"]]
    assert [call.id for call in first + later] == sent
    assert len(set(sent)) == 3
    assert sent[0] == "one"


def test_an_answer_of_a_thought_alone_gets_a_word() -> None:
    """The API wants more than a thought in an answer."""
    history = History()
    history.add_prompt([])
    history.add_reply([{"type": "thinking", "thinking": "...", "signature": "s"}])
    assert [block["type"] for block in history.messages[-1]["content"]] == ["thinking", "text"]
