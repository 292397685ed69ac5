"""A command's output for the user and the model: bounded, and without terminal sequences."""

import asyncio
import re

import hypothesis.strategies as st
import pytest
from hypothesis import given

from fairlead.display import end_after_word, escape_invisible, keep_colors, strip_sequences
from fairlead.shell.output import BATCH, HEAD, STREAM_LIMIT, TAIL, BoundedOutput, Stream

PLAIN = {
    "colors": ("\x1b[1;31mred\x1b[0m", "red"),
    "cursor and screen": ("a\x1b[2J\x1b[H\x1b[3;4Hb\x1b[?25l\x1b[K", "ab"),
    "a title, ended by BEL": ("\x1b]0;rm -rf /\x07a", "a"),
    "a title, ended by ST": ("\x1b]2;title\x1b\\a", "a"),
    "a link": ("\x1b]8;;http://evil\x1b\\text\x1b]8;;\x1b\\", "text"),
    "the clipboard": ("\x1b]52;c;cm0gLXJm\x07a", "a"),
    "DCS, APC, PM, SOS": ("\x1bPq#0\x1b\\a\x1b_x\x1b\\b\x1b^y\x1b\\c\x1bXz\x1b\\d", "abcd"),
    "single escapes": ("\x1bc\x1b7a\x1b(B\x1b=b", "ab"),
    "C1 controls": ("\x9b31mred\x85\x9d0;t\x9c", "31mred0;t"),
    "an open title hides no other line": ("\x1b]0;never ended\nimportant\n", "\nimportant\n"),
    "an open sequence at the end": ("a\x1b[31", "a31"),
    "a lone escape": ("a\x1b", "a"),
    "bells and backspaces": ("a\x07\x08\x00b\x7f", "ab"),
    "tabs and newlines stay": ("a\tb\nc\n", "a\tb\nc\n"),
    "CRLF": ("a\r\nb\r\n", "a\nb\n"),
    "a progress bar": ("10%\r50%\r100%\ndone\n", "100%\ndone\n"),
    "a progress bar at the end": ("10%\r100%\r", "100%"),
    "CR CR LF": ("a\r\r\nb", "a\nb"),
    "Chinese, emoji, form feed": ("日本語 🚀\x0c!", "日本語 🚀!"),
}


@pytest.mark.parametrize("name", PLAIN)
def test_fault_31_terminal_sequences_are_removed(name: str) -> None:
    """docs/faults.md 31: colors, titles, links, writes to the clipboard and others are removed. The text stays."""
    text, shown = PLAIN[name]
    assert strip_sequences(text) == shown


NOISE = st.text(
    st.sampled_from("ab \n\r\t\x1b[]0;31mKP\\\x07\x00\x9b\x9d\x85日🚀\u202e") | st.characters(codec="utf-8")
)


@given(NOISE)
def test_fault_31_no_control_character_is_left(text: str) -> None:
    """docs/faults.md 31: of the control characters, only tabs and newlines stay. A second pass changes nothing."""
    shown = strip_sequences(text)
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", shown)
    assert strip_sequences(shown) == shown
    assert shown.count("\n") == text.count("\n")


COLORED = {
    "colors": ("\x1b[1;31mred\x1b[0m \x1b[38;2;1;2;3mx\x1b[m", None),
    "a progress bar": ("10%\r100%\ndone\r\n", None),
    "cursor and screen": ("a\x1b[2J\x1b[3;4Hb\x1b[?25l\x1b[K\x1b[1A", "ab"),
    "private modes that end as colors do": ("\x1b[?1m\x1b[>4;2ma", "a"),
    "titles, links, the clipboard": ("\x1b]0;t\x07\x1b]8;;http://evil\x1b\\x\x1b]52;c;eA==\x07", "x"),
    "bells, backspaces, C1": ("a\x07\x08\x9b31mb", "a31mb"),
}


@pytest.mark.parametrize("name", COLORED)
def test_fault_31_colors_stay_for_the_user(name: str) -> None:
    """docs/faults.md 31: carriage returns stay too; all other terminal sequences are removed."""
    text, shown = COLORED[name]
    assert keep_colors(text) == (text if shown is None else shown)


@given(NOISE)
def test_fault_31_only_colors_stay_for_the_user(text: str) -> None:
    """docs/faults.md 31: colors, tabs, newlines and carriage returns stay, but no other control characters.

    A second pass changes nothing.
    """
    shown = keep_colors(text)
    assert not re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f-\x9f]", shown)
    assert re.sub(r"\x1b\[[0-9;:]*m", "", shown).count("\x1b") == 0
    assert keep_colors(shown) == shown
    assert strip_sequences(shown) == strip_sequences(text)


@given(st.lists(NOISE, max_size=6))
async def test_a_stream_in_pieces_is_shown_like_one_text(pieces: list[str]) -> None:
    """The user sees every sequence and character as if it had arrived whole."""
    shown: list[str] = []
    stream = Stream(shown.append)
    data = "".join(pieces).encode()
    for at in range(0, len(data), 3):
        stream.add(data[at : at + 3])
    stream.end()
    assert "".join(shown) == keep_colors(data.decode())


async def test_fault_27_a_flood_is_bounded_for_the_user() -> None:
    """docs/faults.md 27: the user sees the start, the number of bytes left out, and the newest output."""
    shown: list[str] = []
    stream = Stream(shown.append)
    for _ in range(100):
        stream.add(b"y\n" * 50_000)
    stream.add(b"last\n")
    stream.end()
    text = "".join(shown)
    assert text.startswith("y\ny\n")
    assert text.endswith("y\nlast\n")
    assert f"[... {10_000_005 - STREAM_LIMIT - BATCH:,} bytes left out ...]" in text
    assert len(text) < STREAM_LIMIT + BATCH + 100


