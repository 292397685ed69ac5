"""The digest of a record, by which a commit names it (docs/record.md, Commits)."""

import hashlib
from typing import Any

from fairlead.json_values import is_list, is_object

ALGORITHM = "sha256"
TRAILER = "Fairlead-Record"
"""The trailer of a commit message that names a record by its digest."""


def record_digest(record_json: Any) -> str:
    """The SHA-256 of a record's canonical JSON (RFC 8785), as `sha256:` and 64 lower-case hexadecimal digits.

    It depends on the values alone: spaces, the order of the fields and the spelling of numbers do not count. Fields
    that Fairlead does not know count.

    Raises:
        ValueError: a number is larger than the canonical form can represent.
    """
    # imported here, because most commands of the terminal need no digest
    import rfc8785  # noqa: PLC0415

    return f"{ALGORITHM}:{hashlib.sha256(rfc8785.dumps(_without_surrogates(record_json))).hexdigest()}"


def _without_surrogates(value: Any) -> Any:
    """A JSON value whose texts can be encoded: half a surrogate pair, which UTF-8 does not have, becomes its escape."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if is_object(value):
        return {_without_surrogates(name): _without_surrogates(inner) for name, inner in value.items()}
    return [_without_surrogates(inner) for inner in value] if is_list(value) else value
