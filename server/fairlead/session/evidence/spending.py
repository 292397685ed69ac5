"""What the models' answers cost, by day. Pure values."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Spent:
    """Tokens and their price."""

    tokens: int = 0
    """All of them, cached ones included."""
    usd: float = 0.0
    """US dollars, for the tokens whose price is known."""
    unpriced: int = 0
    """The tokens of models whose price is unknown."""

    def __add__(self, other: "Spent") -> "Spent":
        return Spent(self.tokens + other.tokens, self.usd + other.usd, self.unpriced + other.unpriced)

    @property
    def known_usd(self) -> float | None:
        """US dollars; None if no price is known."""
        return None if self.unpriced == self.tokens else self.usd


SpentByDay = Mapping[str, Spent]
"""By the local date, such as `2026-11-29`."""


def spent_now(by_day: SpentByDay, day: str, tokens: int, usd: float | None) -> SpentByDay:
    """The spending with more tokens on a day. `usd` is their price, None if it is unknown."""
    more = Spent(tokens, usd or 0.0, tokens if usd is None else 0)
    return {**by_day, day: by_day.get(day, Spent()) + more}


def total(spent: Iterable[Spent]) -> Spent:
    """The sum."""
    return sum(spent, Spent())
