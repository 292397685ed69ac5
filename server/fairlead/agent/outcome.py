"""How a run ended, and what the user reads about it."""

from dataclasses import dataclass

from fairlead.agent.errors import ModelError
from fairlead.agent.events import StopReason
from fairlead.agent.model import Reply, Usage

NEW_BUDGET = "You can continue with a new budget."
REDIRECT = "Tell the agent what to do instead, or let it continue."
PAUSED_BY_API = "Paused: the API paused the model's turn again instead of finishing it. You can let it continue."
REFUSED = (
    "The model refused to continue{explanation}. What it refused is still in the conversation, so it is likely to "
    "refuse again. Go back to before your message with “Agent: Rewind...”, or start a new session."
)
NO_CALL = (
    "The model stopped to run tools (stop reason {reason}), but its answer contained no call and no text, and the "
    "answer before it was incomplete too. Send a follow-up to try again. A local model may need a different chat "
    "template."
)
UNREQUESTED_CALLS = (
    "The model's answer contained tool calls, but ended with stop reason {reason}, which runs no calls. They were "
    "not run. Send a follow-up to try again. A local model may need a different chat template."
)
CALL_AS_TEXT = (
    "The model wrote a call of {name} as text instead of calling the tool, also after a correction. The call was not "
    "run, so the task may not be done. Send a follow-up to try again. A local model may need a different chat template."
)
NO_ANSWER = (
    "The model's answer was empty (no text and no tool call), and the answer before it was incomplete too. The model's "
    "earlier work is saved. Send a follow-up to try again. A local model may need a different chat template."
)
NO_STOP_REASON = (
    "The model's server did not say why the answer ended (no stop reason), so the answer may be incomplete. Send a "
    "follow-up to continue. If it happens again, check the model's server."
)
UNKNOWN_STOP_REASON = (
    "The model stopped for a reason unknown to Fairlead: {reason}. Send a follow-up to continue. If it happens again, "
    "update Fairlead, or use another model."
)


@dataclass(frozen=True)
class Outcome:
    """How a run ended."""

    stop_reason: StopReason
    message: str
    """The model's last text, what the user should know about the ending, or both."""
    usage: Usage
    """What the whole run used."""
    error: ModelError | None = None
    """None unless the stop reason is `error`."""
    cost: float | None = None
    """US dollars, None if the model's price is unknown."""


@dataclass(frozen=True)
class Ending:
    """Why a run ends: an outcome without the run's usage and cost."""

    stop_reason: StopReason
    message: str
    error: ModelError | None = None


def failure(error: ModelError) -> Ending:
    """The end of a run that failed with an error."""
    return Ending("error", error.message, error)


def ending_of(reply: Reply, text: str, answer_limit: int | None) -> Ending:
    """Why an answer ends the run. An answer that was cut off is never a normal end (docs/plan.md L13).

    Args:
        reply: the last answer. Its `stop` is not `window_full`.
        text: the answer's text, after the text of the cut-off answers that it continues.
        answer_limit: how many tokens the window left for the answer; None if the window's size is unknown.
    """
    reason = reply.stop_name
    match reply.stop:
        case "done" if reply.calls:
            return failure(_retryable_error(UNREQUESTED_CALLS.format(reason=reason)))
        case "done":
            return Ending("end_turn", text) if text.strip() else failure(_retryable_error(NO_ANSWER))
        case "cut_off":
            limit = "the output limit (setting maxTokens)"
            if answer_limit is not None and answer_limit <= reply.usage.output_tokens:
                limit = f"the model's window, which left {answer_limit:,} tokens for it"
            hint = f"The answer was cut off by {limit}. Send a follow-up to continue it."
            return Ending("max_tokens", _with_hint(text, hint))
        case "paused":
            return Ending("max_turn_requests", _with_hint(text, PAUSED_BY_API))
        case "refused":
            explanation = f" ({reply.explanation.rstrip('.')})" if reply.explanation else ""
            return Ending("refusal", _with_hint(text, REFUSED.format(explanation=explanation)))
        case "calls":
            return failure(_retryable_error(NO_CALL.format(reason=reason)))
        case _ if not reason:
            return failure(_retryable_error(NO_STOP_REASON))
        case _:
            return failure(_retryable_error(UNKNOWN_STOP_REASON.format(reason=reason)))


def call_as_text(name: str) -> Ending:
    """The end of a run whose model calls a tool only in its text (docs/plan.md L19)."""
    return failure(_retryable_error(CALL_AS_TEXT.format(name=name)))


def _retryable_error(message: str) -> ModelError:
    return ModelError("network", message, retryable=True)


def _with_hint(text: str, hint: str) -> str:
    return f"{text}\n\n{hint}".strip()
