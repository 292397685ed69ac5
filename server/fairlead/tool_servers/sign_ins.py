"""The user's sign-ins to remote tool servers (OAuth): tokens and registrations."""

from collections.abc import Awaitable, Callable

from fairlead.tool_servers.definition import Definition
from fairlead.tool_servers.pipes import ServerFailed
from fairlead.tool_servers.secrets import Secrets
from fairlead.tool_servers.variables import Values, expanded

NO_SDK = "Fairlead's Python lacks the package mcp. Install fairlead[mcp]"

Authorize = Callable[[str], Awaitable[str | None]]
"""Opens an address in the user's browser. Returns the address that the browser was sent back to; None: they gave up."""


class SignInNeeded(ServerFailed):
    """A remote server answers only after the user has signed in, or has signed in again."""


async def sign_in(
    secrets: Secrets, definition: Definition, values: Values, redirect: str, authorize: Authorize
) -> None:
    """Signs the user in to a remote server.

    Args:
        redirect: the address that the browser is sent back to.

    Raises:
        ServerFailed: it did not work, or the server does not want a sign-in.
        MissingValue: as `expanded`.
    """
    try:
        from fairlead.tool_servers import oauth  # noqa: PLC0415  imports the SDK, which is optional and slow to import
    except ImportError as error:
        raise ServerFailed(NO_SDK) from error
    known = expanded(definition, values)
    await oauth.sign_in(secrets, oauth.key_of(definition, known.url), known, redirect, authorize)
