"""Decides who is asked about the code: the user's editor, or a language server that knows the proposed texts."""

from typing import Literal

Who = Literal["editor", "server"]


def who_answers(*, has_proposals: bool, editor: bool, server: bool) -> tuple[Who, ...]:
    """Whom to ask, in order; empty if nobody can be asked.

    If two are returned, the second is asked only if the first gives no answer or an empty one.

    Without proposals, the editor is first: its language support already runs, and the user sees the same answers. With
    proposals, a language server is first, because the editor does not know the proposed texts.

    Args:
        has_proposals: whether there are proposals for files of the language.
        editor: whether the editor answers requests about code.
        server: whether there is a language server for the file.
    """
    order: tuple[Who, Who] = ("server", "editor") if has_proposals else ("editor", "server")
    return tuple(who for who in order if (editor if who == "editor" else server))
