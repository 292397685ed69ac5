"""Asks the user what a tool server wants to know, in the way in which the agent asks (MCP, "elicitation")."""

import re
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from fairlead.display import escape_invisible, shorten
from fairlead.json_values import fields_of, is_list, is_object

if TYPE_CHECKING:
    from mcp_types import ElicitRequestParams, ElicitResult

MAX_QUESTIONS = 10
"""How many forms and addresses a server may show in one call."""
MAX_FIELDS = 20
_MAX_TEXT = 2_000
_SECRET = re.compile(r"passw|passphrase|secret|token|api.?key|credential|private.?key|\bpin\b|cvv|card.?number", re.I)
_DECLINE, _OPENED, _LEAVE_OUT = "Decline", "Opened", "Leave Out"
_YES, _NO = "Yes", "No"

Ask = Callable[[str, Sequence[str]], Awaitable[str | None]]
"""Asks the user a question with suggested answers; None: no answer."""


async def elicited(server: str, params: "ElicitRequestParams", ask: Ask) -> "ElicitResult":
    """The user's answer to a form or an address.

    Forms that ask for a secret are declined without a question: a server must use an address for them, and the model
    reads the conversation.
    """
    from mcp_types import ElicitResult  # noqa: PLC0415  with the SDK

    message = escape_invisible(params.message)[:_MAX_TEXT]
    if params.mode == "url":
        url = params.url
        if urlsplit(url).scheme not in ("http", "https"):
            return ElicitResult(action="decline")
        answer = await ask(
            f"{server} asks you to open an address: {message}\n\n{shorten(url, _MAX_TEXT)}", [_OPENED, _DECLINE]
        )
        return ElicitResult(action="accept" if answer == _OPENED else "cancel" if answer is None else "decline")
    schema = fields_of(params.requested_schema)
    properties, required = fields_of(schema.get("properties")), schema.get("required")
    fields = list(properties.items())[:MAX_FIELDS]
    if any(_is_secret(name, fields_of(rule)) for name, rule in fields):
        return ElicitResult(action="decline")
    content: dict[str, Any] = {}
    for name, rule in fields:
        is_required = is_list(required) and name in required
        outcome, value = await _field(server, message, name, fields_of(rule), ask, is_required=is_required)
        if outcome != "accept":
            return ElicitResult(action=outcome)
        if value is not None:
            content[name] = value
    if not fields and await ask(f"{server}: {message}", [_YES, _DECLINE]) != _YES:
        return ElicitResult(action="decline")
    return ElicitResult(action="accept", content=content)


def _is_secret(name: str, rule: dict[str, Any]) -> bool:
    texts = (name, rule.get("title"), rule.get("description"), rule.get("format"))
    return any(isinstance(text, str) and _SECRET.search(text) for text in texts)


async def _field(
    server: str, message: str, name: str, rule: dict[str, Any], ask: Ask, *, is_required: bool
) -> "tuple[Any, Any]":
    """Asks for one field. Returns the action of the result, and the value; None: left out."""
    title, about = rule.get("title"), rule.get("description")
    label = shorten(title if isinstance(title, str) else name, _MAX_TEXT)
    more = f" ({shorten(about, _MAX_TEXT)})" if isinstance(about, str) else ""
    choices = _choices(rule)
    default = rule.get("default")
    options = [*choices, *([_text(default)] if default is not None and not choices else [])]
    options += [*([] if is_required else [_LEAVE_OUT]), _DECLINE]
    problem = ""
    for _ in range(3):
        answer = await ask(f"{server}: {message}\n\n{label}{more}{problem}", options)
        if answer is None:
            return "cancel", None
        if answer == _DECLINE:
            return "decline", None
        if answer == _LEAVE_OUT and not is_required:
            return "accept", None
        try:
            return "accept", choices[answer] if answer in choices else _value(answer, rule)
        except ValueError as error:
            problem = f"\n\n{error}"
    return "cancel", None


def _choices(rule: dict[str, Any]) -> dict[str, Any]:
    """The values that can be chosen, by what the user sees; empty if any text may be entered."""
    if rule.get("type") == "boolean":
        return {_YES: True, _NO: False}
    titled = rule.get("oneOf")
    if is_list(titled):
        pairs = [(fields_of(each).get("title"), fields_of(each).get("const")) for each in titled]
        return {shorten(str(title or value)): value for title, value in pairs if value is not None}
    values = rule.get("enum")
    names = rule.get("enumNames")
    if not is_list(values):
        return {}
    shown = names if is_list(names) and len(names) == len(values) else values
    return {shorten(str(name)): value for name, value in zip(shown, values, strict=True)}


def _value(answer: str, rule: dict[str, Any]) -> Any:
    """A typed answer as a value of the field's type. Raises ValueError with a sentence for the user."""
    kind = rule.get("type")
    if kind in ("integer", "number"):
        try:
            value = int(answer) if kind == "integer" else float(answer)
        except ValueError:
            raise ValueError("It must be a number.") from None
        least, most = rule.get("minimum"), rule.get("maximum")
        if (isinstance(least, int | float) and value < least) or (isinstance(most, int | float) and value > most):
            raise ValueError("The number is too small or too large.")
        return value
    if kind == "array":
        items = _choices(fields_of(rule.get("items")) if is_object(rule.get("items")) else {})
        chosen = [part.strip() for part in answer.split(",") if part.strip()]
        if items and any(part not in items for part in chosen):
            raise ValueError(f"Choose from {', '.join(items)}, separated by commas.")
        return [items.get(part, part) for part in chosen]
    if _choices(rule):
        raise ValueError("Choose one of the answers.")
    least, most = rule.get("minLength"), rule.get("maxLength")
    if (isinstance(least, int) and len(answer) < least) or (isinstance(most, int) and len(answer) > most):
        raise ValueError("The text is too short or too long.")
    return answer


def _text(value: Any) -> str:
    return value if isinstance(value, str) else str(value)
