"""Records as files: what is written is read back; anything else is an error that names the place (docs/record.md)."""

import json
import os
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.json_reader import to_json
from fairlead.session.record.document import (
    FileContent,
    KnownFile,
    SessionRecord,
    Verification,
    check_path,
)
from fairlead.session.record.shape import BadRecord, read_record, record_text
from protocol.examples import a_session_record

GOOD: dict[str, Any] = to_json(a_session_record())

# difficult for JSON: control characters, astral characters, bytes of names that are not UTF-8
texts = st.text(st.sampled_from('a"\\\n\0\u2028é世\U0001f600\udc80'), max_size=8)
paths = st.lists(st.sampled_from(["a", "é", "世 界", ".b", "\udc80"]), min_size=1, max_size=3).map("/".join)
contents = st.none() | st.builds(
    FileContent, st.none() | st.sampled_from(["0" * 64, "f" * 64]), executable=st.booleans()
)
files = st.builds(KnownFile, paths, contents, contents)
numbers = st.floats(0, 1e9, allow_nan=False)
verifications = st.builds(
    Verification,
    texts,
    st.none() | st.integers(-1, 255),
    numbers,
    texts,
    st.booleans(),
    st.dictionaries(paths, contents, max_size=3),
)
records = st.builds(
    lambda title, prompts, seconds, cost, found, known: replace(
        a_session_record(),
        title=title,
        prompts=prompts,
        seconds=seconds,
        cost_usd=cost,
        verifications=found,
        files=known,
    ),
    texts,
    st.lists(texts, max_size=3).map(tuple),
    numbers,
    st.none() | numbers,
    st.lists(verifications, max_size=3).map(tuple),
    st.lists(files, max_size=4, unique_by=lambda file: file.path).map(tuple),
)


@given(records)
def test_a_written_record_is_read_back_unchanged(record: SessionRecord) -> None:
    """A record with any texts, names and digests is read back. The file is UTF-8 JSON that other programs can read."""
    data = record_text(to_json(record))
    assert read_record(data) == record
    assert json.loads(data.decode("utf-8")) == to_json(record)


def test_unknown_fields_are_ignored() -> None:
    more = {**GOOD, "later": [1], "files": [{**file, "size": 12} for file in GOOD["files"]]}
    assert read_record(json.dumps(more).encode()) == a_session_record()


def changed(path: str, value: Any) -> bytes:
    """The good record with this value at a path such as `files/0/path`, or without that field if it is `...`."""
    values = json.loads(json.dumps(GOOD))
    *parents, last = [int(part) if part.isdigit() else part for part in path.split("/")]
    target = values
    for part in parents:
        target = target[part]
    if value is ...:
        del target[last]
    else:
        target[last] = value
    return json.dumps(values).encode()


def test_a_field_that_older_records_lack_may_be_missing() -> None:
    assert read_record(changed("/".join(("steps", "0", "work", "calls")), ...)).steps[0].work.calls == ()


WHOLE = json.dumps(GOOD).encode()
BAD: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", "It is not valid JSON: Expecting value (line 1, column 1)."),
    "not UTF-8": (b"\xff\xfe{}", "It is not UTF-8 text."),
    "not JSON": (b"replay: 1\n", "It is not valid JSON: Expecting value (line 1, column 1)."),
    "cut off": (WHOLE[:-30], "It is not valid JSON: "),
    "two values": (WHOLE + WHOLE, "It is not valid JSON: Extra data"),
    "too deep": (b"[" * 100_000, "It is nested too deeply."),
    "a number that JSON does not have": (changed("seconds", float("nan")), "NaN is not a JSON number."),
    "a number with very many digits": (b'{"format": ' + b"1" * 5000 + b"}", "It is not valid JSON: "),
    "a list": (b"[]", "It is not a record: it has no “format”."),
    "another object": (b'{"name": "fairlead"}', "It is not a record: it has no “format”."),
    "another format": (changed("format", 2), "Its format is 2, and this version of Fairlead reads format 1."),
    "a format that is text": (
        changed("format", "1"),
        'Its format is "1", and this version of Fairlead reads format 1.',
    ),
    "a format that equals 1": (changed("format", True), "“format” must be an integer up to 2^53, not true."),
    "no title": (changed("title", ...), "“title” is missing; it must be a string."),
    "no digest": (changed("files/0/after/sha256", ...), "“files[0].after.sha256” is missing; it must be a string."),
    "a number for a text": (changed("prompts/1", 7), "“prompts[1]” must be a string, not 7."),
    "a text for a list": (changed("files", "a.py"), '“files” must be a list, not "a.py".'),
    "a list for an object": (changed("verifications/0/differs", []), "“verifications[0].differs” must be an object"),
    "an unknown choice": (
        changed("changes/0/decision", "perhaps"),
        '“changes[0].decision” must be accepted, review, undone or rejected, not "perhaps".',
    ),
    "an unknown status": (
        changed("steps/0/status", None),
        "“steps[0].status” must be pending, in_progress or completed",
    ),
    "a list for a choice": (changed("state", []), "“state” must be idle, running or paused, not a list."),
    "true for a number": (changed("tokens", True), "“tokens” must be an integer up to 2^53, not true."),
    "a fraction": (changed("tokens", 1.5), "“tokens” must be an integer up to 2^53, not 1.5."),
    "a negative number": (changed("seconds", -1), "“seconds” must be a number from 0 to 2^53, not -1."),
    "a number that no float can hold": (
        changed("tokens", 10**400),
        "“tokens” must be an integer up to 2^53, not 1",
    ),
    "an astronomical number": (changed("tokens", 10**300), "“tokens” must be an integer up to 2^53, not 1000"),
    "a command that is null": (changed("verifications/0/command", None), "“verifications[0].command” must be a string"),
    "a short digest": (
        changed("files/0/after/sha256", "ab"),
        "“files[0].after” is wrong: “sha256” must be 64 lower-case hex",
    ),
    "a digest in capitals": (
        changed("files/0/after/sha256", "A" * 64),
        "“files[0].after” is wrong: “sha256” must be 64 lower",
    ),
    "a digest with a line ending": (changed("files/0/after/sha256", "a" * 64 + "\n"), "“sha256” must be 64 lower-case"),
    "a path outside": (
        changed("files/0/path", "../a"),
        "“files[0]” is wrong: a path must not lead outside of the workspace.",
    ),
    "the same file twice": (
        changed("files/1/path", GOOD["files"][0]["path"]),
        f"It is wrong: it names the file “{GOOD['files'][0]['path']}” twice.",
    ),
}


@pytest.mark.parametrize(("data", "message"), BAD.values(), ids=BAD.keys())
def test_anything_else_is_refused_with_the_place_of_the_error(data: bytes, message: str) -> None:
    with pytest.raises(BadRecord) as error:
        read_record(data)
    assert message in str(error.value)
    assert len(str(error.value)) < 300


@pytest.mark.parametrize("path", ["a", "a/b.py", ".github/x", "世 界", "a..b", "..a"])
def test_a_path_inside_the_workspace_is_accepted(path: str) -> None:
    check_path(path)


ELSEWHERE = ["", ".", "a\0b", "/etc/passwd", "//host/share", "..", "a/../../b", "a/.."]
ELSEWHERE_ON_WINDOWS = ["C:/x", "C:x", "\\x", "..\\x", "a\\..\\x"]


@pytest.mark.parametrize("path", [*ELSEWHERE, *(ELSEWHERE_ON_WINDOWS if os.name == "nt" else [])])
def test_any_other_path_is_refused(path: str) -> None:
    with pytest.raises(ValueError, match="path must"):
        check_path(path)
