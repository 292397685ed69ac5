"""Tells the model what the user decided and changed, at the next boundary: between rounds, or with a prompt."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from fairlead.display import count_of
from fairlead.edits.changeset import Changeset, changed_paths
from fairlead.edits.diff import Hunk, content_key, hunks
from fairlead.edits.proposal import Proposal
from fairlead.messages.history import clean_text
from fairlead.messages.parts import Note, Prompt
from fairlead.text_lines import without_line_ending
from fairlead.workspace.files import Files
from fairlead.workspace.read_tracker import Changed

# limits on how much of a change a note quotes
MAX_LINES = 30
MAX_WIDTH = 300  # characters of a line

REVIEW = "<review>\nThe user reviewed your proposed edits:\n{items}\n</review>"
DO_NOT_REPEAT = "Do not propose rejected edits again unless the user asks for them."
PLAN = "<plan_changed>\nThe user changed the plan:\n{edits}\nIt now reads:\n{plan}\nFollow it.\n</plan_changed>"
CHANGED = (
    "<files_changed>\nFiles were changed by others since you saw them (line numbers are current). "
    "Read again what you need:\n{items}\n</files_changed>"
)


@dataclass(frozen=True, slots=True)
class PendingFeedback:
    """The feedback that the model has not read yet, and the conflicts that it has read."""

    said: tuple[str, ...] = ()
    """The user's messages."""
    plan_edits: tuple[str, ...] = ()
    """One line for each change to the plan."""
    accepted: tuple[tuple[str, str], ...] = ()
    """The files of the latest accepts: pairs of a file's name and a note on how many of its changes are undecided.

    The note is empty if none is undecided.
    """
    items: tuple[str, ...] = ()
    """The texts about the decisions before those accepts, in order."""
    rejected: bool = False
    """Whether a rejection is among `items`."""
    conflicts: tuple[tuple[str, str], ...] = ()
    """The conflicts that were reported to the model: pairs of the file's path and a digest of the conflict.

    The digest covers the base's lines and the user's lines.
    """

    @property
    def decisions(self) -> tuple[str, ...]:
        """The texts about all decisions, in order."""
        return (*self.items, *_accept_texts(self.accepted))


