"""Creates a recording (`--record`) from the events that the server sends."""

from dataclasses import dataclass, field, replace
from typing import Any

from fairlead.agent.model import Stop, Usage
from fairlead.models.recording import Recording, Turn

STOPS: dict[str, Stop] = {"max_tokens": "cut_off", "refusal": "refused"}
"""The stop reasons of a run that say how its last answer ended.

Any other stop reason follows from the calls of the answer, or does not come from the model.
"""


@dataclass
class _Answer:
    """An answer of the model. It is complete when its usage has arrived."""

    text: str = ""
    thinking: str = ""
    calls: dict[str, tuple[str, dict[str, Any]]] = field(default_factory=dict[str, tuple[str, dict[str, Any]]])
    """By id. Omits those that did not run because of how the answer ended: in a replay, they would run."""
    usage: Usage = field(default_factory=Usage)
    is_complete: bool = False


class ConversationRecorder:
    """Collects `agent/event`s. Incomplete answers are not recorded.

    Args:
        about: the task, which the recording names.
    """

    def __init__(self, about: str) -> None:
        self._about = about.strip()
        self._answers: list[_Answer] = []
        self._used = Usage()
        self._stop_reason = ""

    def add_event(self, event: dict[str, Any]) -> None:
        """Adds the next event."""
        kind = event["kind"]
        if kind == "round_started":
            self._answers.append(_Answer())
        elif kind == "run_finished":
            self._stop_reason = event["stopReason"]
        elif self._answers:
            self._add(kind, event, self._answers[-1])

    def recording(self) -> Recording:
        """The recording of the events so far."""
        complete = [answer for answer in self._answers if answer.is_complete]
        turns = [_turn(answer) for answer in _joined(complete)]
        if turns and complete[-1] is self._answers[-1] and self._stop_reason in STOPS:
            turns[-1] = replace(turns[-1], stop=STOPS[self._stop_reason])
        return Recording(tuple(turns), self._about)

    def _add(self, kind: str, event: dict[str, Any], answer: _Answer) -> None:
        match kind:
            case "text":
                answer.text = "" if event["restarts"] else answer.text + event["text"]
            case "thinking":
                answer.thinking = "" if event["restarts"] else answer.thinking + event["text"]
            case "tool_started" if not event["refused"]:
                answer.calls[event["toolCallId"]] = event["name"], event["input"]
            case "compacted":
                answer.is_complete = False  # the usage so far was that of a summary
            case "usage":
                used = Usage(
                    event["requests"],
                    event["inputTokens"],
                    event["cacheReadTokens"],
                    event["cacheWriteTokens"],
                    event["outputTokens"],
                )
                added, self._used = used - self._used, used
                answer.usage += added
                if not added.requests:
                    return  # the tokens are those of an answer that broke off or was stopped
                answer.is_complete = True
            case _:
                pass


def _joined(answers: list[_Answer]) -> list[_Answer]:
    """Joins each answer without calls, such as one that was cut off, with the next one.

    In a replay, an answer without calls would end the run.
    """
    joined: list[_Answer] = []
    for answer in answers:
        before = joined[-1] if joined else None
        if before is not None and not before.calls:
            text = "\n\n".join(part.strip("\n") for part in (before.text, answer.text) if part.strip())
            thinking = "\n\n".join(part.strip("\n") for part in (before.thinking, answer.thinking) if part.strip())
            joined[-1] = _Answer(text, thinking, answer.calls, before.usage + answer.usage, True)
        else:
            joined.append(answer)
    return joined


def _turn(answer: _Answer) -> Turn:
    return Turn(answer.text.strip("\n"), answer.thinking.strip("\n"), tuple(answer.calls.values()), None, answer.usage)
