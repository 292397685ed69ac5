"""docs/replay.md: its examples are valid recordings, and its errors have the documented messages."""

from pathlib import Path

import pytest

from fairlead.agent.errors import ModelError
from fairlead.models.recording import FILE_FIELDS, TURN_FIELDS, USAGE_FIELDS, Recording, read_recording, write_recording
from protocol.page import ROOT, Page, blocks, names, tables

PAGE = Page(ROOT / "docs" / "replay.md")
MISTAKES = tables(PAGE.section("Mistakes"))[0]


def _read(folder: Path, text: str) -> Recording:
    path = folder / "example.yaml"
    path.write_text(text, encoding="utf-8")
    return read_recording(path)


def test_the_examples_are_recordings(tmp_path: Path) -> None:
    """Each can be read, and is the same after it is written and read again."""
    whole, cut = (_read(tmp_path, text) for text in blocks(PAGE.text, "yaml"))
    assert whole.pace == 0.02
    assert [len(turn.calls) for turn in whole.turns] == [1, 2, 0]
    assert whole.turns[1].usage.cache_write_tokens == 412
    assert cut.turns[0].stop == "cut_off"
    for recording in (whole, cut):
        write_recording(tmp_path / "again.yaml", recording)
        assert read_recording(tmp_path / "again.yaml") == recording


def test_every_field_is_explained() -> None:
    """The example shows each field of a file. The table has the fields of a turn and of its usage, and no others."""
    example = blocks(PAGE.text, "yaml")[0]
    assert [name for name in FILE_FIELDS if f"\n{name}:" not in f"\n{example}"] == []
    table = tables(PAGE.section("The format"))[0]
    assert sorted(names(row[0])[0] for row in table) == sorted(TURN_FIELDS)
    assert names(table[-1][1]) == list(USAGE_FIELDS)


@pytest.mark.parametrize(("text", "message"), [(names(row[0])[0], row[1]) for row in MISTAKES])
def test_a_mistake_is_named_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    """The error has the kind `replay`. Its message is the path of the file, followed by the message in the table."""
    with pytest.raises(ModelError) as error:
        _read(tmp_path, text.replace("⏎", "\n"))
    assert error.value.kind == "replay"
    assert error.value.message == f"{tmp_path / 'example.yaml'}, {message}"
