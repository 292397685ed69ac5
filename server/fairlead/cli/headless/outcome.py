"""How a run ended, for scripts: its outcome, the exit code and the last line of `--json`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fairlead.cli.review import FileReport
from fairlead.cli.signals import CANCELLED
from fairlead.wire import protocol as wire
from fairlead.wire import states
from fairlead.wire.run_lines import (
    MessageLine,
    OutcomeLine,
    RefusedLine,
    ReviewedFileWire,
    RunOutcome,
    StepCountsWire,
    UnansweredLine,
)

EXIT_CODES: Mapping[RunOutcome, int] = {
    "done": 0,
    "failed": 1,
    "not_started": 2,
    "check_failed": 3,
    "limit": 4,
    "not_allowed": 5,
    "not_answered": 6,
    "interrupted": CANCELLED,
}
DONE, NOT_DONE = EXIT_CODES["done"], EXIT_CODES["failed"]
LIMITS = ("budget", "max_turn_requests", "loop", "max_tokens")
"""The stop reasons of a run that reached a limit, and can be continued."""
VERIFIED = ("verified", "proved")


@dataclass
class RunFacts:
    """What a run has come to, collected while it goes on."""

    session_id: str | None = None
    is_interrupted: bool = False
    result: wire.RunResult | None = None
    """None: the agent did not start, or has not ended."""
    problem: str = ""
    """Why the run could not start or go on, apart from the model; "": it could."""
    has_nothing_to_continue: bool = False
    plan: states.PlanWire | None = None
    """The last one."""
    reports: Sequence[FileReport] = ()
    """What was decided on the changes."""
    checks: Mapping[str, states.CheckResultWire] = field(default_factory=dict[str, states.CheckResultWire])
    """The last result of each check after the agent had ended, by its command."""
    has_failed_check: bool = False
    """Whether a check failed or could not run, or did not prove all changes that it had to prove."""
    missed: list[RefusedLine | UnansweredLine] = field(default_factory=list[RefusedLine | UnansweredLine])
    """What nobody could be asked."""
    messages: list[MessageLine] = field(default_factory=list[MessageLine])
    summary: str = ""
    """The short one of the whole session."""
    record_file: str | None = None
    recording_file: str | None = None
    has_unwritten_file: bool = False
    """Whether the record or the recording could not be written."""

    @property
    def outcome(self) -> RunOutcome:
        """The first that applies, in the order of docs/headless.md."""
        refused = any(report.counts["refused"] for report in self.reports)
        stop_reason = self.result["stopReason"] if self.result is not None else ""
        if self.has_nothing_to_continue:
            return "not_started"
        if self.is_interrupted or stop_reason == "cancelled":
            return "interrupted"
        if stop_reason in LIMITS and not self.problem:
            return "limit"
        if stop_reason != "end_turn" or self.problem:
            return "failed"
        if self.has_failed_check:
            return "check_failed"
        if any(line["type"] == "refused" and _is_needed(line["request"]) for line in self.missed):
            return "not_allowed"
        if any(line["type"] == "unanswered" and line["toolCallId"] is not None for line in self.missed):
            return "not_answered"
        return "failed" if refused or self.has_unwritten_file else "done"

    @property
    def exit_code(self) -> int:
        return EXIT_CODES[self.outcome]

    def line(self) -> OutcomeLine:
        """The last line of `--json`."""
        result = self.result
        return {
            "type": "outcome",
            "outcome": self.outcome,
            "exitCode": self.exit_code,
            "sessionId": self.session_id,
            "stopReason": result["stopReason"] if result else None,
            "message": self.problem or (result["message"] if result else ""),
            "error": result["error"] if result else None,
            "usage": result["usage"] if result else None,
            "steps": _step_counts(self.plan),
            "changes": list(map(_reviewed, self.reports)),
            "checks": list(self.checks.values()),
            "refused": [line["request"] for line in self.missed if line["type"] == "refused"],
            "unanswered": [line["question"] for line in self.missed if line["type"] == "unanswered"],
            "warnings": [line["text"] for line in self.messages if line["level"] != "info"],
            "summary": self.summary,
            "recordFile": self.record_file,
            "recordingFile": self.recording_file,
        }


def _is_needed(request: wire.ApproveParams) -> bool:
    """Whether a call or the review of the changes needed it, and not only a program that would help the agent."""
    return request["toolCallId"] is not None or request["kind"] == "file"


def _step_counts(plan: states.PlanWire | None) -> StepCountsWire:
    if plan is None:
        return {"total": 0, "completed": 0, "verified": 0}
    verified = sum(item["verification"] in VERIFIED for item in plan["items"])
    return {"total": plan["total"], "completed": plan["completed"], "verified": verified}


def _reviewed(report: FileReport) -> ReviewedFileWire:
    counts = report.counts
    return {
        "uri": report.uri,
        "kind": report.kind,
        "applied": counts["applied"],
        "rejected": counts["rejected"],
        "refused": counts["refused"],
        "undecided": counts["undecided"],
        "weakens": report.weakens,
    }
