"""The states of sessions: the plan, the proposed edits and the list of sessions (docs/protocol.md, Shapes)."""

from typing import Any, Literal, NotRequired, TypedDict

VerificationStatus = Literal[
    "none", "looked", "unverified", "verified", "proved", "stale", "failed", "noEvidence", "marked"
]  # fmt: skip


class EvidenceCommandWire(TypedDict):
    command: str
    exitCode: int | None
    toolCallId: str
    seconds: float
    stopped: bool
    verifies: bool
    withoutChanges: bool


class EvidenceWire(TypedDict):
    files: list[str]
    commands: list[EvidenceCommandWire]
    looks: int
    tokens: int
    costUsd: float | None
    seconds: float


class PlanItemWire(TypedDict):
    id: str
    content: str
    status: Literal["pending", "in_progress", "completed"]
    activeForm: str
    held: bool
    byUser: bool
    check: str
    checkByUser: bool
    flaky: bool
    leftovers: list[str]
    verification: VerificationStatus
    decidedBy: str
    changedSince: list[str]
    newErrors: int
    evidence: EvidenceWire


class OutsideWire(TypedDict):
    id: Literal["before", "unplanned"]
    evidence: EvidenceWire


class PlanWire(TypedDict):
    sessionId: str
    version: int
    revision: int
    items: list[PlanItemWire]
    outside: list[OutsideWire]
    inferred: list[str]
    completed: int
    total: int
    roundsSinceUpdate: int
    awaitsApproval: bool


class PositionWire(TypedDict):
    line: int
    character: int


class RangeWire(TypedDict):
    start: PositionWire
    end: PositionWire


class DiagnosticWire(TypedDict):
    range: RangeWire
    severity: int
    message: str
    source: str | None


class ConflictWire(TypedDict):
    base: str
    current: str | None
    proposed: str


class HunkWire(TypedDict):
    id: str
    oldStart: int
    oldLines: int
    newStart: int
    newLines: int
    snippet: str
    itemId: str | None
    state: Literal["pending", "conflict"]
    conflict: ConflictWire | None


class OvertakenWire(TypedDict):
    itemId: str
    byItemId: str | None


class FileWire(TypedDict):
    uri: str
    kind: Literal["create", "modify", "delete", "rename"]
    newUri: str | None
    state: Literal["pending", "conflict"]
    protected: bool
    risk: Literal["deletion", "configuration", "ci"] | None
    binary: bool
    mode: str | None
    itemIds: list[str]
    overtaken: list[OvertakenWire]
    additions: int
    deletions: int
    hunks: list[HunkWire]
    problems: list[DiagnosticWire]


class CheckResultWire(TypedDict):
    toolCallId: str | None
    itemId: str | None
    command: str
    changes: Literal["all", "some", "none"]
    passed: bool | None
    exitCode: int | None
    seconds: float
    accepted: int
    total: int
    proves: bool
    outdated: bool
    message: str


class ChangeWire(TypedDict):
    uri: str
    hunk: str | None


class SmallestSetWire(TypedDict):
    commands: list[str]
    outcome: Literal["minimal", "limit", "stopped", "fails", "flaky", "changed"]
    runs: int
    version: int
    needed: list[ChangeWire]
    notNeeded: list[ChangeWire]
    message: str


class EditsWire(TypedDict):
    sessionId: str
    version: int
    files: list[FileWire]
    undoLabel: str | None
    redoLabel: str | None
    checked: CheckResultWire | None
    smallest: SmallestSetWire | None


class PatchOperation(TypedDict):
    """An operation of JSON Patch (RFC 6902)."""

    op: Literal["add", "remove", "replace"]
    path: str
    value: NotRequired[Any]


class ChangedWire(TypedDict):
    sessionId: str
    since: int
    patch: list[PatchOperation]


class SessionRowWire(TypedDict):
    sessionId: str
    title: str
    updatedAt: str
    state: Literal["idle", "running", "paused"]
    completed: int
    total: int
    pendingFiles: int
    openElsewhere: bool


class SessionsWire(TypedDict):
    sessions: list[SessionRowWire]
