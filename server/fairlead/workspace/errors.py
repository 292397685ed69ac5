"""The error of this package, apart from its subclasses."""

from fairlead.agent.errors import ToolError


class WorkspaceError(ToolError):
    """A file cannot be read or changed as asked.

    The model reads the message as the result of a call, the user as the reason why a decision had no effect.
    """