class Feedback:
    """Collects feedback until `take`, which returns each piece once."""

    def __init__(self, files: Files, plan: Callable[[], str]) -> None:
        """
        Args:
            plan: renders the current plan.
        """
        self._files = files
        self._plan = plan
        self._plan_edits: list[str] = []
        self._accepted: dict[str, str] = {}
        self._items: list[str] = []
        self._rejected = False
        self._conflicts: dict[tuple[str, str], None] = {}
        self._seen = Changeset()
        self._said: list[str] = []

    def add_user_message(self, text: str) -> int:
        """Queues a message to the run (docs/protocol.md, `agent/steer`). Returns how many are queued."""
        self._said.append(text)
        return len(self._said)

    @property
    def has_user_message(self) -> bool:
        """Whether a message is queued. The end of the model's turn does not end the run until the model has read it."""
        return bool(self._said)

    def accepted(self, name: str, note: str) -> None:
        """The user accepted changes to a file. The note says how many are still undecided; empty if none is.

        Replaces the text about an earlier accept in the file, unless the user made another decision in between.
        """
        self._accepted[name] = note

    def rejected(self, name: str, before: Proposal, hunk_ids: Collection[str] | None, reason: str) -> None:
        """The user rejected a file's proposal, or some of its hunks.

        Args:
            before: the proposal before the decision.
            hunk_ids: the rejected hunks; None: all of the proposal.
            reason: empty if the user gave none.
        """
        because = f' The reason given: "{reason}"' if reason else ""
        self._rejected = True
        if before.decided_as_whole or hunk_ids is None:
            self._add_decision(f"- rejected: {_whole(name, before)}.{because}")
            return
        shown = _diff([hunk for hunk in before.hunks if hunk.id in hunk_ids])
        self._add_decision(f"- rejected in {name}; the lines with - stay:{because}\n{shown}")

    def amended(self, name: str, before: str, after: str) -> None:
        """The user replaced the proposed text of a file with their own."""
        shown = _diff(hunks(before, after))
        self._add_decision(f"- the user edited your proposal for {name}:\n{shown}")

    def plan_edited(self, edits: Collection[str]) -> None:
        """The user changed the plan; one line for each change."""
        self._plan_edits += edits

    def undone(self, label: str) -> None:
        """The user undid a decision."""
        self._add_decision(f"- undone: {label}")

    def redone(self, label: str) -> None:
        """The user redid a decision that was undone."""
        self._add_decision(f"- redone: {label}")

    def _add_decision(self, item: str) -> None:
        """Adds the text about a decision that is not an accept, after the accepts so far."""
        self._items += [*_accept_texts(self._accepted.items()), item]
        self._accepted = {}

    @property
    def pending(self) -> PendingFeedback:
        """The collected feedback and the reported conflicts, as a value to save."""
        return PendingFeedback(
            tuple(self._said),
            tuple(self._plan_edits),
            tuple(self._accepted.items()),
            tuple(self._items),
            self._rejected,
            tuple(self._conflicts),
        )

    def restore(self, pending: PendingFeedback) -> None:
        """Replaces the collected feedback and the reported conflicts with saved ones."""
        self._said, self._plan_edits = list(pending.said), list(pending.plan_edits)
        self._accepted, self._items = dict(pending.accepted), list(pending.items)
        self._rejected, self._conflicts = pending.rejected, dict.fromkeys(pending.conflicts)

    async def take(self) -> list[Prompt | Note]:
        """Returns what is for the model, the user's messages first; empty if there is no feedback.

        Adds notes about new conflicts, and about files that the model had read and that others have changed.
        """
        tracked = await self._files.read_tracker.take_changes()
        changed = [each for each in tracked if self._files.roots.contains(each.path)]
        items = [*self.pending.decisions, *([DO_NOT_REPEAT] if self._rejected else []), *self._new_conflicts()]
        self._accepted, self._items, self._rejected = {}, [], False
        found: list[Prompt | Note] = [Prompt(clean_text(text), while_working=True) for text in self._said]
        self._said = []
        if items:
            found.append(Note("review", clean_text(REVIEW.format(items="\n".join(items)))))
        if self._plan_edits:
            edits = "\n".join(f"- {edit}" for edit in self._plan_edits)
            found.append(Note("plan", clean_text(PLAN.format(edits=edits, plan=self._plan()))))
            self._plan_edits = []
        if changed:
            lines = "\n".join(map(self._changed_line, changed))
            found.append(Note("files", clean_text(CHANGED.format(items=lines))))
        return found

    def _new_conflicts(self) -> list[str]:
        found: list[str] = []
        before, self._seen = self._seen, self._files.changes
        for proposal in filter(None, map(self._seen.get, changed_paths(before, self._seen))):
            for conflict in proposal.conflicts.values():
                # without the proposed lines, which the agent may change
                lines = content_key([conflict.base], [conflict.current])
                key = (proposal.path, sha256(lines).hexdigest())
                if key not in self._conflicts:
                    self._conflicts[key] = None
                    name = self._files.roots.relative(Path(proposal.path))
                    theirs = _truncated([f"  {line}" for line in conflict.current.splitlines()]) or "  (nothing)"
                    found.append(f"- in {name} the user changed lines that you propose to change:\n{theirs}")
        return found

    def _changed_line(self, changed: Changed) -> str:
        name = self._files.roots.relative(changed.path)
        if changed.spans is None:
            return f"- {name}: deleted or not readable"
        spans = ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in changed.spans)
        return f"- {name}: lines {spans}"


def _accept_texts(accepted: Iterable[tuple[str, str]]) -> list[str]:
    return [f"- accepted: {name}{note}" for name, note in accepted]


def _whole(name: str, proposal: Proposal) -> str:
    match proposal.kind:
        case "create":
            return f"the new file {name}"
        case "delete":
            return f"the deletion of {name}"
        case "rename":
            return f"the new name of {name}"
        case "modify":
            return f"all your edits to {name}"


def _diff(found: Sequence[Hunk]) -> str:
    lines: list[str] = []
    for hunk in found:
        lines.append(f"  line {hunk.new_start + 1}:")
        lines += [f"  -{without_line_ending(line)}" for line in hunk.old]
        lines += [f"  +{without_line_ending(line)}" for line in hunk.new]
    return _truncated(lines)


def _truncated(lines: Sequence[str]) -> str:
    shown = [line if len(line) <= MAX_WIDTH else f"{line[:MAX_WIDTH]}..." for line in lines[:MAX_LINES]]
    more = [f"  ({count_of(len(lines) - MAX_LINES, 'more line')})"] if len(lines) > MAX_LINES else []
    return "\n".join([*shown, *more])
