"""The error of a long-lived process."""

from fairlead.errors import ToolError


class ServiceError(ToolError):
    """A process cannot be started, or its sandbox does not work. The message says what happened, but not what to do."""
