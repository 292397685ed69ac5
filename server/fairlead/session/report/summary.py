"""The record of a session's work for users: a line at the end of a run, a page for a pull request.

Both cover the whole session, and say whether changes were accepted. Only the page names steps that were dropped from
the plan before they were done.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fairlead.display import count_of
from fairlead.edits.review_outcomes import ReviewOutcome, ReviewStatus, review_outcomes
from fairlead.plan import PlanItem
from fairlead.plan.evidence import BEFORE, UNPLANNED, CommandRun, Evidence, Record, ServerCall
from fairlead.plan.history import PlanVersion, not_undone
from fairlead.plan.verification import Support, VerificationStatus
from fairlead.sentences import Phrase, Sentence, english, phrase
from fairlead.session.report.change_costs import Cost, cost_by_decision, cost_of
from fairlead.session.report.markdown import code_span
from fairlead.session.state import SessionState
from fairlead.workspace.paths import Roots

OUTSIDE = {BEFORE: "Before the plan", UNPLANNED: "Unplanned"}
STATUS_TEXTS: dict[VerificationStatus, str] = {
    "none": "not done",
    "looked": "only read",
    "unverified": "unverified",
    "verified": "verified",
    "proved": "proved",
    "stale": "changed since it was verified",
    "failed": "its verification failed",
    "noEvidence": "no evidence: nothing happened",
    "marked": "marked as done by the user",
}
STATUS_LEADS: dict[VerificationStatus, Callable[[str], Sentence]] = {
    "none": lambda names: Sentence("Not done: {0}", names),
    "failed": lambda names: Sentence("Failed: {0}", names),
    "stale": lambda names: Sentence("Changed since verified: {0}", names),
    "unverified": lambda names: Sentence("Unverified: {0}", names),
    "noEvidence": lambda names: Sentence("Without evidence: {0}", names),
}
"""The words before the titles of steps with a status, in the line at the end of a run.

The line names no steps with other statuses.
"""
MAX_NAMED = 3
"""The line names this many steps of each status. It says how many more there are."""
DROPPED = "dropped from the plan"
OUTCOMES: dict[ReviewStatus, Sentence] = {
    "review": Sentence("to review"),
    "accepted": Sentence("accepted"),
    "undone": Sentence("undone"),
    "rejected": Sentence("rejected"),
}
"""A file with several outcomes counts as the first of these."""
LEADS: dict[ReviewStatus, str] = {
    "accepted": "Changed",
    "review": "To review",
    "undone": "Undone",
    "rejected": "Rejected",
}


@dataclass(frozen=True)
class _Part:
    """A step, or the work outside of all steps, with its evidence and the outcomes of its changes."""

    title: str
    support: Support | None
    """None: outside of all steps."""
    dropped: bool
    """Whether the step was removed from the plan before it was done."""
    evidence: Evidence
    results: Sequence[ReviewOutcome]
    withdrawn: Sequence[str]
    """The changed files for which nothing is proposed anymore."""

    @property
    def has_content(self) -> bool:
        return not self.evidence.empty or bool(self.results)


Supports = Callable[[Sequence[PlanItem]], Mapping[str, Support]]
"""Returns what supports items of a session's plan, by id."""


def short_record(state: SessionState, support_by_item: Supports) -> tuple[Phrase, ...]:
    """One paragraph: steps, files, commands, cost, and what is not done or verified. Empty if nothing happened.

    Counts and names no steps that were dropped from the plan before they were done.
    """
    commands = list(state.record.runs())
    failed = sum(run.failed for run in commands)
    steps: dict[VerificationStatus, list[str]] = {}
    for part in _parts(state, support_by_item):
        if part.support is not None and not part.dropped:
            steps.setdefault(part.support.status, []).append(part.title)
    total = sum(map(len, steps.values()))
    done = total - len(steps.get("none", []))
    facts = [
        _steps(done, total),
        _files(review_outcomes(state.changes, state.decisions)),
        _commands(len(commands), failed),
        _calls_outside(state.record),
        _cost(cost_of(state.record.by_step.values())),
    ]
    line = _joined(", ", [fact for fact in facts if fact])
    sentences = [line, *(_named(lead, steps.get(status, [])) for status, lead in STATUS_LEADS.items())]
    told = [[*sentence, phrase(".")] for sentence in sentences if sentence]
    return tuple(_joined(" ", told))


