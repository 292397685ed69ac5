"""The conversation that is shown when a session is opened again."""

from fairlead.messages.history import Message, text_block
from fairlead.plan.evidence import Record
from fairlead.session.evidence.proposed_problems import NEW_ERRORS
from fairlead.session.report.listing import transcript
from fairlead.session.run.feedback import REVIEW, USER_MESSAGE
from fairlead.session.run.prompt import shown_prompt


def user(*texts: str) -> Message:
    return {"role": "user", "content": list(map(text_block, texts))}


def assistant(text: str) -> Message:
    return {"role": "assistant", "content": [text_block(text)]}


def test_l18_a_note_that_continues_a_turn_is_not_shown_as_the_users_words() -> None:
    """Notes about reviews and new errors that are sent without a prompt are omitted; the user's messages are shown."""
    review = REVIEW.format(items="- accepted: a.py")
    errors = NEW_ERRORS.format(count="1 new error in 1 file", items="a.py:1:1 wrong")
    messages = [
        user("Do it."),
        assistant("Done."),
        user(errors),
        assistant("Fixed."),
        user(review, errors),
        assistant("Fixed again."),
        user(USER_MESSAGE.format(text="Stop here."), review),
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
    prompt = shown_prompt("<summary> is not styled.")
    lines = transcript([user(prompt), assistant("Fixed.")], Record())
    assert [(line.role, line.text.strip()) for line in lines] == [
        ("user", "<summary> is not styled."),
        ("assistant", "Fixed."),
    ]
