"""What a session's conversation shows after a restart."""

from fairlead.agent.events import (
    CommandEnded,
    FeedbackSent,
    RoundStarted,
    RunStarted,
    Steered,
    Text,
    Thinking,
    ToolFinished,
    ToolOutput,
    ToolStarted,
)
from fairlead.plan.evidence import CommandRun
from fairlead.session.conversation import Conversation, Ended, Prompted, before_prompt


def shown(conversation: Conversation) -> list[object]:
    return [entry.shown for entry in conversation.entries]


def test_the_pieces_of_an_answer_are_one_entry() -> None:
    """Thinking and text are separate. An entry that was saved in the middle of an answer stays as it is."""
    conversation = Conversation()
    for event in (Thinking("Let me "), Thinking("see."), Text("It "), Text("is")):
        conversation.note(event)
    assert shown(conversation) == [Thinking("Let me see."), Text("It is")]
    conversation.note(Text(" well."))
    assert shown(conversation) == [Thinking("Let me see."), Text("It is"), Text(" well.")]


def test_a_message_during_an_answer_comes_after_it() -> None:
    """The answer stays whole, also if it is saved meanwhile. What the model writes after it has read the message comes
    after the message."""
    conversation = Conversation()
    for event in (Text("It "), Steered("Use tabs."), Steered("Be quick."), Text("is")):
        conversation.note(event)
    assert shown(conversation) == [Text("It is"), Steered("Use tabs."), Steered("Be quick.")]
    for event in (Text(" well."), FeedbackSent("message", "Use tabs."), Text("Now with tabs.")):
        conversation.note(event)
    assert shown(conversation) == [
        *(Text("It is"), Text(" well.")),
        *(Steered("Use tabs."), Steered("Be quick."), FeedbackSent("message", "")),
        Text("Now with tabs."),
    ]


def test_only_what_is_shown_later_is_kept() -> None:
    """Not what a call wrote, the output while it ran, rounds, what the model reads, or the user's own commands."""
    conversation = Conversation()
    call = ToolStarted("1", "bash", "execute", "make", {"command": "make"}, ())
    run = CommandRun("1", "make", 2, 0.5)
    for event in (RoundStarted(1), call, ToolOutput("1", "no rule"), CommandEnded(None, run, "exited")):
        conversation.note(event)
    conversation.note(CommandEnded("check-1", CommandRun("check", "make test", 0, 1), "exited"))
    conversation.note(ToolFinished("1", False, "no rule", ("/a.o",)))
    conversation.note(FeedbackSent("review", "- accepted: a.py"))
    assert shown(conversation) == [
        ToolStarted("1", "bash", "execute", "make", {}, ()),
        CommandEnded(None, CommandRun("1", "", 2, 0.5), "exited"),
        ToolFinished("1", False, "no rule"),
        FeedbackSent("review", ""),
    ]


def test_a_prompt_gets_its_checkpoint_and_a_rewind_removes_it_with_what_follows() -> None:
    conversation = Conversation()
    for number in (1, 2):
        conversation.add(Prompted(f"Task {number}"))
        conversation.note(RunStarted("m", number))
        conversation.add(Ended("end_turn", "Done.", ()))
    assert shown(conversation)[0::2] == [Prompted("Task 1", 1), Prompted("Task 2", 2)]
    conversation.restore(before_prompt(conversation.entries, 2))
    assert shown(conversation) == [Prompted("Task 1", 1), Ended("end_turn", "Done.", ())]