def record_page(state: SessionState, roots: Roots, support_by_item: Supports) -> str:
    """The whole record as Markdown, for a pull request. Files are named as `Roots.relative` names them."""
    lines = [f"## {state.title or 'Task'}", ""]
    for part in _parts(state, support_by_item):
        if part.support is None:
            lines.append(f"- {part.title}")
        else:
            mark = " " if part.support.status == "none" else "x"
            lines.append(f"- [{mark}] {part.title} ({DROPPED if part.dropped else _in_words(part.support, roots)})")
        lines += (f"  - {lead}: {', '.join(names)}" for lead, names in _changes(part, roots).items())
        for run in part.evidence.commands:
            ended = "stopped" if run.stopped else "killed" if run.exit_code is None else f"exit code {run.exit_code}"
            where = _scope(run)
            lines.append(f"  - Ran {_quoted(run.command)}{where}: {ended}, {run.seconds:.1f} s")
        lines += (f"  - {_call_in_words(call)}" for call in part.evidence.calls)
    cost = _money(cost_of(state.record.by_step.values()))
    lines += ["", f"Cost: {cost}{_shares(state)}"] if cost else []
    return "\n".join(lines) + "\n"


def _in_words(support: Support, roots: Roots) -> str:
    command = f" by {_quoted(support.command)}" if support.status in ("verified", "proved") else ""
    command += ", which fails without the change" if support.status == "proved" else ""
    failed = f": {_quoted(support.command)}" if support.status == "failed" else ""
    changed = f": {', '.join(_code(path, roots) for path in support.changed)}" if support.changed else ""
    flaky = f": {_quoted(support.command)} is flaky" if support.flaky else ""
    if support.leftovers:
        names = ", ".join(_code(path, roots) for path in support.leftovers)
        flaky += f": {_quoted(support.command)} passes only with ignored files of this session: {names}"
    is_unrelated = support.status == "unverified" and support.unread and not (flaky or support.new_errors)
    unread = f": {_quoted(support.command)} read none of the files that it changed" if is_unrelated else ""
    errors = f": {count_of(support.new_errors, 'new error')}" if support.new_errors else ""
    weak = ", but the new tests pass without the change" if support.tests_pass_without else ""
    return STATUS_TEXTS[support.status] + command + failed + changed + flaky + unread + errors + weak


def _scope(run: CommandRun) -> str:
    if run.without_changes is None:
        return ""
    return " without the change, with the new tests" if run.with_tests else " without the change"


def _call_in_words(call: ServerCall) -> str:
    outside = " with effects outside of the workspace" if call.has_effects_outside else ""
    given = f" {code_span(call.arguments)}" if call.arguments else ""
    ended = "outcome unknown" if call.outcome == "unknown" else f"{call.outcome}, {call.seconds:.1f} s"
    return f"Called {code_span(call.tool)} of {code_span(call.server)}{outside}{given}: {ended}"


def _quoted(command: str) -> str:
    """The first line of a command as Markdown code."""
    return code_span(next(iter(command.strip().splitlines()), ""))


def _parts(state: SessionState, support_by_item: Supports) -> list[_Part]:
    outcomes = review_outcomes(state.changes, state.decisions)
    calls_before = {run.call_id for run in state.record.of(BEFORE).commands}
    planned = {item.id for item in state.plan.items}

    def part(step_id: str, title: str, support: Support | None, dropped: bool) -> _Part:
        evidence = state.record.of(step_id)
        own = [result for result in outcomes if (result.item_id or _outside(result, state, calls_before)) == step_id]
        covered = {path for result in own for path in (result.file, result.path, result.new_path)}
        others = [path for path in evidence.files if path not in covered]
        further = [result for path in others for result in _outcomes_of(path, outcomes)]
        withdrawn = [path for path in others if not _outcomes_of(path, outcomes)]
        return _Part(title, support, dropped, evidence, list(dict.fromkeys([*own, *further])), withdrawn)

    steps: list[_Part] = []
    items = all_steps(state.plan.items, state.versions)
    found = support_by_item(items)
    for item in items:
        is_done = item.status == "completed"
        step = part(item.id, item.content, found[item.id], item.id not in planned and not is_done)
        if item.id in planned or is_done or step.has_content:
            steps.append(step)
    first, between = (part(step_id, title, None, False) for step_id, title in OUTSIDE.items())
    return [*([first] if first.has_content else []), *steps, *([between] if between.has_content else [])]


def all_steps(items: Sequence[PlanItem], versions: Sequence[PlanVersion]) -> list[PlanItem]:
    """The steps of the plan, and the removed ones as they were last, without those that a rewind has undone.

    A removed step follows the step that it last followed.

    Args:
        items: the steps of the current plan.
        versions: all versions of the plan, the oldest first.
    """
    steps = list(items)
    for version in reversed(not_undone(versions)):
        known = {item.id for item in steps}
        index = 0
        for item in version.items:
            if item.id in known:
                index = [step.id for step in steps].index(item.id) + 1
            else:
                steps.insert(index, item)
                index += 1
    return steps


def _outside(result: ReviewOutcome, state: SessionState, calls_before: Collection[str]) -> str:
    """`BEFORE` or `UNPLANNED`, for a change that belongs to no step."""
    is_before = not state.versions or result.call_id in calls_before or result.path in state.record.of(BEFORE).files
    return BEFORE if is_before else UNPLANNED


