"""Makes room in a conversation that outgrows the model's window (docs/plan.md L15). What gives way: `context.py`."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from fairlead.agent.context import cleared, cleared_first, gained, shortened, summarised, to_keep
from fairlead.agent.errors import ModelError
from fairlead.agent.events import Event, RoomMade
from fairlead.agent.messages import History, Message
from fairlead.agent.model import Clearing
from fairlead.agent.window import ENOUGH, FULL, NEAR, ROOM, WORTH, Window, size

LARGE = 65_536  # tokens: nobody needs advice on a larger window than this
TOO_LONG = (
    "{said} Nothing more can be left out of the conversation: the instructions and the tools take about {fixed:,} "
    "tokens and the rest {rest:,}{window}.{advice}"
)
SHORTER = " Start a new task, or make this one shorter."
LARGER_WINDOW = (
    " If the model is your own, give it a larger window, such as 16,384 tokens: `-c 16384` for llama.cpp, "
    "OLLAMA_CONTEXT_LENGTH=16384 for Ollama, Context Length in LM Studio, `--max-model-len 16384` for vLLM."
)


@dataclass
class Room:
    """What is needed to make room.

    `tools` names all of them, and `lasting` tells of one whether its results stay; `summarise` asks the model for a
    summary of messages; `plan` and `proposals` say how these stand.
    """

    history: History
    window: Window
    tools: Sequence[str]
    lasting: Callable[[str], bool]
    summarise: Callable[[Sequence[Message]], Awaitable[str]]
    plan: Callable[[], str]
    proposals: Callable[[], str]
    emit: Callable[[Event], None]

    def offer(self) -> Clearing | None:
        """What the provider may clear from the next request by itself; None while there is no need.

        It would clear as much as `make` does at FULL, only a little earlier.
        """
        messages, window = self.history.messages, self.window
        if window.limit is None or window.expected(messages) < window.mark(ENOUGH):
            return None
        keep = to_keep(messages, self._excess(ROOM), self.lasting)
        lasting = tuple(name for name in self.tools if self.lasting(name))
        return Clearing(window.mark(NEAR), window.mark(WORTH) - window.mark(0), keep, lasting)

    def took(self, count: int) -> None:
        """The provider has cleared the results of the oldest so many uses: the conversation is the one that it read."""
        self._put(cleared_first(self.history.messages, count, self.lasting))
        self.emit(RoomMade(f"The model's service cleared {count} old results to make room."))

    async def make(self) -> bool:
        """Makes the conversation shorter; False where nothing can give way.

        Raises:
            ModelError: the summary was not to be had, for another reason than that it does not fit either.
        """
        window, before = self.window, size(self.history.messages)
        self._put(cleared(self.history.messages, self._excess(ROOM), self.lasting))
        freed = before - size(self.history.messages)
        if freed:
            self.emit(RoomMade(f"Old results were cleared to make room, about {freed * window.per_char:,.0f} tokens."))
        worth = (window.mark(WORTH) - window.mark(0)) / window.per_char
        if self._excess(ENOUGH) > 0 and gained(self.history.messages, self.lasting) > worth:
            await self._summarise()
        if self._excess(FULL) > 0:  # what came last is too long by itself
            self._put(self._with_shorter_results())
        if self._excess(FULL) > 0:
            self._put(cleared(self.history.messages, self._excess(ROOM), self.lasting, last_round=0))
        return size(self.history.messages) < before

    def too_long(self, said: str) -> ModelError:
        """The error where nothing more can give way, and what helps."""
        window, messages = self.window, self.history.messages
        told, fixed = window.named or window.known, round(window.fixed * window.per_char)
        advice = LARGER_WINDOW if (told or 0) < LARGE else ""
        if told is None or fixed < FULL * told:  # else no task would fit
            advice = SHORTER + advice
        text = TOO_LONG.format(
            said=said,
            fixed=fixed,
            rest=round(size(messages) * window.per_char),
            window=f", and the window has {told:,}" if told else "",
            advice=advice,
        )
        return ModelError("context_overflow", text)

    def _excess(self, share: float) -> int:
        """Characters of the conversation beyond a share of the window."""
        return round((self.window.expected(self.history.messages) - self.window.mark(share)) / self.window.per_char)

    def _with_shorter_results(self) -> list[Message]:
        """The conversation with the results of its last round as they would have been told in this window."""
        *before, last = self.history.messages
        texts = [block["content"] for block in last["content"] if block["type"] == "tool_result"]
        fitted = iter(shortened(texts, self.window.results() or 0))
        blocks = [
            {**block, "content": next(fitted)} if block["type"] == "tool_result" else block for block in last["content"]
        ]
        return [*before, {**last, "content": blocks}]

    async def _summarise(self) -> None:
        try:
            summary = await self.summarise(self.history.messages)
        except ModelError as error:
            if error.kind != "context_overflow":
                raise
            summary = ""  # even that was too long: what stays are the person's words, the plan and the proposals
        self._put(summarised(self.history.messages, summary, self.plan(), self.proposals(), self.lasting))
        self.emit(RoomMade("A summary stands for the older part of the conversation now, which was too long."))

    def _put(self, messages: Sequence[Message]) -> None:
        if list(messages) != list(self.history.messages):
            self.history.restore(messages)
