"""Which changes `--accept checks` accepts."""

from collections.abc import Sequence

from fairlead.cli.headless.outcome import VERIFIED
from fairlead.cli.review import is_decided_by_hunk
from fairlead.wire import states


def proved_changes(edits: states.EditsWire, plan: states.PlanWire | None) -> list[states.ChangeIdWire]:
    """The changes of verified steps, and those that belong to no step, after all checks have passed with all changes.

    A file that is decided as a whole needs all of its steps verified.
    """
    items = plan["items"] if plan is not None else []
    verified = {None, *(item["id"] for item in items if item["verification"] in VERIFIED)}
    return [change for file in edits["files"] for change in _proved(file, verified)]


def count_changes(edits: states.EditsWire) -> int:
    """How many changes can be decided on."""
    return sum(len(file["hunks"]) if is_decided_by_hunk(file) else 1 for file in edits["files"])


def _proved(file: states.FileEditsWire, verified: set[str | None]) -> Sequence[states.ChangeIdWire]:
    if is_decided_by_hunk(file):
        return [{"uri": file["uri"], "hunk": hunk["id"]} for hunk in file["hunks"] if hunk["itemId"] in verified]
    return [{"uri": file["uri"], "hunk": None}] if verified.issuperset(file["itemIds"]) else []
