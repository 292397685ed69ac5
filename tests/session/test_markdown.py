"""Texts in the Markdown pages about a session."""

import pytest

from fairlead.session.report.markdown import code_span


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("a.txt", "`a.txt`"),
        ("echo `date` now", "``echo `date` now``"),
        ("`date`", "`` `date` ``"),
        ("a``b`c", "```a``b`c```"),
    ],
)
def test_backticks_in_a_text_do_not_end_its_code(text: str, span: str) -> None:
    assert code_span(text) == span
