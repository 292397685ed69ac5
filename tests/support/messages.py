"""Messages for tests."""

from fairlead.messages.parts import Message, Part, Prompt, Text


def user(*parts: str | Part) -> Message:
    """A message of the user; a text is a prompt."""
    return Message("user", tuple(Prompt(part) if isinstance(part, str) else part for part in parts))


def assistant(*parts: str | Part) -> Message:
    """An answer of the model; a text is what it wrote."""
    return Message("assistant", tuple(Text(part) if isinstance(part, str) else part for part in parts))