async def test_output_after_a_flood_is_shown_soon() -> None:
    """The user need not wait for the command's end. For example, a server may write a lot while it starts, and then
    report that it is listening."""
    shown: list[str] = []
    stream = Stream(shown.append)
    stream.add(b"x" * STREAM_LIMIT)
    stream.add(b"listening\n")
    async with asyncio.timeout(30):
        while "listening" not in "".join(shown):
            await asyncio.wait([asyncio.ensure_future(asyncio.sleep(0.01))])
    assert "left out" not in "".join(shown)
    stream.end()


@given(NOISE, st.integers(0, 60))
def test_fault_31_divided_sequences_are_removed(text: str, cut: int) -> None:
    """docs/faults.md 31: wherever a text is divided, no escape character is left in either piece."""
    assert "\x1b" not in strip_sequences(text[:cut]) + strip_sequences(text[cut:])


VISIBLE = {
    "ls -la\n\tpwd": "ls -la\n\tpwd",
    "echo 日本 é 🚀": "echo 日本 é 🚀",
    "rm \x1b[8m-rf /\x07": "rm \\x1b[8m-rf /\\x07",
    "a\rb\x00\x85": "a\\x0db\\x00\\x85",
    "user\u202etxt.exe": "user\\u202etxt.exe",
    "zero\u200bwidth\ufeff": "zero\\u200bwidth\\ufeff",
    "line\u2028end no-break\u00a0": "line\\u2028end no-break\\xa0",
    "\u2066isolated\u2069": "\\u2066isolated\\u2069",
    "\U000e0041 a tag": "\\U000e0041 a tag",
    "rm\u3164\uffa0-rf\u2800\u115f\u1160": "rm\\u3164\\uffa0-rf\\u2800\\u115f\\u1160",
    "한글 ｱ ⠁ ❤\ufe0f": "한글 ｱ ⠁ ❤\ufe0f",
}


@pytest.mark.parametrize("command", VISIBLE)
def test_a_command_for_approval_hides_nothing(command: str) -> None:
    """Control characters, and characters that reverse or hide text, are escaped; other text stays."""
    assert escape_invisible(command) == VISIBLE[command]


PIECES = st.lists(st.binary(max_size=12) | NOISE.map(str.encode), max_size=12)


@given(PIECES, st.integers(1, 8), st.integers(1, 8))
def test_head_and_tail_are_kept_and_the_rest_is_counted(pieces: list[bytes], head: int, tail: int) -> None:
    """docs/faults.md 27: the text has the head, the number of bytes left out, and the tail of what a terminal shows.

    This holds after each piece of the output, however the output is divided. What was taken is not in it.
    """
    output, taken_from = BoundedOutput(head, tail), BoundedOutput(head, tail)
    everything = b""
    for piece in pieces:
        output.add(piece)
        everything += piece
        assert output.text() == bounded(strip_sequences(everything.decode("utf-8", "replace")), head, tail)
        taken_from.add(piece)
        taken_from.take()
        assert taken_from.take() == ""


def bounded(text: str, head: int, tail: int) -> str:
    data = text.encode()
    first, last = data[:head].decode("utf-8", "replace"), data[-tail:].decode("utf-8", "replace")
    left_out = len(data) - head - tail
    return text if left_out <= 0 else f"{first}\n[... {left_out:,} bytes left out ...]\n{last}"


@pytest.mark.parametrize("end", ["\r", "\r\x1b[K", "\x1b[2K\r"])
def test_fault_27_lines_between_progress_bars_are_kept(end: str) -> None:
    """docs/faults.md 27: a bar counts as what is left of it, even if it was drawn for hours."""
    output = BoundedOutput()
    for number in range(20):
        output.add(f"step {number}\n".encode())
        for percent in range(100):
            output.add(f"[{'#' * percent}] {percent}%{end}".encode())
        output.add(b"\n")
    assert output.text() == "".join(f"step {number}\n[{'#' * 99}] 99%\n" for number in range(20))


def test_the_text_of_a_flood_is_bounded() -> None:
    """docs/faults.md 27: the text of 100 MB has its beginning, the number of bytes left out, and its end."""
    output = BoundedOutput()
    output.add(b"first\n")
    chunk = b"y\n" * 500_000
    for _ in range(100):
        output.add(chunk)
    output.add(b"last\n")
    text = output.text()
    assert len(text) < HEAD + TAIL + 100
    assert text.startswith("first\n")
    assert text.endswith("last\n")
    assert "[... 99,976,011 bytes left out ...]" in text


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("drop the legacy table", "drop the legacy table"),
        ("drop the legacy tables", "drop the legacy…"),
        ("drop the legacy, tables too", "drop the legacy,…"),
        ("a reallyquitelongwordhere", "a reallyquitelongwor…"),
        ("删除旧的表删除旧的表删除旧的表删除旧的表", "删除旧的表删除旧的表删除旧的表删除旧的表"),
        ("删除旧的表 删除旧的表删除旧的表删除旧的表删", "删除旧的表 删除旧的表删除旧的表删除旧的…"),
    ],
)
def test_a_long_line_ends_after_a_word(line: str, shown: str) -> None:
    assert end_after_word(line, 21) == shown


@given(st.text(st.sampled_from("ab 日")), st.integers(2, 30))
def test_a_shortened_line_is_the_beginning_of_the_line(line: str, limit: int) -> None:
    shown = end_after_word(line, limit)
    assert len(shown) <= limit
    assert shown == line or (len(line) > limit and shown.endswith("…") and line.startswith(shown[:-1]))
