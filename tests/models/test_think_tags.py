"""Thinking in `<think>` tags is separated from the text, however the pieces are cut."""

from collections.abc import AsyncGenerator, Sequence

import hypothesis.strategies as st
import pytest
from hypothesis import given

from fairlead.agent.model import ModelEvent, Reply, Stop, TextDelta, ThinkingDelta, Usage
from fairlead.messages.parts import Call, Part, Text
from fairlead.models.common.think_tags import MAX_BLANK, separate_thinking

CALL = Call("t1", "bash", {})


async def separated(text: str, *, size: int = 1, stop: Stop = "done", after: Sequence[Part] = ()) -> list[str]:
    """The shown thinking, the shown text, and the text of the reply, for an answer in pieces of this size."""

    async def answer() -> AsyncGenerator[ModelEvent, None]:
        for start in range(0, len(text), size):
            yield TextDelta(text[start : start + size])
        yield Reply([*([Text(text)] if text.strip() else []), *after], stop, stop, Usage(1))

    events = [event async for event in separate_thinking(answer())]
    last = events[-1]
    assert isinstance(last, Reply)
    assert [part for part in last.parts if part in after] == list(after)
    kinds = (ThinkingDelta, TextDelta)
    return ["".join(e.text for e in events if isinstance(e, kind)) for kind in kinds] + [last.text]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 8, 1000])
@pytest.mark.parametrize(
    ("text", "thinking", "answer"),
    [
        ("<think>\nHm, 1 < 2.\n</think>\n\nYes.", "Hm, 1 < 2.\n", "Yes."),
        ("\n<think>Hm </thin </think>Yes.", "Hm </thin ", "Yes."),
        ("<think>\n\n</think>\n\nYes.", "", "Yes."),
        ("<think>Hm.</think>Tags: <think>x</think>.", "Hm.", "Tags: <think>x</think>."),
        ("<think>Hm.</think>", "Hm.", ""),
    ],
)
async def test_thinking_at_the_beginning_is_separated(text: str, thinking: str, answer: str, size: int) -> None:
    """The whitespace after each tag belongs to the tag. A later tag is text."""
    assert await separated(text, size=size) == [thinking, answer, answer]


@pytest.mark.parametrize("size", [1, 3, 1000])
@pytest.mark.parametrize(
    "text",
    [
        "The tag <think>x</think> is for thinking.",
        "`<think>`x</think>",
        "<thinking>x</thinking> y",
        "<thin",
        "  indented\n",
        "x</think> y",
        f"{' ' * (MAX_BLANK + 1)}<think>x</think> y",
    ],
)
async def test_any_other_text_is_unchanged(text: str, size: int) -> None:
    """This includes text that begins with a similar tag, or has the tags later."""
    assert await separated(text, size=size) == ["", text, text]


async def test_an_unclosed_tag() -> None:
    """After an unclosed tag, the answer is shown as thinking. A complete answer is then shown as text too; one that was
    cut off or calls a tool was still thinking."""
    text = "<think> is a tag of some models."
    assert await separated(text) == ["is a tag of some models.", text, text]
    assert await separated(text, stop="cut_off") == ["is a tag of some models.", "", ""]
    assert await separated(text, stop="calls", after=[CALL]) == ["is a tag of some models.", "", ""]
    assert await separated("<think>Hm.</thi", stop="cut_off") == ["Hm.</thi", "", ""]


@given(st.text("<think>/ \nx", max_size=40), st.integers(1, 9), st.sampled_from(["done", "cut_off"]))
async def test_the_shown_text_is_the_text_of_the_reply(text: str, size: int, stop: Stop) -> None:
    """The shown text and the text of the reply may differ only if both are blank. Text that does not begin with the tag
    is shown unchanged."""
    thinking, shown, answer = await separated(text, size=size, stop=stop)
    assert shown == answer or not (shown + answer).strip()
    if not thinking and not text.lstrip().startswith("<think>"):
        assert shown == text


@given(st.text(max_size=20).filter(lambda text: "</think>" not in text), st.text(max_size=20), st.integers(1, 9))
async def test_thinking_and_text_are_both_complete(thinking: str, text: str, size: int) -> None:
    """Only the tags and the whitespace after them are removed."""
    shown = await separated(f"<think>{thinking}</think>{text}", size=size)
    assert shown == [thinking.lstrip(), text.lstrip(), text.lstrip()]
