"""The titles of code lenses and code actions."""

from dataclasses import dataclass

from fairlead.edits.diff import Hunk
from fairlead.wire import protocol as wire


@dataclass(frozen=True, slots=True)
class Title:
    """A title, in English for every editor and in parts for clients that translate it."""

    template: str
    """Has a translation in l10n/."""
    arguments: tuple[str, ...] = ()
    prefix: str = ""

    @property
    def text(self) -> str:
        return self.prefix + self.template.format(*self.arguments)

    @property
    def wire(self) -> wire.TitleWire:
        return {"prefix": self.prefix, "template": self.template, "arguments": list(self.arguments)}


def hunk_size(hunk: Hunk) -> str:
    """How many lines a hunk adds and removes."""
    return f"+{len(hunk.new)} −{len(hunk.old)}"
