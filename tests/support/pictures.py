"""Small pictures. Of the JPEG and the HEIC there is only the beginning."""

import struct
import zlib


def png(width: int = 2, height: int = 1) -> bytes:
    """A PNG of this size, all red."""
    rows = (b"\0" + b"\xff\0\0" * width) * height
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", head) + _chunk(b"IDAT", zlib.compress(rows)) + _chunk(b"IEND", b"")


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def jpeg(width: int = 2, height: int = 1) -> bytes:
    """The beginning of a JPEG of this size: a comment, then the header of a progressive frame."""
    return b"\xff\xd8\xff\xfe\0\6Hi!\0\xff\xc2\0\x11\x08" + struct.pack(">HH", height, width) + bytes(12)


GIF = b"GIF89a\2\0\1\0\x80\0\0\0\0\0\xff\xff\xff!\xf9\4\0\0\0\0\0,\0\0\0\0\2\0\1\0\0\2\2D\n\0;"
WEBP = b"RIFF\x1a\0\0\0WEBPVP8L\r\0\0\0/\0\0\0\0\7\x10\x11\x11\x88\x88\xfe\7\0"
HEIC = b"\0\0\0\x18ftypheic\0\0\0\0mif1heic"
