"""Which elements of a page its own styles hide. It is part of the program in `page.py`.

This is no browser: it does not see sheets in other files, rules within `@` rules, and scripts.
"""

import re
from collections.abc import Mapping
from typing import Any

from justhtml import SelectorError, matches

Style = Mapping[str, str]
"""Properties with their values, in lower case."""

MAX_RULES = 300
"""How many rules that hide or show count in each sheet."""
_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
_ZERO = re.compile(r"[+-]?(?:0+\.?0*|\.0+)(?:[a-z]+|%)?")
_FAR = re.compile(r"[+-]?(?:\d{4,}(?:\.\d*)?(?:px|pt)?|\d{3,}(?:\.\d*)?(?:em|rem|vw|vh|%))")
# a value such as `inherit` or `var(--x)` may be one color for the text and another for the background
_COLOR = re.compile(r"#[0-9a-f]+|(?:rgb|hsl)a?\([^()]*\)|(?!(?:inherit|initial|unset|revert|currentcolor)$)[a-z]+")
_CLIPPED = re.compile(r"rect\(\s*[01](?:px)?[ ,].*|inset\((?:50|100)%.*|circle\(0.*")
_SIZES = ("width", "height", "max-width", "max-height")
_SHIFTS = ("text-indent", "margin-left", "margin-top")
_SIDES = ("left", "right", "top", "bottom")


def hidden_elements(root: Any) -> dict[int, Any]:
    """The elements that the style sheets in a page hide, by their `id()`. A later rule that shows one again counts."""
    hidden: dict[int, Any] = {}
    for sheet in root.query("style"):
        for selector, style in _rules(sheet.to_text()):
            try:
                if hides(style):
                    hidden |= {id(node): node for node in root.query(selector)}
                else:
                    hidden = {key: node for key, node in hidden.items() if not matches(node, selector)}
            except SelectorError:  # one that only browsers know, such as `::before`
                continue
    return hidden


def _rules(sheet: str) -> list[tuple[str, Style]]:
    """The first rules of a sheet that hide or show something, each with its selector."""
    sheet = _COMMENT.sub(" ", sheet)
    found: list[tuple[str, Style]] = []
    depth = start = inner = 0
    for mark in re.finditer(r"[{};]", sheet):
        if mark[0] == "{":
            depth += 1
            inner = mark.end() if depth == 1 else inner
        elif mark[0] == "}" and depth > 1:
            depth -= 1
        elif mark[0] == "}" and depth == 1:
            depth = 0
            selector, style = sheet[start : inner - 1].strip(), declarations(sheet[inner : mark.start()])
            if selector and not selector.startswith("@") and (hides(style) or shows(style)):
                found.append((selector, style))
            start = mark.end()
        elif depth == 0:
            start = mark.end()
        if len(found) == MAX_RULES:
            break
    return found


def declarations(text: str) -> Style:
    """The properties in a `style` attribute, or between the braces of a rule."""
    found: dict[str, str] = {}
    for part in _COMMENT.sub(" ", text).split(";"):
        name, colon, value = part.lower().partition(":")
        if colon:
            found[name.strip()] = " ".join(value.partition("!")[0].split())
    return found


def shows(style: Style) -> bool:
    """Whether these properties show an element that another rule hides."""
    return style.get("display", "none") != "none" or style.get("visibility") == "visible"


def hides(style: Style) -> bool:
    """Whether these properties hide an element with all of its text."""
    background = style.get("background-color", style.get("background", ""))
    return (
        style.get("display") == "none"
        or style.get("visibility") in ("hidden", "collapse")
        or style.get("content-visibility") == "hidden"
        or _any(style, ("opacity", "font-size"), _ZERO)
        or style.get("transform", "").startswith("scale(0)")
        or style.get("color") == "transparent"
        or (_COLOR.fullmatch(background) is not None and style.get("color") == background)
        or (style.get("overflow") in ("hidden", "clip") and _any(style, _SIZES, re.compile(rf"{_ZERO.pattern}|1px")))
        or _any(style, ("clip", "clip-path"), _CLIPPED)
        or any(style.get(name, "").startswith("-") and _FAR.fullmatch(style[name]) for name in _SHIFTS)
        or (style.get("position") in ("absolute", "fixed") and _any(style, _SIDES, _FAR))
    )


def _any(style: Style, names: tuple[str, ...], values: re.Pattern[str]) -> bool:
    return any(name in style and values.fullmatch(style[name]) for name in names)
