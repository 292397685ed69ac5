"""Caches a value for each proposal of a changeset."""

from collections.abc import Callable, Mapping
from itertools import filterfalse
from operator import ne
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from fairlead.edits.changeset import Changeset, changed_paths
from fairlead.edits.proposal import Proposal

V = TypeVar("V")


class PerProposal(Generic[V]):
    """Computes a value for each proposal of a changeset. The next call computes only those that have changed."""

    def __init__(self) -> None:
        self._changes, self._inputs = Changeset(), ()
        self._values: dict[str, V] = {}

    def of(self, changes: Changeset, compute: Callable[[Proposal], V], *inputs: Any) -> Mapping[str, V]:
        """The values by path, in the order of the proposals.

        Args:
            compute: a pure function of a proposal and the inputs. Each call of `of` must give an equivalent function,
                because values of earlier calls are used again.
            inputs: what else the values depend on. If they change, all values are computed again.
        """
        if inputs != self._inputs:
            self._changes, self._inputs, self._values = Changeset(), inputs, {}
        values = self._values
        changed = changed_paths(self._changes, changes)
        if changed:
            new = {path: compute(changes.files[path]) for path in changed if path in changes.files}
            values = {**values, **new}
            for path in filterfalse(changes.files.__contains__, changed):
                values.pop(path, None)
            if any(map(ne, values, changes.files)):  # a proposal that was dropped and added again is now the last one
                values = {path: values[path] for path in changes.files}
            self._changes, self._values = changes, values
        return MappingProxyType(values)
