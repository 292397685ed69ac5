"""The difference between two values as JSON Patch (RFC 6902), and the value that a difference leads to.

Parts that are the same object in both values cost almost no time.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from typing import Any, cast

from fairlead.json_reader import names_of
from fairlead.json_values import is_list, is_object
from fairlead.per_item import common_prefix_length

Operation = dict[str, Any]


@dataclass(frozen=True)
class Form:
    """How values that are not JSON become JSON."""

    to_json: Callable[[Any], Any] = lambda value: value
    whole: tuple[type, ...] = ()
    """The types of the values that have no parts. They are compared by identity."""
    removed: Callable[[Any], None] = lambda value: None
    """Called with each value that is removed or replaced."""


_ABSENT = object()


def difference(old: Any, new: Any, form: Form | None = None) -> list[Operation]:
    """The operations `add`, `remove` and `replace` that turn one value into another, to be applied in order.

    A dataclass counts as an object, a tuple as a list. From the first difference on, the items of a list are identified
    by a key: an object by its `id` or `uri`, a text by its value. If a key is absent or not unique, the items are
    identified by their positions. A list is replaced as a whole if its remaining items are in another order, or if it
    was empty, or if more items were removed and added than it now has. For an object, the last two hold too.
    """
    differences = _Differences(form or Form())
    differences.compare("", old, new)
    return differences.operations


class _Differences:
    def __init__(self, form: Form) -> None:
        self._form = form
        self.operations: list[Operation] = []

    def compare(self, path: str, old: Any, new: Any) -> None:
        if old is new:
            return
        before, after = self._parts(old), self._parts(new)
        if isinstance(before, Mapping) and isinstance(after, Mapping):
            self._compare_objects(path, old, new, before, after)
        elif isinstance(before, Sequence) and isinstance(after, Sequence):
            self._compare_lists(path, old, new)
        elif type(old) is not type(new) or isinstance(new, self._form.whole) or old != new:
            self._replace(path, old, new)

    def _parts(self, value: Any) -> Mapping[str, Any] | Sequence[Any] | None:
        """The fields of an object, or the items of a list; None if the value has no parts."""
        if isinstance(value, self._form.whole):
            return None
        if isinstance(value, Mapping | list | tuple):
            return cast("Mapping[str, Any] | Sequence[Any]", value)
        if is_dataclass(value):
            return {name: getattr(value, attribute) for name, attribute in names_of(type(value))}
        return None

    def _compare_objects(
        self, path: str, old: Any, new: Any, before: Mapping[str, Any], after: Mapping[str, Any]
    ) -> None:
        removed = [name for name in before if name not in after]
        count = len(after) - len(before) + 2 * len(removed)  # of the removed and the added ones
        if count > len(after) or (count and not before):
            return self._replace(path, old, new)
        for name in removed:
            self._remove(f"{path}/{_escaped(name)}", before[name])
        for name, value in after.items():
            earlier = before.get(name, _ABSENT)
            if earlier is _ABSENT:
                self._add(f"{path}/{_escaped(name)}", value)
            elif earlier is not value:
                self.compare(f"{path}/{_escaped(name)}", earlier, value)
        return None

    def _compare_lists(self, path: str, old: Sequence[Any], new: Sequence[Any]) -> None:
        start = self._equal_items(old, new)
        if start == len(old) == len(new):
            return None
        ending = common_prefix_length(old[start:][::-1], new[start:][::-1])
        before, after = _keys(old, start, len(old) - ending), _keys(new, start, len(new) - ending)
        common = [key for key in before if key in after]
        # JSON Patch cannot reorder items, and many additions and removals take more space than the new list
        if (
            not old
            or common != [key for key in after if key in before]
            or len(before) + len(after) - 2 * len(common) > len(new)
        ):
            return self._replace(path, old, new)
        for key in reversed([key for key in before if key not in after]):  # a removal moves the items after it
            self._remove(f"{path}/{before[key]}", old[before[key]])
        for key, index in after.items():
            if key in before:
                self.compare(f"{path}/{index}", old[before[key]], new[index])
            else:
                self._add(f"{path}/{index}", new[index])
        return None

    def _equal_items(self, old: Sequence[Any], new: Sequence[Any]) -> int:
        """How many items at the start are equal."""
        start = common_prefix_length(old, new)
        for index in range(start, min(len(old), len(new))):
            one, other = old[index], new[index]
            if one is not other and (isinstance(other, self._form.whole) or one != other):
                return index
        return min(len(old), len(new))

    def _add(self, path: str, value: Any) -> None:
        self.operations.append({"op": "add", "path": path, "value": self._form.to_json(value)})

    def _remove(self, path: str, value: Any) -> None:
        self.operations.append({"op": "remove", "path": path})
        self._form.removed(value)

    def _replace(self, path: str, old: Any, new: Any) -> None:
        self.operations.append({"op": "replace", "path": path, "value": self._form.to_json(new)})
        self._form.removed(old)


def _escaped(name: str) -> str:
    """A name as a token of a JSON Pointer (RFC 6901, section 3)."""
    return name.replace("~", "~0").replace("/", "~1")


def _keys(items: Sequence[Any], start: int, end: int) -> dict[Any, int]:
    """The positions of some of the items, by key; by position if a key is missing or repeated."""
    keys = {_key(items[index]): index for index in range(start, end)}
    return keys if None not in keys and len(keys) == end - start else {n: n for n in range(start, end)}


def _key(item: Any) -> str | None:
    if is_object(item):
        item = item.get("id") or item.get("uri")
    elif is_dataclass(item):
        item = getattr(item, "id", None)
    return item if isinstance(item, str) else None


def patched(value: Any, operations: Sequence[Operation]) -> Any:
    """The JSON value that these operations lead to. Shares the unchanged parts with the old one.

    Raises:
        KeyError, ValueError, IndexError, TypeError: they do not fit the value.
    """
    for operation in operations:
        tokens = [token.replace("~1", "/").replace("~0", "~") for token in operation["path"].split("/")[1:]]
        value = _patched(value, tokens, operation)
    return value


def _patched(value: Any, tokens: Sequence[str], operation: Operation) -> Any:
    if not tokens:
        return operation["value"]
    key: Any = int(tokens[0]) if is_list(value) else tokens[0]
    copy = value.copy()
    if len(tokens) > 1:
        copy[key] = _patched(value[key], tokens[1:], operation)
    elif operation["op"] == "remove":
        del copy[key]
    elif is_list(value) and operation["op"] == "add":
        copy.insert(key, operation["value"])
    else:
        copy[key] = operation["value"]
    return copy
