"""A property that is worked out once."""

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

T = TypeVar("T")


class derived(Generic[T]):  # noqa: N801  it stands as a decorator
    """As `functools.cached_property`, whose lock in Python 3.11 is one for all instances.

    With that a thread that works on one long text would hold up all who look at another. Of a frozen value two threads
    work out the same.
    """

    def __init__(self, work_out: Callable[[Any], T]) -> None:
        self._work_out = work_out
        self._name = work_out.__name__
        self.__doc__ = work_out.__doc__

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...
    def __get__(self, instance: object | None, owner: type) -> Self | T:
        if instance is None:
            return self
        found = instance.__dict__[self._name] = self._work_out(instance)
        return found
