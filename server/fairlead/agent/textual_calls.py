"""Recognizes a tool call that the model wrote as text instead of making it (docs/plan.md L19).

Models are trained on various forms of calls. A server that does not know a model's form, or a model that slips, sends
the call as text.
"""

import json
import re
from collections.abc import Container, Iterator
from typing import Any, cast

# the start of a JSON object up to the value of its name, such as `[{"type": "function", "function": {"name": "`
_JSON_START = r'\[?\s*\{\s*(?:"(?:type|id|function)"\s*:\s*(?:"[^"\n]*"\s*,|\{)\s*)*"name"\s*:\s*"'
_MARK = (
    r"<\|?tool_calls?\|?>|\[TOOL_CALLS\]|<\|python_tag\|>|<\|tool_call_begin\|>|<\|channel\|>commentary|"
    r"<｜tool▁call▁begin｜>"
)
_MARKED = re.compile(
    rf"(?:(?:{_MARK})\s*(?:{_JSON_START}|(?:to=)?functions\.|function<｜tool▁sep｜>|<function=)?"
    r'|<function=|<function\s+name="|<(?:antml:)?invoke\s+name="'
    r")(?P<name>[A-Za-z_][\w-]*)(?=\s*(?:[\"<>({\[:\n｜]|\Z))"
)
_FENCED = re.compile(r"^[ \t]*```([^\n`]*)\n(.*?)(?:^[ \t]*```[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)
_INLINE = re.compile(r"(`{1,3})(?!`)[^\n]{0,500}?(?<!`)\1(?!`)")  # the limits keep this fast
_PYTHON = re.compile(r"\s*(?:print\()?(?P<name>[A-Za-z_]\w*)\(")
_JSON_LINE = re.compile(r"^[ \t]*[\[{]", re.MULTILINE)
_ARGUMENTS = ("arguments", "parameters", "input", "args")
_MAX_TEXT = 200_000  # characters; searching a longer text would block the event loop
_MAX_STARTS = 50  # places at which JSON at the end of a text may begin


def find_textual_call(text: str, tools: Container[str]) -> str:
    """The name of a tool that an answer calls in its text; empty if there is none.

    A call has the markup of a model's own form, or is JSON with a name and arguments at the end of the text, where a
    model stops to wait for the result. Code is an example unless it ends the text. A very long text is not searched.
    """
    if len(text) > _MAX_TEXT:
        return ""
    blocks = list(_FENCED.finditer(text))
    last = blocks[-1] if blocks and not text[blocks[-1].end() :].strip() else None
    prose = _INLINE.sub("", _FENCED.sub("", text))
    names = [found["name"] for found in _MARKED.finditer(prose)]
    if last is None:
        names += _names_in_json_at_end(prose)
    else:
        names += [found["name"] for found in _MARKED.finditer(last[2])] + list(_names_in_json(last[2]))
        python = _PYTHON.match(last[2]) if last[1].strip() in ("tool_code", "tool_call") else None
        names += [python["name"]] if python is not None else []
    return next((name for name in names if name in tools), "")


def _names_in_json_at_end(text: str) -> list[str]:
    starts = [found.start() for found in _JSON_LINE.finditer(text)] if text.rstrip().endswith(("}", "]")) else []
    return [name for start in starts[:_MAX_STARTS] for name in _names_in_json(text[start:])]


def _names_in_json(text: str) -> Iterator[str]:
    """The names in an object with a name and arguments, or in a list of such objects; none for any other text."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return
    for item in cast("list[Any]", value) if isinstance(value, list) else [value]:
        if isinstance(item, dict):
            fields = cast("dict[str, Any]", item)
            inner = fields.get("function")
            call = cast("dict[str, Any]", inner) if isinstance(inner, dict) else fields
            if isinstance(call.get("name"), str) and any(isinstance(call.get(key), dict | str) for key in _ARGUMENTS):
                yield call["name"]
