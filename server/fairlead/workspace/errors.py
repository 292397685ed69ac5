"""The base class of this package's errors."""

from fairlead.errors import ToolError


class WorkspaceError(ToolError):
    """A file cannot be read or changed as asked.

    The model sees the message as the result of a call, the user as the reason why a decision had no effect.
    """
