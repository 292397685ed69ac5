"""Prices and window sizes of models, from prices.json."""

import json
import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from fairlead.agent.model import Usage

_VERSION = re.compile(r"([-@](\d{8}|\d{4}-\d\d-\d\d|latest|default))?(-v\d+(:\w+)*)?(\[1m\])?")
"""The endings that a listed name may have: a date, Bedrock's version, or the mark of a longer window.

A model with any other ending has no known price.
"""


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per million tokens."""

    input: float
    cache_read: float
    cache_write: float
    output: float

    def of(self, usage: Usage) -> float:
        """The price of the tokens in US dollars."""
        return (
            usage.input_tokens * self.input
            + usage.cache_read_tokens * self.cache_read
            + usage.cache_write_tokens * self.cache_write
            + usage.output_tokens * self.output
        ) / 1_000_000


@dataclass(frozen=True)
class PriceList:
    """The content of prices.json."""

    date: str
    endpoints: dict[str, tuple[str, ...]]
    """The names of the models, without their versions, by the name of the endpoint."""
    rows: dict[str, dict[str, float]]
    """By the name of the model."""


@cache
def price_list() -> PriceList:
    """The list, read once."""
    content = json.loads((files("fairlead.models") / "prices.json").read_text(encoding="utf-8"))
    models = content["models"]
    rows = {name: row for of_endpoint in models.values() for name, row in of_endpoint.items()}
    return PriceList(content["date"], {endpoint: tuple(rows) for endpoint, rows in models.items()}, rows)


def price_of(model: str) -> Price | None:
    """The price of a model; None if it is not in the list."""
    listed = _listed(model)
    if listed is None or not _VERSION.fullmatch(_plain(model), len(listed)):
        return None
    row = price_list().rows[listed]
    return Price(row["input"], row["cacheRead"], row.get("cacheWrite", row["input"]), row["output"])


def window_of(model: str) -> int | None:
    """How many tokens of a model's window Fairlead uses (`context` in prices.json).

    Counts every model whose name begins with a listed name as this listed model; None if there is no such name.
    """
    listed = _listed(model)
    return int(price_list().rows[listed]["context"]) if listed is not None else None


def _listed(model: str) -> str | None:
    """The longest listed name that a model's name begins with; None if there is none."""
    return max((name for name in price_list().rows if _plain(model).startswith(name)), key=len, default=None)


def _plain(model: str) -> str:
    """The name without the region and the provider that Bedrock puts before it, also in an ARN."""
    return model.rpartition("anthropic.")[2]
