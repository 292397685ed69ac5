"""The texts of a journal, each saved once under a number. A text that is like an earlier one is saved as a difference.

In an entry, a text is a string or `[number, digest, parts]`: the number of an earlier text, the digest of the
result, and the parts of the result (text_difference.py). An entry also lists the texts that the state no
longer contains, so that neither the writer nor the reader holds them in memory.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from hashlib import sha256
from itertools import count
from typing import Any

from fairlead.session.store.text_difference import Part, joined, parts

Texts = Mapping[int, str]
"""The saved texts by their numbers."""

_OVERHEAD = 20  # characters that a difference, and each of its parts, needs in addition to the new text


class SavedTexts:
    """The texts of a journal, for its writer."""

    def __init__(self, texts: Texts) -> None:
        """`texts` are those that the journal contains already. Call `count` with all uses of them."""
        self._numbers = {text: number for number, text in texts.items()}
        self._uses = Counter[str]()
        self._next = count(max(texts, default=0) + 1)
        self._added: dict[int, Any] = {}
        self._gone: list[int] = []

    def number(self, text: str | None, *similar: str | None) -> int | None:
        """The number under which a text is saved; None for None.

        Args:
            similar: texts that it may be like, the most similar one first. A new text is saved as its difference from
                the first of them that is saved already, unless the text itself is shorter.
        """
        if text is None:
            return None
        found = self._numbers.get(text)
        if found is None:
            earlier = next((each for each in similar if each in self._numbers), None)
            found = next(self._next)
            self._added[found] = text if earlier is None else self._shortest(text, earlier)
            self._numbers[text] = found
        return found

    def _shortest(self, text: str, earlier: str) -> Any:
        found = list(parts(earlier, text))
        if sum(len(part) for part in found if isinstance(part, str)) + _OVERHEAD * (len(found) + 2) >= len(text):
            return text
        return [self._numbers[earlier], _digest(text), found]

    def count(self, texts: Iterable[str | None], change: int) -> None:
        """Adds `change` to the number of uses of each text. A text without uses is no longer saved."""
        for text in texts:
            if text is not None:
                self._uses[text] += change
                if not self._uses[text]:
                    del self._uses[text]
                    if text in self._numbers:
                        self._gone.append(self._numbers.pop(text))

    def changes(self) -> dict[str, Any]:
        """What an entry contains: the texts that were added and those that are gone since the last call."""
        added, self._added, gone, self._gone = self._added, {}, self._gone, []
        return ({"texts": added} if added else {}) | ({"gone": gone} if gone else {})


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
