"""Rewrites a GGUF file for programs that do not read all of llama.cpp's formats of tensors."""

import struct
from pathlib import Path
from typing import BinaryIO

_Q4_1, _Q5_1 = 3, 7
_BLOCK = 32  # values of a tensor that share a scale
_SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
"""Bytes of a value, by the type of metadata."""
_STRING, _ARRAY = 8, 9
_ALIGNMENT = 32


def with_q5_1(source: Path, target: Path) -> None:
    """Writes `source` to `target` with Q5_1 in place of Q4_1: the same values, with a fifth bit that is 0."""
    with source.open("rb") as file:
        _, _, tensors, values = struct.unpack("<4sIQQ", file.read(24))
        for _ in range(values):
            _skip(file, _STRING)
            _skip(file, _number(file, "<I"))
        head_end = file.tell()
        infos = [_tensor(file) for _ in range(tensors)]
        data = file.tell() + -file.tell() % _ALIGNMENT
        file.seek(0)
        head = file.read(head_end)
        bodies, listed, offset = [], bytearray(), 0
        starts = [*(start for *_, start in infos), source.stat().st_size - data]
        for (name, dimensions, kind, start), end in zip(infos, starts[1:], strict=True):
            file.seek(data + start)
            body = file.read(end - start)
            if kind == _Q4_1:
                count = 1
                for dimension in dimensions:
                    count *= dimension
                kind, body = _Q5_1, _widened(body[: count // _BLOCK * 20])
            body += bytes(-len(body) % _ALIGNMENT)
            listed += name + struct.pack(f"<I{len(dimensions)}QIQ", len(dimensions), *dimensions, kind, offset)
            bodies.append(body)
            offset += len(body)
    head += listed
    target.write_bytes(head + bytes(-len(head) % _ALIGNMENT) + b"".join(bodies))


def _widened(body: bytes) -> bytes:
    """Blocks of Q4_1 (scale and minimum in 4 bytes, values in 16) as Q5_1, which has 4 bytes for the fifth bits."""
    blocks = (body[start : start + 20] for start in range(0, len(body), 20))
    return b"".join(block[:4] + b"\0\0\0\0" + block[4:] for block in blocks)


def _tensor(file: BinaryIO) -> tuple[bytes, tuple[int, ...], int, int]:
    """The name with its length, the dimensions, the format, and where its data begins."""
    length = file.read(8)
    name = length + file.read(int.from_bytes(length, "little"))
    count = _number(file, "<I")
    *dimensions, kind, start = struct.unpack(f"<{count}QIQ", file.read(count * 8 + 12))
    return name, tuple(dimensions), kind, start


def _skip(file: BinaryIO, kind: int) -> None:
    if kind == _STRING:
        file.seek(_number(file, "<Q"), 1)
    elif kind == _ARRAY:
        kind, count = _number(file, "<I"), _number(file, "<Q")
        if kind in _SIZES:
            file.seek(count * _SIZES[kind], 1)
        else:
            for _ in range(count):
                _skip(file, kind)
    else:
        file.seek(_SIZES[kind], 1)


def _number(file: BinaryIO, form: str) -> int:
    return struct.unpack(form, file.read(struct.calcsize(form)))[0]
