"""The changeset: the proposals of all files, and how decisions change them. Pure functions on values.

Accepting copies a hunk's new lines into the base and the current text. Rejecting restores its base lines in the
proposed text. When the user types, the proposal is rebased on the new text (`Proposal.rebased`).
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain, compress, filterfalse
from operator import attrgetter, is_not, methodcaller
from types import MappingProxyType

from fairlead.edits.cached_derivation import cached_derivation
from fairlead.edits.merge import MergeConflict, Region, merged
from fairlead.edits.origins import Author, Origin, Origins
from fairlead.edits.proposal import PLAIN, Proposal, Raw, empty_proposal

# usually enough between two comparisons; if not, `changed_paths` compares all files
_MAX_RECENT_CHANGES = 64


@dataclass(frozen=True, eq=False, slots=True)
class _RecentChange:
    """The addition, replacement or removal of one proposal.

    Compared by identity, because one path may change repeatedly.
    """

    path: str
    """The current path of the file."""


@dataclass(frozen=True)
class Changeset:
    """All pending proposals."""

    files: Mapping[str, Proposal] = field(default_factory=lambda: MappingProxyType({}))
    """By the current path of the file, in the order of their first change."""
    order: int = 0
    """The `Origin.order` of the latest change."""
    empty_folders: frozenset[str] = frozenset()
    """The absolute paths of the folders that commands left without files.

    They are not proposed. Commands see them, and an accept does not remove them.
    """
    recent_changes: tuple[_RecentChange, ...] = field(default=(), compare=False, repr=False)
    """The latest changes that led to this changeset, so that `changed_paths` need not look at all files."""
    places: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}), compare=False, repr=False)
    """By path: when the file was first changed, also of files whose proposals are decided and may be undone.

    Not saved. Without a place, a file is in its place among `files`.
    """

    @cached_derivation
    def renamed(self) -> Mapping[str, Proposal]:
        """The proposed renames, by their new path."""
        # a Python loop over many files would add a tenth to the time between two rounds
        by_target: dict[str | None, Proposal] = dict(zip(map(attrgetter("new_path"), self), self, strict=True))
        by_target.pop(None, None)
        return {path: proposal for path, proposal in by_target.items() if path is not None}

    @property
    def in_first_order(self) -> list[str]:
        """The paths of `files` as the files were first changed, even if they were decided and undone."""
        return sorted(self.files, key=self.places.__getitem__) if self.places else list(self.files)

    def __iter__(self) -> Iterator[Proposal]:
        return iter(self.files.values())

    def __len__(self) -> int:
        return len(self.files)

    def get(self, path: str) -> Proposal | None:
        """The proposal for a file, given by its current path."""
        return self.files.get(path)

    def for_target(self, path: str) -> Proposal | None:
        """The proposal that decides what is at this path after all are accepted; None if there is none.

        It is the rename of another file to this path, else the file's own proposal. A file's own rename to another path
        does not count.
        """
        renamed = self.renamed.get(path)
        own = self.files.get(path)
        return renamed or (own if own is not None and own.new_path is None else None)

    def proposed_below(self, start: str) -> str | None:
        """A path that begins with `start` and has a proposed text; None if there is none.

        For a folder, `start` ends with a separator, because it is compared as text.
        """
        for path in filter(methodcaller("startswith", start), chain(self.files, self.renamed)):
            proposal = self.for_target(path)
            if proposal is not None and proposal.proposed is not None:
                return path
        return None

    def with_empty_folders(self, empty_folders: frozenset[str]) -> "Changeset":
        """The changeset with these empty folders instead."""
        changes = replace(self, empty_folders=empty_folders)
        Changeset.renamed.copy(self, changes)
        return changes

    def with_proposal(self, proposal: Proposal) -> "Changeset":
        """The changeset with this proposal, rebased on its current text. Drops it if nothing is left to decide."""
        if proposal.base != proposal.current:
            proposal = proposal.rebased(proposal.current)
        if proposal.file_origin is not None and not proposal.decided_as_whole:  # such as a reverted rename
            proposal = replace(proposal, file_origin=None)
        files = {**self.files, proposal.path: proposal}
        if proposal.is_settled:
            del files[proposal.path]
        return self._with_files(files, proposal.path)

    def without(self, path: str) -> "Changeset":
        """The changeset without the proposal for a file, given by its current path."""
        return self._with_files({key: p for key, p in self.files.items() if key != path}, path)

    def _with_files(self, files: dict[str, Proposal], changed: str) -> "Changeset":
        """The changeset with these proposals. Only the one at the path `changed` may differ."""
        places = self.places or MappingProxyType({path: number for number, path in enumerate(self.files)})
        changes = replace(
            self,
            files=MappingProxyType(files),
            places=places if changed in places else MappingProxyType({**places, changed: len(places)}),
            recent_changes=(*self.recent_changes[1 - _MAX_RECENT_CHANGES :], _RecentChange(changed)),
        )
        differing = filter(None, (self.files.get(changed), files.get(changed)))
        if all(proposal.new_path is None for proposal in differing):  # then the renames are the same
            Changeset.renamed.copy(self, changes)
        return changes


def propose(
    changes: Changeset,
    path: str,
    current: str | None,
    proposed: str,
    author: Author,
    raw: Raw | None = None,
    moved_raw: Raw = PLAIN,
) -> Changeset:
    """Adds a proposed text for a file.

    Args:
        path: the path in the proposed state: if a rename is proposed, the new path. The same applies to `delete`,
            `rename` and `capture`.
        current: the text of the user's file, None if there is none. Ignored if the file already has a proposal.
        raw: bytes and permissions. None: no bytes, and the permissions that are proposed already.
        moved_raw: only needed if a rename from this path is proposed. The rename becomes a new file at its new path,
            with these bytes and permissions.
    """
    changes, origin = _with_next_origin(changes, author)
    old = changes.for_target(path)
    if old is None:
        moved = changes.get(path)  # its rename is proposed, and its old path gets a new file
        if moved is not None:
            changes = _split(changes, moved, moved_raw)
        old = empty_proposal(path, current if moved is None else moved.base)
        old = old if moved is None else replace(old, current=moved.current)
    file_origin = origin if old.proposed is None else old.file_origin
    new = replace(old, file_origin=file_origin).with_text(proposed, origin)
    if raw is not None:
        changes_raw = raw not in (PLAIN, old.raw) and new.kind == "modify"
        new = replace(new, raw=raw, file_origin=origin if changes_raw else new.file_origin)
    return changes.with_proposal(new)


def _with_next_origin(changes: Changeset, author: Author) -> tuple[Changeset, Origin]:
    order = changes.order + 1
    later = replace(changes, order=order)
    Changeset.renamed.copy(changes, later)
    return later, Origin(order, author.item_id, author.call_id)


def _split(changes: Changeset, renamed: Proposal, raw: Raw) -> Changeset:
    """Turns a rename into a new file at its target. The caller proposes something for the old path."""
    text = renamed.proposed or ""
    created = Proposal(renamed.target, None, None, text, renamed.origins, file_origin=renamed.file_origin, raw=raw)
    return changes.without(renamed.path).with_proposal(created)


def delete(changes: Changeset, path: str, current: str | None, author: Author) -> Changeset:
    """Proposes to delete a file. If the file exists only as a proposal, drops that proposal."""
    changes, origin = _with_next_origin(changes, author)
    old = changes.for_target(path) or empty_proposal(path, current)
    file_origin = origin.replacing([old.file_origin, *old.origins.lines, *old.origins.gaps])
    deleted = replace(old, proposed=None, new_path=None, origins=Origins.empty(""), file_origin=file_origin, raw=PLAIN)
    return changes.with_proposal(deleted)


def rename(changes: Changeset, path: str, new_path: str, current: str | None, author: Author) -> Changeset:
    """Proposes another path for a file. Its proposed text moves with it.

    If the file exists and `new_path` is its current path, removes a proposed rename.
    """
    changes, origin = _with_next_origin(changes, author)
    old = changes.for_target(path) or empty_proposal(path, current)
    if old.kind == "create":
        created = replace(old, path=new_path, current=None, file_origin=origin)  # there is no file at the new path
        return changes.without(old.path).with_proposal(created)
    moved = replace(old, new_path=None if new_path == old.path else new_path, file_origin=origin)
    return changes.with_proposal(moved)


def capture(
    changes: Changeset,
    path: str,
    before: str | None,
    after: str | None,
    author: Author,
    raw: Raw = PLAIN,
    moved_raw: Raw = PLAIN,
    is_text: bool = True,
) -> Changeset:
    """Adds the change that a command made to a file, and precomputes the proposal.

    The command's text is merged with the text that is proposed for the file now. A deletion or a binary file replaces
    the proposed text.

    Args:
        before: the text when the command started, None if there was no file.
        after: the text that the command left, None if it deleted the file.
        raw: the bytes and permissions that the command left, if they are proposed too.
        moved_raw: as for `propose`.
        is_text: false if `after` is the line that identifies a binary file.

    Raises:
        MergeConflict: the command and the proposal changed the same lines differently, or the command's text is in
            another encoding, so that it cannot be merged.
    """
    known = changes.for_target(path)
    proposed = before if known is None else known.proposed
    if is_text and after is not None and proposed not in (before, after):
        if raw.data is not None:
            raise MergeConflict
        after = merged(before or "", proposed or "", after)
    if after is None:
        captured = delete(changes, path, before, author)
    else:
        captured = propose(changes, path, before, after, author, raw, moved_raw)
    proposal = captured.for_target(path)
    if proposal is not None:
        proposal.precompute()
    return captured


def observe(changes: Changeset, path: str, current: str | None) -> Changeset:
    """Rebases a file's proposal, if it has one, on the current text of the user's file (None: there is no file)."""
    old = changes.get(path)
    if old is None or old.current == current:
        return changes
    return changes.with_proposal(replace(old, current=current))


def regions_to_accept(proposal: Proposal, hunk_ids: Collection[str] | None, overwrite_user_lines: bool) -> list[Region]:
    """The regions that are applied when some hunks (None: all) are accepted.

    Args:
        overwrite_user_lines: whether to apply conflicts too, so that the proposed lines replace the user's.
    """
    sides = ("theirs", "conflict") if overwrite_user_lines else ("theirs",)
    regions = proposal.regions if hunk_ids is None else proposal.regions_of_hunks(hunk_ids)
    return [region for region in regions if region.side in sides]


def accepted(proposal: Proposal, regions: Collection[Region]) -> Proposal:
    """The proposal after some of its regions were written to the user's file.

    An atomic proposal is always written completely. If the proposal is decided as a whole, nothing is left to decide.
    """
    if proposal.is_atomic:
        return replace(proposal, base=proposal.proposed, current=proposal.proposed, new_path=None, raw=PLAIN)
    base, current = proposal.applied(regions)
    if proposal.decided_as_whole:
        return replace(proposal, base=current, current=current, proposed=current, new_path=None, raw=PLAIN)
    return replace(proposal, base=base, current=current, decided=proposal.decided | proposal.hunk_ids_in(regions))


def accept(changes: Changeset, before: Proposal, done: Proposal) -> Changeset:
    """The changeset after an accept. Changes that the agent proposed in the meantime stay proposed.

    Args:
        before: the proposal that the user accepted.
        done: the same proposal afterwards (see `accepted`).
    """
    now = changes.get(done.path)
    if now is None and before.new_path is not None:  # the agent has removed the rename, and changed nothing else
        now = empty_proposal(done.path, before.base)
    if now is None:
        return changes
    raw = PLAIN if now.raw == before.raw else now.raw
    file_origin = now.file_origin or now.origins.latest  # a change of the file's text may now create or rename it
    new = replace(now, base=done.base, current=done.current, decided=done.decided, raw=raw, file_origin=file_origin)
    if before.new_path is None:
        return changes.with_proposal(new)
    # the file has moved
    changes = changes.without(done.path)
    at_target = changes.get(before.new_path)
    if at_target is None:
        further = None if now.target == before.new_path or now.proposed is None else now.target
        return changes.with_proposal(replace(new, path=before.new_path, new_path=further))
    # the agent has proposed separate files at both paths, or only at the new one
    changes = changes.with_proposal(replace(new, base=None, current=None))
    raw = PLAIN if at_target.proposed == done.base else at_target.raw
    return changes.with_proposal(replace(at_target, base=done.base, current=done.current, raw=raw))


def rejected(proposal: Proposal, hunk_ids: Collection[str] | None) -> Proposal:
    """The proposal without some hunks (None: all; always all if it is decided as a whole).

    In a conflict, the user's text stays.
    """
    if hunk_ids is None or proposal.decided_as_whole:
        origins = Origins.empty(proposal.base or "")
        return replace(proposal, proposed=proposal.base, new_path=None, origins=origins, raw=PLAIN)
    regions = proposal.regions_of_hunks(hunk_ids)
    decided = proposal.decided | proposal.hunk_ids_in(regions)
    remaining = replace(proposal, decided=decided).with_text(proposal.reverted(regions), None)
    return remaining.rebased(remaining.current)


def amended(proposal: Proposal, text: str) -> Proposal:
    """The proposal after the user rewrote its proposed text."""
    return proposal.with_text(text, None, by_hand=True).rebased(proposal.current)


def precomputed(change: Callable[[Changeset], Changeset], before: Changeset) -> Changeset:
    """Applies a change, and precomputes the proposals that it changed (`Proposal.precompute`)."""
    after = change(before)
    precompute_all(after.get(path) for path in changed_paths(before, after))
    return after


def precompute_all(proposals: Iterable[Proposal | None]) -> None:
    """Precomputes some proposals (`Proposal.precompute`)."""
    for proposal in proposals:
        if proposal is not None:
            proposal.precompute()


def changed_paths(old: Changeset, new: Changeset) -> list[str]:
    """The paths whose proposals differ between two changesets."""
    before, after = old.files, new.files
    if old.recent_changes and old.recent_changes[-1] in new.recent_changes:  # `new` was made from `old`
        since = new.recent_changes.index(old.recent_changes[-1]) + 1
        paths = dict.fromkeys(change.path for change in new.recent_changes[since:])
        return [path for path in paths if before.get(path) is not after.get(path)]
    # no Python loop, which would be slow with many files
    changed = compress(after, map(is_not, after.values(), map(before.get, after)))
    return [*changed, *filterfalse(after.__contains__, before)]
