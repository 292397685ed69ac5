"""The names that a box may reach: each has an address that stands for it in the box, whatever its own are.

So the relay knows which name is meant, and looks it up for each connection: the addresses of many hosts change while an
agent runs. This module has the answers to questions for names (RFC 1035) and to files of hosts (hosts(5)).
"""

import ipaddress
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

STAND_INS = ipaddress.IPv4Network("198.18.0.0/15")
"""The addresses that stand for names. They belong to no host (RFC 2544)."""
_ADDRESS, _INTERNET = 1, 1  # the type and the class of questions for IPv4 addresses
_ANSWERS, _RECURSION_DESIRED, _RECURSION = 0x8000, 0x0100, 0x0080
_OPERATIONS = 0x7800
NO_SUCH_NAME = 3
_HEADER = struct.Struct(">HHHHHH")
_TO_QUESTION = 0xC000 | _HEADER.size  # the name of the answer is that of the question
_SECONDS = 60  # for which a program may keep an answer
_LABEL = 63


@dataclass(frozen=True)
class Question:
    """A question for what is known about a name."""

    number: int
    flags: int
    name: str
    """In lower case, without the dot at the end."""
    type: int
    data: bytes
    """The question as it was sent, which is a part of the answer."""

    @classmethod
    def parse(cls, message: bytes) -> "Question | None":
        """Reads a message; None if it is something else than one question."""
        try:
            number, flags, questions, *_ = _HEADER.unpack_from(message)
            labels, at = list[bytes](), _HEADER.size
            while length := message[at]:
                if length > _LABEL:
                    return None
                labels.append(message[at + 1 : at + 1 + length])
                at += 1 + length
            kind, network = struct.unpack_from(">HH", message, at + 1)
        except (struct.error, IndexError):
            return None
        if flags & (_ANSWERS | _OPERATIONS) or questions != 1 or network != _INTERNET:
            return None
        name = b".".join(labels).decode("latin-1").lower()
        return cls(number, flags, name, kind, message[_HEADER.size : at + 5])

    def answer(self, address: str | None, code: int = 0) -> bytes:
        """The answer with an IPv4 address, if the question is for one.

        Args:
            address: None: there is none.
            code: the response code; 0: the name exists.
        """
        record = b""
        if address is not None and self.type == _ADDRESS:
            packed = ipaddress.IPv4Address(address).packed
            record = struct.pack(">HHHIH", _TO_QUESTION, _ADDRESS, _INTERNET, _SECONDS, len(packed)) + packed
        flags = _ANSWERS | _RECURSION | (self.flags & _RECURSION_DESIRED) | code
        return _HEADER.pack(self.number, flags, 1, bool(record), 0, 0) + self.data + record


def hosts_without(text: str, names: Mapping[str, object]) -> str:
    """A file of hosts without the lines for some names, so that programs ask for these.

    Args:
        names: in lower case.
    """
    return "".join(_lines_without(text, names))


def _lines_without(text: str, names: Mapping[str, object]) -> Iterator[str]:
    for line in text.splitlines(keepends=True):
        given, *_ = line.partition("#")
        address, *hosts = given.split() or [""]
        others = [host for host in hosts if host.lower().rstrip(".") not in names]
        if others == hosts:
            yield line
        elif others:
            yield f"{address} {' '.join(others)}\n"
