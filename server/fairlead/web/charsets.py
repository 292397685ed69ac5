"""Decodes the bytes of a page. It is part of the program in `page.py`."""

import codecs
import re

_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_META = re.compile(rb"""<meta\b[^>]{0,200}?\bcharset\s*=\s*["']?\s*([\w.:-]{1,40})""", re.IGNORECASE)
_SEARCHED = 2000
"""How many bytes are searched for what the page claims."""
# the charsets of the web by their names in Python, each with the larger one that browsers use in its place
_KNOWN = {
    **{name: name for name in ("utf-8", "utf-16-le", "utf-16-be", "koi8-r", "koi8-u", "mac-roman", "cp866", "gb18030")},
    **{name: name for name in ("big5", "big5hkscs", "euc_jp", "iso2022_jp", "cp932", "cp949", "gbk", "cp874")},
    **{f"iso8859-{number}": f"iso8859-{number}" for number in (2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15, 16)},
    **{f"cp{number}": f"cp{number}" for number in range(1250, 1259)},
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
    "utf-16": "utf-16-le",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "gb2312": "gbk",
    "utf_8_sig": "utf-8",
}


def decode(data: bytes, claimed: str) -> str:
    """The text of a page. Bytes that are wrong in its charset become U+FFFD.

    The charset is that of the byte order mark, what the server claims, what the page claims, UTF-8 if the bytes are
    valid, or Windows-1252. A claim that names no charset of the web does not count: Python has decoders for much else.

    Args:
        claimed: by the server; empty: nothing.
    """
    for mark, name in _BOMS:
        if data.startswith(mark):
            return data[len(mark) :].decode(name, "replace")
    meta = _META.search(data[:_SEARCHED])
    charset = _known(claimed) or (_known(meta[1].decode("ascii", "replace")) if meta else None)
    if charset is None:
        try:
            return data.decode()
        except UnicodeDecodeError:
            charset = "cp1252"
    return data.decode(charset, "replace")


def _known(label: str) -> str | None:
    try:
        return _KNOWN.get(codecs.lookup(label.strip()).name) if label.isascii() and label.strip() else None
    except (LookupError, ValueError):
        return None
