"""The plan in color (docs/plan.md P9, P10), with the same lines that the model reads."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import unquote

from rich.text import Text

from fairlead.cli.view.text import clean
from fairlead.display import count_of, escape_to_one_line
from fairlead.plan import PlanItem, render_items
from fairlead.plan.render import render_line
from fairlead.wire import states

STYLES = {"pending": "yellow", "in_progress": "cyan", "completed": "green"}

_MAX_NAMED = 3
TESTS_PASS_WITHOUT = ", but the new tests pass without the change"


def _names(uris: Sequence[str]) -> str:
    names = [escape_to_one_line(unquote(uri.rstrip("/").rpartition("/")[2])) for uri in uris]
    more = ["..."] if len(names) > _MAX_NAMED else []
    return ", ".join([*names[:_MAX_NAMED], *more])


def _command(item: states.PlanItemWire) -> str:
    return escape_to_one_line(item["decidedBy"])


def _why_unverified(item: states.PlanItemWire) -> str:
    if item["flaky"]:
        return ": its check is flaky"
    if item["unread"] and len(item["unread"]) == len(item["evidence"]["files"]) and not item["newErrors"]:
        return f": “{_command(item)}” read none of the files that it changed"
    names = _names(item["leftovers"])
    return f": passes only with ignored files of this session ({names})" if names else ""


def _broken_by(cause: states.BrokenByWire | None) -> str:
    """What broke a verification, with a comma before it; empty if it is not known."""
    if cause is None or not cause["files"]:
        return ""
    first, last = cause["firstLine"], cause["lastLine"]
    lines = "" if not first else f", line {first}" if first == last else f", lines {first}-{last}"
    place = f"{_names(cause['files'])}{lines}"
    match cause["maker"]:
        case "agent":
            step = f" in step {escape_to_one_line(cause['itemId'])}" if cause["itemId"] else ""
            return f", broken by the agent's change of {place}{step}"
        case "user":
            return f", broken by your own edit in {place}"
        case "decision":
            return f", broken by your decision on {place}"
        case "unknown":
            return f", broken by a change of {place}"


# the note after a step, by its verification (docs/plan.md P16)
_NOTES: Mapping[str, Callable[[states.PlanItemWire], str]] = {
    "verified": lambda item: f"verified{TESTS_PASS_WITHOUT if item['testsPassWithout'] else ''}",
    "proved": lambda _: "proved: fails without the change, passes with it",
    "stale": lambda item: f"changed since “{_command(item)}” passed: {_names(item['changedSince'])}",
    "failed": lambda item: f"failed: {_command(item)}{_broken_by(item['brokenBy'])}",
    "unverified": lambda item: f"unverified{_why_unverified(item)}",
    "looked": lambda _: "only read",
    "noEvidence": lambda _: "no evidence",
    "marked": lambda _: "marked by you",
}


@dataclass(frozen=True, slots=True)
class Step:
    """A plan item, and a note in words: what supports it, and the new errors in its files."""

    item: PlanItem
    note: str = ""
    has_check: bool = False
    """Whether the plan names a check for it."""


def plan_steps(plan: states.PlanWire) -> tuple[Step, ...]:
    """The steps of `agent/plan`."""
    return tuple(map(_step, plan["items"]))


def _step(item: states.PlanItemWire) -> Step:
    note = _NOTES.get(item["verification"], lambda _: "")(item)
    errors = count_of(item["newErrors"], "new error") if item["newErrors"] else ""
    shown = PlanItem(clean(item["id"]), clean(item["content"]), item["status"], clean(item["activeForm"]))
    return Step(shown, ", ".join(filter(None, (note, errors))), bool(item["check"]))


def _step_line(step: Step) -> Text:
    line = Text(render_line(step.item), style=STYLES[step.item.status])
    return line.append(f"  {step.note}", style="dim") if step.note else line


def count_line(steps: Sequence[Step]) -> Text:
    """`(n/m completed)`, or the line for an empty plan."""
    return Text(render_items([step.item for step in steps]).splitlines()[-1])


def plan_lines(steps: Sequence[Step]) -> list[Text]:
    """The whole plan as `render_items` writes it, with the notes: the items, a blank line, the count."""
    return [*map(_step_line, steps), Text(), count_line(steps)] if steps else [count_line(steps)]


def changed_steps(before: Sequence[Step], after: Sequence[Step]) -> list[Text]:
    """The lines of the items in `after` that are in progress or completed, and are new or had another status before."""
    known = {step.item.id: step.item.status for step in before}
    changed = [step for step in after if known.get(step.item.id) != step.item.status]
    return [_step_line(step) for step in changed if step.item.status != "pending"]


def visible_steps(steps: Sequence[Step], height: int) -> list[Text]:
    """All items if they fit into `height` rows, else `height` rows around the current item.

    The current item is the one in progress; if there is none, the first pending one, else the last one. The first and
    the last row may be replaced with the number of items that do not fit. If the items do not fit and `height` is less
    than 3, returns only the row of the current item.

    Args:
        height: at least 1.
    """
    count = len(steps)
    if count <= height:
        return [_step_line(step) for step in steps]
    statuses = [step.item.status for step in steps]
    current = next((statuses.index(wanted) for wanted in ("in_progress", "pending") if wanted in statuses), count - 1)
    if height < 3:
        return [_step_line(steps[current])]
    start = min(max(current - height // 3, 0), count - height)
    shown = [_step_line(step) for step in steps[start : start + height]]
    if start > 0:
        shown[0] = _hidden_count(steps[: start + 1], "above")
    if start + height < count:
        shown[-1] = _hidden_count(steps[start + height - 1 :], "below")
    return shown


def _hidden_count(steps: Sequence[Step], where: str) -> Text:
    completed = sum(step.item.status == "completed" for step in steps)
    done = f", {completed} of them completed" if completed else ""
    return Text(f"    ... {len(steps)} more {where}{done}", style="dim")
