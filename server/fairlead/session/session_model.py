"""The model of a session: opened for a run, and replaced when the user's choice has changed."""

import asyncio
from collections.abc import Callable

from fairlead.agent.model import Usage
from fairlead.agent.window import Window
from fairlead.models.factory import ClosableModel, ModelChoice, open_model
from fairlead.models.prices import context_of, price_of


class SessionModel:
    """`choose` returns the user's choice of a model."""

    def __init__(self, choose: Callable[[], ModelChoice]) -> None:
        self._choose = choose
        self._model: ClosableModel | None = None
        self._choice: ModelChoice | None = None
        self._closing: set[asyncio.Task[None]] = set()
        self.window = Window()

    def for_run(self, context_tokens: int) -> ClosableModel:
        """The model that the user has chosen now.

        Args:
            context_tokens: the size of its window; 0: what is known about the model.
        """
        choice = self._choose()
        if self._model is None or choice != self._choice:
            if self._model is not None:
                closing = asyncio.ensure_future(self._model.aclose())
                self._closing.add(closing)
                closing.add_done_callback(self._closing.discard)
            self._model, self._choice, self.window = open_model(choice), choice, Window(choice.endpoint.is_hosted)
        self.window.begin_run(context_tokens or context_of(self._model.name) if choice.replay is None else None)
        return self._model

    def cost_of(self, usage: Usage) -> float | None:
        """The price in US dollars, None if it is not known."""
        price = price_of(self._model.name) if self._model is not None else None
        return price.of(usage) if price is not None else None

    async def aclose(self) -> None:
        if self._model is not None:
            await self._model.aclose()
