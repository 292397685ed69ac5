"""Repairs an interrupted conversation: each call gets exactly one result, and the last message is the assistant's."""

from collections.abc import Sequence

from fairlead.messages.history import Message, ToolResult, clean_text, text_block
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
    if complete and complete[-1]["role"] == "assistant":
        ids = [block["id"] for block in complete[-1]["content"] if block["type"] == "tool_use"]
        if ids:
            results = [_result(call_id, calls.get(call_id), at).block() for call_id in ids]
            complete.append({"role": "user", "content": results})
    if complete and complete[-1]["role"] == "user":
        complete.append({"role": "assistant", "content": [text_block(CLOSED)]})
    return tuple(complete)


def _result(call_id: str, call: CallState | None, at: float) -> ToolResult:
    if call is None:
        return ToolResult(call_id, NOT_REACHED, is_error=True)
    if call.result is not None:
        return ToolResult(call_id, clean_text(call.result), call.is_error)
    seconds = round(at - call.started)
    text = INTERRUPTED.format(after=f" (after {seconds} s or more)" if seconds > 0 else "")
    output = OUTPUT.format(output=call.output) if call.output else ""
    return ToolResult(call_id, clean_text(text + output), is_error=True)
