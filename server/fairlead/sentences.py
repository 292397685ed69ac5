"""Sentences for the user that clients can show in another language."""

import re
from collections.abc import Sequence
from typing import Self

_PLACE = re.compile(r"\{(\d)\}")


class Sentence(str):
    """A sentence for the user, in English, that knows its parts.

    Args:
        template: has a translation in l10n/; `{0}` and `{1}` stand for the arguments.
    """

    template: str
    arguments: tuple[str, ...]

    def __new__(cls, template: str, *arguments: object) -> Self:
        texts = tuple(map(str, arguments))
        self = super().__new__(cls, _PLACE.sub(lambda place: texts[int(place[1])], template))
        self.template, self.arguments = template, texts
        return self

    @property
    def parts(self) -> tuple[str, ...]:
        """The template and the arguments, to be saved."""
        return self.template, *self.arguments


Phrase = tuple[str, ...]
"""A part of a longer text: what precedes it and has no translation, then the parts of a `Sentence`, if there is one."""


class Text(str):
    """A text that knows its phrases.

    Args:
        parts: what it consists of. A `Sentence` and a `Text` keep their translations; any other part has none.
    """

    phrases: tuple[Phrase, ...]

    def __new__(cls, *parts: str) -> Self:
        self = super().__new__(cls, "".join(parts))
        self.phrases = tuple(each for part in parts for each in phrases_of(part))
        return self


def phrases_of(text: str) -> tuple[Phrase, ...]:
    """The phrases of a text; it is one of them if it has no translation."""
    if isinstance(text, Text):
        return text.phrases
    if isinstance(text, Sentence):
        return (phrase("", text),)
    return (phrase(text),) if text else ()


def phrase(before: str, sentence: Sentence | None = None) -> Phrase:
    """A phrase of these parts."""
    return (before, *sentence.parts) if sentence is not None else (before,)


def english(phrases: Sequence[Phrase]) -> str:
    """The text that the phrases are together, in English."""
    return "".join(before + (Sentence(*parts) if parts else "") for before, *parts in phrases)
