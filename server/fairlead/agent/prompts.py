"""Texts that the loop sends to the model, about continuations, refused calls, compaction and removed pictures."""

from fairlead.agent.tool import Mode
from fairlead.sentences import Sentence

CONTINUE = (
    "<cut_off>Your answer was cut off by a length limit. Continue exactly where it stopped, without repeating "
    "anything.</cut_off>"
)
CONTINUE_PAUSED_TURN = "<cut_off>Continue.</cut_off>"
MISSING_CALL = "<cut_off>Your answer ended in order to call a tool, but it contains no call. Send the call.</cut_off>"
EMPTY_ANSWER = "<cut_off>Your answer was empty. Continue, or say in a sentence what you did.</cut_off>"
CALL_AS_TEXT = (
    "<cut_off>Your answer contains a call of {name} as text, which is not run. Call the tool itself. If the text was "
    "not meant as a call, say so and end your turn.</cut_off>"
)
CALL_AS_TEXT_SHOWN = "\n\n(The model wrote this call of {name} as text, so it was not run. The model is informed.)\n\n"

CUT_OFF_CALL = (
    "Not run: the answer was cut off by the output limit before it was complete. Send the call again, in smaller "
    "pieces."
)
UNREQUESTED_CALL = "Not run: the answer ended with stop reason '{reason}', which runs no calls. Send the call again."
REPEATED_CALL = (
    "Not run: the same call was made just before, and its result would be the same. "
    "Use the result you have, try another way, or finish."
)
LOOPING_CALL = "Not run: the same call was made {count} times in a row. The run ends here."
NOT_REACHED = "Not run: {reason}."
NOT_IN_MODE: dict[Mode, tuple[str, Sentence]] = {
    "plan": (
        "Not run: for now the user wants only the plan. Write it with the todo tool and end your turn.",
        Sentence("Not run, because you asked only for a plan."),
    ),
    "ask": (
        "Not run: the user wants only an answer. Read what you need, answer, and end your turn.",
        Sentence("Not run, because you asked only for an answer."),
    ),
}
"""What the model and the user read about a call that the mode does not allow."""

CLEARED_RESULT = "[Cleared to save space: {what}, {lines}. If you need it, call again, or ask for a part of it.]"
SHORTENED_RESULT = "[{what} left out here to fit your context window. Ask for a part if you need it.]"
SUMMARIZE = (
    "<summarize>This conversation no longer fits into your window. Write a summary to continue from: what it omits is "
    "lost. The user's words, the plan and the proposals are preserved separately. Say what you found out (files, "
    "names, lines that matter), what was done and why, what failed, what is in progress, and what comes next. Answer "
    "with text only and call no tool.</summarize>"
)
SUMMARY = """<summary>
The earlier conversation was too long. This summary replaces it.

{summary}

The plan now:
{plan}

The proposals now:
{proposals}
</summary>"""
NO_SUMMARY = "(It could not be summarized. Read what you need again before you continue.)"
