"""A symbol is found by its text and line, because models cannot count columns."""

import pytest

from fairlead.code.provider import NoAnswer
from fairlead.code.symbol_position import find_symbol

TEXT = (
    "import util\n\n\ndef run(value):\n    return util.helper(value) + run_all(value)\n\n\nprint(run(1), '問候', run)\n"
)


@pytest.mark.parametrize(
    ("symbol", "line", "place"),
    [
        ("run", 4, (3, 4)),
        ("run", 3, (3, 4)),  # models are often off by a line or two
        ("run", None, (3, 4)),
        ("run()", 8, (7, 6)),
        ("util.helper", 5, (4, 16)),
        ("value", 4, (3, 8)),
        ("run_all", 5, (4, 32)),
        ("'問候'", 8, (7, 15)),
    ],
)
def test_a_symbol_is_found_near_its_line(symbol: str, line: int | None, place: tuple[int, int]) -> None:
    """Only whole words match: `run` does not match `run_all`. A dotted name gives the position of its last part."""
    assert find_symbol(TEXT, "a.py", symbol, line) == place


@pytest.mark.parametrize(
    ("symbol", "line", "message"),
    [
        ("helpers", 5, "a.py does not contain 'helpers'. Read the file and give the symbol as it appears there."),
        ("print", 1, "'print' is not near line 1 of a.py, but on line 8. Give the right line."),
        (" ", 1, "The symbol is empty. Give its text as it appears in the line."),
    ],
)
def test_a_symbol_that_is_not_there_is_explained(symbol: str, line: int, message: str) -> None:
    with pytest.raises(NoAnswer) as caught:
        find_symbol(TEXT, "a.py", symbol, line)
    assert str(caught.value) == message


def test_only_a_few_of_many_lines_are_named() -> None:
    with pytest.raises(NoAnswer) as caught:
        find_symbol("x\n" * 9 + "\n" * 90 + "y\n" * 40, "a.py", "y", 20)
    assert str(caught.value).count(", ") == 13
