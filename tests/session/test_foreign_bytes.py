"""Files that are not UTF-8, or not all of them: only the edited lines change, and never into another encoding."""

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import hypothesis.strategies as st
from hypothesis import given, settings

from fairlead.workspace.errors import WorkspaceError
from session.harness import SessionHarness

WORDS = {
    "utf-8": ["naïve", "日本語", "привет", "🚀"],
    "shift_jis": ["日本語", "表示", "能力", "ソース"],
    "windows-1251": ["привет", "мир", "ёж", "№"],
    "latin-1": ["élève", "naïve", "Straße"],
    "windows-1252": ["“élève”", "€", "Straße"],
    "gb18030": ["中文", "编码", "文件", "\U00020000"],
    "utf-16": ["日本語", "élève", "🚀"],
    "utf-16-le": ["日本語", "élève", "🚀"],
}
"""Words of real texts. The first of them is in each file, so that the file does not look like UTF-8 by chance."""


@dataclass(frozen=True)
class File:
    """A file as its lines. Each begins with a label of its own, such as `L03 `."""

    encoding: str
    lines: list[bytes]
    mark: bytes = b""

    def encode(self, text: str) -> bytes:
        return text.encode(self.encoding.replace("utf-16", "utf-16-le") if self.mark else self.encoding)

    @property
    def data(self) -> bytes:
        return self.mark + b"".join(line + self.encode("\n") for line in self.lines)


@st.composite
def files(draw: st.DrawFn) -> File:
    encoding = draw(st.sampled_from([*WORDS, "utf-8", "utf-8", "mixed"]))
    words = WORDS["utf-8" if encoding == "mixed" else encoding]
    texts = [words[0] * 2, *draw(st.lists(st.lists(st.sampled_from([*words, "x", ";"])).map(" ".join), max_size=5))]
    texts = [f"L{number:02} {text}" for number, text in enumerate(texts)]
    if encoding == "mixed":
        legacy = [f"L{len(texts):02} élève".encode("latin-1"), f"L{len(texts) + 1:02} 表".encode("shift_jis")]
        return File("utf-8", [*(text.encode() for text in texts), *draw(st.permutations(legacy))])
    file = File(encoding, [], b"\xff\xfe" if encoding == "utf-16" else b"")
    lines = [file.encode(text) for text in texts]
    if encoding == "utf-8":  # some bytes are damaged, but no label
        for _ in range(draw(st.integers(0, 3))):
            row = draw(st.integers(0, len(lines) - 1))
            at, removed = draw(st.integers(4, len(lines[row]))), draw(st.integers(0, 1))
            lines[row] = lines[row][:at] + bytes([draw(st.integers(0x80, 0xFF))]) + lines[row][at + removed :]
    return File(encoding, lines, draw(st.sampled_from([b"", b"\xef\xbb\xbf"])) if encoding == "utf-8" else file.mark)


@dataclass(frozen=True)
class Edit:
    """A change to a line, through one of the tools."""

    row: int
    kind: str
    tool: str
    typed: str

    def new_line(self, shown: str) -> str:
        label = shown[:3]
        return {"relabel": f"M{shown[1:]}", "ascii": f"{label} new", "type": f"{label} {self.typed}"}[self.kind]

    def new_bytes(self, file: File, old: bytes) -> bytes:
        """The bytes of the new line, spliced from those of the old one."""
        if self.kind == "relabel":
            return old.replace(file.encode("L"), file.encode("M"), 1)
        label = old.replace(b"\0", b"")[:3].decode()
        return file.encode(f"{label} {self.typed if self.kind == 'type' else 'new'}")


KINDS, TOOLS = st.sampled_from(["type", "relabel", "ascii"]), st.sampled_from(["edit_file", "write_file"])
EDIT = st.builds(Edit, st.integers(0, 6), KINDS, TOOLS, st.sampled_from(["ë", "ü“", "ж", "日"]))
EDITS = st.lists(EDIT, min_size=1, max_size=4, unique_by=lambda edit: edit.row)


@settings(max_examples=100)
@given(files(), EDITS)
def test_only_edited_lines_change_and_stay_in_the_encoding_of_the_file(file: File, edits: list[Edit]) -> None:
    """docs/faults.md 135: all other bytes stay, after an accept and after an undo. Otherwise the edit is refused."""
    with TemporaryDirectory() as home:
        path = Path(home, "a.txt")
        path.write_bytes(file.data)
        harness = SessionHarness(path.parent)
        expected = list(file.lines)
        for edit in edits:
            if edit.row >= len(file.lines):
                continue
            shown = read(harness, "a.txt")
            if shown is None:
                assert file.encoding == "utf-16-le"  # without a mark, it is a binary file
                continue
            lines = shown.split("\n")
            old, new = lines[edit.row], edit.new_line(lines[edit.row])
            if edit.tool == "edit_file":
                result = harness.call("edit_file", path="a.txt", old_text=old, new_text=new)
            else:
                content = "\n".join([*lines[: edit.row], new, *lines[edit.row + 1 :]])
                result = harness.call("write_file", path="a.txt", content=content)
            if result is not None and "nothing was proposed" not in result:
                expected[edit.row] = edit.new_bytes(file, file.lines[edit.row])
            else:
                assert edit.kind == "type" or old == new
        if len(harness.session.files.changes):
            assert set(harness.accept()) == {"applied"}
        assert path.read_bytes() == File(file.encoding, expected, file.mark).data
        if expected != file.lines:
            assert harness.undo()
        assert path.read_bytes() == file.data


def read(harness: SessionHarness, name: str) -> str | None:
    """What `read_file` shows; None if it is refused."""
    try:
        harness.view(name)
    except WorkspaceError:
        return None
    return harness.call("read_file", path=name)
