"""Answers that are not finished (docs/plan.md L13), and calls written as text (L19)."""

from collections.abc import Callable, Container, Mapping
from dataclasses import replace

from fairlead.agent.events import Event, Text
from fairlead.agent.model import Reply, Stop
from fairlead.agent.outcome import Ending, call_as_text, ending_of
from fairlead.agent.prompts import (
    CALL_AS_TEXT,
    CALL_AS_TEXT_SHOWN,
    CONTINUE,
    CONTINUE_PAUSED_TURN,
    CUT_OFF_CALL,
    EMPTY_ANSWER,
    MISSING_CALL,
    UNREQUESTED_CALL,
)
from fairlead.agent.textual_calls import find_textual_call
from fairlead.messages import parts
from fairlead.messages.parts import Note, Part

MAX_IN_A_ROW = 3
"""The run ends when the calls of an answer are refused and `UnfinishedAnswers.in_a_row` has reached this number."""
CONTINUATIONS: Mapping[Stop, str] = {
    "cut_off": CONTINUE,
    "window_full": CONTINUE,
    "paused": CONTINUE_PAUSED_TURN,
    "calls": MISSING_CALL,
}
"""The text that the model reads after an incomplete answer without calls, by stop reason."""


def with_thinking_to_continue(reply: Reply) -> list[Part]:
    """The parts of an answer for the history.

    If the answer was cut off within thinking that arrived in tags, this thinking is its text, so that the model can
    continue it.
    """
    if not reply.parts and reply.tagged_thinking and reply.stop in ("cut_off", "window_full"):
        return [parts.Text(reply.tagged_thinking)]
    return list(reply.parts)


class UnfinishedAnswers:
    """Counts the answers in a row that were incomplete or empty, or whose calls were refused."""

    def __init__(self, tools: Container[str], emit: Callable[[Event], None]) -> None:
        self._tools, self._emit = tools, emit
        self.in_a_row = 0
        self._text = ""
        """The text of these answers, without those that have calls."""

    @property
    def are_too_many(self) -> bool:
        """Whether the run must end after an answer whose calls were refused."""
        return self.in_a_row >= MAX_IN_A_ROW

    def reset(self) -> None:
        """Call it after an answer that was complete."""
        self.in_a_row, self._text = 0, ""

    def refuse_calls(self, reply: Reply) -> str:
        """Counts an answer with calls that ended for another reason than to run them. Returns the calls' result."""
        self.in_a_row += 1
        return CUT_OFF_CALL if reply.stop == "cut_off" else UNREQUESTED_CALL.format(reason=reply.stop_name)

    def continue_after(self, reply: Reply) -> Note | Ending | None:
        """Counts an answer without calls that is incomplete, empty or has a call as text.

        Returns:
            What the model reads so that it continues, or why the run ends. None: the answer itself ends it.
        """
        name = self._textual_call(reply)
        continuation = CONTINUATIONS.get(reply.stop)
        if reply.stop == "done" and not self._text + reply.text:
            continuation = EMPTY_ANSWER
        if name:
            continuation = CALL_AS_TEXT.format(name=name)
        if continuation is None or self.in_a_row:
            return call_as_text(name) if name else None
        self.in_a_row += 1
        if name:
            self._emit(Text(CALL_AS_TEXT_SHOWN.format(name=name)))
        else:
            self._text += reply.text
        return Note("continuation", continuation)

    def ending(self, reply: Reply, answer_limit: int | None) -> Ending:
        """Why an answer ends the run. Its stop is not `window_full`.

        Args:
            answer_limit: how many tokens the window left for it; None if that is unknown.
        """
        return ending_of(reply, self._text + reply.text, answer_limit)

    def _textual_call(self, reply: Reply) -> str:
        return find_textual_call(self._text + reply.text, self._tools) if reply.stop == "done" else ""


def complete_if_text(reply: Reply) -> Reply:
    """The answer without calls. If it stopped to make calls but has text, the text is a complete answer."""
    return replace(reply, stop="done") if reply.stop == "calls" and reply.text else reply
