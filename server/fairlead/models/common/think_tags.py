"""Separates thinking in `<think>` tags from the text of an answer.

A local server that does not recognize the model's thinking sends it as the beginning of the text.
"""

from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from dataclasses import replace
from typing import Literal

from fairlead.agent.model import ModelEvent, Reply, TextDelta, ThinkingDelta
from fairlead.messages.parts import Text

OPEN, CLOSE = "<think>", "</think>"
MAX_BLANK = 100  # characters before the tag


async def separate_thinking(events: AsyncGenerator[ModelEvent, None]) -> AsyncGenerator[ModelEvent, None]:
    """Yields an answer's events, with thinking in tags as thinking, and the reply without it.

    Only a tag at the beginning of the text counts. In a complete answer without calls, a tag that is never closed marks
    no thinking: the reply stays as it is, and its text, which was shown as thinking, is shown as text too. In all other
    cases, the thinking becomes the reply's `tagged_thinking`.
    """
    tagged = _TaggedText()
    async with aclosing(events):
        async for event in events:
            if isinstance(event, TextDelta):
                for delta in tagged.split(event.text):
                    yield delta
            elif isinstance(event, Reply):
                for delta in tagged.rest():
                    yield delta
                reply = _without_thinking(event)
                if reply is event and tagged.is_thinking:
                    yield TextDelta(reply.text)
                yield reply
            else:
                yield event


def _without_thinking(reply: Reply) -> Reply:
    """The reply without tagged thinking; the same object if there is none, or if it is the answer itself."""
    first = next((part for part in reply.parts if isinstance(part, Text)), None)
    if first is None:
        return reply
    before, tag, inner = first.text.partition(OPEN)
    if not tag or before.strip() or len(before) > MAX_BLANK:
        return reply
    thinking, close, after = inner.partition(CLOSE)
    if not close and not reply.calls and reply.stop == "done":
        return reply
    text = after.lstrip()
    parts = [Text(text) if part is first else part for part in reply.parts if text or part is not first]
    return replace(reply, parts=parts, tagged_thinking=thinking.strip())


class _TaggedText:
    """Splits the text of one answer into thinking and text as it arrives."""

    def __init__(self) -> None:
        self._place: Literal["beginning", "thinking", "text"] = "beginning"
        self._held = ""
        """The text that has not been shown yet, because it may be a part of a tag."""
        self._skips_blank = False

    @property
    def is_thinking(self) -> bool:
        """Whether a tag was opened and not closed."""
        return self._place == "thinking"

    def split(self, piece: str) -> Iterator[TextDelta | ThinkingDelta]:
        """What to show now that this piece has arrived."""
        self._held += piece
        if self._place == "beginning" and not self._begin():
            return
        if self._place == "thinking":
            thinking, close, after = self._held.partition(CLOSE)
            kept = 0 if close else _beginning_of_tag(thinking)
            thinking, self._held = thinking[: len(thinking) - kept], after or thinking[len(thinking) - kept :]
            if shown := self._without_blank(thinking):
                yield ThinkingDelta(shown)
            if not close:
                return
            self._place, self._skips_blank = "text", True
        text, self._held = self._held, ""
        if shown := self._without_blank(text):
            yield TextDelta(shown)

    def rest(self) -> Iterator[TextDelta | ThinkingDelta]:
        """What to show of the last pieces, at the end of the answer."""
        if self._held:
            yield ThinkingDelta(self._held) if self.is_thinking else TextDelta(self._held)
        self._held = ""

    def _begin(self) -> bool:
        """Leaves the place `beginning` once it is known whether a tag begins there. Returns whether that is known."""
        beginning = self._held.lstrip()
        may_be_tag = len(self._held) - len(beginning) <= MAX_BLANK
        if may_be_tag and beginning.startswith(OPEN):
            self._place, self._skips_blank, self._held = "thinking", True, beginning[len(OPEN) :]
        elif not (may_be_tag and OPEN.startswith(beginning)):
            self._place = "text"
        return self._place != "beginning"

    def _without_blank(self, text: str) -> str:
        """The text without the whitespace after a tag."""
        text = text.lstrip() if self._skips_blank else text
        self._skips_blank = self._skips_blank and not text
        return text


def _beginning_of_tag(text: str) -> int:
    """How many characters at the end of the text may be the beginning of a closing tag."""
    return next((length for length in range(len(CLOSE) - 1, 0, -1) if text.endswith(CLOSE[:length])), 0)