def _outcomes_of(path: str, outcomes: Sequence[ReviewOutcome]) -> list[ReviewOutcome]:
    """The outcomes of a file in all steps, because lines that a later step changed again belong to the later step."""
    return [result for result in outcomes if path in (result.file, result.path, result.new_path)]


def _changes(part: _Part, roots: Roots) -> dict[str, list[str]]:
    """The files of a part, by the word that leads their list. Omits empty lists."""
    by_file: dict[str, set[ReviewStatus]] = {}
    for result in part.results:
        by_file.setdefault(result.file, set()).add(result.outcome)
    found: dict[str, list[str]] = {}
    for outcome, lead in LEADS.items():
        some = [result for result in part.results if result.outcome == outcome]
        names = [_name(result, roots) + (" (in part)" if len(by_file[result.file]) > 1 else "") for result in some]
        found[lead] = list(dict.fromkeys(names))
    found["No longer proposed"] = [_code(path, roots) for path in part.withdrawn]
    return {lead: names for lead, names in found.items() if names}


def _name(result: ReviewOutcome, roots: Roots) -> str:
    to = f" → {_code(result.new_path, roots)}" if result.new_path is not None else ""
    return _code(result.path, roots) + to


def _code(path: str, roots: Roots) -> str:
    return code_span(roots.relative(Path(path)))


def _joined(separator: str, parts: Sequence[Sequence[Phrase]]) -> list[Phrase]:
    """The parts in order, with the separator between them."""
    later = ([(separator + first[0], *first[1:]), *rest] for first, *rest in parts[1:])
    return [each for part in (*parts[:1], *later) for each in part]


def _steps(done: int, total: int) -> list[Phrase]:
    if not total:
        return []
    many = Sentence("{0} of {1} steps", done, total)
    return [phrase("", Sentence("{0} of 1 step", done) if total == 1 else many)]


def _commands(count: int, failed: int) -> list[Phrase]:
    if not count:
        return []
    said = phrase("", Sentence("1 command") if count == 1 else Sentence("{0} commands", count))
    return [said, phrase(" (", Sentence("{0} failed", failed)), phrase(")")] if failed else [said]


def _calls_outside(record: Record) -> list[Phrase]:
    count = sum(call.has_effects_outside for part in record.by_step.values() for call in part.calls)
    if not count:
        return []
    many = Sentence("{0} calls with effects outside", count)
    return [phrase("", Sentence("1 call with effects outside") if count == 1 else many)]


def _cost(cost: Cost) -> list[Phrase]:
    """In dollars if they are known, and in tokens. Empty if no tokens were used."""
    if not cost.tokens:
        return []
    tokens = Sentence("{0} tokens", f"{cost.tokens:,.0f}")
    return [phrase("", tokens)] if cost.usd is None else [phrase(f"${cost.usd:.2f} (", tokens), phrase(")")]


def _file_count(count: int) -> Sentence:
    return Sentence("1 file") if count == 1 else Sentence("{0} files", count)


def _files(outcomes: Sequence[ReviewOutcome]) -> list[Phrase]:
    """How many files have which outcome; a file with several counts as the first of `OUTCOMES`."""
    by_file: dict[str, set[ReviewStatus]] = {}
    for result in outcomes:
        by_file.setdefault(result.file, set()).add(result.outcome)
    states = [next(outcome for outcome in OUTCOMES if outcome in found) for found in by_file.values()]
    counts: dict[ReviewStatus, int] = {status: states.count(status) for status in OUTCOMES if status in states}
    if not counts:
        return []
    files = phrase("", _file_count(len(states)))
    if len(counts) == 1:
        return [files, *(phrase(" ", OUTCOMES[outcome]) for outcome in counts)]
    said = [
        phrase(f"{', ' if index else ' ('}{count} ", OUTCOMES[outcome])
        for index, (outcome, count) in enumerate(counts.items())
    ]
    return [files, *said, phrase(")")]


def _named(lead: Callable[[str], Sentence], titles: Sequence[str]) -> list[Phrase]:
    """The first titles after `lead`, and how many more there are. Empty if there are no titles."""
    if not titles:
        return []
    more = len(titles) - MAX_NAMED
    said = phrase("", lead(", ".join(titles[:MAX_NAMED])))
    return [said, phrase(" ", Sentence("and {0} more", more))] if more > 0 else [said]


def _money(cost: Cost) -> str:
    """`_cost` as text."""
    return english(_cost(cost))


def _shares(state: SessionState) -> str:
    """What the changes with each decision cost, for the end of a line. Empty if there are no changes."""
    found = cost_by_decision(state)
    shares = [
        f"{_money(found[status].cost)} for {count_of(found[status].changes, 'change')} {word}"
        for status, word in OUTCOMES.items()
        if status in found
    ]
    return f": {', '.join(shares)}" if shares else ""
