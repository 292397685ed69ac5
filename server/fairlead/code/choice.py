"""Decides who is asked about the code: the user's editor, or a language server that knows the proposed text."""

from typing import Literal

Who = Literal["editor", "server"]


def who_answers(*, has_proposals: bool, editor: bool, server: bool) -> tuple[Who, ...]:
    """Whom to ask, in this order; the next one if there is no answer or an empty one.

    The editor is first where nothing is proposed: its language support is what the user sees, and it already runs.
    Where something is proposed, only a server of our own knows the text; the editor's answer needs a note then.

    Args:
        has_proposals: whether files of the language have proposed text.
        editor: whether the editor answers requests about code.
        server: whether there is a language server for the file.
    """
    order: tuple[Who, Who] = ("server", "editor") if has_proposals else ("editor", "server")
    return tuple(who for who in order if (editor if who == "editor" else server))
