"""Which accepts the undo of a plan item undoes, according to the decisions before it."""

from collections.abc import Iterator, Mapping, Sequence

from fairlead.edits.undo import Decision, FileDecision


class ItemAccepts:
    """The accepts of each plan item that are in effect after the decisions that were added.

    An accept of a file as a whole belongs to each item of the proposal, one by hunk to the items of the accepted hunks.
    """

    def __init__(self) -> None:
        self._by_path: dict[str, list[tuple[str, FileDecision]]] = {}

    def of(self, item_id: str) -> Mapping[str, Sequence[FileDecision]]:
        """The accepts of an item by the path of their file, the oldest first. None is empty."""
        found = {path: [file for item, file in accepts if item == item_id] for path, accepts in self._by_path.items()}
        return {path: files for path, files in found.items() if files}

    def add(self, decision: Decision) -> list[FileDecision]:
        """Adds the next decision. If it is the undo of an item, returns the accepts of files that it undid."""
        undone: list[FileDecision] = []
        for file in decision.files:
            accepts = self._by_path.setdefault(file.before.path, [])
            if decision.kind == "accept":
                accepts += ((item, file) for item in _items(file))
            elif decision.kind == "undo":
                of_item = accepts_to_undo([accepted for item, accepted in accepts if item == decision.item_id])
                ids = set(map(id, of_item))
                accepts[:] = [
                    (item, accepted)
                    for item, accepted in accepts
                    if id(accepted) not in ids or (item != decision.item_id and not accepted.as_whole)
                ]
                undone += of_item
        return undone


def accepts_to_undo(accepts: Sequence[FileDecision]) -> Sequence[FileDecision]:
    """The accepts that the undo of an item undoes, of its accepts in one file (the oldest first).

    They are the last one if that was as a whole, else all that were by hunk.
    """
    if accepts and accepts[-1].as_whole:
        return accepts[-1:]
    return [accepted for accepted in accepts if not accepted.as_whole]


def _items(accepted: FileDecision) -> Iterator[str]:
    """The plan items of what was accepted."""
    before, hunk_ids = accepted.before, accepted.hunk_ids
    for item in before.item_ids:
        if hunk_ids is None or not hunk_ids.isdisjoint(before.hunks_of(item)):
            yield item
