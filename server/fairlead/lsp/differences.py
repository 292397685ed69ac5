"""The difference between two states as JSON Patch (RFC 6902). Parts that are the same object in both cost no time."""

from collections.abc import Sequence
from typing import Any

from fairlead.json_values import is_list, is_object
from fairlead.lsp import protocol_states as states


def difference(old: Any, new: Any) -> list[states.PatchOperation]:
    """The operations `add`, `remove` and `replace` that turn one JSON value into another, to be applied in order.

    From the first difference on, the items of a list are identified by a key: a JSON object by its `id` or `uri`, a
    text by its value. If a key is absent or not unique, the items are identified by their positions. A list is replaced
    as a whole if its remaining items are in another order, or if more items were removed and added than it now has.
    Parts that are the same Python object in both values are not compared.
    """
    operations: list[states.PatchOperation] = []
    _compare("", old, new, operations)
    return operations


def _compare(path: str, old: Any, new: Any, operations: list[states.PatchOperation]) -> None:
    if old is new:
        return
    if is_object(old) and is_object(new) and old.keys() == new.keys():
        for name, value in new.items():
            _compare(f"{path}/{_escaped(name)}", old[name], value, operations)
    elif is_list(old) and is_list(new):
        operations += _list_difference(path, old, new)
    elif type(old) is not type(new) or old != new:
        operations.append({"op": "replace", "path": path, "value": new})


def _escaped(name: str) -> str:
    """A name as a token of a JSON Pointer (RFC 6901, section 3)."""
    return name.replace("~", "~0").replace("/", "~1")


def _list_difference(path: str, old: list[Any], new: list[Any]) -> list[states.PatchOperation]:
    start = _equal_items(old, new)
    if start == len(old) == len(new):
        return []
    before, after = _keys(old, start), _keys(new, start)
    common = [key for key in before if key in after]
    # the protocol has no operation for a reordering, and many additions and removals take more space than the new list
    if common != [key for key in after if key in before] or len(before) + len(after) - 2 * len(common) > len(new):
        return [{"op": "replace", "path": path, "value": new}]
    operations: list[states.PatchOperation] = []
    # from the end, because a removal moves the items after it
    for key in reversed([key for key in before if key not in after]):
        operations.append({"op": "remove", "path": f"{path}/{before[key]}"})
    for key, index in after.items():
        if key in before:
            _compare(f"{path}/{index}", old[before[key]], new[index], operations)
        else:
            operations.append({"op": "add", "path": f"{path}/{index}", "value": new[index]})
    return operations


def _equal_items(old: Sequence[Any], new: Sequence[Any]) -> int:
    """How many items at the start are equal."""
    for index, (one, other) in enumerate(zip(old, new, strict=False)):
        if one is not other and one != other:
            return index
    return min(len(old), len(new))


def _keys(items: Sequence[Any], start: int) -> dict[Any, int]:
    """The positions of the items from `start` on, by key; by position if a key is missing or repeated."""
    keys = {_key(items[index]): index for index in range(start, len(items))}
    return keys if None not in keys and len(keys) == len(items) - start else {n: n for n in range(start, len(items))}


def _key(item: Any) -> str | None:
    if is_object(item):
        item = item.get("id") or item.get("uri")
    return item if isinstance(item, str) else None
