"""What tokens cost and how many a model takes at once, from the list beside this file."""

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
        return (
            usage.input_tokens * self.input
            + usage.cache_read_tokens * self.cache_read
            + usage.cache_write_tokens * self.cache_write
            + usage.output_tokens * self.output
        ) / 1_000_000


@cache
def price_list() -> tuple[str, dict[str, dict[str, float]]]:
    """The list's date and its rows by the beginning of a model's name."""
    import yaml  # noqa: PLC0415  it would slow every start down

    content = yaml.safe_load((files("fairlead.models") / "prices.yaml").read_text(encoding="utf-8"))
    return str(content["date"]), content["models"]


def price_of(model: str) -> Price | None:
    """The price of a model, None for one that the list does not know."""
    row = _row(model)
    return Price(row["input"], row["cacheRead"], row["cacheWrite"], row["output"]) if row is not None else None


def context_of(model: str) -> int | None:
    """The window of a model in tokens, None for one that the list does not know."""
    row = _row(model)
    return int(row["context"]) if row is not None else None


def _row(model: str) -> dict[str, float] | None:
    rows = price_list()[1]
    # Bedrock puts where and whose before the name, in an ARN too; what it and Vertex put behind it does no harm
    model = model.rpartition("anthropic.")[2]
    known = max((name for name in rows if model.startswith(name)), key=len, default=None)
    return rows[known] if known is not None else None
