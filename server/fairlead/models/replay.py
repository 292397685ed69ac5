"""The replay model plays a recorded conversation in place of a real model."""

import asyncio
import re
from collections.abc import AsyncGenerator
from pathlib import Path

from fairlead.agent.errors import ModelError
from fairlead.agent.model import Capabilities, ModelEvent, Reply, Request, TextDelta, ThinkingDelta, Used
from fairlead.messages.parts import Call, Part, Result, Text
from fairlead.models.recording import Recording, Turn, read_recording
from fairlead.sentences import Sentence


class ReplayModel:
    """Answers each request with the next turn of a recording, and skips turns whose `when` does not apply.

    It reads only the last tool results of a request.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._recording: Recording | None = None
        self._next = 0
        """The index of the next turn."""

    capabilities = Capabilities()

    @property
    def name(self) -> str:
        return f"replay ({self._path.name})"

    async def stream(self, request: Request) -> AsyncGenerator[ModelEvent, None]:
        if self._recording is None:
            self._recording = await asyncio.to_thread(read_recording, self._path)
        recording, results = self._recording, _last_results(request)
        while self._next < len(recording.turns) and recording.turns[self._next].when not in results:
            self._next += 1
        if self._next >= len(recording.turns):
            ended = Sentence(
                "The recording {0} has ended. It has only this task. For other tasks, set up a model.", self._path.name
            )
            raise ModelError("replay_ended", ended)
        turn = recording.turns[self._next]
        self._next += 1
        for delta in _deltas(turn):
            yield delta
            if recording.pace:
                await asyncio.sleep(recording.pace)
        yield Used(turn.usage)
        yield _reply(turn, self._next)

    async def connect(self) -> None:
        """Does nothing: there is nothing to connect to."""

    async def aclose(self) -> None:
        """Does nothing: no connection is open."""


def _last_results(request: Request) -> str:
    """The results of the last calls; empty if the last message has none."""
    parts = (part for message in request.messages[-1:] for part in message.parts)
    return "\n".join(part.text for part in parts if isinstance(part, Result))


def _deltas(turn: Turn) -> list[ModelEvent]:
    thinking: list[ModelEvent] = [ThinkingDelta(word) for word in _words(turn.thinking)]
    return thinking + [TextDelta(word) for word in _words(turn.text)]


def _words(text: str) -> list[str]:
    return re.findall(r"\S+\s*|\s+", text)


def _reply(turn: Turn, number: int) -> Reply:
    parts: list[Part] = [Text(turn.text)] if turn.text.strip() else []
    parts += [Call(f"call_replay_{number}_{index}", name, given) for index, (name, given) in enumerate(turn.calls, 1)]
    stop = turn.stop or ("calls" if turn.calls else "done")
    return Reply(parts, stop, stop, turn.usage)
