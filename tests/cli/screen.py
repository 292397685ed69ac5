"""A simple terminal screen: text, widths, colors and cursor movements upwards."""

import codecs
import re

from rich.cells import cell_len

_TOKEN = re.compile(r"\x1b\[([?0-9;]*)([A-Za-z])|([\s\S])")
COLORS = {"31": "red", "32": "green", "33": "yellow", "36": "cyan"}


class Screen:
    """A terminal with all written lines, including those that scrolled away.

    `wrapped` contains the lines that were too wide for the terminal. Unknown sequences raise an error.
    """

    def __init__(self, columns: int, rows: int) -> None:
        self.columns, self.rows = columns, rows
        self.wrapped: list[str] = []
        self.colored = False
        self.cursor_shown = True
        self._lines: list[list[tuple[str, str]]] = [[]]
        self._x = self._y = 0
        self._color = ""
        # at Ctrl-C the system discards output that has not been read yet, which may split a character
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest = ""

    def feed(self, data: bytes) -> None:
        text = self._rest + self._decoder.decode(data)
        cut = text.rfind("\x1b", max(0, len(text) - 16))
        whole = cut < 0 or re.match(r"\x1b\[[?0-9;]*[A-Za-z]", text[cut:]) is not None
        text, self._rest = (text, "") if whole else (text[:cut], text[cut:])
        for parameters, final, character in _TOKEN.findall(text):
            if final:
                self._control(parameters, final)
            else:
                self._put(character)

    @property
    def lines(self) -> list[str]:
        return ["".join(character for character, _ in line).rstrip() for line in self._lines]

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    @property
    def last_line(self) -> str:
        """The line with the cursor."""
        return self.lines[self._y]

    def visible(self) -> list[str]:
        """The lines on the screen."""
        return self.lines[-self.rows :]

    def colors(self, text: str) -> list[str]:
        """The color of the first character of a text, in each line that contains it."""
        found: list[str] = []
        for line in self._lines:
            plain = "".join(character for character, _ in line)
            at = plain.find(text)
            if at >= 0:
                found.append([color for character, color in line for _ in character][at])
        return found

    def _control(self, parameters: str, final: str) -> None:
        match final:
            case "m":
                self._style(parameters)
            case "A":
                top = max(0, len(self._lines) - self.rows)
                self._y = max(top, self._y - int(parameters or 1))
            case "K":
                self._lines[self._y] = []
            case "h" | "l" if parameters == "?25":
                self.cursor_shown = final == "h"
            case _:
                raise AssertionError(f"unexpected sequence: {parameters}{final}")

    def _style(self, parameters: str) -> None:
        for code in (parameters or "0").split(";"):
            if code == "0":
                self._color = ""
            elif code in COLORS:
                self._color = COLORS[code]
                self.colored = True

    def _put(self, character: str) -> None:
        if character == "\r":
            self._x = 0
        elif character == "\n":
            self._down()
        elif character == "\b":
            self._x = max(0, self._x - 1)
        else:
            assert character.isprintable(), f"control character: {character!r}"
            width = cell_len(character)
            if self._x + width > self.columns:
                self.wrapped.append(self.lines[self._y])
                self._down()
                self._x = 0
            self._write(character, width)

    def _write(self, character: str, width: int) -> None:
        """Writes a character into its cell. A wide one is followed by an empty cell."""
        line = self._lines[self._y]
        line += [(" ", "")] * (self._x - len(line))
        cells = [(character, self._color), *[("", self._color)] * (width - 1)]
        line[self._x : self._x + width] = cells
        self._x += width

    def _down(self) -> None:
        self._y += 1
        if self._y == len(self._lines):
            self._lines.append([])
