"""What a verification of a record found: the value that the terminal and the reports show."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from fairlead.session.record.document import SessionRecord, Step
from fairlead.session.record.signed import OpenedRecord
from fairlead.session.record.verify import Finding


@dataclass
class VerifyResult:
    """What was found so far. Findings are added in the order in which they are shown."""

    opened: OpenedRecord | None = None
    """None: the record could not be opened."""
    commit: str = ""
    """The full id of the commit whose files were compared; empty: those of a folder were."""
    folder: str = ""
    """The path of the workspace in the repository of the commit, with `/` at its end; empty: its top, or several."""
    refusal: str = ""
    """Why the record must not be used, so that nothing was compared; empty if it was."""
    origin: list[Finding] = field(default_factory=list[Finding])
    """About the signature, and about the commit."""
    files: list[Finding] = field(default_factory=list[Finding])
    checks: list[Finding] = field(default_factory=list[Finding])
    notes: list[str] = field(default_factory=list[str])
    """What was not compared or not run, and why that does not count."""
    unrun: str = ""
    """Why the checks could not run, which counts as one that failed; empty if they could."""

    @property
    def record(self) -> SessionRecord | None:
        return self.opened.record if self.opened is not None else None

    @property
    def findings(self) -> Sequence[Finding]:
        return [*self.origin, *self.files, *self.checks]

    @property
    def failed(self) -> int:
        """How many claims do not hold or could not be checked."""
        return sum(not each.holds for each in self.findings) + bool(self.unrun)

    @property
    def holds(self) -> bool:
        """Whether the record is accepted, something of its content was verified, and everything holds."""
        return not self.refusal and not self.failed and bool(self.files or self.checks)

    @property
    def verdict(self) -> str:
        """The result in one sentence."""
        if self.refusal:
            return f"The record is refused. {self.refusal}"
        if self.failed:
            return f"The record does not hold: {self.failed} of {len(self.findings) + bool(self.unrun)} failed."
        if not self.holds:
            return "The record has no file and no check that could be verified."
        return "The record holds."

    def findings_of(self, step: Step) -> Sequence[Finding]:
        """What was found about a step: its files, and its checks as far as they ran."""
        names = {*step.work.files, step.decided_by, step.check} - {""}
        return [each for each in (*self.files, *self.checks) if each.subject in names]

    def files_of(self, check: Finding) -> list[str]:
        """The files that the steps of a check changed; those of the record if it belongs to none, at most one then."""
        record = self.record
        steps = record.steps if record is not None else ()
        files = dict.fromkeys(
            file for step in steps if check.subject in (step.decided_by, step.check) for file in step.work.files
        )
        return list(files) or [each.subject for each in self.files[:1]]
