"""Normalizes file names: on Windows and macOS, several spellings name the same file."""

import unicodedata

# characters that macOS ignores in names
_IGNORED = dict.fromkeys([*range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2070), 0xFEFF])


def plain_parts(relative: str) -> list[str]:
    """The parts of a path in the spelling that the lists of sensitive names use.

    Backslashes count as separators too. Each part is case-folded and in Unicode form NFC. It has no invisible
    characters, no trailing dots or spaces, and no stream name after a colon.
    """
    return [_plain(part) for part in relative.replace("\\", "/").split("/")]


def _plain(part: str) -> str:
    return unicodedata.normalize("NFC", part.translate(_IGNORED)).casefold().split(":")[0].rstrip(". ")
