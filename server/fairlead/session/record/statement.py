"""In-toto statements about records: what a signature on a record is about (https://in-toto.io/Statement/v1)."""

import json
import re
from dataclasses import dataclass
from typing import Any

from fairlead.json_reader import quoted
from fairlead.json_values import is_list, is_object
from fairlead.session.record.document import SessionRecord
from fairlead.session.record.shape import BadRecord, json_object, record_of

STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE = "urn:fairlead:record:1"
_COMMIT_NAME = "commit"
_COMMIT_ID = re.compile("[0-9a-f]{40}(?:[0-9a-f]{24})?")


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement about a record. Its subjects name the files as the record does, so only the commit is read."""

    record: SessionRecord
    record_json: dict[str, Any]
    commit: str | None
    """The full id of the commit that the record belongs to; None: the statement names no commit."""


def statement_text(record_json: dict[str, Any], commit: str | None = None) -> bytes:
    """A statement about a record: the payload of an envelope.

    Its subjects are the files of the record that exist, with their digests, and the commit.

    Args:
        commit: the full id of the commit that contains the files.

    Raises:
        BadRecord: the record names no file, and there is no commit, so there is nothing to make a statement about.
    """
    record = record_of(record_json)
    subjects: list[dict[str, Any]] = [
        {"name": file.path, "digest": {"sha256": file.after.sha256}}
        for file in record.files
        if file.after is not None and file.after.sha256 is not None
    ]
    if commit is not None:
        subjects.append({"name": _COMMIT_NAME, "digest": {"gitCommit": commit}})
    if not subjects:
        raise BadRecord("It names no file with a content, and no commit, so there is nothing to sign.")
    statement = {
        "_type": STATEMENT_TYPE,
        "subject": subjects,
        "predicateType": PREDICATE_TYPE,
        "predicate": record_json,
    }
    return json.dumps(statement, ensure_ascii=True, separators=(",", ":")).encode()


def read_statement(payload: bytes) -> Statement:
    """Reads the payload of an envelope.

    Raises:
        BadRecord: it is not a statement about a record, one of its values is invalid, or its subjects are not those of
            its record.
    """
    values = json_object(payload)
    if values.get("_type") != STATEMENT_TYPE:
        raise BadRecord(f"Its envelope contains no in-toto statement: “_type” is not “{STATEMENT_TYPE}”.")
    kind = values.get("predicateType")
    if kind != PREDICATE_TYPE:
        raise BadRecord(f"Its statement is not about a record of Fairlead: “predicateType” is {quoted(kind)}.")
    predicate = values.get("predicate")
    if not is_object(predicate):
        raise BadRecord("“predicate” of its statement is not an object.")
    commit = _commit_of(values.get("subject"))
    if json_object(statement_text(predicate, commit))["subject"] != values.get("subject"):
        raise BadRecord("The subjects of its statement are not the files of its record.")
    return Statement(record_of(predicate), predicate, commit)


def _commit_of(subjects: Any) -> str | None:
    """The commit among the subjects: the last one, if it is a commit."""
    last = subjects[-1] if is_list(subjects) and subjects else None
    digest = last.get("digest") if is_object(last) else None
    commit = digest.get("gitCommit") if is_object(digest) else None
    if commit is None:
        return None
    if not isinstance(commit, str) or not _COMMIT_ID.fullmatch(commit):
        raise BadRecord(f"Its statement names a commit that is none: {quoted(commit)}.")
    return commit
