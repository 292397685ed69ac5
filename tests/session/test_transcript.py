"""The conversation that is shown when a session is opened again."""

from fairlead.messages.parts import Note, Prompt
from fairlead.plan.evidence import Record
from fairlead.session.report.listing import transcript
from support.messages import assistant, user


def test_l18_a_note_that_continues_a_turn_is_not_shown_as_the_users_words() -> None:
    """Notes about reviews and new errors that are sent without a prompt are omitted; the user's messages are shown."""
    review = Note("review", "- accepted: a.py")
    errors = Note("new_errors", "a.py:1:1 wrong")
    messages = [
        user("Do it."),
        assistant("Done."),
        user(errors),
        assistant("Fixed."),
        user(review, errors),
        assistant("Fixed again."),
        user(Prompt("Stop here.", while_working=True), review),
        assistant("Stopped."),
    ]
    lines = [(line.role, line.text) for line in transcript(messages, Record())]
    assert lines == [
        ("user", "Do it."),
        ("assistant", "Done."),
        ("assistant", "Fixed."),
        ("assistant", "Fixed again."),
        ("user", "Stop here."),
        ("assistant", "Stopped."),
    ]


def test_a_prompt_that_begins_like_a_summary_is_shown() -> None:
    """The user may write about the HTML tag `<summary>`."""
    lines = transcript([user("<summary> is not styled."), assistant("Fixed.")], Record())
    assert [(line.role, line.text) for line in lines] == [
        ("user", "<summary> is not styled."),
        ("assistant", "Fixed."),
    ]
