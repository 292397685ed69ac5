"""Sentences for the user that clients can show in another language."""

import re
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
