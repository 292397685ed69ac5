"""Asks a model directly, without a run."""

from fairlead.agent.model import Model, Reply, Request, TextDelta, ToolSpec
from fairlead.messages.parts import Message

READ = ToolSpec("read_file", "Reads a file.", {"type": "object", "properties": {"path": {"type": "string"}}})


async def ask(model: Model, *messages: Message) -> tuple[list[str], Reply]:
    """The pieces of the text, and the reply."""
    *seen, reply = [event async for event in model.stream(Request("You read files.", [READ], messages))]
    assert isinstance(reply, Reply)
    return [event.text for event in seen if isinstance(event, TextDelta)], reply
