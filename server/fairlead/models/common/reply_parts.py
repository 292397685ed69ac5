"""Collects the parts of one answer while they arrive, with limits to them.

The JSON of a tool call is parsed strictly when the call is complete. A call whose JSON was cut off, is invalid, or is
not an object gets a `problem`: it is never run and gets an error result (docs/plan.md L13).
"""

import json
from dataclasses import dataclass, field
from io import StringIO
from typing import Any, Literal

from fairlead.agent.model import TextDelta, ThinkingDelta
from fairlead.json_values import MAX_VALUES, TooManyValues, check_encodable, is_object
from fairlead.messages.history import clean_text
from fairlead.messages.parts import Call, Part, Text
from fairlead.models.common.fields import nonsense

MAX_PARTS = 1000
"""The most parts of a reply. A model rarely makes more than a dozen calls at once."""
MAX_PART = 2_000_000
"""The most bytes of a text, thinking or call. The longest answer of a model has 128,000 tokens, about 500,000 bytes."""
MAX_REPLY = 4_000_000
"""The most bytes of all parts together."""
MAX_ID = 2000
"""The most characters of a call's id and of its tool's name."""
BYTES_PER_TOKEN = 4
"""For an estimate of the output tokens, until the model's server reports their number at the end of the answer."""

CUT_OFF = "Not run: the call was cut off before it was complete. Send it again."


@dataclass(eq=False)
class OpenPart:
    """A part whose end has not arrived."""

    kind: Literal["text", "thinking", "call", "other"]
    data: dict[str, Any] = field(default_factory=dict[str, Any])
    """What its API says about it, apart from the text."""
    text: StringIO = field(default_factory=StringIO)
    """What has arrived of its text, thinking or input. A list of pieces would need 60 bytes for each of them."""
    size: int = 0
    """Bytes that it consists of so far."""


class ReplyParts:
    """The complete parts of one answer, in order, and the size of all that has arrived."""

    def __init__(self) -> None:
        self.parts: list[Part] = []
        self._begun = 0
        self._size = 0
        self._shown_bytes = 0

    @property
    def estimated_tokens(self) -> int:
        """How many output tokens the texts, thinking and inputs took, as an estimate."""
        return self._shown_bytes // BYTES_PER_TOKEN

    def begin(self, part: OpenPart, size: int = 0) -> OpenPart:
        """Notes that a part has begun, with this many bytes besides its text. Raises a ModelError if it is too long."""
        self._begun += 1
        if self._begun > MAX_PARTS:
            raise nonsense(f"an answer of more than {MAX_PARTS:,} parts")
        self.count(part, size)
        return part

    def add(self, part: OpenPart, text: str) -> TextDelta | ThinkingDelta | None:
        """Appends a text to an open part. Returns what the user sees of this text; None: nothing.

        Raises:
            ModelError: the part or the reply gets too long.
        """
        size = len(text.encode(errors="replace"))
        part.text.write(text)
        self._shown_bytes += size
        self.count(part, size)
        match part.kind:
            case "text":
                return TextDelta(clean_text(text))
            case "thinking":
                return ThinkingDelta(clean_text(text))
            case _:
                return None

    def count(self, part: OpenPart, size: int) -> None:
        """Counts bytes that are added to an open part. Raises a ModelError if it or the reply gets too long."""
        part.size += size
        self._size += size
        if part.size > MAX_PART:
            raise nonsense(f"a part of more than {MAX_PART:,} bytes")
        if self._size > MAX_REPLY:
            raise nonsense(f"parts of more than {MAX_REPLY:,} bytes in one answer")

    def add_text(self, part: OpenPart) -> None:
        """Completes a text. An empty one is left out, because servers refuse it."""
        text = clean_text(part.text.getvalue())
        if text.strip():
            self.parts.append(Text(text))

    def add_call(self, part: OpenPart, call_id: str, name: str, start: Any, *, is_whole: bool = True) -> None:
        """Completes a call.

        Args:
            start: as in `read_input`.
            is_whole: whether its end has arrived.
        """
        given, problem = read_input(part.text.getvalue(), start) if is_whole else ({}, CUT_OFF)
        self.parts.append(Call(call_id, name, given, problem))


def read_input(raw: str, start: Any) -> tuple[dict[str, Any], str | None]:
    """Parses a call's input. Returns it and None, or an empty input and the problem.

    Args:
        raw: the streamed JSON, which may be incomplete.
        start: the input if it came as an object, used only if nothing was streamed. None counts as an empty object.
    """
    try:
        value: Any = json.loads(raw, parse_constant=_no_constant) if raw.strip() else start or {}
        check_encodable(value)
    except RecursionError:
        return {}, "Not run: the call's input is nested too deeply. Send it again with less nesting."
    except TooManyValues:
        return {}, f"Not run: the call's input consists of more than {MAX_VALUES:,} values. Send fewer at once."
    except UnicodeEncodeError:
        return {}, "Not run: the call's input contains invalid Unicode characters. Send it again without them."
    except ValueError as error:
        return {}, f"Not run: the call's input is not valid JSON ({error}). It may have been cut off; send it again."
    if not is_object(value):
        return {}, "Not run: the call's input must be a JSON object. Send it again as one."
    return value, None


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not valid in JSON")
