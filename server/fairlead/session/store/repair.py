"""Repairs an interrupted conversation: each call gets exactly one result, and the last message is the assistant's."""

from collections.abc import Sequence

from fairlead.messages.history import clean_text
from fairlead.messages.parts import Call, Message, Result, Text
from fairlead.session.state import Calls, CallState

NOT_REACHED = "Not run: Fairlead exited before this call."
INTERRUPTED = "Interrupted: Fairlead exited while this ran{after}. It may have done part of its work."
OUTPUT = " The output so far (its end):\n{output}"
CLOSED = "(The run was interrupted here, because Fairlead exited.)"


def repaired(messages: Sequence[Message], calls: Calls, at: float) -> tuple[Message, ...]:
    """The conversation, valid for the next request.

    Args:
        calls: what is known about the calls of the interrupted round.
        at: when the session was last saved, in seconds since the epoch.
    """
    complete = list(messages)
    if complete and complete[-1].role == "assistant":
        ids = [part.id for part in complete[-1].parts if isinstance(part, Call)]
        if ids:
            complete.append(Message("user", tuple(_result(call_id, calls.get(call_id), at) for call_id in ids)))
    if complete and complete[-1].role == "user":
        complete.append(Message("assistant", (Text(CLOSED),)))
    return tuple(complete)


def _result(call_id: str, call: CallState | None, at: float) -> Result:
    if call is None:
        return Result(call_id, NOT_REACHED, is_error=True)
    if call.result is not None:
        return Result(call_id, clean_text(call.result), call.is_error)
    seconds = round(at - call.started)
    text = INTERRUPTED.format(after=f" (after {seconds} s or more)" if seconds > 0 else "")
    output = OUTPUT.format(output=call.output) if call.output else ""
    return Result(call_id, clean_text(text + output), is_error=True)
