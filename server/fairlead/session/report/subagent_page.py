"""A page about one subagent: its task, what it did and what it reported."""

from collections.abc import Iterator
from typing import Any

from fairlead.agent.events import CommandEnded, Compacted, Steered, Text, ToolFinished, ToolStarted
from fairlead.display import count_of
from fairlead.messages.parts import Prompt
from fairlead.plan.evidence import SubagentState
from fairlead.session.report.markdown import code_span, plain
from fairlead.session.subagent import Subagent

STATES: dict[SubagentState, str] = {
    "running": "It is working.",
    "done": "It has finished.",
    "stopped": "It was stopped.",
    "failed": "It did not finish.",
    "interrupted": "It was interrupted, because Fairlead exited.",
}
_MAX_FAILURE = 500


def subagent_page(subagent: Subagent) -> str:
    """The page as Markdown."""
    work = subagent.work
    who = work.agent or "explore"
    parts = [f"# {plain(work.title)}", f"{code_span(who)} · {STATES[work.state]}{_cost(work.tokens, work.cost)}"]
    for part in (part for message in subagent.messages for part in message.parts):
        if isinstance(part, Prompt) and not part.while_working:
            parts += ["## Task", *_quoted(part.text)]
    parts.append("## What it did")
    parts += list(_entries(subagent)) or ["Nothing yet."]
    return "\n\n".join(parts) + "\n"


def _cost(tokens: int, cost: float | None) -> str:
    price = f", ${cost:.2f}" if cost else ""
    return f" · {count_of(tokens, 'token')}{price}" if tokens else ""


def _quoted(text: str) -> list[str]:
    return ["\n".join(f"> {line}" for line in text.splitlines())]


def _entries(subagent: Subagent) -> Iterator[str]:
    titles = dict[str, str]()
    for entry in subagent.entries:
        shown: Any = entry.shown
        match shown:
            case Text(text) if text.strip():
                yield text.strip()
            case ToolStarted():
                titles[shown.call_id] = shown.title
                yield f"- {code_span(shown.title.replace(chr(10), ' '))}"
            case ToolFinished(is_error=True):
                failure = " ".join(shown.text[:_MAX_FAILURE].split())
                yield f"  - failed: {code_span(failure)}"
            case CommandEnded(run=run):
                yield (
                    f"  - exit code {run.exit_code}" if run.exit_code is not None else "  - ended without an exit code"
                )
            case Steered(text):
                yield f"> {plain(text)}"
            case Compacted(text):
                yield f"*{text}*"
            case _:
                pass
