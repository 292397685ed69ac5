"""Who is asked about the code, as a table."""

import pytest

from fairlead.code.choice import Who, who_answers


@pytest.mark.parametrize(
    ("has_proposals", "editor", "server", "order"),
    [
        (False, False, False, ()),
        (False, True, False, ("editor",)),
        (False, False, True, ("server",)),
        (False, True, True, ("editor", "server")),
        (True, False, False, ()),
        (True, True, False, ("editor",)),
        (True, False, True, ("server",)),
        (True, True, True, ("server", "editor")),
    ],
)
def test_the_one_that_knows_the_text_is_asked_first(
    has_proposals: bool, editor: bool, server: bool, order: tuple[Who, ...]
) -> None:
    """Without proposals, the editor is asked first; with proposals, a language server of our own."""
    assert who_answers(has_proposals=has_proposals, editor=editor, server=server) == order
