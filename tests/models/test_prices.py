"""The list of prices and windows: what it knows, it knows by the beginning of a model's name."""

import pytest

from fairlead.agent.model import Usage
from fairlead.models.prices import context_of, price_list, price_of


def test_a_usage_is_priced_by_the_model() -> None:
    """US dollars per million tokens, cached ones at their own price; a dated name is the same model."""
    usage = Usage(1, input_tokens=100_000, cache_read_tokens=1_000_000, cache_write_tokens=10_000, output_tokens=5000)
    price = price_of("claude-sonnet-5-5-20261001")
    assert price is not None
    assert price.of(usage) == pytest.approx(0.475)


@pytest.mark.parametrize(
    "name",
    [
        "us.anthropic.claude-sonnet-5-5-20260901-v1:0",
        "global.anthropic.claude-sonnet-5-5-20260901-v1:0",
        "anthropic.claude-sonnet-5-5-20260901-v1:0",
        "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-sonnet-5-5-20260901-v1:0",
        "claude-sonnet-5-5@20260901",
    ],
)
def test_a_clouds_name_is_that_of_the_same_model(name: str) -> None:
    """Bedrock's with its region, as an ARN too, and Vertex AI's with its date."""
    assert price_of(name) == price_of("claude-sonnet-5-5") is not None
    assert context_of(name) == context_of("claude-sonnet-5-5")


def test_every_row_is_whole() -> None:
    """Each model of the list has a price and a window; the list has a date."""
    date, rows = price_list()
    assert date.startswith("20")
    for name in rows:
        assert price_of(name) is not None
        assert (context_of(name) or 0) > 0


def test_an_unknown_model_has_neither() -> None:
    """Then there are tokens only, and the window is learned."""
    assert (price_of("some-local-model"), context_of("some-local-model")) == (None, None)
