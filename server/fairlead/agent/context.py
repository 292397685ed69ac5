"""How room is made in the model's window (docs/plan.md L15). Pure: values in, values out.

Old results of tools give way to a note, many at once, so that the provider's cache of the conversation's beginning is
lost once and not in each round. Where that is not enough, a summary stands for all but the last answer and its
results. Both keep the pairs of calls and results whole.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from itertools import islice
from typing import Any

from fairlead.agent.messages import Block, Message, text_block
from fairlead.agent.window import size

LAST_ROUND = 2  # messages: an answer and what came of it
SHORT = 400  # characters: a result of this length is not worth a note

CLEARED = "[Cleared to make room: {what}, {lines}. Make the call again if you need it, for a part if it is long.]"
CUT = "[{what} left out here, as the model's window is small. Ask for a part if you need it.]"
SUMMARISE = (
    "<summarise>This conversation no longer fits. Write the summary that you go on from: what is not in it is lost. "
    "The user's words, the plan and the proposals are kept beside it. Say what was found out (files, names, lines that "
    "matter), what was done and why, what failed, what is under way, and what comes next. Answer with text only, call "
    "no tool.</summarise>"
)
SUMMARY = """<summary>
What went before was too long and gave way to this summary.

{summary}

The plan now:
{plan}

The proposals now:
{proposals}
</summary>"""
NO_SUMMARY = "(No summary could be made of it. Look around again before you go on.)"
_OURS = re.compile(r"<(summary|summarise|reminder|files_changed|plan_changed|cut_off|mode)>")


def is_ours(text: str) -> bool:
    """Whether a text of a user message is Fairlead's own, neither the person's words nor what they decided."""
    return _OURS.match(text) is not None


def shortened(texts: Sequence[str], total: int) -> list[str]:
    """The texts with the middle of the longest ones left out, until they have about `total` characters together."""
    share, longer = total, len(texts)
    for length in sorted(map(len, texts)):  # short texts leave more to the long ones
        if length * longer > share:
            break
        share, longer = share - length, longer - 1
    most = share // longer if longer else total
    return [text if len(text) <= most else _without_middle(text, most) for text in texts]


def _without_middle(text: str, length: int) -> str:
    """The beginning and the end of a text, whole lines where it has lines of a moderate length."""
    head, tail = text[: length * 2 // 3], text[-(length // 3) :] if length >= 3 else ""
    if "\n" in head and "\n" in tail:
        head, tail = head[: head.rindex("\n") + 1], tail[tail.index("\n") + 1 :]
        first, last = head.count("\n") + 1, text.count("\n", 0, len(text) - len(tail))
        what = f"Lines {first} to {last} of this result are"
    else:
        what = f"{len(text) - len(head) - len(tail):,} characters of this result are"
    return f"{head.rstrip()}\n{CUT.format(what=what)}\n{tail}"


def cleared(
    messages: Sequence[Message], free: int, lasting: Callable[[str], bool], last_round: int = LAST_ROUND
) -> list[Message]:
    """The messages with results replaced by notes, the oldest first, until about `free` characters are free.

    The last round (so many messages) stays whole, and so do results of tools that are `lasting`. Messages without a
    change are the same objects.
    """
    return _noted(messages, _chosen(messages, free, lasting, last_round))


def cleared_first(messages: Sequence[Message], count: int, lasting: Callable[[str], bool]) -> list[Message]:
    """The messages as the provider read them, which cleared the oldest so many uses of tools that are not `lasting`."""
    oldest = islice(_results(messages, lasting), count)
    return _noted(messages, {block["tool_use_id"] for _, block in oldest if len(block["content"]) > SHORT})


def to_keep(messages: Sequence[Message], free: int, lasting: Callable[[str], bool]) -> int:
    """How many of the newest uses of tools stay where `cleared` frees so much."""
    chosen = _chosen(messages, free, lasting, LAST_ROUND)
    uses = [block["tool_use_id"] in chosen for _, block in _results(messages, lasting)]
    return next((behind for behind, gone in enumerate(reversed(uses)) if gone), len(uses))


def _chosen(messages: Sequence[Message], free: int, lasting: Callable[[str], bool], last_round: int) -> set[str]:
    chosen = set[str]()
    for call, block in _results(messages[: len(messages) - last_round], lasting):
        if free <= 0:
            break
        if len(block["content"]) > SHORT:
            chosen.add(block["tool_use_id"])
            free -= len(block["content"]) - len(_note(call, block["content"]))
    return chosen


def _noted(messages: Sequence[Message], chosen: Set[str]) -> list[Message]:
    calls = _calls(messages)
    new = list(messages)
    for index, message in enumerate(messages):
        content = list[Block](message["content"])
        for place, block in enumerate(content):
            if block.get("tool_use_id") in chosen:
                content[place] = {**block, "content": _note(calls[block["tool_use_id"]], block["content"])}
        if content != message["content"]:
            new[index] = {**message, "content": content}
    return new


def _results(messages: Sequence[Message], lasting: Callable[[str], bool]) -> Iterator[tuple[Block, Block]]:
    """Calls of tools that are not `lasting`, and their results, in their order."""
    calls = _calls(messages)
    for message in messages:
        for block in message["content"]:
            call = calls.get(block.get("tool_use_id", ""))
            if call is not None and not lasting(call["name"]):
                yield call, block


def _calls(messages: Sequence[Message]) -> Mapping[str, Block]:
    blocks = (block for message in messages for block in message["content"])
    return {block["id"]: block for block in blocks if block["type"] == "tool_use"}


def _note(call: Block, text: str) -> str:
    given: dict[str, Any] = call["input"]
    about = next((value for value in given.values() if isinstance(value, str)), "")
    what = f"{call['name']} {' '.join(about.split())[:80]}".strip()
    count = text.count("\n") + 1
    return CLEARED.format(what=what, lines=f"{count} line{'' if count == 1 else 's'}")


def summary_request(messages: Sequence[Message]) -> list[Message]:
    """The messages of the request that asks for a summary: the conversation, with the question at its end."""
    last = messages[-1]
    return [*messages[:-1], {**last, "content": [*last["content"], text_block(SUMMARISE)]}]


def gained(messages: Sequence[Message], lasting: Callable[[str], bool]) -> int:
    """For how many characters a summary would stand: all before the last round but the person's words."""
    old = messages[:-LAST_ROUND]
    return size(old) - sum(map(len, _words(old, lasting)))


def summarised(
    messages: Sequence[Message], summary: str, plan: str, proposals: str, lasting: Callable[[str], bool]
) -> list[Message]:
    """The conversation with a summary for all but its last round.

    The person's words stay verbatim, answers to questions that they were asked too.
    """
    old, rest = messages[:-LAST_ROUND], messages[-LAST_ROUND:]
    text = SUMMARY.format(summary=summary or NO_SUMMARY, plan=plan, proposals=proposals or "None.")
    blocks = [text_block(words) for words in _words(old, lasting)]
    return [{"role": "user", "content": [*blocks, text_block(text)]}, *rest]


def _words(messages: Sequence[Message], lasting: Callable[[str], bool]) -> Iterator[str]:
    calls = _calls(messages)
    for message in messages:
        if message["role"] != "user":
            continue
        for block in message["content"]:
            call = calls.get(block.get("tool_use_id", ""))
            if block["type"] == "text" and not is_ours(block["text"]):
                yield block["text"]
            elif call is not None and call["name"] != "todo" and lasting(call["name"]):
                yield f"{json.dumps(call['input'], ensure_ascii=False)}: {block['content']}"
