"""Messages in the form of the Messages API. What another provider made for itself is left out."""

import re
from hashlib import sha256
from typing import Any

from fairlead.messages.history import EMPTY
from fairlead.messages.parts import Call, Foreign, Image, Message, Part, Result, Thinking

PROVIDER = "anthropic"
MAX_NAME = 128

_NOT_IN_ID = re.compile(r"[^a-zA-Z0-9_-]")


def encode_message(message: Message) -> dict[str, Any]:
    """A message for a request. It has at least one block."""
    blocks = [_block(part) for part in message.parts if _is_readable(part)]
    return {"role": message.role, "content": blocks or [{"type": "text", "text": EMPTY}]}


def _is_readable(part: Part) -> bool:
    return not isinstance(part, Thinking | Foreign) or part.provider == PROVIDER


def _block(part: Part) -> dict[str, Any]:
    match part:
        case Thinking(text, _, sealed):
            return {**sealed, "thinking": text} if sealed["type"] == "thinking" else dict(sealed)
        case Foreign(_, data):
            return dict(data)
        case Call(call_id, name, given):
            name = _NOT_IN_ID.sub("_", name)[:MAX_NAME] or "_"
            return {"type": "tool_use", "id": _valid_id(call_id), "name": name, "input": given}
        case Image(media_type, data):
            return {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}}
        case Result(call_id, images=images):
            content = [{"type": "text", "text": part.text}, *map(_block, images)] if images else part.text
            block = {"type": "tool_result", "tool_use_id": _valid_id(call_id), "content": content}
            return {**block, "is_error": True} if part.is_error else block
        case _:
            return {"type": "text", "text": part.text}


def _valid_id(call_id: str) -> str:
    """An id that the API accepts; the same one for a call and its result."""
    return f"toolu_{sha256(call_id.encode()).hexdigest()[:32]}" if _NOT_IN_ID.search(call_id) else call_id
