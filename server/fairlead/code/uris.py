"""Converts `file:` URIs to paths."""

import os
import re
from pathlib import Path

from pygls.uris import to_fs_path


def file_path(uri: str) -> Path | None:
    """The path of a `file:` URI; None for other URIs, and for paths that no file can have."""
    if not is_local(uri):
        return None
    try:
        found = to_fs_path("file:" + re.sub(r"^//localhost(?=/)", "//", uri.partition(":")[2], flags=re.IGNORECASE))
    except ValueError:  # the host has brackets around something other than an IPv6 address
        return None
    path = Path(found or "")
    return None if path_problem(path) else path


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
