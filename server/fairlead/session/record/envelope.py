"""DSSE envelopes: a payload with the signatures on it (https://github.com/secure-systems-lab/dsse, version 1.0)."""

import base64
import binascii
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fairlead.json_values import is_list, is_object
from fairlead.session.record.shape import BadRecord

PAYLOAD_TYPE = "application/vnd.in-toto+json"
MAX_SIGNATURES = 100


@dataclass(frozen=True, slots=True)
class Signature:
    """A signature of the envelope's payload and its type (`signed_bytes`)."""

    key_id: str
    """Names the key, without proof; may be empty."""
    value: bytes


@dataclass(frozen=True, slots=True)
class Envelope:
    """An in-toto statement with its signatures, of which nothing is verified yet."""

    payload: bytes
    signatures: Sequence[Signature]

    @property
    def signed_bytes(self) -> bytes:
        """What is signed: the pre-authentication encoding (PAE) of the payload and its type."""
        kind = PAYLOAD_TYPE.encode()
        return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(self.payload), self.payload)


def envelope_text(envelope: Envelope) -> bytes:
    """An envelope as the content of a file: JSON on one line."""
    signatures = [{"keyid": each.key_id, "sig": _encoded(each.value)} for each in envelope.signatures]
    values = {"payload": _encoded(envelope.payload), "payloadType": PAYLOAD_TYPE, "signatures": signatures}
    return f"{json.dumps(values)}\n".encode()


def envelope_of(values: dict[str, Any]) -> Envelope:
    """The envelope that the JSON of a file contains. Unknown fields are ignored.

    Raises:
        BadRecord: a field is missing or invalid, or the payload is no in-toto statement according to its type.
    """
    kind, signatures = values.get("payloadType"), values.get("signatures")
    if kind != PAYLOAD_TYPE:
        raise BadRecord(f"Its envelope contains no in-toto statement: “payloadType” is not “{PAYLOAD_TYPE}”.")
    if not is_list(signatures) or not signatures:
        raise BadRecord("Its envelope has no signature.")
    if len(signatures) > MAX_SIGNATURES:
        raise BadRecord(f"Its envelope has more than {MAX_SIGNATURES} signatures.")
    read = [_signature(each, f"signatures[{at}]") for at, each in enumerate(signatures)]
    return Envelope(_decoded(values.get("payload"), "payload"), read)


def _signature(values: Any, place: str) -> Signature:
    if not is_object(values) or not isinstance(values.get("keyid", ""), str):
        raise BadRecord(f"“{place}” of its envelope is not a signature.")
    return Signature(values.get("keyid", ""), _decoded(values.get("sig"), f"{place}.sig"))


def _encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _decoded(text: Any, place: str) -> bytes:
    """The bytes of a field in Base64 with its standard or its URL-safe alphabet."""
    try:
        standard = text.encode("ascii").translate(bytes.maketrans(b"-_", b"+/")) if isinstance(text, str) else b""
        data = base64.b64decode(standard, validate=True)
    except (UnicodeEncodeError, binascii.Error):
        standard = data = b""
    # base64 has several texts for the same bytes; a program that signs writes only the usual one
    if not data or base64.b64encode(data) != standard:
        raise BadRecord(f"“{place}” of its envelope is not Base64 text, or is cut off.")
    return data
