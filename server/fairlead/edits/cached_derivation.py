"""A property of a frozen value that is computed once."""

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

T = TypeVar("T")


class cached_derivation(Generic[T]):  # noqa: N801  used as a decorator
    """Like `functools.cached_property`, but without its lock.

    In Python 3.11 all instances share that lock, so a thread that compares one long text would block the readers of
    every other text. No lock is needed: from a frozen instance, two threads compute the same value.
    """

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self._compute = compute
        self._name = compute.__name__
        self.__doc__ = compute.__doc__

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...
    def __get__(self, instance: object | None, owner: type) -> Self | T:
        if instance is None:
            return self
        found = instance.__dict__[self._name] = self._compute(instance)
        return found

    def copy(self, source: object, target: object) -> None:
        """Gives `target` the value of `source`. Call it only if `target` would compute the same value."""
        target.__dict__[self._name] = self.__get__(source, type(source))
