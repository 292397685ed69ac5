"""The history is valid for the next request, whatever a model returned."""

from fairlead.messages.history import History
from fairlead.messages.parts import Call, Text, Thinking


def test_repeated_ids_are_replaced() -> None:
    """docs/faults.md 21: a repeated id, from the same answer or an earlier one, is replaced."""
    history = History()
    history.add_user_message([])
    call = Call("one", "search", {})
    calls = history.add_reply([call, call]) + history.add_reply([call])
    assert calls == [part for message in history.messages[1:] for part in message.parts]
    assert len({call.id for call in calls}) == 3
    assert calls[0].id == "one"


def test_text_is_added_to_an_answer_that_is_only_thinking() -> None:
    """The API refuses an assistant message that contains only thinking."""
    history = History()
    history.add_user_message([])
    history.add_reply([Thinking("...", "x", {})])
    assert list(map(type, history.messages[-1].parts)) == [Thinking, Text]
