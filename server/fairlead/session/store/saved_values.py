"""The large values of a journal, each saved once under a number.

In an entry, a text is a string or, if it is like an earlier one, `[number, digest, parts]`: the number of the earlier
text, the digest of the result, and the parts of the result (text_difference.py). An entry also lists the values that
the state no longer contains, so that neither the writer nor the reader holds them in memory.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from hashlib import sha256
from itertools import count
from typing import Any

from fairlead.session.store.text_difference import Part, joined, parts

Texts = Mapping[int, str]
"""The saved texts by their numbers."""

_MIN_LENGTH = 40  # of a text that is saved under a number
_OVERHEAD = 20  # characters that a difference, and each of its parts, needs in addition to the new text


class SavedValues:
    """The texts, messages and decisions of a journal, for its writer. Texts are equal by value, others by identity."""

    def __init__(
        self,
        texts: Texts,
        objects: Mapping[int, Any],
        content: Callable[[Any], Any],
        release_content: Callable[[Any], Any],
    ) -> None:
        """
        Args:
            texts: those that the journal contains already. Call `number` for each use of them.
            objects: the messages and decisions that it contains.
            content: returns the JSON of an object, and calls `number` for the values in it.
            release_content: calls `release` for the values in an object.
        """
        self._numbers: dict[Any, int] = {text: number for number, text in texts.items()}
        self._numbers |= {id(value): number for number, value in objects.items()}
        self._objects: dict[Any, Any] = {id(value): value for value in objects.values()}
        """Holds the objects, so that no other one gets the same identity."""
        self._content, self._release_content = content, release_content
        self._uses = Counter[Any]()
        self._next = count(max([*texts, *objects], default=0) + 1)
        self._added: dict[str, dict[int, Any]] = {}
        self._gone: list[int] = []

    def number(self, value: Any, *similar: str | None) -> int | str | None:
        """The number under which a value is saved. None and short texts stand for themselves. Counts as a use.

        Args:
            similar: for a text, texts that it may be like, the most similar one first. A new text is saved as its
                difference from the first of them that is saved already, unless the text itself is shorter.
        """
        is_text = isinstance(value, str)
        if value is None or (is_text and len(value) < _MIN_LENGTH):
            return value
        key = value if is_text else id(value)
        self._uses[key] += 1
        found = self._numbers.get(key)
        if found is None:
            content = self._text_json(value, similar) if is_text else self._content(value)
            found = self._numbers[key] = next(self._next)
            self._added.setdefault("texts" if is_text else "values", {})[found] = content
            if not is_text:
                self._objects[key] = value
        elif not is_text and self._uses[key] == 1:  # of a journal that was read
            self._content(value)
        return found

    def _text_json(self, text: str, similar: Iterable[str | None]) -> Any:
        earlier = next((each for each in similar if each in self._numbers), None)
        if earlier is None:
            return text
        found = list(parts(earlier, text))
        if sum(len(part) for part in found if isinstance(part, str)) + _OVERHEAD * (len(found) + 2) >= len(text):
            return text
        return [self._numbers[earlier], _digest(text), found]

    def release(self, value: Any, *_: str | None) -> None:
        """Ends a use of a value. A value without uses is no longer saved."""
        key = value if isinstance(value, str) else id(value)
        if key not in self._uses:
            return
        self._uses[key] -= 1
        if not self._uses[key]:
            del self._uses[key]
            self._gone.append(self._numbers.pop(key))
            if key in self._objects:
                self._release_content(self._objects.pop(key))

    def changes(self) -> dict[str, Any]:
        """What an entry contains: the values that were added and those that are gone since the last call."""
        added, self._added, gone, self._gone = self._added, {}, self._gone, []
        return {**added, **({"gone": gone} if gone else {})}


def read_added(texts: dict[int, str], added: Mapping[str, Any]) -> None:
    """Adds the texts of an entry.

    Raises:
        ValueError: a difference is damaged.
    """
    for number, value in added.items():
        texts[int(number)] = value if isinstance(value, str) else _read_difference(texts, *value)


def _read_difference(texts: Texts, earlier: int, digest: str, parts: list[Part]) -> str:
    text = joined(texts[earlier], parts)
    if _digest(text) != digest:
        raise ValueError("a text differs from the one that was saved")
    return text


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
