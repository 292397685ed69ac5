"""Sends clients a session's plan and proposals when they change, and then the events of its runs and checks."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from fairlead.agent.events import CheckFinished, Event, NeededChanges, SmallestSet
from fairlead.edits.undo import DecisionLog
from fairlead.plan import TodoManager
from fairlead.plan.evidence import Record
from fairlead.session.events import EditsChanged, PlanChanged, SessionEvent
from fairlead.session.evidence.session_evidence import SessionEvidence
from fairlead.session.outbox import Outbox
from fairlead.session.review.weakened import Weakened
from fairlead.session.store.writer import JournalWriter
from fairlead.workspace.files import Files
from fairlead.workspace.protected import Protections


@dataclass(frozen=True, slots=True)
class _Versions:
    """The values that the published plan and proposals depend on.

    They are compared after each event, by identity where that is possible, because that is fast.
    """

    plan: int
    record: Record
    files: int
    edits: int
    decisions: DecisionLog
    unread: frozenset[str]
    unread_first: bool
    checked: CheckFinished | None
    smallest: SmallestSet | None
    needed: NeededChanges | None
    problems: int
    causes: Mapping[str, object]

    def same_plan(self, other: "_Versions") -> bool:
        same_values = (self.plan, self.files, self.problems) == (other.plan, other.files, other.problems)
        return same_values and self.record is other.record and self.causes is other.causes

    def same_edits(self, other: "_Versions") -> bool:
        same_checks = self.checked is other.checked and self.smallest is other.smallest and self.needed is other.needed
        same_proposals = (self.edits, self.problems) == (other.edits, other.problems)
        same_reads = self.unread is other.unread and self.unread_first == other.unread_first
        return same_proposals and self.decisions is other.decisions and same_checks and same_reads


class Publisher:
    """Finds out whether the plan or the proposals have changed, and sends them after they are saved.

    Args:
        decisions: returns the session's decisions.
        weakened: returns the changes that weaken tests.
        sink: gets the plan, the proposals and the events. Changed states come before the event that changed them.
    """

    def __init__(
        self,
        plan: TodoManager,
        files: Files,
        evidence: SessionEvidence,
        decisions: Callable[[], DecisionLog],
        weakened: Callable[[], Weakened],
        writer: JournalWriter,
        sink: Callable[[Sequence[SessionEvent]], None],
    ) -> None:
        self._plan, self._files, self._evidence = plan, files, evidence
        self._decisions, self._weakened = decisions, weakened
        self._writer, self._sink = writer, sink
        self.plan_version = 0
        """Increases with each change of the plan or its evidence."""
        self._protections = Protections()
        self.outbox = Outbox(self._save_and_send)
        reads = evidence.unread_proposals(), evidence.unread_first
        self._published = _Versions(
            0, evidence.recorder.record, 0, 0, decisions(), *reads, None, None, None, 0, evidence.causes
        )
        self._sent = self._published

    def publish(self, event: Event | None, *, may_wait: bool = False) -> None:
        """Takes an event, or None if something else has changed. `Outbox` decides when it is saved and sent."""
        before, self._published = self._published, self._versions()
        if not self._published.same_plan(before):
            self.plan_version += 1
        self.outbox.add(event, may_wait=may_wait)

    def _versions(self) -> _Versions:
        evidence = self._evidence
        return _Versions(
            plan=self._plan.snapshot().version,
            record=evidence.recorder.record,
            files=evidence.known_files.version,
            edits=self._files.version,
            decisions=self._decisions(),
            unread=evidence.unread_proposals(),
            unread_first=evidence.unread_first,
            checked=evidence.last_checks.shown,
            smallest=evidence.found_set.now(),
            needed=evidence.needed_changes.now(),
            problems=evidence.problems.version,
            causes=evidence.causes,
        )

    def _save_and_send(self, events: Sequence[Event], has_changed: bool) -> None:
        """Saves the session, then sends the plan and the proposals if they changed, then the events.

        So everything that the user has seen survives if the process is killed, except for the latest streamed text and
        output (`JournalWriter.save`).
        """
        before, self._sent = self._sent, self._published
        self._writer.save(() if has_changed else events)
        states: list[SessionEvent] = []
        if not self._sent.same_plan(before):
            states.append(self.plan_state())
        if not self._sent.same_edits(before):
            states.append(self.edits())
        if states or events:
            self._sink([*states, *events])

    def plan_state(self) -> PlanChanged:
        """The current plan, with its record and what supports its items."""
        plan, recorder = self._plan.snapshot(), self._evidence.recorder
        supports = self._evidence.support_by_item()
        lapsed = self._evidence.lapsed(supports)
        causes = {item_id: self._evidence.cause_of(support) for item_id, support in supports.items()}
        return PlanChanged(self.plan_version, plan, recorder.record, recorder.inferred, supports, lapsed, causes)

    def protected(self) -> Mapping[str, str]:
        """The proposals that need a separate confirmation: the reason for each, by its current path."""
        return self._protections.of(self._files.roots, self._files.changes)

    def edits(self) -> EditsChanged:
        """The current proposals, with the decisions that can be undone and redone, and what checks found."""
        files, evidence, decisions = self._files, self._evidence, self._decisions()
        done, undone = decisions.done, decisions.undone
        return EditsChanged(
            version=files.version,
            changes=files.changes,
            undo_label=done[-1].label if done else None,
            redo_label=undone[-1].label if undone else None,
            protected=frozenset(self.protected()),
            weakened=self._weakened(),
            unread=evidence.unread_proposals(),
            unread_first=evidence.unread_first,
            checked=evidence.last_checks.shown,
            smallest=evidence.found_set.now(),
            needed=evidence.needed_changes.now(),
            errors=evidence.problems.errors(),
        )
