"""What the person rejected, so that the same edit is not proposed again without a word."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from hashlib import sha256

from fairlead.agent.errors import ToolError
from fairlead.edits.diff import content_key
from fairlead.edits.proposal import Proposal

Key = tuple[str, bytes]


@dataclass(frozen=True, slots=True)
class Rejected:
    """A change of a file that the person said no to; `says` tells it from others, `warned` that the agent was told."""

    path: str
    says: bytes
    reason: str
    warned: bool = False


class Rejections:
    """One session's memory of rejected changes. `warnings` counts what was said of them (docs/plan.md L10: input)."""

    def __init__(self) -> None:
        self._rejected: dict[Key, Rejected] = {}
        self.all: tuple[Rejected, ...] = ()
        self.warnings = 0

    def restore(self, rejected: Iterable[Rejected]) -> None:
        """Goes on with what another process knew."""
        self._rejected = {(one.path, one.says): one for one in rejected}
        self.all = tuple(self._rejected.values())

    def remember(self, proposal: Proposal, hunk_ids: Collection[str] | None, reason: str) -> None:
        """Some hunks of a proposal (None: all of it) were rejected."""
        for key in _keys(proposal, hunk_ids):
            self._rejected[key] = Rejected(*key, reason)
        self.all = tuple(self._rejected.values())

    def forget(self, proposal: Proposal) -> None:
        """The rejection was taken back: what is proposed now may be."""
        for key in _keys(proposal, None):
            self._rejected.pop(key, None)
        self.all = tuple(self._rejected.values())

    def check(self, old: Proposal | None, new: Proposal) -> None:
        """Refuses what was rejected before, the first time that it comes again.

        Raises:
            ToolError: it holds a rejected change that the proposal before did not; the message says why.
        """
        if new.path not in {path for path, _ in self._rejected}:
            return
        before = set(_keys(old, None)) if old is not None else set[Key]()
        again = [self._rejected[key] for key in _keys(new, None) if key in self._rejected and key not in before]
        unsaid = [rejected for rejected in again if not rejected.warned]
        if not unsaid:
            return
        for rejected in unsaid:
            self._rejected[rejected.path, rejected.says] = replace(rejected, warned=True)
        self.all = tuple(self._rejected.values())
        self.warnings += 1
        reasons = ", ".join(dict.fromkeys(rejected.reason for rejected in unsaid if rejected.reason))
        because = f" The reason given: {reasons}" if reasons else ""
        raise ToolError(
            f"Not proposed: the user rejected this same change before.{because}\n"
            "Find another way. Only if the user has asked for it since, send the same call again."
        )


def _keys(proposal: Proposal, hunk_ids: Collection[str] | None) -> Iterator[Key]:
    if proposal.whole:
        what = [proposal.kind, proposal.target, str(proposal.raw.mode)]
        yield proposal.path, sha256(content_key(what, [proposal.proposed or ""])).digest()
        return
    for hunk in proposal.hunks:
        if hunk_ids is None or hunk.id in hunk_ids:
            yield proposal.path, sha256(content_key(hunk.old, hunk.new)).digest()
