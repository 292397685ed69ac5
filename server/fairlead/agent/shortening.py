"""Ways to shorten a conversation (docs/plan.md L15). Pure functions from messages to messages.

Each remaining call still has its result. `keeps_results` returns whether a tool's results are never cleared.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from itertools import islice

from fairlead.agent.prompts import CLEARED_RESULT, NO_SUMMARY, SHORTENED_RESULT, SUMMARIZE, SUMMARY
from fairlead.agent.window import part_size, size
from fairlead.display import count_of
from fairlead.messages.parts import KEPT, Call, Message, Note, Prompt, Result

ROUND_LENGTH = 2
"""How many messages a round has: an answer, and its results."""
MIN_CLEARED_CHARS = 400
"""A shorter result stays, because the note in its place would hardly be shorter."""

KeepsResults = Callable[[str], bool]


def shorten_results(texts: Sequence[str], total: int) -> list[str]:
    """Removes the middle of the longest texts, so that the total length is at most about `total` characters."""
    chars_left, texts_left = total, len(texts)
    for length in sorted(map(len, texts)):  # short texts stay whole, and the long ones share the rest
        if length * texts_left > chars_left:
            break
        chars_left, texts_left = chars_left - length, texts_left - 1
    limit = chars_left // texts_left if texts_left else total
    return [text if len(text) <= limit else _without_middle(text, limit) for text in texts]


def _without_middle(text: str, length: int) -> str:
    """The beginning and the end of a text, cut between lines unless that would drop more than half of either."""
    head, tail = text[: length * 2 // 3], text[-(length // 3) :] if length >= 3 else ""
    head_end, tail_start = head.rfind("\n") + 1, tail.find("\n") + 1
    if head_end > len(head) // 2 and 0 < tail_start <= len(tail) // 2:
        head, tail = head[:head_end], tail[tail_start:]
        first, last = head.count("\n") + 1, text.count("\n", 0, len(text) - len(tail))
        what = f"Lines {first} to {last} of this result are"
    else:
        what = f"{len(text) - len(head) - len(tail):,} characters of this result are"
    return f"{head.rstrip()}\n{SHORTENED_RESULT.format(what=what)}\n{tail}"


def clear_results(
    messages: Sequence[Message], chars: int, keeps_results: KeepsResults, untouched: int = ROUND_LENGTH
) -> list[Message]:
    """Replaces results with notes, the oldest first, until about `chars` characters are free.

    The last `untouched` messages stay as they are. Unchanged messages are the same objects.
    """
    return _with_notes(messages, _clearable(messages, chars, keeps_results, untouched))


def clear_oldest(messages: Sequence[Message], count: int, keeps_results: KeepsResults) -> list[Message]:
    """Puts notes in place of the oldest `count` results that may be cleared, because the provider has cleared them.

    Short ones stay (`MIN_CLEARED_CHARS`).
    """
    oldest = islice(_results(messages, keeps_results), count)
    long = {result.call_id for _, result in oldest if part_size(result) > MIN_CLEARED_CHARS}
    return _with_notes(messages, long)


def results_to_keep(messages: Sequence[Message], chars: int, keeps_results: KeepsResults) -> int:
    """How many of the newest results `clear_results` leaves as they are. Counts only those that may be cleared."""
    cleared = _clearable(messages, chars, keeps_results, ROUND_LENGTH)
    is_cleared = [result.call_id in cleared for _, result in _results(messages, keeps_results)]
    return next((index for index, found in enumerate(reversed(is_cleared)) if found), len(is_cleared))


def _clearable(messages: Sequence[Message], chars: int, keeps_results: KeepsResults, untouched: int) -> set[str]:
    """The ids of the calls whose results must be cleared to free `chars` characters."""
    ids = set[str]()
    for call, result in _results(messages[: len(messages) - untouched], keeps_results):
        if chars <= 0:
            break
        if part_size(result) > MIN_CLEARED_CHARS:
            ids.add(result.call_id)
            chars -= part_size(result) - len(_note(call, result.text))
    return ids


def _with_notes(messages: Sequence[Message], call_ids: Set[str]) -> list[Message]:
    calls = _calls(messages)

    def cleared(message: Message) -> Message:
        parts = tuple(
            replace(part, output=_note(calls[part.call_id], part.text), images=())
            if isinstance(part, Result) and part.call_id in call_ids
            else part
            for part in message.parts
        )
        return message if parts == message.parts else replace(message, parts=parts)

    return list(map(cleared, messages))


def _results(messages: Sequence[Message], keeps_results: KeepsResults) -> Iterator[tuple[Call, Result]]:
    """Calls whose results may be cleared, each with its result, in order."""
    calls = _calls(messages)
    for message in messages:
        for part in message.parts:
            if isinstance(part, Result) and part.call_id in calls and not keeps_results(calls[part.call_id].name):
                yield calls[part.call_id], part


def _calls(messages: Sequence[Message]) -> Mapping[str, Call]:
    return {part.id: part for message in messages for part in message.parts if isinstance(part, Call)}


def _note(call: Call, text: str) -> str:
    subject = next((value for value in call.input.values() if isinstance(value, str)), "")
    what = f"{call.name} {' '.join(subject.split())[:80]}".strip()
    return CLEARED_RESULT.format(what=what, lines=count_of(text.count("\n") + 1, "line"))


def summary_request(messages: Sequence[Message]) -> list[Message]:
    """The conversation with a request for a summary at its end."""
    last = messages[-1]
    return [*messages[:-1], replace(last, parts=(*last.parts, Note("summarize", SUMMARIZE)))]


def summary_gain(messages: Sequence[Message], keeps_results: KeepsResults) -> int:
    """How many characters a summary would replace."""
    old = messages[:-ROUND_LENGTH]
    return size(old) - sum(part_size(part) for part in _kept(old, keeps_results))


def with_summary(
    messages: Sequence[Message], summary: str, plan: str, proposals: str, keeps_results: KeepsResults
) -> list[Message]:
    """Replaces everything before the last round with a summary and the parts that it never replaces (`_kept`).

    Args:
        summary: the model's text; empty if there is none.
        plan: the plan as text.
        proposals: the proposals as text; empty if there are none.
    """
    old, rest = messages[:-ROUND_LENGTH], messages[-ROUND_LENGTH:]
    text = SUMMARY.format(summary=summary or NO_SUMMARY, plan=plan, proposals=proposals or "None.")
    return [Message("user", (*_kept(old, keeps_results), Note("summary", text))), *rest]


def _kept(messages: Sequence[Message], keeps_results: KeepsResults) -> Iterator[Prompt | Note]:
    """What a summary never replaces: the user's words, review decisions, and answers to questions."""
    calls = _calls(messages)
    for part in (part for message in messages for part in message.parts):
        match part:
            case Prompt():
                yield part
            case Note(kind) if kind in KEPT:
                yield part
            case Result(call_id) if call_id in calls:
                call = calls[call_id]
                if call.name != "todo" and keeps_results(call.name):
                    yield Note("answer", f"{json.dumps(call.input, ensure_ascii=False)}: {part.text}")
            case _:
                pass
