"""Computes a value once for each item of a growing sequence. Pure, below all other modules."""

from collections.abc import Callable, Sequence
from itertools import compress, count
from operator import is_not
from typing import Any, Generic, TypeVar

T = TypeVar("T")
V = TypeVar("V")


def common_prefix_length(old: Sequence[Any], new: Sequence[Any]) -> int:
    """How many items two sequences share at the start. Compares objects by identity (`is`), not by value."""
    return next(compress(count(), map(is_not, old, new)), min(len(old), len(new)))


class PerItem(Generic[T, V]):
    """A value for each item, as `compute` returns it.

    From the first item that is not the same object as in the previous call, values are computed again. The items must
    not change. If the sequence itself is the same object as in the previous call, it may only have grown.
    """

    def __init__(self, compute: Callable[[T], V]) -> None:
        self._compute = compute
        self._sequence: Sequence[T] = ()
        self._items: list[T] = []
        self._values: list[V] = []

    def of(self, items: Sequence[T]) -> Sequence[V]:
        """The values of all items. Valid until the next call."""
        shared = len(self._items) if items is self._sequence else common_prefix_length(self._items, items)
        self._sequence = items
        self._items[shared:] = items[shared:]
        self._values[shared:] = map(self._compute, items[shared:])
        return self._values
