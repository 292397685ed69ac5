"""Ways to shorten a conversation (docs/plan.md L15). Pure functions from messages to messages.

Each remaining call still has its result. `keeps_results` returns whether a tool's results are never cleared.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from itertools import islice
from typing import Any

from fairlead.agent.prompts import CLEARED_RESULT, NO_SUMMARY, SHORTENED_RESULT, SUMMARIZE, SUMMARY, is_generated
from fairlead.agent.window import size
from fairlead.display import count_of
from fairlead.messages.history import Block, Message, text_block

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
    long = {block["tool_use_id"] for _, block in oldest if len(block["content"]) > MIN_CLEARED_CHARS}
    return _with_notes(messages, long)


def results_to_keep(messages: Sequence[Message], chars: int, keeps_results: KeepsResults) -> int:
    """How many of the newest results `clear_results` leaves as they are. Counts only those that may be cleared."""
    cleared = _clearable(messages, chars, keeps_results, ROUND_LENGTH)
    is_cleared = [block["tool_use_id"] in cleared for _, block in _results(messages, keeps_results)]
    return next((index for index, found in enumerate(reversed(is_cleared)) if found), len(is_cleared))


def _clearable(messages: Sequence[Message], chars: int, keeps_results: KeepsResults, untouched: int) -> set[str]:
    """The ids of the calls whose results must be cleared to free `chars` characters."""
    ids = set[str]()
    for call, block in _results(messages[: len(messages) - untouched], keeps_results):
        if chars <= 0:
            break
        if len(block["content"]) > MIN_CLEARED_CHARS:
            ids.add(block["tool_use_id"])
            chars -= len(block["content"]) - len(_note(call, block["content"]))
    return ids


def _with_notes(messages: Sequence[Message], call_ids: Set[str]) -> list[Message]:
    calls = _calls(messages)
    changed = list(messages)
    for position, message in enumerate(messages):
        content = list[Block](message["content"])
        for index, block in enumerate(content):
            if block.get("tool_use_id") in call_ids:
                content[index] = {**block, "content": _note(calls[block["tool_use_id"]], block["content"])}
        if content != message["content"]:
            changed[position] = {**message, "content": content}
    return changed


def _results(messages: Sequence[Message], keeps_results: KeepsResults) -> Iterator[tuple[Block, Block]]:
    """Calls whose results may be cleared, each with its result, in order."""
    calls = _calls(messages)
    for message in messages:
        for block in message["content"]:
            call = calls.get(block.get("tool_use_id", ""))
            if call is not None and not keeps_results(call["name"]):
                yield call, block


def _calls(messages: Sequence[Message]) -> Mapping[str, Block]:
    blocks = (block for message in messages for block in message["content"])
    return {block["id"]: block for block in blocks if block["type"] == "tool_use"}


def _note(call: Block, text: str) -> str:
    given: dict[str, Any] = call["input"]
    subject = next((value for value in given.values() if isinstance(value, str)), "")
    what = f"{call['name']} {' '.join(subject.split())[:80]}".strip()
    return CLEARED_RESULT.format(what=what, lines=count_of(text.count("\n") + 1, "line"))


def summary_request(messages: Sequence[Message]) -> list[Message]:
    """The conversation with a request for a summary at its end."""
    last = messages[-1]
    return [*messages[:-1], {**last, "content": [*last["content"], text_block(SUMMARIZE)]}]


def summary_gain(messages: Sequence[Message], keeps_results: KeepsResults) -> int:
    """How many characters a summary would replace."""
    old = messages[:-ROUND_LENGTH]
    return size(old) - sum(map(len, _verbatim_texts(old, keeps_results)))


def with_summary(
    messages: Sequence[Message], summary: str, plan: str, proposals: str, keeps_results: KeepsResults
) -> list[Message]:
    """Replaces everything before the last round with a summary and the verbatim texts (`_verbatim_texts`).

    Args:
        summary: the model's text; empty if there is none.
        plan: the plan as text.
        proposals: the proposals as text; empty if there are none.
    """
    old, rest = messages[:-ROUND_LENGTH], messages[-ROUND_LENGTH:]
    text = SUMMARY.format(summary=summary or NO_SUMMARY, plan=plan, proposals=proposals or "None.")
    blocks = [text_block(verbatim) for verbatim in _verbatim_texts(old, keeps_results)]
    return [{"role": "user", "content": [*blocks, text_block(text)]}, *rest]


def _verbatim_texts(messages: Sequence[Message], keeps_results: KeepsResults) -> Iterator[str]:
    """The texts that a summary never replaces: the user's words, review decisions, and answers to questions."""
    calls = _calls(messages)
    for message in messages:
        if message["role"] != "user":
            continue
        for block in message["content"]:
            call = calls.get(block.get("tool_use_id", ""))
            if block["type"] == "text" and not is_generated(block["text"]):
                yield block["text"]
            elif call is not None and call["name"] != "todo" and keeps_results(call["name"]):
                yield f"{json.dumps(call['input'], ensure_ascii=False)}: {block['content']}"
