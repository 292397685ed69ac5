"""The record of a session's work for people: a line for the end of a run, a page for a pull request."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fairlead.plan import PlanItem
from fairlead.plan.evidence import BEFORE, UNPLANNED, Evidence, Verification, verification
from fairlead.session.events import PlanChanged
from fairlead.workspace.paths import Root

OUTSIDE = {BEFORE: "Before the plan", UNPLANNED: "Unplanned"}
WORDS: dict[Verification, str] = {
    "none": "not done",
    "shown": "done",
    "claimed": "unverified: nothing is on record for it",
    "contradicted": "unverified: its last command failed",
}


@dataclass(frozen=True)
class _Part:
    """A step, or what belongs to none, with what is on record for it."""

    title: str
    state: Verification | None
    evidence: Evidence


def short_record(changed: PlanChanged) -> str:
    """One paragraph: steps, files, commands, cost, and what was not done. Empty where nothing happened."""
    parts = _parts(changed)
    evidence = [part.evidence for part in parts]
    files = {path for one in evidence for path in one.files}
    commands = [run for one in evidence for run in one.commands]
    failed = sum(run.failed for run in commands)
    steps = [part for part in parts if part.state is not None]
    done = sum(part.state != "none" for part in steps)
    facts = [
        f"{done} of {_count(len(steps), 'step')}" if steps else "",
        _count(len(files), "file") if files else "",
        _count(len(commands), "command") + (f" ({failed} failed)" if failed else "") if commands else "",
        _money(evidence),
    ]
    line = ", ".join(fact for fact in facts if fact)
    open_steps = [f"Not done: {part.title}." for part in steps if part.state == "none"]
    unverified = [f"Unverified: {part.title}." for part in steps if part.state in ("claimed", "contradicted")]
    return " ".join([*([f"{line}."] if line else []), *open_steps, *unverified])


def record_page(title: str, changed: PlanChanged, root: Root) -> str:
    """The whole record as Markdown, for a pull request."""
    lines = [f"## {title or 'Task'}", ""]
    for part in _parts(changed):
        mark = "x" if part.state in ("shown", "claimed", "contradicted") else " "
        state = f" ({WORDS[part.state]})" if part.state is not None and part.state != "shown" else ""
        lines.append(f"- [{mark}] {part.title}{state}" if part.state is not None else f"- {part.title}")
        names = [f"`{root.relative(Path(path))}`" for path in part.evidence.files]
        lines += [f"  - Changed: {', '.join(names)}"] if names else []
        for run in part.evidence.commands:
            ended = "stopped" if run.stopped else "killed" if run.exit_code is None else f"exit code {run.exit_code}"
            command = run.command.strip().splitlines()[0].replace("`", "'")
            lines.append(f"  - Ran `{command}`: {ended}, {run.seconds:.1f} s")
    cost = _money([part.evidence for part in _parts(changed)])
    return "\n".join([*lines, *(["", f"Cost: {cost}"] if cost else [])]) + "\n"


def _parts(changed: PlanChanged) -> list[_Part]:
    record = changed.record
    before, between = (_Part(OUTSIDE[place], None, record.of(place)) for place in (BEFORE, UNPLANNED))
    steps = [_step(item, record.of(item.id)) for item in changed.state.items]
    return [part for part in (before, *steps, between) if part.state is not None or not part.evidence.empty]


def _step(item: PlanItem, evidence: Evidence) -> _Part:
    return _Part(item.content, verification(item, evidence), evidence)


def _money(evidence: Sequence[Evidence]) -> str:
    paid = [one for one in evidence if one.tokens]
    if not paid:
        return ""
    tokens = f"{sum(one.tokens for one in paid):,} tokens"
    costs = [one.cost for one in paid]
    known = [cost for cost in costs if cost is not None]
    return f"${sum(known):.2f} ({tokens})" if len(known) == len(costs) else tokens


def _count(number: int, word: str) -> str:
    return f"{number} {word}" + ("" if number == 1 else "s")
