"""Git's index for commands that do not see all files of the work tree.

Git would report the other files as deleted or changed. So in a copy of the index, their entries are marked as by
`git update-index --assume-unchanged`, and Git does not look for them. The format is `gitformat-index(5)`. The index is
not trusted.
"""

import hashlib
import re
import struct
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from fairlead.workspace.repositories import named_path, read_start
from fairlead.workspace.safe_open import read_regular

MAX_BYTES = 200_000_000
_MAX_PATH = 4096  # bytes; no system call takes a longer path
_SHA256 = re.compile(r'(?im)^\s*objectformat\s*=\s*"?sha256\b')
_HEAD = struct.Struct(">4sLL")
_STAT = 40  # the bytes of an entry before its hash
_ASSUMED, _EXTENDED, _LENGTH = 0x80, 0x4000, 0x0FFF


def assume_unchanged(paths: Collection[bytes], index: Path, shown: Sequence[bytes] | None = None) -> bytes | None:
    """The content of an index, with some entries assumed unchanged. All paths are relative to the work tree.

    None if there are no such entries or no index, or if it cannot be read, is larger than MAX_BYTES, is split into two
    files (`core.splitIndex`), or has an unknown format.

    Args:
        paths: the entries at and below these paths are assumed unchanged.
        index: the index.
        shown: so are those that are in none of these folders. None: the whole work tree is shown.
    """
    below = tuple(path + b"/" for path in paths)
    folders = tuple(folder + b"/" for folder in shown) if shown is not None else (b"",)
    hash_size = _hash_size(index)
    try:
        data = _read(index)
        assumed = [
            flags
            for flags, path in _entries(data, hash_size)
            if path in paths or path.startswith(below) or not path.startswith(folders)
        ]
    except (OSError, ValueError, IndexError, struct.error):
        return None
    if not assumed:
        return None
    for flags in assumed:
        data[flags] |= _ASSUMED
    digest = hashlib.sha256 if hash_size == hashlib.sha256().digest_size else hashlib.sha1
    if any(data[-hash_size:]):  # zeros: Git's settings turn the checksum off
        data[-hash_size:] = digest(data[:-hash_size]).digest()
    return bytes(data)


def has_entry_below(folder: bytes, index: Path) -> bool:
    """Whether an index has an entry below a folder, which is relative to the work tree.

    False if there is no index, or if it cannot be read, is larger than MAX_BYTES or has an unknown format.
    """
    try:
        data = _read(index)
        return any(path.startswith(folder + b"/") for _, path in _entries(data, _hash_size(index)))
    except (OSError, ValueError, IndexError, struct.error):
        return False


def _read(index: Path) -> bytearray:
    data = read_regular(index, MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise ValueError("the index is too large")
    return bytearray(data)


def _hash_size(index: Path) -> int:
    # the git folder itself, unless it is a worktree's own folder, in which `commondir` names the shared one
    shared = named_path(index.parent, read_start(index.parent / "commondir"))
    return 32 if _SHA256.search(read_start(shared / "config")) is not None else 20


def _entries(data: bytearray, hash_size: int) -> Iterator[tuple[int, bytes]]:
    """The offset of each entry's flags, and its path.

    Raises:
        ValueError, IndexError, struct.error: the format is unknown, the index is split, or an entry is invalid.
    """
    signature, version, count = _HEAD.unpack_from(data)
    if signature != b"DIRC" or version not in (2, 3, 4):
        raise ValueError("unknown format of the index")
    at, path = _HEAD.size, b""
    for _ in range(count):
        flags = at + _STAT + hash_size
        (bits,) = struct.unpack_from(">H", data, flags)
        name = flags + (4 if bits & _EXTENDED else 2)
        if version == 4:
            dropped, name = _read_number(data, name)
            end = data.index(0, name)
            kept = len(path) - dropped
            if kept < 0 or kept + end - name > _MAX_PATH:
                raise ValueError("impossible path in the index")
            path = path[:kept] + bytes(data[name:end])
            after = end + 1
        else:
            length = bits & _LENGTH
            end = name + length if length < _LENGTH else data.index(0, name)
            path = bytes(data[name:end])
            after = at + (end - at + 8) // 8 * 8
        yield flags, path
        at = after
    while at + 8 <= len(data) - hash_size:  # the extensions: a name and the length of what follows
        if data.startswith(b"link", at):  # most entries of a split index are in another file, and some have no path
            raise ValueError("split index")
        at += 8 + int.from_bytes(data[at + 4 : at + 8])


def _read_number(data: bytearray, at: int) -> tuple[int, int]:
    """A variable-length number (how many bytes of the previous path to drop), and the offset after it.

    Raises:
        ValueError: the number is greater than the length of any path.
    """
    number = data[at] & 0x7F
    while data[at] & 0x80:
        at += 1
        number = ((number + 1) << 7) | (data[at] & 0x7F)
        if number > _MAX_PATH:
            raise ValueError("impossible path in the index")
    return number, at + 1
