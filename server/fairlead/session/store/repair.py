"""A conversation that was broken off, made whole: each call gets its one result, the assistant has the last word."""

from collections.abc import Sequence

from fairlead.agent.messages import Message, ToolResult, clean_text, text_block
from fairlead.session.state import Calls, OpenCall

NOT_REACHED = "Not run: Fairlead was ended before this call."
INTERRUPTED = "Interrupted: Fairlead was ended while this ran{after}. It may have done a part of its work."
OUTPUT = " The output so far (its end):\n{output}"
CLOSED = "(The run was interrupted here: Fairlead was ended.)"


def repaired(messages: Sequence[Message], calls: Calls, at: float) -> tuple[Message, ...]:
    """The conversation as a next request may carry it.

    Args:
        calls: what is known of the calls of the round that was under way.
        at: when the last was heard of it, in seconds since the epoch.
    """
    whole = list(messages)
    if whole and whole[-1]["role"] == "assistant":
        ids = [block["id"] for block in whole[-1]["content"] if block["type"] == "tool_use"]
        if ids:
            results = [_result(call_id, calls.get(call_id), at).block() for call_id in ids]
            whole.append({"role": "user", "content": results})
    if whole and whole[-1]["role"] == "user":
        whole.append({"role": "assistant", "content": [text_block(CLOSED)]})
    return tuple(whole)


def _result(call_id: str, call: OpenCall | None, at: float) -> ToolResult:
    if call is None:
        return ToolResult(call_id, NOT_REACHED, is_error=True)
    if call.result is not None:
        return ToolResult(call_id, clean_text(call.result), call.is_error)
    seconds = round(at - call.started)
    text = INTERRUPTED.format(after=f" (after {seconds} s or more)" if seconds > 0 else "")
    output = OUTPUT.format(output=call.output) if call.output else ""
    return ToolResult(call_id, clean_text(text + output), is_error=True)
