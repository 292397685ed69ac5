"""A commit message from a session's record: what the user accepted, and what verified it. Pure."""

import textwrap

from fairlead.display import end_after_word
from fairlead.session.record.digest import TRAILER
from fairlead.session.record.document import SessionRecord, Verification

SUBJECT_WIDTH = 72
BODY_WIDTH = 72


def commit_message(record: SessionRecord, digest: str) -> str:
    """A subject line, the steps with an accepted change, the commands that verified the files, and trailers.

    A command is named only if its last run passed on exactly the files that were on disk when the record was made, and
    needed no ignored files that only the session has.

    The trailers name the models and the record. The message is empty if nothing was accepted. Lines have at most 72
    characters, except trailers, and where a word is longer.

    Args:
        digest: of the record (`record_digest`).
    """
    accepted = [change for change in record.changes if change.decision == "accepted"]
    if not accepted:
        return ""
    steps = {change.step for change in accepted}
    items = [_wrapped(_one_line(step.content), "- ", "  ") for step in record.steps if step.id in steps]
    holding = [each for each in record.verifications if each.passed and not each.differs and not each.leftovers]
    verified = [_wrapped(_sentence(each)) for each in holding]
    assisted = [f"Assisted-by: Fairlead:{_one_line(model)}" for model in record.models]
    trailers = [*assisted, f"{TRAILER}: {digest}"]
    paragraphs = [_subject(record.title), "\n".join(items), "\n".join(verified), "\n".join(trailers)]
    return "\n\n".join(filter(None, paragraphs)) + "\n"


def _subject(title: str) -> str:
    subject = _one_line(title).rstrip(".") or "Apply the agent's changes"
    subject = end_after_word(subject, SUBJECT_WIDTH)
    return subject[0].upper() + subject[1:]


def _sentence(verification: Verification) -> str:
    proof = ", which fails without the change" if verification.fails_without_changes else ""
    return f"Verified by `{_one_line(verification.command)}`{proof}."


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _wrapped(text: str, first: str = "", others: str = "") -> str:
    return textwrap.fill(
        text, BODY_WIDTH, initial_indent=first, subsequent_indent=others, break_long_words=False, break_on_hyphens=False
    )
