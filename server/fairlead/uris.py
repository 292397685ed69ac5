"""Converts `file:` URIs to paths."""

import os
import re
from pathlib import Path
from urllib.parse import quote, unquote_to_bytes

from pygls.uris import to_fs_path

_ESCAPED = re.compile("(?:%[0-9a-fA-F]{2})+")


def file_path(uri: str) -> Path | None:
    """The path of a `file:` URI; None for other URIs, and for paths that no file can have."""
    if not is_local(uri):
        return None
    try:
        inner = re.sub(r"^//localhost(?=/)", "//", uri.partition(":")[2], flags=re.IGNORECASE)
        found = to_fs_path("file:" + _ESCAPED.sub(_with_bytes, inner))
    except ValueError:  # the host has brackets around something other than an IPv6 address
        return None
    path = Path(found or "")
    return None if path_problem(path) else path


def _with_bytes(escaped: re.Match[str]) -> str:
    """Escaped bytes as before, apart from those that are not UTF-8: as lone surrogates, as in all paths of Python."""
    text = unquote_to_bytes(escaped[0]).decode("utf-8", "surrogateescape")
    return "".join(each if "\udc80" <= each <= "\udcff" else quote(each, safe="") for each in text)


def is_local(uri: str) -> bool:
    """Whether a URI has the scheme `file:`. Its path may be invalid."""
    return uri.partition(":")[0].lower() == "file"


def path_problem(path: Path) -> str:
    """Why this cannot be the path of a file, as part of a message; "" if it can."""
    if not path.is_absolute():
        return "it is not an absolute path"
    if "\0" in str(path):
        return "it contains a NUL character"
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        return "it contains characters that are not valid Unicode"
    return ""
