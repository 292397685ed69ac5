"""Messages in the form of Responses. What another server made for itself is left out."""

import json
import re
from collections.abc import Iterator
from hashlib import sha256
from typing import Any

from fairlead.agent.model import ToolSpec
from fairlead.messages.history import EMPTY
from fairlead.messages.parts import Call, Foreign, Image, Message, Note, Prompt, Result, Text, Thinking

MAX_NAME = 64
PHASE = "phase"
"""The field of a text that says whether it is the final answer. It goes back to the server."""
PICTURES = "The pictures of the result of {call_id}:"

_NOT_IN_NAME = re.compile(r"[^a-zA-Z0-9_-]")
_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")


class ResponsesEncoder:
    """Encodes the messages for one server.

    Args:
        provider: what `ResponsesReader` marked the server's own reasoning with.
        pictures_in_results: whether a result may have pictures; otherwise, they follow in a message.
    """

    def __init__(self, provider: str, *, pictures_in_results: bool) -> None:
        self._provider, self._pictures_in_results = provider, pictures_in_results

    def encode(self, message: Message) -> list[dict[str, Any]]:
        """One message as items of the API."""
        return list(self._answer(message) if message.role == "assistant" else self._user(message))

    def _answer(self, message: Message) -> Iterator[dict[str, Any]]:
        """The items of an answer, in order: reasoning must come before the item that followed it."""
        phase: dict[str, Any] = {}
        for part in message.parts:
            match part:
                case Text(text):
                    yield _answer_text(text) | phase
                    phase = {}
                case Call(call_id, name, given):
                    name = _NOT_IN_NAME.sub("_", name)[:MAX_NAME] or "_"
                    arguments = json.dumps(given, ensure_ascii=False)
                    call = {"type": "function_call", "call_id": _valid_id(call_id), "name": name}
                    yield {**call, "arguments": arguments}
                case Thinking(_, provider, item) if provider == self._provider and item:
                    yield dict(item)
                case Foreign(provider, data) if provider == self._provider:
                    phase = dict(data)
                case _:
                    pass
        if not any(isinstance(part, Text | Call) for part in message.parts):
            yield _answer_text(EMPTY)

    def _user(self, message: Message) -> Iterator[dict[str, Any]]:
        """The outputs of calls, then one message with the rest."""
        rest: list[dict[str, Any]] = []
        has_results = False
        for part in message.parts:
            match part:
                case Result(call_id, images=images):
                    has_results = True
                    pictures = list(map(_image, images))
                    yield self._output(part, pictures)
                    if pictures and not self._pictures_in_results:
                        rest += [_text(PICTURES.format(call_id=_valid_id(call_id))), *pictures]
                case Image():
                    rest.append(_image(part))
                case Prompt() | Note():
                    rest.append(_text(part.text))
                case _:
                    pass
        if rest or not has_results:
            yield {"type": "message", "role": "user", "content": rest or [_text(EMPTY)]}

    def _output(self, result: Result, pictures: list[dict[str, Any]]) -> dict[str, Any]:
        output: Any = f"Error: {result.text}" if result.is_error else result.text
        if pictures and self._pictures_in_results:
            output = [_text(output), *pictures]
        return {"type": "function_call_output", "call_id": _valid_id(result.call_id), "output": output}


def encode_tool(spec: ToolSpec) -> dict[str, Any]:
    """A tool as a function of the API. Without `strict`, the server would rewrite the schema as a strict one."""
    function = {"type": "function", "name": spec.name, "description": spec.description}
    return {**function, "parameters": spec.input_schema, "strict": False}


def _valid_id(call_id: str) -> str:
    """An id that the server accepts; the same one for a call and its output."""
    return call_id if _ID.fullmatch(call_id) else sha256(call_id.encode()).hexdigest()


def _answer_text(text: str) -> dict[str, Any]:
    return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}


def _text(text: str) -> dict[str, Any]:
    return {"type": "input_text", "text": text}


def _image(image: Image) -> dict[str, Any]:
    return {"type": "input_image", "image_url": f"data:{image.media_type};base64,{image.data}", "detail": "auto"}
