"""A record notices any change to a file that it names (docs/record.md)."""

import os
import tempfile
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from fairlead.session.record.document import FileContent, KnownFile
from fairlead.session.record.verify import compare_files
from fairlead.workspace.paths import Roots
from protocol.examples import a_session_record

NAMES = ["a", "b/c.py", "世 界"]
DATA = st.binary(max_size=40) | st.sampled_from([b"one\r\ntwo\n", "schön\n".encode("utf-16"), b"\0\1"])


def write(root: Path, name: str, data: bytes) -> Path:
    path = root / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)
    return path


@given(
    st.lists(DATA, min_size=3, max_size=3),
    st.sampled_from(NAMES),
    st.sampled_from(["set", "insert", "cut", "remove", "mode"]),
    st.integers(0, 50),
    st.integers(0, 255),
)
def test_any_change_of_one_file_is_noticed(datas: list[bytes], name: str, how: str, at: int, byte: int) -> None:
    """A changed, added or missing byte, a missing file or a new executable bit is reported, and for no other file."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        files = dict(zip(NAMES, datas, strict=True))
        for each, data in files.items():
            write(root, each, data)
        known = (KnownFile(each, None, FileContent(sha256(data).hexdigest(), False)) for each, data in files.items())
        record = replace(a_session_record(), files=tuple(known))
        assert all(finding.holds for finding in compare_files(record, Roots.of(root)))
        path, data = root / name, files[name]
        match how:
            case "remove":
                path.unlink()
            case "mode":
                path.chmod(0o755)
            case "insert":
                path.write_bytes(data[:at] + bytes([byte]) + data[at:])
            case "cut":
                path.write_bytes(data[:-1])
            case _:
                path.write_bytes(data[:at] + bytes([byte]) + data[at + 1 :])
        is_same = path.is_file() and path.read_bytes() == data and not os.access(path, os.X_OK)
        failed = [finding.subject for finding in compare_files(record, Roots.of(root)) if not finding.holds]
        assert failed == ([] if is_same else [name])
