"""The values of a record, field by field as in docs/record.md.

Creating a `FileContent` with an invalid digest, a `KnownFile` with an invalid path, or a record that lists a file twice
raises ValueError. Other paths, and the types of the fields, are not checked here.
"""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePath, PurePosixPath
from typing import Literal

from fairlead.edits.diff import HunkPosition
from fairlead.edits.review_outcomes import ReviewStatus
from fairlead.plan.history import PlanAuthor
from fairlead.plan.items import Status
from fairlead.plan.verification import VerificationStatus

FORMAT = 1

_SHA_256 = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class FileContent:
    """The content of a file at one time."""

    sha256: str | None
    """Of the bytes, in lower-case hexadecimal digits. None: the file could not be read."""
    executable: bool
    """Whether its owner may execute it. False if `sha256` is None."""

    def __post_init__(self) -> None:
        if self.sha256 is not None and not _SHA_256.fullmatch(self.sha256):
            raise ValueError("“sha256” must be 64 lower-case hexadecimal digits")


@dataclass(frozen=True, slots=True)
class KnownFile:
    """A file that the session knows. `before` or `after` is None if there was no file at that time."""

    path: str
    """Relative to the workspace, with `/`."""
    before: FileContent | None
    """On disk, when the session first knew the file."""
    after: FileContent | None
    """On disk, when the record was made."""

    def __post_init__(self) -> None:
        check_path(self.path)


@dataclass(frozen=True, slots=True)
class Verification:
    """The last run of a verifying command."""

    command: str
    exit_code: int | None
    """None: it was killed at its time limit."""
    seconds: float
    step: str
    """The id of the step that ran it, or `before` or `unplanned`."""
    fails_without_changes: bool
    """Whether it passed, and failed on the same files without the proposals."""
    differs: Mapping[str, FileContent | None]
    """By path: the content that the command ran on, for each file where it differs from `KnownFile.after`.

    None: there was no file. Without the files that it does not depend on, if that is known.
    """
    leftovers: tuple[str, ...]
    """Ignored files that commands of the session left, if it passed, but not again without them."""
    reads: tuple[str, ...] | None = None
    """The files of the workspace that it read, as paths; None: that is not known."""

    @property
    def passed(self) -> bool:
        """Whether the command succeeded."""
        return self.exit_code == 0


@dataclass(frozen=True, slots=True)
class RanCommand:
    """A command that ran."""

    command: str
    exit_code: int | None
    """None: it was killed, stopped, or could not be started."""
    seconds: float
    stopped: bool
    """Whether it was stopped: by the user, by the agent, or with the session."""
    verifies: bool
    """Whether its result counts as that of a verifying command (docs/plan.md P16)."""
    without_changes: bool
    """Whether it ran on the files without the proposals."""
    with_tests: bool = False
    """Whether it ran on the files with only the proposed tests (docs/plan.md P23). Missing in older records."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of a tool of a tool server (docs/mcp.md)."""

    server: str
    tool: str
    outcome: Literal["answered", "failed", "unknown"]
    """`failed`: the server answered with an error or ended. `unknown`: it was cancelled, or not answered in time."""
    seconds: float
    effects_outside: bool
    """Whether it could have effects outside of the workspace, which nobody reviewed."""
    arguments: str
    """As JSON on one line, cut; empty if it had no effects outside."""


@dataclass(frozen=True, slots=True)
class Work:
    """The work recorded for one step, outside of all steps, or in the whole session."""

    files: tuple[str, ...]
    """The changed files."""
    commands: tuple[RanCommand, ...]
    looks: int
    """The number of reads and searches."""
    seconds: float
    tokens: int
    cost_usd: float | None
    """None: unknown, or no tokens were used."""
    calls: tuple[ToolCall, ...] = ()
    """In the order in which they ended. Older records have none."""


@dataclass(frozen=True, slots=True)
class Step:
    """A step of the plan, or one that was dropped from it."""

    id: str
    content: str
    status: Status
    dropped: bool
    """Whether it is no longer in the plan, even if it was completed before."""
    check: str
    """The command that must pass before it is completed; empty: none."""
    verification: VerificationStatus
    decided_by: str
    """The command that decides the verification; empty: none."""
    changed_since: tuple[str, ...]
    """The files that changed after it was verified; empty unless `verification` is `stale`."""
    work: Work


@dataclass(frozen=True, slots=True)
class WorkOutside:
    """Work that belongs to no step."""

    id: Literal["before", "unplanned"]
    """`before`: before there was a plan. `unplanned`: while the plan had no step in progress."""
    work: Work


@dataclass(frozen=True, slots=True)
class PlannedItem:
    """An item of a version of the plan."""

    id: str
    content: str
    status: Status
    check: str
    held: bool
    """Whether the user put it on hold, so that the agent must not start it."""
    marked: bool
    """Whether the user marked it as completed."""


@dataclass(frozen=True, slots=True)
class PlanVersion:
    """The plan after a change."""

    revision: int
    by: PlanAuthor
    summary: str
    reason: str
    """Why it was changed; empty if no reason was given."""
    items: tuple[PlannedItem, ...]
    """The whole plan after the change."""


Need = Literal["needed", "notNeeded", "unread"]


@dataclass(frozen=True, slots=True)
class Change:
    """A proposed change, and what the user decided."""

    path: str
    new_path: str | None
    """The destination, if the file was moved."""
    step: str | None
    """The id of the step that made it; None: no step."""
    decision: ReviewStatus
    hunk: HunkPosition | None
    """None: the change is not in lines, such as a creation, a deletion, a move or a change to a binary file."""
    weakens: tuple[str, ...] = ()
    """Why it weakens tests (docs/plan.md P22), if the user has not decided on it."""
    need: Need | None = None
    """Whether the checks need it (docs/plan.md P23). None: it was not tried, or the user has decided on it."""


@dataclass(frozen=True, slots=True)
class ChangesCost:
    """What the changes with one decision cost together. All together cost what the session cost."""

    decision: ReviewStatus
    changes: int
    tokens: int
    cost_usd: float | None
    """As in `Work`."""


@dataclass(frozen=True, slots=True)
class SessionRecord:
    """The record of a session."""

    format: int
    fairlead: str
    """The version of Fairlead."""
    title: str
    state: Literal["idle", "running", "paused"]
    updated_at: str
    """When the last run began or ended (`Session.updated`), in UTC (ISO 8601)."""
    prompts: tuple[str, ...]
    models: tuple[str, ...]
    seconds: float
    tokens: int
    cost_usd: float | None
    """None: unknown, or no tokens were used."""
    plan: tuple[PlanVersion, ...]
    steps: tuple[Step, ...]
    outside: tuple[WorkOutside, ...]
    changes: tuple[Change, ...]
    costs: tuple[ChangesCost, ...]
    verifications: tuple[Verification, ...]
    files: tuple[KnownFile, ...]

    def __post_init__(self) -> None:
        twice = next((path for path, count in Counter(file.path for file in self.files).items() if count > 1), None)
        if twice is not None:
            raise ValueError(f"it names the file “{twice}” twice")


def check_path(path: str) -> None:
    """Raises ValueError unless a path names a file in a workspace: relative to it, without `..` and without NUL."""
    spellings = [PurePosixPath(path), PurePath(path)]  # the record may come from another system than this one
    if not spellings[0].name or "\0" in path:
        raise ValueError("a path must name a file and must not contain a NUL character")
    if any(spelling.anchor for spelling in spellings):
        raise ValueError("a path must be relative to the workspace")
    if any(".." in spelling.parts for spelling in spellings):
        raise ValueError("a path must not lead outside of the workspace")
