"""Names as forgiving file systems see them: Windows and macOS take several spellings for one file."""

import unicodedata

# characters that macOS passes over in names
_IGNORED = dict.fromkeys([*range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2070), 0xFEFF])


def plain_parts(relative: str) -> list[str]:
    """The parts of a path, each in the one spelling that rules are written in.

    Without case, unseen characters, dots and blanks at the end, and a stream's name behind a colon.
    """
    return [_plain(part) for part in relative.replace("\\", "/").split("/")]


def _plain(part: str) -> str:
    return unicodedata.normalize("NFC", part.translate(_IGNORED)).casefold().split(":")[0].rstrip(". ")
