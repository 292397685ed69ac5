"""A run as a recording that plays again (`--record`), made from the events that the server sends."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fairlead.agent.errors import ModelError
from fairlead.agent.model import Usage
from fairlead.models.recording import Recording, Turn, read_recording

# how an answer itself can end a run; the other stop reasons are the run's, and come about again when it is played
STOPS_OF_AN_ANSWER = ("max_tokens", "refusal")


@dataclass
class _Answer:
    """An answer under way; `whole` once its usage is known, which comes with its end."""

    text: str = ""
    thinking: str = ""
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    whole: bool = False


class Recorder:
    """Collects `agent/event`s. An answer that never came to its end is no answer, and is left out."""

    def __init__(self, about: str) -> None:
        self._about = about.strip()
        self._answers: list[_Answer] = []
        self._used = Usage()
        self._stop_reason = ""

    def take(self, event: dict[str, Any]) -> None:
        """One event, in the order of the wire."""
        kind = event["kind"]
        if kind == "round_started":
            self._answers.append(_Answer())
        elif kind == "run_finished":
            self._stop_reason = event["stopReason"]
        elif self._answers:
            self._add(kind, event, self._answers[-1])

    def recording(self) -> Recording:
        """What came so far."""
        whole = [answer for answer in self._answers if answer.whole]
        turns = [_turn(answer) for answer in _joined(whole)]
        if turns and whole[-1] is self._answers[-1] and self._stop_reason in STOPS_OF_AN_ANSWER:
            turns[-1] = Turn(turns[-1].text, turns[-1].thinking, turns[-1].calls, self._stop_reason, turns[-1].usage)
        return Recording(tuple(turns), self._about)

    def _add(self, kind: str, event: dict[str, Any], answer: _Answer) -> None:
        match kind:
            case "text":
                answer.text += event["text"]
            case "thinking":
                answer.thinking += event["text"]
            case "tool_started":
                answer.calls.append((event["name"], event["input"]))
            case "usage":
                used = Usage(
                    event["requests"],
                    event["inputTokens"],
                    event["cacheReadTokens"],
                    event["cacheWriteTokens"],
                    event["outputTokens"],
                )
                answer.usage, self._used = _difference(used, self._used), used
                answer.whole = True


def lost_by_recording(path: Path, *, goes_on: bool) -> str:
    """Why a recording must not be written to a path, and what to do; empty where nothing is lost by it.

    A recording takes the place of an older one. Of a run that goes on it holds only what is new, so the older stays.
    """
    if not path.is_file() or not path.stat().st_size:  # a device keeps nothing
        return ""
    if goes_on:
        return "--continue records only what is new, and this file is there already; record to another one"
    try:
        read_recording(path)
    except ModelError:
        return "the file is there already and is no recording, so it is not written over; record to another one"
    return ""


def _joined(answers: list[_Answer]) -> list[_Answer]:
    """An answer without a call that was not the last one was cut off or added to; played alone, it would end the run.

    So it becomes a part of the answer that followed.
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
    return Turn(answer.text.strip("\n"), answer.thinking.strip("\n"), tuple(answer.calls), None, answer.usage)


def _difference(now: Usage, before: Usage) -> Usage:
    return Usage(
        now.requests - before.requests,
        now.input_tokens - before.input_tokens,
        now.cache_read_tokens - before.cache_read_tokens,
        now.cache_write_tokens - before.cache_write_tokens,
        now.output_tokens - before.output_tokens,
    )
