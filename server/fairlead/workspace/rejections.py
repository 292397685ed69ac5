"""Remembers the changes that the user rejected, so that the same ones are not proposed again by accident."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from hashlib import sha256

from fairlead.display import end_sentence
from fairlead.edits.diff import content_key
from fairlead.edits.proposal import Proposal
from fairlead.workspace.errors import WorkspaceError

_Key = tuple[str, bytes]
Rejection = tuple[Proposal, Collection[str] | None, str]
"""A proposal, the ids of its rejected hunks (None: all of it), and the reason."""


@dataclass(frozen=True, slots=True)
class Rejected:
    """A change to a file that the user rejected."""

    path: str
    digest: bytes
    """Identifies the change."""
    reason: str
    """Why the user rejected it; empty if they gave no reason."""
    warned: bool = False
    """Whether the model has been told that the user rejected it."""


class Rejections:
    """The rejected changes of a session."""

    def __init__(self) -> None:
        self._rejected: dict[_Key, Rejected] = {}
        self.all: tuple[Rejected, ...] = ()
        """All rejected changes; a new tuple after each change."""
        self.warnings = 0
        """How often `check` has refused a proposal (docs/plan.md L10)."""

    def restore(self, rejected: Iterable[Rejected]) -> None:
        """Restores the rejections of an earlier process."""
        self._rejected = {(change.path, change.digest): change for change in rejected}
        self.all = tuple(self._rejected.values())

    def remember(self, proposal: Proposal, hunk_ids: Collection[str] | None, reason: str) -> None:
        """Records that some hunks of a proposal (None: all of it) were rejected."""
        for key in _keys(proposal, hunk_ids):
            self._rejected[key] = Rejected(*key, reason)
        self.all = tuple(self._rejected.values())

    def forget(self, proposal: Proposal, hunk_ids: Collection[str] | None, others: Iterable[Rejection]) -> None:
        """Forgets a rejection that the user undid.

        Args:
            proposal: the proposal that was rejected.
            hunk_ids: the hunks that were rejected; None: all of it.
            others: the rejections that stay. A change that is also in one of them stays rejected, with that reason.
        """
        undone = set(_keys(proposal, hunk_ids)) & self._rejected.keys()
        reasons = {key: reason for before, ids, reason in others for key in _keys(before, ids) if key in undone}
        for key in undone:
            if key in reasons:
                self._rejected[key] = replace(self._rejected[key], reason=reasons[key])
            else:
                del self._rejected[key]
        self.all = tuple(self._rejected.values())

    def check(self, old: Proposal | None, new: Proposal) -> None:
        """Refuses a rejected change the first time that it is proposed again. The second time, the agent means it.

        Raises:
            WorkspaceError: `new` contains a rejected change that `old` does not, and that was not refused before.
        """
        if new.path not in {path for path, _ in self._rejected}:
            return
        before = set(_keys(old, None)) if old is not None else set[_Key]()
        repeated = [self._rejected[key] for key in _keys(new, None) if key in self._rejected and key not in before]
        unwarned = [rejected for rejected in repeated if not rejected.warned]
        if not unwarned:
            return
        for rejected in unwarned:
            self._rejected[rejected.path, rejected.digest] = replace(rejected, warned=True)
        self.all = tuple(self._rejected.values())
        self.warnings += 1
        reasons = " ".join(dict.fromkeys(end_sentence(rejected.reason) for rejected in unwarned if rejected.reason))
        because = f" The reason given: {reasons}" if reasons else ""
        raise WorkspaceError(
            f"Not proposed: the user rejected the same change before.{because}\n"
            "Try another way. Send the same call again only if the user has asked for it since."
        )


def _keys(proposal: Proposal, hunk_ids: Collection[str] | None) -> Iterator[_Key]:
    if proposal.decided_as_whole:
        identity = [proposal.kind, proposal.target, str(proposal.raw.mode)]
        if proposal.raw.data is not None:  # the same text may be proposed in several encodings
            identity.append(sha256(proposal.raw.data).hexdigest())
        yield proposal.path, sha256(content_key(identity, [proposal.proposed or ""])).digest()
        return
    for hunk in proposal.hunks:
        if hunk_ids is None or hunk.id in hunk_ids:
            yield proposal.path, sha256(content_key(hunk.old, hunk.new)).digest()
