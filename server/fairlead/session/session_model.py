"""The model of a session: opened for a run, and replaced when the user's choice has changed."""

import asyncio
from collections.abc import Callable

from fairlead.agent.model import Model, Usage
from fairlead.agent.window import Window
from fairlead.models.common.prices import price_of, window_of
from fairlead.models.factory import ModelChoice, open_model
from fairlead.models.finding import FoundModel


def cost_of(choice: ModelChoice, model: Model, usage: Usage) -> float | None:
    """The price of what a model of this choice used, in US dollars; None if it is not known."""
    if usage.cost is not None:
        return usage.cost
    price = choice.facts.price or choice.listed.price or price_of(model.name)
    return price.of(usage) if price is not None else None


def window_size(choice: ModelChoice, model: Model) -> int | None:
    """The size of the window of a model of this choice, in tokens; None if it is not known."""
    known = choice.facts.context_tokens or window_of(model.name) or choice.listed.context_tokens or None
    return known if choice.replay is None else None


class SpareModel:
    """A model that connects in advance, for the next new session."""

    def __init__(self) -> None:
        self._choice: ModelChoice | None = None
        self._model: Model | None = None

    async def connect(self, choice: ModelChoice) -> None:
        """Connects the model of this choice. A spare model of another choice is closed and replaced."""
        model = self._model
        if model is None or choice != self._choice:
            earlier, model = model, open_model(choice)
            self._model, self._choice = model, choice  # before the next await, because another call may come meanwhile
            if earlier is not None:
                await earlier.aclose()
        await model.connect()

    def take(self, choice: ModelChoice) -> Model | None:
        """Hands over the model for this choice, which the caller must close; None if there is none."""
        if choice != self._choice:
            return None
        model, self._model, self._choice = self._model, None, None
        return model

    async def aclose(self) -> None:
        """Closes the model, if there is one."""
        model, self._model, self._choice = self._model, None, None
        if model is not None:
            await model.aclose()


class OpenedModel:
    """A model that stays open until another one is chosen.

    Args:
        take: returns a model of a choice that is open already; None if there is none.
    """

    def __init__(self, take: Callable[[ModelChoice], Model | None] = lambda _: None) -> None:
        self._take = take
        self._closing: set[asyncio.Task[None]] = set()
        self.current: Model | None = None
        """None before the first `open`."""
        self.choice: ModelChoice | None = None
        """The choice of the last `open`."""

    def open(self, choice: ModelChoice) -> Model:
        """The model of this choice. If that is another one than before, the former is closed."""
        if self.current is None or choice != self.choice:
            if self.current is not None:
                closing = asyncio.ensure_future(self.current.aclose())
                self._closing.add(closing)
                closing.add_done_callback(self._closing.discard)
            self.current = self._take(choice) or open_model(choice)
        self.choice = choice
        return self.current

    def cost_of(self, usage: Usage) -> float | None:
        """The price in US dollars; None if it is not known, or before the first `open`."""
        if self.current is None or self.choice is None:
            return usage.cost
        return cost_of(self.choice, self.current, usage)

    async def aclose(self) -> None:
        """Closes the model, if there is one."""
        if self.current is not None:
            await self.current.aclose()


class SessionModel(OpenedModel):
    """The model of one session. `choose` returns the user's choice."""

    def __init__(self, choose: Callable[[], ModelChoice], spare: SpareModel) -> None:
        super().__init__(spare.take)
        self._choose = choose
        self.window = Window()
        """The window of the current model."""

    async def prepare(self) -> None:
        """Opens the model for the next run. Finds out its name if nobody said it: its window and price depend on it."""
        model, _ = self._open_chosen()
        if isinstance(model, FoundModel):
            await model.find()

    def for_run(self) -> Model:
        """The model that the user has chosen now. Begins a run in its window."""
        model, choice = self._open_chosen()
        self.window.begin_run(window_size(choice, model))
        return model

    @property
    def recording(self) -> str | None:
        """The name of the recording that replaces the model; None if there is none, or before the first run."""
        replay = self.choice.replay if self.choice is not None else None
        return replay.name if replay is not None else None

    async def connect(self) -> None:
        """Connects in advance, so that the next request is faster. Does nothing before the first run."""
        if self.current is not None:
            await self.current.connect()

    def _open_chosen(self) -> tuple[Model, ModelChoice]:
        before, choice = self.current, self._choose()
        model = self.open(choice)
        if model is not before:
            self.window = Window(choice.endpoint.is_hosted)
        return model, choice
