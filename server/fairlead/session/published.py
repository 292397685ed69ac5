"""What a session published last, so that it sends its states only when they change."""

from dataclasses import dataclass

from fairlead.agent.events import CheckFinished, SmallestSet
from fairlead.edits.undo import DecisionLog
from fairlead.plan.evidence import Record


@dataclass(frozen=True, slots=True)
class Published:
    """The versions and values of both states. Each delta compares them, by identity where possible."""

    plan: int
    record: Record
    files: int
    edits: int
    decisions: DecisionLog
    checked: CheckFinished | None
    smallest: SmallestSet | None
    problems: int

    def same_plan(self, other: "Published") -> bool:
        return (self.plan, self.files, self.problems) == (
            other.plan,
            other.files,
            other.problems,
        ) and self.record is other.record

    def same_edits(self, other: "Published") -> bool:
        same_checks = self.checked is other.checked and self.smallest is other.smallest
        same_proposals = (self.edits, self.problems) == (other.edits, other.problems)
        return same_proposals and self.decisions is other.decisions and same_checks
