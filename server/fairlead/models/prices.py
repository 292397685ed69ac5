"""Prices and window sizes of models, from prices.yaml."""

from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from fairlead.agent.model import Usage


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


@cache
def price_list() -> tuple[str, dict[str, dict[str, float]]]:
    """The date of the list, and its rows by the prefix of a model's name."""
    import yaml  # noqa: PLC0415  importing it would slow down every start

    content = yaml.safe_load((files("fairlead.models") / "prices.yaml").read_text(encoding="utf-8"))
    return str(content["date"]), content["models"]


def price_of(model: str) -> Price | None:
    """The price of a model; None if it is not in the list."""
    row = _row(model)
    return Price(row["input"], row["cacheRead"], row["cacheWrite"], row["output"]) if row is not None else None


def window_of(model: str) -> int | None:
    """The window of a model in tokens; None if it is not in the list."""
    row = _row(model)
    return int(row["context"]) if row is not None else None


def _row(model: str) -> dict[str, float] | None:
    rows = price_list()[1]
    # Bedrock puts a region and the provider before the name, also in an ARN; suffixes do no harm
    model = model.rpartition("anthropic.")[2]
    prefix = max((name for name in rows if model.startswith(name)), key=len, default=None)
    return rows[prefix] if prefix is not None else None
