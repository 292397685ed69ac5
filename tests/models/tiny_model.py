"""A model that exists only here: it speaks a protocol of its own and needs no change elsewhere (ARCHITECTURE.md)."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from typing import Any

from fairlead.agent.errors import ModelError
from fairlead.agent.model import Capabilities, ModelEvent, Reply, Request, Stop, TextDelta, ThinkingDelta, Usage, Used
from fairlead.messages.parts import Call, Note, Part, Prompt, Result, Text, Thinking

Server = Callable[[list[str]], Awaitable[dict[str, Any]]]
STOPS: dict[str, Stop] = {"end": "done", "call": "calls", "length": "cut_off"}


class TinyModel:
    """Sends a server the conversation as lines, and gets an object."""

    name, capabilities = "tiny", Capabilities()

    def __init__(self, server: Server) -> None:
        self._server = server

    async def stream(self, request: Request) -> AsyncGenerator[ModelEvent, None]:
        answer = await self._server([line for message in request.messages for line in lines(message.parts)])
        if "error" in answer:
            raise ModelError("network", f"The tiny server said: {answer['error']}")
        for letter in answer["thought"]:
            yield ThinkingDelta(letter)
        for letter in answer["said"]:
            yield TextDelta(letter)
        usage = Usage(1, **answer["used"])
        yield Used(usage)
        parts: list[Part] = [Thinking(answer["thought"], self.name, {})] if answer["thought"] else []
        parts += [Text(answer["said"])] if answer["said"] else []
        parts += [Call(*call) for call in answer["calls"]]
        yield Reply(parts, STOPS.get(answer["why"], "unknown"), answer["why"], usage)

    async def connect(self) -> None: ...

    async def aclose(self) -> None: ...


def lines(parts: Sequence[Part]) -> list[str]:
    """The server takes neither pictures nor thinking."""
    return [
        f"{type(part).__name__}: {part.text!r}" for part in parts if isinstance(part, Prompt | Note | Text | Result)
    ]
