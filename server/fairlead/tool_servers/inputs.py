"""The values of `${input:ID}`: the user enters them once, and they hold until the definition changes."""

from collections.abc import Awaitable, Callable, Mapping

from fairlead.display import escape_to_one_line
from fairlead.errors import ToolError
from fairlead.gate.request import ValueRequest
from fairlead.tool_servers.definition import Definition
from fairlead.tool_servers.secrets import Secrets

Enter = Callable[[ValueRequest], Awaitable[str | None]]
"""Asks the user for a value; None: they gave up, or could not be asked."""


class NotEntered(ToolError):
    """A server needs a value that the user did not enter."""


async def entered_values(
    definition: Definition, secrets: Secrets, enter: Enter, *, again: bool = False
) -> Mapping[str, str]:
    """The values of a definition's inputs, by id. Asks for those that are not known, one after another.

    Args:
        again: whether it asks for all of them. The earlier ones hold until the last one is entered.

    Raises:
        NotEntered: the user gave up, or could not be asked.
    """
    if not definition.inputs:
        return {}
    async with secrets.lock("inputs"):  # an editor closes a question when it shows another one
        key = f"{definition.digest} inputs"
        saved = {name: text for name, text in secrets.get(key).items() if isinstance(text, str)}
        values: dict[str, str] = {}
        for each in definition.inputs:
            value = saved.get(each.id)
            if value is None or again:
                default = "" if each.is_secret else value or each.default
                value = await enter(ValueRequest(definition.name, each.question, each.is_secret, default, each.options))
            if value is None:
                raise NotEntered(f"It needs a value that was not entered: {escape_to_one_line(each.question)}.")
            values[each.id] = value
        if values != saved:
            secrets.put(key, values)
        return values
