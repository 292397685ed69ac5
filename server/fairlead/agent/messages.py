"""The conversation as the Messages API wants it: plain dicts, appended and never changed but to make room.

Two invariants hold whatever happens in a run, so that the next request is always valid:
every tool_use has exactly one tool_result in the next message, and between runs the last message is the assistant's.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import uuid4

_UNFIT = re.compile(r"[^a-zA-Z0-9_-]")

Block = dict[str, Any]
Message = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that the model made. `problem` says why it cannot be run (its JSON was cut off or invalid)."""

    id: str
    name: str
    input: dict[str, Any]
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a call came to; `text` is what the model reads."""

    call_id: str
    text: str
    is_error: bool = False

    def block(self) -> Block:
        block: Block = {
            "type": "tool_result",
            "tool_use_id": self.call_id,
            "content": self.text or "(no output)",
        }
        if self.is_error:
            block["is_error"] = True
        return block


def text_block(text: str) -> Block:
    return {"type": "text", "text": text}


def clean_text(text: str) -> str:
    """The text without lone surrogates, which no request may carry; pairs that were cut apart are joined again."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


class History:
    """The messages of a session.

    A sent prefix stays as it is, so the provider's cache keeps it; only `restore` puts other messages in its place.
    """

    def __init__(self) -> None:
        self._messages: list[Message] = []
        self._call_ids: set[str] = set()
        self._asked: dict[str, str] = {}  # name and input of the calls, by id
        self._told: dict[str, str] = {}  # the last result of a name and input, as long as it is to be read here

    @property
    def messages(self) -> Sequence[Message]:
        return self._messages

    def restore(self, messages: Iterable[Message]) -> None:
        """Goes on with other messages: those that another process left, or the own ones with room made in them."""
        self._messages = list(messages)
        self._call_ids, self._asked, self._told = set(), {}, {}
        for message in self._messages:
            self._note(message["content"])

    def tells(self, name: str, given: Mapping[str, Any], text: str) -> bool:
        """Whether the last result of such a call said this, and can still be read in the conversation."""
        return self._told.get(call_key(name, given)) == text

    def _note(self, blocks: Iterable[Block]) -> None:
        for block in blocks:
            if block["type"] == "tool_use":
                self._call_ids.add(block["id"])
                self._asked[block["id"]] = call_key(block["name"], block["input"])
            elif block["type"] == "tool_result" and block["tool_use_id"] in self._asked:
                self._told[self._asked[block["tool_use_id"]]] = block["content"]

    def add_prompt(self, blocks: Iterable[Block]) -> None:
        self._messages.append({"role": "user", "content": list(blocks)})

    def add_reply(self, content: Iterable[Block], calls: Sequence[ToolCall] = ()) -> list[ToolCall]:
        """Appends an answer and returns its calls, under the ids that their results must carry.

        A call's id or name that no request may hold is replaced: some servers give ids twice or write them oddly,
        and a model may call what is no name.
        """
        blocks, fitted, remaining = list[Block](), list[ToolCall](), list(calls)
        for block in content:
            if block["type"] == "tool_use" and remaining:
                call = remaining.pop(0)
                fit = replace(call, id=self._fit_id(call.id))
                fitted.append(fit)
                block = {**block, "id": fit.id, "name": _UNFIT.sub("_", call.name)[:128] or "_"}
            blocks.append(block)
        if not any(block["type"] in ("text", "tool_use") for block in blocks):
            blocks.append(text_block("(The answer was empty.)"))
        self._note(blocks)
        self._messages.append({"role": "assistant", "content": blocks})
        return fitted

    def _fit_id(self, call_id: str) -> str:
        if not call_id or _UNFIT.search(call_id) or call_id in self._call_ids:
            call_id = f"toolu_{uuid4().hex}"
        self._call_ids.add(call_id)
        return call_id

    def add_results(self, results: Iterable[ToolResult], notes: Iterable[str] = ()) -> None:
        """One user message: all results first, then notes such as a reminder (L6)."""
        blocks = [result.block() for result in results]
        self._note(blocks)
        self._messages.append({"role": "user", "content": blocks + [text_block(note) for note in notes]})

    def close(self, note: str) -> None:
        """Ends a run that stopped half-way: the note stands where the assistant's answer would be."""
        if self._messages and self._messages[-1]["role"] == "user":
            self._messages.append({"role": "assistant", "content": [text_block(note)]})


def call_key(name: str, given: Mapping[str, Any]) -> str:
    """The same for calls that are the same."""
    return name + json.dumps(given, sort_keys=True)
