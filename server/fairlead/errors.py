"""The base of Fairlead's errors, and the errors of tools.

    FairleadError
    ├── ModelError                no usable answer (`agent/errors.py`)
    └── ToolError                 a tool failed; becomes an error result that the model reads
        └── VerbatimToolError     the same, without "Error: " before the text

A message says what happened and what to do next. It is written for the model (ToolError) or for the user (all others).
"""

from fairlead.sentences import Sentence


class FairleadError(Exception):
    """The base class of the errors above, and of some errors of the command line."""


class ToolError(FairleadError):
    """A tool's failure that the model can act on (L3).

    Args:
        message: for the model.
        shown: what the user reads instead of the message; None: the message.
    """

    def __init__(self, message: str, shown: Sentence | None = None) -> None:
        super().__init__(message)
        self.shown = shown


class VerbatimToolError(ToolError):
    """A failure whose text is the whole result: an unknown tool (L4), or a command's output until its time limit."""
