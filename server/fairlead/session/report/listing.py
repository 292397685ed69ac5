"""The sessions as a list, and a conversation as lines to read. Pure: values in, values out."""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from fairlead.agent.messages import Block, Message
from fairlead.agent.prompts import is_generated
from fairlead.plan.evidence import Record
from fairlead.session.feedback import SAID
from fairlead.session.session import Session
from fairlead.session.state import Phase, SessionState
from fairlead.session.store.journal_reading import Found

_SAID = re.compile(re.escape(SAID).replace(re.escape("{text}"), "(.*)"), re.DOTALL)


@dataclass(frozen=True, slots=True)
class Row:
    """A session in the list. `updated` is when its last run began or ended, in seconds since the epoch."""

    id: str
    title: str
    updated: float
    state: Phase
    completed: int
    total: int
    pending_files: int


@dataclass(frozen=True, slots=True)
class Line:
    """What was said in a conversation; of a tool's call its name and what it was about."""

    role: Literal["user", "assistant", "tool"]
    text: str
    failed: bool = False
    """Whether a tool's call ended with an error, or its command did."""


def rows(sessions: Iterable[Session], asleep: Iterable[Row]) -> tuple[Row, ...]:
    """The newest first. Those asleep are known by their journals alone."""
    return tuple(sorted((*map(_row, sessions), *asleep), key=lambda row: row.updated, reverse=True))


def resting_row(found: Found) -> Row:
    """Of a session at rest."""
    rest = found.at_rest
    assert rest is not None
    return Row(found.id, rest.title, rest.updated, "idle", rest.completed, rest.total, 0)


def kept_row(session_id: str, kept: SessionState) -> Row:
    """Of any other one, as it would come back."""
    state: Phase = "idle" if kept.phase == "idle" else "paused"
    plan = kept.plan
    return Row(session_id, kept.title, kept.updated, state, plan.completed, len(plan.items), len(kept.changes))


def _row(session: Session) -> Row:
    plan = session.plan.snapshot()
    return Row(
        id=session.id,
        title=session.title,
        updated=session.updated,
        state=session.state,
        completed=plan.completed,
        total=len(plan.items),
        pending_files=len(session.files.changes),
    )


def transcript(messages: Sequence[Message], record: Record) -> list[Line]:
    """The user's words, the model's and its calls. What the host adds for the model alone is left out."""
    commands = {run.call_id for evidence in record.by_place.values() for run in evidence.commands if run.failed}
    results = (block for message in messages for block in message["content"] if block["type"] == "tool_result")
    errors = {block["tool_use_id"] for block in results if block.get("is_error")}
    return [line for message in messages for line in _lines(message, commands | errors)]


def _lines(message: Message, failed: Collection[str]) -> Iterator[Line]:
    summed = message["content"][-1].get("text", "").startswith("<summary>")
    for index, block in enumerate(message["content"]):
        if block["type"] == "tool_use":
            yield Line("tool", _call(block), block["id"] in failed)
        elif block["type"] == "text" and message["role"] == "assistant":
            yield Line("assistant", block["text"])
        elif block["type"] == "text":
            said = _SAID.fullmatch(block["text"])
            # behind a prompt and behind results stand the host's notes; before a summary all that the person said
            if said or (not is_generated(block["text"]) and (index == 0 or summed)):
                yield Line("user", said[1] if said else block["text"])


def _call(block: Block) -> str:
    about = next((value for value in block["input"].values() if isinstance(value, str)), "")
    return f"{block['name']} {about}".strip()
