"""What tokens cost, from the price list beside this file."""

from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import yaml

from fairlead.agent.model import Usage


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per million tokens."""

    input: float
    cache_read: float
    cache_write: float
    output: float

    def of(self, usage: Usage) -> float:
        return (
            usage.input_tokens * self.input
            + usage.cache_read_tokens * self.cache_read
            + usage.cache_write_tokens * self.cache_write
            + usage.output_tokens * self.output
        ) / 1_000_000


@cache
def price_list() -> tuple[str, dict[str, Price]]:
    """The list's date and its prices by the beginning of a model's name."""
    content = yaml.safe_load((files("fairlead.models") / "prices.yaml").read_text(encoding="utf-8"))
    prices = {
        name: Price(row["input"], row["cacheRead"], row["cacheWrite"], row["output"])
        for name, row in content["models"].items()
    }
    return str(content["date"]), prices


def price_of(model: str) -> Price | None:
    """The price of a model, None for one that the list does not know."""
    prices = price_list()[1]
    known = max((name for name in prices if model.startswith(name)), key=len, default=None)
    return prices[known] if known is not None else None
